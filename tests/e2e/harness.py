# SPDX-License-Identifier: Apache-2.0
"""A service in a temporary directory, made and used with the command line and plain HTTPS alone."""
import http.client
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("ASSAY_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("ASSAY_BIN", ROOT / "build/release/bin"))
sys.path.insert(0, str(ROOT / "tests" / "support"))

import seen_codes  # noqa: E402

LIFECYCLE = "https://assay.dev/lifecycle/v1"

CONFIG = {
    "api": {"address": "127.0.0.1", "port": 0},
    "tls": {"certificate_file": "tls.crt", "private_key_file": "tls.key"},
    "store": {"kind": "sqlite", "path": "assay.db"},
    "anchor_file": "anchor",
    "log": {"origin": "e2e.example/log", "key_file": "log.pem"},
    "service_key_file": "service.pem",
    "ready_file": "ready.json",
}


def wait_until(what, condition, limit):
    """Looks again and again, for `limit` seconds, until `condition` gives something; returns it.

    For the state of another process, which gives no event: a service answers only who asks.
    """
    deadline = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {limit} s: {what}")
        time.sleep(0.02)


class Service:
    """Owns the directory, the keys and the process. Use as a context manager."""

    compares = True  # answers with /openapi.json; measurements do without
    _document = None  # the same of every service

    def __init__(self, **config):
        """`config` adds to CONFIG, or replaces members of it."""
        self.config = {**CONFIG, **config}
        self.appraisals = []  # files for the bootstrap
        self.registrations = []  # likewise
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="assay-e2e-"))
        self.process = None
        self.env = {
            "PATH": f"{BIN}:/usr/bin:/bin",
            "HOME": str(self.dir / "home"),
            "XDG_CACHE_HOME": str(self.dir / "cache"),
            "POCL_CACHE_DIR": os.environ.get("ASSAY_TEST_POCL_CACHE", str(self.dir / "cache/pocl")),
            "LC_ALL": "C.UTF-8",
        }
        for name in ("home", "cache/pocl", "keys", "tokens", "service"):
            (self.dir / name).mkdir(parents=True)
        os.umask(0o077)

    def __enter__(self):
        try:
            self._make()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.dir)

    def run(self, *command, check=True, token=None):
        """Runs a command in the directory; returns the finished process, output as text."""
        env = dict(self.env)
        if token is not None:
            env["ASSAY_TOKEN_FILE"] = f"tokens/{token}"
        done = subprocess.run(
            command, cwd=self.dir, env=env, text=True, capture_output=True, timeout=120
        )
        seen_codes.note(done.stdout + "\n" + done.stderr)
        if check and done.returncode != 0:
            raise AssertionError(f"exit {done.returncode} from {command}\n{done.stdout}{done.stderr}")
        return done

    def key(self, name, purpose, identity, *options, algorithm="ed25519"):
        self.run("assay", "key", "new", "--algorithm", algorithm, "--out", f"keys/{name}.pem")
        self.run("assay", "key", "describe", f"keys/{name}.pem.pub", "--purpose", purpose,
                 "--identity", identity, "--not-after", "2099-01-01T00:00:00Z",
                 "--out", f"keys/{name}.json", *options)

    def principal(self, name, *roles):
        options = [part for role in roles for part in ("--role", role)]
        self.run("assay", "token", "new", "--principal", name, *options,
                 "--token-out", f"tokens/{name}", "--out", f"tokens/{name}.json")

    def _extend(self):
        """More keys, principals, appraisals and registrations, before the service is made."""

    def _make(self):
        self.key("operator-1", "operator", "olga")
        self.key("operator-2", "operator", "omar")
        self.key("publisher", "publisher", "release", "--namespace", "acme")
        self.key("evaluator", "signer", "eva", "--role", f"evaluate:{LIFECYCLE}:acme")
        self.principal("admin", "admin")
        self.principal("ci", "submitter", "reader", "decider", "auditor")
        self.principal("nobody", "worker")
        self._extend()
        keys = [part for path in sorted(self.dir.glob("keys/*.json"))
                for part in ("--key", str(path))]
        principals = [part for path in sorted(self.dir.glob("tokens/*.json"))
                      for part in ("--principal", str(path))]
        appraisals = [part for path in self.appraisals for part in ("--appraisal", str(path))]
        registrations = [part for path in self.registrations for part in ("--register", str(path))]
        self.run("assay", "trust", "bootstrap", *keys, *principals, *appraisals, *registrations,
                 "--out", "service/bootstrap.json")
        (self.dir / "service/assayd.json").write_text(json.dumps(self.config))
        made = self.run("assayd", "init", "--config", "service/assayd.json",
                        "--bootstrap", "service/bootstrap.json")
        (self.dir / "log.vkey").write_text(json.loads(made.stdout)["log_verifier_key"] + "\n")

    def start(self, *prefix):
        """`prefix` is a command that runs the service."""
        ready = self.dir / "service/ready.json"
        ready.unlink(missing_ok=True)
        with open(self.dir / "assayd.log", "ab") as log:
            self.process = subprocess.Popen(
                [*prefix, "assayd", "run", "--config", "service/assayd.json"],
                cwd=self.dir, env=self.env, stdout=log, stderr=log)
        wait_until("assayd starts", lambda: ready.exists() or self.process.poll() is not None, 60)
        if not ready.exists():
            raise AssertionError("assayd did not start:\n" + self.log_tail())
        self.ready = json.loads(ready.read_text())
        self.port = self.ready["api_port"]
        self.env["ASSAY_SERVER"] = f"https://127.0.0.1:{self.port}"
        self.env["ASSAY_CA"] = "service/tls.crt"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def log_tail(self):
        return (self.dir / "assayd.log").read_text()[-3000:]

    def token(self, name):
        return (self.dir / "tokens" / name).read_text().strip()

    def connect(self):
        context = ssl.create_default_context(cafile=str(self.dir / "service/tls.crt"))
        context.check_hostname = False
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=30)

    def request(self, method, path, body=None, token="ci", connection=None, content_type=None):
        """Returns (status, parsed JSON or None)."""
        own = connection is None
        connection = connection or self.connect()
        headers = {"Authorization": f"Bearer {self.token(token)}"} if token else {}
        if body is not None:
            headers["Content-Type"] = content_type or "application/json"
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            seen_codes.note(data.decode("utf-8", "replace"))
            if self.compares:
                self._compare(method, path, answer, data)
            try:
                return answer.status, json.loads(data)
            except ValueError:
                return answer.status, None
        finally:
            if own:
                connection.close()

    def _compare(self, method, path, answer, data):
        """Every answer is as the service's own document says."""
        import documented  # needs a package that benchmarks on GPU machines go without

        if Service._document is None:
            connection = self.connect()
            try:
                connection.request("GET", "/openapi.json")
                Service._document = documented.Document(json.loads(connection.getresponse().read()))
            except (OSError, http.client.HTTPException):
                return  # a service that is killed meanwhile
            finally:
                connection.close()
        problem = Service._document.problem(method, path, answer.status,
                                            answer.getheader("Content-Type", ""), data)
        if problem:
            raise AssertionError(f"{method} {path}: not as /openapi.json says: {problem}")

    def tree_size(self):
        return self.request("GET", "/v1/log/checkpoint")[1]["tree_size"]

    def manifest(self, name="a", files=None):
        """Makes a model with `files`, signs its manifest; returns the envelope's bytes."""
        model = self.dir / f"model-{name}"
        model.mkdir()
        for path, content in (files or {"config.json": name.encode()}).items():
            (model / path).write_bytes(content)
        self.run("assay", "manifest", "create", str(model), "--name", "acme/demo",
                 "--out", f"{name}.json")
        self.run("assay", "sign", f"{name}.json", "--key", "keys/publisher.pem",
                 "--out", f"{name}.signed.json")
        return (self.dir / f"{name}.signed.json").read_bytes()

    def verify_log(self, *options):
        """Mirrors the log and verifies the copy."""
        self.run("assay", "log", "mirror", "mirror", "--verifier-key-file", "log.vkey", token="ci")
        self.run("assay", "log", "verify", "mirror", "--verifier-key-file", "log.vkey", *options)
