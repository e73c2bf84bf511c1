# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes control plane on loopback: etcd, API server, controller manager and scheduler, each
a process of the program that build.sh makes. There is no kubelet: nodes are objects that a test
creates, and no container ever runs.
"""
import http.client
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import time

KUBE = os.environ.get("ASSAY_KUBE", "")
# What may take long on a loaded machine.
PATIENCE = 90

# User -> groups. The token of a user is the name with "-token", without colons.
USERS = {
    "admin": ["system:masters"],
    "system:kube-scheduler": [],
    "system:kube-controller-manager": [],
}
# Those that move pods away from nodes without a kubelet, and those that need a cloud.
CONTROLLERS_OFF = ("node-lifecycle-controller", "node-ipam-controller", "node-route-controller",
                   "service-lb-controller", "cloud-node-lifecycle-controller")
AUDITED = [
    {"group": "", "resources": ["pods", "pods/binding", "bindings", "pods/ephemeralcontainers",
                                "pods/status"]},
    {"group": "apps"},
    {"group": "batch"},
]
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def free_ports(count):
    """Ports that nobody listens on now. Another process may take one before it is used."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def until(what, look, limit=PATIENCE, pause=0.05):
    """Looks again and again until `look` gives something; returns it."""
    deadline = time.monotonic() + limit
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {limit} s: {what}")
        time.sleep(pause)


def token_of(user):
    return user.replace(":", "-") + "-token"


class Answer:
    """What the API server said: status, body (JSON, or text), warnings."""

    def __init__(self, status, body, warnings):
        self.status, self.body, self.warnings = status, body, warnings

    @property
    def ok(self):
        return self.status < 300

    @property
    def message(self):
        return self.body.get("message", "") if isinstance(self.body, dict) else str(self.body)

    def __str__(self):
        return f"{self.status} {self.message or str(self.body)[:300]} {self.warnings}"


class ControlPlane:
    """Use as a context manager.

    `certificate` and `key` are what the API server shows to webhooks; `managers` says whether
    controllers and a scheduler run as well.
    """

    def __init__(self, certificate, key, managers=True):
        self.certificate, self.key, self.managers = certificate, key, managers
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="assay-kube-"))
        self.etcd_port, self.peer_port, self.port = free_ports(3)
        self.processes = {}

    def __enter__(self):
        try:
            self._write_files()
            self._start_etcd()
            self.start_api_server()
            if self.managers:
                self._start_managers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # etcd last: an API server without one waits for it.
        for part in ("scheduler", "controller-manager", "apiserver", "etcd"):
            self._stop(part)
        shutil.rmtree(self.dir)

    # Processes

    def _start(self, part, *options):
        with open(self.dir / f"{part}.log", "ab") as log:
            self.processes[part] = subprocess.Popen(
                [KUBE, part, *options], cwd=self.dir, stdout=log, stderr=log,
                env={**ENV, "HOME": str(self.dir)})

    def _stop(self, part):
        process = self.processes.pop(part, None)
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _ended(self, part):
        """Raises when the part is gone."""
        if self.processes[part].poll() is not None:
            raise AssertionError(f"{part} ended:\n" + self.log(part))

    def log(self, part):
        return (self.dir / f"{part}.log").read_text()[-3000:]

    def _start_etcd(self):
        urls = [f"http://127.0.0.1:{port}" for port in (self.etcd_port, self.peer_port)]
        self._start("etcd", str(self.dir / "etcd"), *urls)

        def listens():
            self._ended("etcd")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.etcd_port)) == 0
        until("etcd listens", listens)

    def start_api_server(self):
        self._start(
            "apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            "--bind-address=127.0.0.1", f"--secure-port={self.port}", "--cert-dir=pki",
            "--endpoint-reconciler-type=none",  # refuses loopback addresses
            "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=Node,RBAC",
            "--token-auth-file=tokens.csv", "--allow-privileged=true",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=sa.pub", "--service-account-signing-key-file=sa.key",
            "--admission-control-config-file=admission.json",
            "--audit-policy-file=audit.json", "--audit-log-path=audit.log")

        def ready():
            self._ended("apiserver")
            try:
                return self.request("GET", "/readyz").status == 200
            except (OSError, http.client.HTTPException):
                return False
        until("the API server is ready", ready)

    def stop_api_server(self):
        self._stop("apiserver")

    def _start_managers(self):
        common = ("--leader-elect=false", "--secure-port=0")
        self._start(
            "controller-manager", *common, "--use-service-account-credentials=true",
            f"--kubeconfig={self._kubeconfig('system:kube-controller-manager')}",
            "--service-account-private-key-file=sa.key", "--root-ca-file=pki/apiserver.crt",
            "--controllers=*," + ",".join("-" + name for name in CONTROLLERS_OFF))
        self._start("scheduler", *common, f"--kubeconfig={self._kubeconfig('system:kube-scheduler')}")

    # Files

    def _write_files(self):
        for command in (("genrsa", "-out", "sa.key", "2048"),
                        ("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")):
            subprocess.run(["openssl", *command], cwd=self.dir, check=True, capture_output=True)
        self._write("tokens.csv", "".join(f'{token_of(user)},{user},{user},"{",".join(groups)}"\n'
                                          for user, groups in USERS.items()))
        # The user called "*" is who the API server is to every webhook.
        self._write("webhooks.json", {
            "apiVersion": "v1", "kind": "Config",
            "users": [{"name": "*", "user": {"client-certificate": str(self.certificate),
                                             "client-key": str(self.key)}}]})
        webhooks = {"apiVersion": "apiserver.config.k8s.io/v1",
                    "kind": "WebhookAdmissionConfiguration",
                    "kubeConfigFile": str(self.dir / "webhooks.json")}
        self._write("admission.json", {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
            "plugins": [{"name": name, "configuration": webhooks} for name in
                        ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook")]})
        self._write("audit.json", {
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "rules": [{"level": "Metadata", "resources": AUDITED}, {"level": "None"}]})

    def _write(self, name, content):
        text = content if isinstance(content, str) else json.dumps(content)
        (self.dir / name).write_text(text)

    def _kubeconfig(self, user):
        name = user.replace(":", "-") + ".kubeconfig"
        self._write(name, {
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": f"https://127.0.0.1:{self.port}",
                "certificate-authority": str(self.dir / "pki/apiserver.crt")}}],
            "users": [{"name": "test", "user": {"token": token_of(user)}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]})
        return self.dir / name

    # Use

    def kubectl(self, *arguments, text=None):
        """The finished process; `text` is its standard input."""
        command = [KUBE, "kubectl", "--kubeconfig", str(self._kubeconfig("admin")), *arguments]
        return subprocess.run(command, input=text, text=True, capture_output=True, timeout=120,
                              env={**ENV, "HOME": str(self.dir)})

    def request(self, method, path, body=None, user="admin", content_type="application/json", token=None):
        """`token` is that of somebody else than the users of this file."""
        trust = ssl.create_default_context(cafile=str(self.dir / "pki/apiserver.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=trust, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Authorization": "Bearer " + (token or token_of(user)),
                                "Content-Type": content_type})
            answer = connection.getresponse()
            data = answer.read()
            warnings = answer.headers.get_all("Warning") or []
            try:
                return Answer(answer.status, json.loads(data), warnings)
            except ValueError:
                return Answer(answer.status, data.decode(), warnings)
        finally:
            connection.close()

    def audit(self):
        """Events of the audit log, oldest first."""
        return [json.loads(line) for line in (self.dir / "audit.log").read_text().splitlines()]
