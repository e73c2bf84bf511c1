# SPDX-License-Identifier: Apache-2.0
"""A test with a small HTTPS server of its own, and the options that lead to it."""
import harness
from tls_server import Server, make_certificate

TOKEN = "assay_" + "A" * 43


class TestCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        make_certificate(self.dir / "server")
        self.server = self.serve("server")
        self.write("token", TOKEN + "\n").chmod(0o600)
        self.to = ("--server", f"https://localhost:{self.server.port}", "--ca", "server.crt",
                   "--token-file", "token")  # fmt: skip

    def serve(self, certificate, **options):
        server = Server(str(self.dir / certificate), **options)
        self.addCleanup(server.close)
        return server

    def answer(self, method, path, *answers):
        self.server.answers[f"{method} {path}"] = list(answers)
