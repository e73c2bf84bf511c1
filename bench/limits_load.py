# SPDX-License-Identifier: Apache-2.0
"""What a service does at its limits, and how soon it is itself again.

    limits_load.py BUILD [OUT.json]

Silent connections from one address beside those of others, requests that saturate the API beside the
admission listener, a body of 32 MiB, and the time from the end of each load to the first normal
answer. Everything runs on this machine and shares its cores with the load.
"""
import json
import os
import pathlib
import platform
import resource
import socket
import ssl
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
SILENT = 10_000
BUSY_CONNECTIONS = 64
BUSY_SECONDS = 8.0
BODY = 32 << 20


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


class Client:
    """One TLS connection; requests one after the other."""

    def __init__(self, service, port, source="127.0.0.1"):
        context = ssl.create_default_context(cafile=str(service.dir / "service/tls.crt"))
        context.check_hostname = False
        raw = socket.create_connection(("127.0.0.1", port), 30, (source, 0))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = context.wrap_socket(raw)
        self.rest = b""

    def ask(self, head, body=b""):
        """Sends a request; returns (status, seconds)."""
        start = time.perf_counter()
        self.stream.sendall(head + body)
        while b"\r\n\r\n" not in self.rest:
            self._more()
        header, _, self.rest = self.rest.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in header.lower().split(b"\r\n")
                      if line.startswith(b"content-length:"))  # fmt: skip
        while len(self.rest) < length:
            self._more()
        self.rest = self.rest[length:]
        return int(header.split()[1]), time.perf_counter() - start

    def _more(self):
        data = self.stream.recv(65536)
        if not data:
            raise ConnectionError("closed")
        self.rest += data

    def close(self):
        self.stream.close()


def head(method, path, token=None, length=0, kind="application/json"):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if length:
        lines += [f"Content-Type: {kind}", f"Content-Length: {length}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def first_normal_answer(service, port, request, source):
    """Seconds until a fresh connection is answered with 200."""
    start = time.perf_counter()
    while True:
        try:
            client = Client(service, port, source)
            status, _ = client.ask(request)
            client.close()
            if status == 200:
                return time.perf_counter() - start
        except OSError:
            pass
        if time.perf_counter() - start > 60:
            return None
        time.sleep(0.005)


def silent_connections(service):
    """SILENT connections of one address that send nothing, and another address beside them."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    held, refused = [], 0
    for _ in range(SILENT):
        try:
            held.append(socket.create_connection(("127.0.0.1", service.port), 5, ("127.0.0.2", 0)))
        except OSError:
            refused += 1
    asked = head("GET", "/livez")
    beside = []
    for _ in range(200):
        client = Client(service, service.port, "127.0.0.3")
        beside.append(client.ask(asked))
        client.close()
    good = [seconds for status, seconds in beside if status == 200]
    for one in held:
        one.close()
    recovery = first_normal_answer(service, service.port, asked, "127.0.0.2")
    return {"connections": SILENT, "not_connected": refused, "others_asked": len(beside),
            "others_answered": len(good), "others_p99_ms": round(1e3 * quantile(good, 0.99), 2),
            "same_address_after_s": round(recovery, 3)}  # fmt: skip


def saturated(service, admission):
    """Admission's latency, alone and beside a saturated API; then the time to a normal answer."""
    review = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"}, "operation": "CREATE",
        "name": "a", "namespace": "b", "object": {"kind": "ConfigMap", "metadata": {"name": "a"}}}})
    path = f"/{admission}/v1/admission/validate"
    asked = head("POST", path, length=len(review))
    port = service.ready["admission_port"]
    client = Client(service, port)

    def measure(seconds):
        taken, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            status, took = client.ask(asked, review.encode())
            assert status == 200, status
            taken.append(took)
            time.sleep(0.002)
        return {"requests": len(taken), "p50_ms": round(1e3 * quantile(taken, 0.5), 2),
                "p99_ms": round(1e3 * quantile(taken, 0.99), 2)}  # fmt: skip

    alone = measure(3.0)
    stop, counts, lock = threading.Event(), {}, threading.Lock()
    listed = head("GET", "/v1/manifests?limit=1000", service.token("ci"))

    def press():
        one = Client(service, service.port, "127.0.0.2")
        while not stop.is_set():
            status, _ = one.ask(listed)
            with lock:
                counts[status] = counts.get(status, 0) + 1
        one.close()

    threads = [threading.Thread(target=press) for _ in range(BUSY_CONNECTIONS)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    beside = measure(BUSY_SECONDS)
    stop.set()
    end = time.perf_counter()
    recovery = first_normal_answer(service, service.port, listed, "127.0.0.3")
    for thread in threads:
        thread.join()
    client.close()
    return {"alone": alone, "beside": beside, "api_connections": BUSY_CONNECTIONS,
            "api_answers": {str(status): count for status, count in counts.items()},
            "api_answers_per_second": round(sum(counts.values()) / (BUSY_SECONDS + 1)),
            "first_answer_after_s": round(recovery, 3), "drained_after_s": round(time.perf_counter() - end, 3)}


def large_body(service):
    """CPU of the service for one body of 32 MiB: read alone, and read and parsed."""
    job = "01900000-0000-7000-8000-000000000000"
    body = b'{"envelope":"' + b"A" * (BODY - 32) + b'"}'
    model = "assay-tree-v1-sha256:" + "0" * 64
    outline = head("PUT", f"/v1/models/{model}/outline", service.token("ci"), len(body),
                   "application/octet-stream")  # fmt: skip
    report = head("POST", f"/v1/jobs/{job}/report?lease=1", service.token("nobody"), len(body))
    return {"bytes": len(body), "read": cpu_of(service, outline, body),
            "read_and_parsed": cpu_of(service, report, body)}  # fmt: skip


def cpu_of(service, asked, body):
    taken = []
    for _ in range(5):
        client = Client(service, service.port)
        before = cpu_seconds(service.process.pid)
        status, _ = client.ask(asked, body)
        taken.append(cpu_seconds(service.process.pid) - before)
        client.close()
    return {"status": status, "cpu_ms_median": round(1e3 * quantile(taken, 0.5)),
            "cpu_ms": [round(1e3 * one) for one in taken]}  # fmt: skip


def main(build, out=None):
    os.environ["ASSAY_BIN"] = str(pathlib.Path(build).resolve() / "bin")
    import harness

    secret = "s" * 40
    service = harness.Service(admission={"port": 0, "client_auth": "path",
                                         "path_secret_file": "secret"})  # fmt: skip
    (service.dir / "service/secret").write_text(secret + "\n")
    with service:
        service.request("POST", "/v1/manifests", service.manifest(),
                        content_type="application/vnd.dsse.envelope.v1+json")  # fmt: skip
        result = {
            "what": "limits and load of one assayd; the load runs on the same machine",
            "command": f"bench/limits_load.py {build}",
            "note": "judge processor time by a release build: without optimisation parsing is slow",
            "machine": {"cores": os.cpu_count(), "usable": len(os.sched_getaffinity(0)),
                        "load_average_before": os.getloadavg()[0], "kernel": platform.release()},
            "build": pathlib.Path(build).name,
            "large_body": large_body(service),
            "saturated": saturated(service, secret),
            "silent": silent_connections(service),
        }  # fmt: skip
    text = json.dumps(result, indent=1)
    print(text)
    if out:
        pathlib.Path(out).write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
