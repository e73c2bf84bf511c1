#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one user of the service feels of the others: a real assayd, over TLS.

Usage: bench/limits_load.py [--seconds N] [--only PART,...] [--print-only] [--bin DIR]
Prints one line of JSON: milliseconds, with the bar beside each figure that has one. Exits with 1
when a figure is beyond its bar (not with --print-only), or when the service does not recover within a
minute of the end of a load. Measures
  admission         reviews of pods that a policy selects, one after the other, each a stored decision
  busy_admission    the same while `--connections` API connections ask without a pause
  written_admission the same while those connections write: each asks for decisions, which are stored
  silent            lists from one address while another opens 10,000 connections and says nothing
  body              processor time of the service for one body of 32 MiB
  livez             liveness probes alone, and beside clients that send such bodies in a loop
  memory            growth of the service's memory with 60 such bodies under way, with 60 large
                    answers that nobody reads, and with both; the limit stands beside it, and what
                    another caller feels
  queue             400 connections that ask for more than there are threads, known or made-up
                    credentials, and what another caller feels, who must never be refused
  disk              no file may grow any more, until it may
  recovery          from the end of each load to the first ten answers as fast as before it, or to
                    the first answer as usual of what was refused meanwhile
Clients and service share the machine, so latencies beside a load are at most as good as they are
with clients elsewhere.
"""
import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import platform
import resource
import selectors
import socket
import ssl
import sys
import time
import uuid

import pressure
from measured import quantile, spread, timed

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
SILENT = 10_000


class Reviewer:
    """An API server with one connection."""

    def __init__(self, service, pods):
        self.pods = pods
        context = ssl.create_default_context(cafile=str(service.dir / "service/tls.crt"))
        context.check_hostname = False
        context.load_cert_chain(service.dir / "kube.crt", service.dir / "kube.key")
        self.connection = http.client.HTTPSConnection(
            "127.0.0.1", service.ready["admission_port"], context=context, timeout=60)

    def ask(self):
        """One new pod, which must be allowed."""
        review = self.pods.review(self.pods.stored(self.pods.pod("llm")))
        self.connection.request("POST", "/v1/admission/validate", json.dumps(review),
                                {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        said = json.loads(answer.read())
        if answer.status != 200 or not said["response"]["allowed"]:
            raise AssertionError(f"{answer.status} {said}")


class Reader:
    """A client of the API with one connection from an address of its own."""

    def __init__(self, service, address="127.0.0.2"):
        self.service = service
        context = ssl.create_default_context(cafile=str(service.dir / "service/tls.crt"))
        context.check_hostname = False
        self.connection = http.client.HTTPSConnection(
            "127.0.0.1", service.port, context=context, timeout=60, source_address=(address, 0))

    def ask(self):
        """The first manifests."""
        status, _ = self.service.request("GET", "/v1/manifests?limit=10",
                                         connection=self.connection)
        if status != 200:
            raise AssertionError(f"status {status}")

    def live(self):
        """A liveness probe."""
        self.connection.request("GET", "/livez")
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise AssertionError(f"status {answer.status}")


def read_request(token):
    """A list."""
    return (f"GET /v1/manifests?limit=100 HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {token}\r\n\r\n").encode()


def write_request(token):
    """A decision, which is stored and logged whatever it says."""
    text = json.dumps({"point": "create", "model": "acme/demo",
                       "workload": {"namespace": "inference"}})
    return (f"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\n\r\n{text}").encode()


def busy(port, ca, request, connections, started, answered):
    """Asks on every connection again as soon as it has its answer, until it is killed. Counts the
    answers with status 200 or 201, and all others."""
    context = ssl.create_default_context(cafile=ca)
    context.check_hostname = False
    waiting = selectors.DefaultSelector()
    for _ in range(connections):
        one = context.wrap_socket(socket.create_connection(("127.0.0.1", port)))
        one.sendall(request)
        one.setblocking(False)
        waiting.register(one, selectors.EVENT_READ, {"left": None, "head": b""})
    started.release()
    while True:
        for key, _ in waiting.select():
            take(key.fileobj, key.data, request, waiting, answered)


def take(one, state, request, waiting, answered):
    """What has come of an answer; the next request when it is whole."""
    try:
        data = one.recv(1 << 16)
    except ssl.SSLWantReadError:
        return
    if not data:
        waiting.unregister(one)
        one.close()
        return
    if state["left"] is None:
        state["head"] += data
        head, end, data = state["head"].partition(b"\r\n\r\n")
        if not end:
            return
        good = head.split(b" ", 2)[1] in (b"200", b"201")
        answered[0 if good else 1] += 1
        lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        state["left"] = int(lines[b"content-length"])
    state["left"] -= len(data)
    if state["left"] <= 0:
        state.update(left=None, head=b"")
        one.setblocking(True)
        one.sendall(request)
        one.setblocking(False)


class Load:
    """Processes that keep API connections busy."""

    def __init__(self, service, request, connections, processes):
        started = multiprocessing.Semaphore(0)
        arguments = (service.port, str(service.dir / "service/tls.crt"),
                     request(service.token("ci")), connections // processes, started)
        self.counts = [multiprocessing.Array("L", 2, lock=False) for _ in range(processes)]
        self.processes = [multiprocessing.Process(target=busy, args=(*arguments, count), daemon=True)
                          for count in self.counts]
        for process in self.processes:
            process.start()
        for _ in self.processes:
            if not started.acquire(timeout=120):
                raise AssertionError("the load did not start")

    def answered(self):
        """How many answers came with status 200 or 201, and how many others."""
        return [sum(count[kind] for count in self.counts) for kind in (0, 1)]

    def end(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()


def recovery(ask, before):
    """Milliseconds until ten answers in a row are no slower than twice the slowest tenth before."""
    limit = 2 * quantile(before, 0.9)
    start = time.monotonic()
    good_since, good = start, 0
    while good < 10:
        begin = time.monotonic()
        ask()
        if 1000 * (time.monotonic() - begin) <= limit:
            good_since, good = (begin, 1) if good == 0 else (good_since, good + 1)
        else:
            good = 0
        if begin - start > 60:
            raise AssertionError("no recovery within a minute")
    return round(1000 * (good_since - start), 1)


def beside_load(service, pods, options):
    reviewer, reader = Reviewer(service, pods), Reader(service)
    timed(1, reviewer.ask)
    alone = timed(options.seconds, reviewer.ask)
    read_alone = timed(options.seconds, reader.ask)
    figures = {"admission": spread(alone), "reads": spread(read_alone)}
    for name, request in (("busy_admission", read_request), ("written_admission", write_request)):
        load = Load(service, request, options.connections, options.processes)
        timed(1, reviewer.ask)
        before, begin = load.answered(), time.monotonic()
        loaded = timed(options.seconds, reviewer.ask)
        seconds = time.monotonic() - begin
        rates = [round((now - then) / seconds) for now, then in zip(load.answered(), before)]
        load.end()
        figures[name] = {**spread(loaded, 20), "api_answers_per_second": rates[0],
                         "api_refusals_per_second": rates[1]}
    back = recovery(reader.ask, read_alone)
    return {**figures, "recovery": {"ms": back, "bar_ms": 1000}}


def silent(service, options):
    reader = Reader(service)
    alone = timed(options.seconds, reader.ask)
    held, turned_away = [], 0
    taken = []
    for number in range(SILENT):
        try:
            held.append(socket.create_connection(("127.0.0.1", service.port), timeout=10))
        except OSError:
            turned_away += 1
        if number % 50 == 0:
            taken.extend(timed(0.01, reader.ask))
    taken.extend(timed(options.seconds, reader.ask))
    reconnect = timed(options.seconds, lambda: Reader(service, "127.0.0.3").ask())
    for one in held:
        one.close()
    back = recovery(reader.ask, alone)
    return {"opened": len(held), "refused": turned_away, "before": spread(alone),
            "others": spread(taken), "new_connections_of_others": spread(reconnect),
            "recovery": {"ms": back, "bar_ms": 1000}}


def processor_ms(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def body(service, text):
    """Least of five; the service reads the body whole before it refuses it."""
    path = f"/v1/jobs/{uuid.UUID(int=0)}/report?lease=1"
    taken = []
    for _ in range(5):
        before = processor_ms(service.process.pid)
        status, said = service.request("POST", path, text, token="worker-1")
        if status not in (400, 404, 422):
            raise AssertionError(f"{status} {said}")
        taken.append(processor_ms(service.process.pid) - before)
    return {"bytes": len(text), "processor_ms": min(taken), "answer": said["code"]}


def bodies(service):
    """One that is no JSON from its first byte, and one long string of JSON."""
    read = body(service, b"A" * pressure.BODY)
    parsed = body(service, b'{"payload":"' + b"A" * (pressure.BODY - 14) + b'"}')
    return {"read": {**read, "bar_ms": 100}, "read_and_parsed": parsed}


def probes(service, options):
    reader = Reader(service)
    return {"alone": spread(timed(options.seconds, reader.live)),
            "beside_bodies": pressure.livez(service, reader, options)}


def judged(figures, place=""):
    """Where a figure has a bar beside it: its place, its value and the bar."""
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from judged(value, f"{place}{name}.")
    for bar, value in (("bar_p99_ms", "p99_ms"), ("bar_ms", "ms"), ("bar_ms", "processor_ms"),
                       ("bar_mib", "growth_mib"), ("bar_refused", "refused")):
        if bar in figures and value in figures:
            yield place + value, figures[value], figures[bar]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement")
    parser.add_argument("--connections", type=int, default=400, help="busy ones of the API")
    parser.add_argument("--processes", type=int, default=2, help="that keep them busy")
    parser.add_argument("--senders", type=int, default=4, help="of large bodies, beside /livez")
    parser.add_argument("--only", metavar="PART,...", help="some of load, silent, body, livez, memory, "
                        "queue and disk")
    parser.add_argument("--print-only", action="store_true",
                        help="exit with 0 all the same: for a machine that is not quiet")
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"), help="folder of programs")
    options = parser.parse_args()
    os.environ["ASSAY_BIN"] = os.path.abspath(options.bin)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SILENT + 2000, SILENT + 2000))
    import nodes
    import pods
    with nodes.NodeService() as service:
        service.compares = False
        service.publish()
        service.activate(pods.manifest_policy("limits"))
        large = pressure.large_manifest(service)
        idle = pressure.Memory(service.process.pid).before
        figures = {"machine": platform.processor() or platform.machine(),
                   "cores": os.cpu_count(), "kernel": platform.release()}
        parts = {
            "load": lambda: beside_load(service, pods, options),
            "silent": lambda: {"silent": silent(service, options)},
            "body": lambda: {"body": bodies(service)},
            "livez": lambda: {"livez": probes(service, options)},
            "memory": lambda: {"memory": pressure.memory(service, large, idle)},
            "queue": lambda: {"queue": pressure.queue(service, large, options)},
            "disk": lambda: {"disk": pressure.disk(service)},
        }
        for name, part in parts.items():
            if options.only is None or name in options.only.split(","):
                figures.update(part())
    print(json.dumps(figures))
    late = [place for place, value, bar in judged(figures) if value > bar]
    for place in late:
        print(f"limits_load: {place} is beyond its bar", file=sys.stderr)
    return 1 if late and not options.print_only else 0


if __name__ == "__main__":
    sys.exit(main())
