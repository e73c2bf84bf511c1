# SPDX-License-Identifier: Apache-2.0
"""A tiny HTTPS server with answers that a test sets, and its throw-away certificates."""
import datetime
import http.server
import ipaddress
import json
import ssl
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make_certificate(path, name="localhost", days=1):
    """A self-signed certificate for localhost and 127.0.0.1: path.crt and path.key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.utcnow()
    names = [x509.DNSName(name)]
    if name == "localhost":
        names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    with open(f"{path}.crt", "wb") as stream:
        stream.write(pem)
    with open(f"{path}.key", "wb") as stream:
        stream.write(key.private_bytes(serialization.Encoding.PEM,
                                       serialization.PrivateFormat.PKCS8,
                                       serialization.NoEncryption()))  # fmt: skip


class Answer:
    """What to say: a status, a body (JSON unless bytes), a type, more headers."""

    def __init__(self, status=200, body=None, content_type=None, headers=(), cut=False):
        self.status = status
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.content_type = content_type or "application/json"
        self.headers = dict(headers)
        self.cut = cut  # close the connection without an answer


def problem(status, code, detail="because", **members):
    body = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail,
            "request_id": "req-1", **members}  # fmt: skip
    return Answer(status, body, "application/problem+json")


class Server:
    """`answers` maps "METHOD /path" (without the query) to an Answer, to a function that makes one of
    the body, or to a list of these used in turn."""

    def __init__(self, certificate, client_ca=None, maximum=None):
        self.answers = {}
        self.requests = []  # (method, target, headers, body)
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def reply(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                owner.requests.append((self.command, self.path, dict(self.headers), body))
                answer = owner.find(f"{self.command} {self.path.split('?')[0]}", body)
                if answer.cut:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(answer.body)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_PATCH = do_POST = do_PUT = reply

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{certificate}.crt", f"{certificate}.key")
        if client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_ca)
        if maximum:
            context.maximum_version = maximum

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # refused handshakes are what some tests are about

            def get_request(self):
                connection, address = super().get_request()
                connection.settimeout(30)
                return context.wrap_socket(connection, server_side=True,
                                           do_handshake_on_connect=False), address  # fmt: skip

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def find(self, key, body):
        answer = self.answers.get(key)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if callable(answer):
            answer = answer(body)
        return answer or problem(404, "not-found", "there is nothing here")

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
