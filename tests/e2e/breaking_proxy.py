# SPDX-License-Identifier: Apache-2.0
"""An HTTPS proxy between a worker and the service that does something at one step of their talk."""
import http.client
import http.server
import re
import ssl
import threading

# The steps of a job, in the order in which a worker makes them.
STEPS = {
    "challenge": r"POST /v1/challenges$",
    "enrol": r"POST /v1/nodes$",
    "lease": r"POST /v1/nodes/[^/]+/lease",
    "manifest": r"GET /v1/manifests\?",
    "report": r"POST /v1/jobs/[^/]+/report",
    "outline": r"POST /v1/jobs/[^/]+/outline",
    "spot": r"POST /v1/jobs/[^/]+/spot",
    "heartbeat": r"POST /v1/nodes/[^/]+/heartbeat",
}


class BreakingProxy:
    """Passes requests on to `service`, wherever it listens now.

    Calls `act` once, at the first request of `step` whose answer is no empty one: before it is
    passed on (`when` is "before"), or after the service answered and before the worker hears of it
    ("after"). Either way that request gets no answer. `acted` tells that it happened. What `act` is
    can be said later, with arm(): the step waits for it.
    """

    def __init__(self, service, step=None, when="before", act=None):
        self.service, self.when = service, when
        self.armed = threading.Event()
        if act:
            self.arm(act)
        self.pattern = re.compile(STEPS[step]) if step else None
        self.acted = threading.Event()
        self.seen = []  # (method and target, status)
        self.lock = threading.Lock()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                answer = owner.handle(f"{self.command} {self.path}", self.command, self.path,
                                      dict(self.headers), body)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, content = answer
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in ("connection", "content-length", "keep-alive"):
                        self.send_header(name, value)
                if status != 204:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = pass_on

            def log_message(self, *_):
                pass

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(service.dir / "service/tls.crt", service.dir / "service/tls.key")

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a killed worker leaves broken connections

            def get_request(self):
                connection, address = super().get_request()
                connection.settimeout(120)
                return tls.wrap_socket(connection, server_side=True,
                                       do_handshake_on_connect=False), address

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def arm(self, act):
        self.act = act
        self.armed.set()

    def strike(self, what):
        """True for the one caller that does it; the step must fit."""
        with self.lock:
            if self.acted.is_set() or not self.pattern or not self.pattern.match(what):
                return False
            self.armed.wait()
            self.act()
            self.acted.set()
            return True

    def handle(self, what, method, path, headers, body):
        # Leases are asked for all the time: only one that brings a job is a step, so those are
        # struck when the answer is known.
        is_lease = self.pattern is not None and self.pattern.pattern == STEPS["lease"]
        if self.when == "before" and not is_lease and self.strike(what):
            return None
        try:
            answer = self.ask(method, path, headers, body)
        except (OSError, http.client.HTTPException):
            return None  # the service is away
        self.seen.append((what, answer[0]))
        if (self.when == "after" or is_lease) and answer[0] < 300 and answer[0] != 204 \
                and self.strike(what):
            return None
        return answer

    def ask(self, method, path, headers, body):
        connection = self.service.connect()
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()
