# SPDX-License-Identifier: Apache-2.0
"""Loads of bench/limits_load.py that take memory, threads, the queue or the disk: what they cost, and
how soon the service gives again what it refused meanwhile."""
import contextlib
import json
import multiprocessing
import os
import pathlib
import resource
import select
import socket
import ssl
import threading
import time
import uuid

from measured import spread, timed

BODY = 32 << 20
HELD = 60  # bodies under way, and answers that nobody reads
TENSORS = 24_000  # of a manifest of about 14 MB
REPORT = f"/v1/jobs/{uuid.UUID(int=0)}/report?lease=1"
DSSE = "application/vnd.dsse.envelope.v1+json"
LIMIT = 256 << 20  # max_bytes_in_flight (docs/limits.md)
# Growth of resident memory that is taken: the limit, one body that is copied while it grows, answers
# that all four threads made at once, and what the allocator keeps.
BAR_MIB = 384
BAR_MS = 1000
BAR_LIVEZ_MS = 20  # as admission beside a saturated API
BAR_OTHERS_MS = 1000  # of one caller beside another's load: far from the ten seconds of a heartbeat
REFUSED = (429, 503)


def large_manifest(service):
    """Publishes a manifest of nearly as many bytes as one may have; its path."""
    model = service.dir / "large"
    model.mkdir()
    header = json.dumps({f"layer.{number:0250}.weight": {
        "dtype": "U8", "shape": [1], "data_offsets": [number, number + 1]}
        for number in range(TENSORS)}).encode()
    header += b" " * (-len(header) % 8)
    (model / "model.safetensors").write_bytes(
        len(header).to_bytes(8, "little") + header + bytes(TENSORS))
    service.run("assay", "manifest", "create", str(model), "--name", "acme/large",
                "--out", "large.json")
    service.run("assay", "sign", "large.json", "--key", "keys/publisher.pem",
                "--out", "large.signed.json")
    pushed = service.run("assay", "push", "large.signed.json", "-o", "json", token="ci")
    return "/v1/manifests/" + json.loads(pushed.stdout)["items"][0]["id"]


def connect(port, ca, receive=0):
    """A TLS connection; `receive` bytes of what the service sends fit into its socket."""
    context = ssl.create_default_context(cafile=ca)
    context.check_hostname = False
    plain = socket.socket()
    if receive:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    plain.settimeout(120)
    plain.connect(("127.0.0.1", port))
    return context.wrap_socket(plain)


def request(method, path, token, length=None, accept="*/*"):
    text = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n"
            f"Authorization: Bearer {token}\r\n")
    if length is not None:
        text += f"Content-Type: application/json\r\nContent-Length: {length}\r\n"
    return (text + "\r\n").encode()


def place_of(service):
    return service.port, str(service.dir / "service/tls.crt")


class Memory:
    """How much larger the resident memory of a process is while this is open, at most, than it was
    before."""

    def __init__(self, pid, before=None):
        self.path = pathlib.Path(f"/proc/{pid}/statm")
        self.peak = self.now()
        self.before = self.peak if before is None else before
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def now(self):
        return int(self.path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def _watch(self):
        while not self.over.wait(0.005):
            self.peak = max(self.peak, self.now())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def figure(self):
        return {"growth_mib": round((self.peak - self.before) / (1 << 20)), "bar_mib": BAR_MIB,
                "limit_mib": LIMIT >> 20}


class Held:
    """HELD connections, opened together, each stopped in the middle of its request."""

    def __init__(self, begin):
        self.connections = [None] * HELD
        self.threads = [threading.Thread(target=self._begin, args=(begin, number), daemon=True)
                        for number in range(HELD)]
        for thread in self.threads:
            thread.start()

    def _begin(self, begin, number):
        with contextlib.suppress(OSError):  # refused in the middle
            begin(lambda made: self.connections.__setitem__(number, made))

    def settle(self):
        for thread in self.threads:
            thread.join()

    def statuses(self):
        """How many were refused, and how many not (yet)."""
        refused = 0
        for connection in filter(None, self.connections):
            connection.settimeout(0.02)
            try:
                refused += connection.recv(12).endswith(b"503")
            except OSError:
                pass  # nothing has come
        return {"opened": HELD, "refused": refused}

    def end(self):
        for connection in filter(None, self.connections):
            connection.close()


def bodies(service):
    """Bodies of which the last byte does not come."""
    token, rest = service.token("worker-1"), b"A" * (BODY - 1)

    def begin(keep):
        connection = connect(*place_of(service))
        keep(connection)
        connection.sendall(request("POST", REPORT, token, BODY))
        connection.sendall(rest)
    return Held(begin)


def unread(service, path):
    """Answers that nobody reads."""
    token = service.token("ci")

    def begin(keep):
        connection = connect(*place_of(service), receive=4096)
        keep(connection)
        connection.sendall(request("GET", path, token, accept=DSSE))
        select.select([connection], [], [], 60)
    return Held(begin)


def first(ask, what, limit=60):
    """Milliseconds until `ask` says that the service answers as usual."""
    start = time.monotonic()
    while not ask():
        if time.monotonic() - start > limit:
            raise AssertionError(f"no recovery within {limit} s: {what}")
    return round(1000 * (time.monotonic() - start), 1)


def recovered(ask, what):
    return {"ms": first(ask, what), "bar_ms": BAR_MS}


class Asker:
    """One who is refused beside a load. Each request has a connection of its own."""

    def __init__(self, service, method, path, body=None, token="ci", good=(200, 201)):
        self.service, self.arguments, self.good = service, (method, path, body, token), good
        self.said = {}

    def __call__(self):
        """Whether the answer was that of a service without load."""
        try:
            status = self.service.request(*self.arguments)[0]
        except OSError:
            status = "ended"
        self.said[status] = self.said.get(status, 0) + 1
        return status in self.good

    def refused(self):
        return sum(self.said.get(status, 0) for status in (*REFUSED, "ended"))

    def beside(self, seconds):
        """How fast this one is answered beside a load of others, who must not shut it out."""
        return {**spread(timed(seconds, self), BAR_OTHERS_MS), "refused": self.refused(),
                "bar_refused": 0}


def other(service):
    """Somebody who sends little."""
    return Asker(service, "GET", "/v1/manifests?limit=1", token="desk")


def memory(service, path, idle):
    """60 large bodies under way, 60 large answers that nobody reads, and both. `idle` is the memory of
    the service before any load."""
    asked = {"bodies": Asker(service, "POST", REPORT, b"A" * BODY, "worker-1", good=(400,)),
             "answers": Asker(service, "GET", path)}
    loads = {"bodies": [lambda: bodies(service)], "answers": [lambda: unread(service, path)]}
    loads["both"] = loads["bodies"] + loads["answers"]
    figures = {"large_answer_bytes": len((service.dir / "large.signed.json").read_bytes())}
    for name, begin in loads.items():
        with Memory(service.process.pid, idle) as grown:
            held = [start() for start in begin]
            for one in held:
                one.settle()
        askers = [asker for kind, asker in asked.items() if name in (kind, "both")]
        beside = {f"{kind}_refused_beside": not asker() for kind, asker in asked.items()
                  if asker in askers}
        others = other(service).beside(1)
        said = [one.statuses() for one in held]
        for one in held:
            one.end()
        figures[name] = {**grown.figure(), "connections": said, **beside, "others": others,
                         "recovery": recovered(lambda asking=tuple(askers): all(
                             [ask() for ask in asking]), name)}
    return figures


def send_bodies(port, ca, token, started, done):
    """Sends bodies of 32 MiB, one after the other, until it is killed."""
    body = b'{"payload":"' + b"A" * (BODY - 14) + b'"}'
    started.release()
    while True:
        with contextlib.suppress(OSError), connect(port, ca) as one:
            while True:
                one.sendall(request("POST", REPORT, token, len(body)))
                one.sendall(body)
                answer = one.recv(1 << 16)
                if not answer:
                    break
                done[0 if answer.split(b" ", 2)[1] == b"400" else 1] += 1


def ask_much(port, ca, texts, connections, started, done):
    """Sends `next(texts)` on each of its connections, and once more for each answer, until it is
    killed."""
    poll = select.poll()
    made = {}

    def begin():
        one = connect(port, ca)
        one.sendall(next(texts))
        one.setblocking(False)
        made[one.fileno()] = one
        poll.register(one, select.POLLIN)

    for _ in range(connections):
        begin()
    started.release()
    while True:
        for number, _ in poll.poll(100):
            one = made[number]
            try:
                data = one.recv(1 << 18)
                again = data.count(b"HTTP/1.1 ")
                done[1] += data.count(b"HTTP/1.1 503")
                done[0] += again - data.count(b"HTTP/1.1 503")
                if data and not again:
                    continue
                if data:
                    one.setblocking(True)
                    for _ in range(again):
                        one.sendall(next(texts))
                    one.setblocking(False)
                    continue
            except ssl.SSLWantReadError:
                continue
            except OSError:
                pass
            poll.unregister(number)
            made.pop(number).close()
            with contextlib.suppress(OSError):
                begin()


class Clients:
    """Processes that run `work(port, ca, *arguments, started, done)` until they are killed."""

    def __init__(self, service, processes, work, *arguments):
        started = multiprocessing.Semaphore(0)
        self.done = [multiprocessing.Array("L", 2, lock=False) for _ in range(processes)]
        self.processes = [multiprocessing.Process(
            target=work, args=(*place_of(service), *arguments, started, done), daemon=True)
            for done in self.done]
        for process in self.processes:
            process.start()
        for _ in self.processes:
            if not started.acquire(timeout=120):
                raise AssertionError("the load did not start")

    def answered(self):
        """Answers of a service without load, and refusals."""
        return [sum(done[kind] for done in self.done) for kind in (0, 1)]

    def end(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()


class Reads:
    """Requests for a large envelope that the caller has already: much work, and no body."""

    def __init__(self, service, path):
        connection = service.connect()
        token = service.token("ci")
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "Accept": DSSE})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        head = request("GET", path, token, accept=DSSE)[:-2]
        self.text = head + f"If-None-Match: {answer.headers['ETag']}\r\n\r\n".encode()

    def __next__(self):
        return self.text


class Guesses:
    """Requests for one path, each with another made-up token."""

    def __init__(self, path):
        self.path = path

    def __next__(self):
        return request("GET", self.path, "assay_" + os.urandom(24).hex())


def livez(service, reader, options):
    """/livez beside clients that send bodies of 32 MiB in a loop."""
    senders = Clients(service, options.senders, send_bodies, service.token("worker-1"))
    timed(1, reader.live)
    before, begin = senders.answered(), time.monotonic()
    taken = timed(options.seconds, reader.live)
    seconds = time.monotonic() - begin
    rates = [round((now - then) / seconds, 1) for now, then in zip(senders.answered(), before)]
    senders.end()
    return {**spread(taken, BAR_LIVEZ_MS), "senders": options.senders,
            "bodies_read_per_second": rates[0], "bodies_refused_per_second": rates[1]}


def beside(clients, ask, seconds):
    """Asks beside a load, then from its end until the first answer as usual."""
    before, begin = clients.answered(), time.monotonic()
    others = ask.beside(seconds)
    took = time.monotonic() - begin
    rates = [round((now - then) / took) for now, then in zip(clients.answered(), before)]
    figures = {"answers_per_second": rates[0], "refusals_per_second": rates[1], "others": others}
    clients.end()
    return {**figures, "recovery": recovered(ask, "queue")}


def queue(service, path, options):
    """More requests than the queue has places for: of one who is known, and of strangers."""
    share = options.connections // options.processes
    figures = {}
    for name, texts in (("saturated", Reads(service, path)),
                        ("strangers", Guesses("/v1/manifests?limit=1"))):
        clients = Clients(service, options.processes, ask_much, texts, share)
        figures[name] = beside(clients, other(service), options.seconds)
    return figures


def disk(service):
    """No file may grow: writes are refused and the service is not ready. Then they may again."""
    pid = service.process.pid
    write = Asker(service, "POST", "/v1/decisions", json.dumps(
        {"point": "create", "model": "acme/demo", "workload": {"namespace": "inference"}}))
    ready = Asker(service, "GET", "/readyz", token=None)
    figures = {}
    for name, ask in (("first_write", write), ("ready_by_itself", ready)):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        start = time.monotonic()
        while write() or ready():
            if time.monotonic() - start > 60:
                raise AssertionError("the full disk was not noticed")
        resource.prlimit(pid, resource.RLIMIT_FSIZE,
                         (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        figures[name] = recovered(ask, name)
    figures["refused_writes"] = write.refused()
    return figures
