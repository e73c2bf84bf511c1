# SPDX-License-Identifier: Apache-2.0
"""A service that knows simulated nodes, who may enrol them, and the node agent as a process of a test's own."""
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request

import harness

LOCATION = "pvc://inference/models"  # of the model that tests publish
VOLUME = "pv-models"  # behind that claim
SLOW = 240  # seconds that one step may take: a busy machine compiles kernels for over a minute


def wait_until(what, condition, limit=SLOW):
    """As in harness, with the time that a step on a busy machine may take."""
    return harness.wait_until(what, condition, limit)


def tensor_file(size):
    """A safetensors file with one tensor of `size` bytes."""
    header = json.dumps({"layer.0.weight": {"dtype": "U8", "shape": [size],
                                            "data_offsets": [0, size]}}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + bytes(i % 251 for i in range(size))


MODEL = {"config.json": b'{"layers": 1}\n', "model.safetensors": tensor_file(3_000_000)}


class NodeService(harness.Service):
    """With a worker for each of two nodes, an admission listener, and the simulator's anchor."""

    def __init__(self, trusted=True, **config):
        self.trusted = trusted
        config.setdefault("admission", {"address": "127.0.0.1", "port": 0,
                                        "client_auth": "required"})
        super().__init__(**config)

    def _extend(self):
        (self.dir / "seed").write_bytes(b"seed of the tests")
        (self.dir / "stranger-seed").write_bytes(b"another seed")
        for name in ("seed", "stranger-seed"):
            self.run("assay", "evidence", "simulate", "--seed", name, "--out-root", f"{name}.pem")
        if self.trusted:
            self.appraisals.append(self.appraisal())
        self.key("author", "author", "paula")
        self.key("approver", "approver", "quentin")
        self.principal("worker-1", "worker")
        self.principal("worker-2", "worker")
        for number in (1, 2):
            self.registrations.append(self.registration(f"node-{number}", f"worker-{number}"))
        self.principal("desk", "policy-author", "policy-approver", "reader")
        self.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=kube-apiserver",
                 "-keyout", "kube.key", "-out", "kube.crt")
        (self.dir / "kube.key").chmod(0o600)
        self.run("assay", "token", "new", "--principal", "kube-apiserver", "--role", "admission",
                 "--certificate", "kube.crt", "--out", "tokens/kube-apiserver.json")

    def appraisal(self, name="appraisal.json", **policy):
        """An appraisal document that takes the simulator's machines; returns its path."""
        made = self.run("assay", "evidence", "simulate", "--seed", "seed", "--out-root",
                        "root.pem", "-o", "json")
        machine = json.loads(made.stdout)
        self.anchor = machine["root"]
        path = self.dir / name
        path.write_text(json.dumps({
            "evidence_type": "tdx",
            "policy": {"reference_values": machine["reference_values"], **policy},
            "dangerous_anchors": [machine["dangerous_anchor"]]}))
        return path

    def registration(self, node, principal, **members):
        """A document that lets the principal enrol the node; its path."""
        name = members.pop("id", node)
        path = self.dir / f"registration-{name}.json"
        path.write_text(json.dumps({"id": name, "node": node, "principal": principal, **members}))
        return path

    def publish(self, name="a", files=None, locations=(LOCATION,)):
        """A model with its manifest and outline in the service; the artifact id."""
        model = self.dir / f"model-{name}"
        model.mkdir()
        for path, content in (files or MODEL).items():
            (model / path).write_bytes(content)
        places = [part for location in locations for part in ("--location", location)]
        self.run("assay", "manifest", "create", str(model), "--name", "acme/demo", *places,
                 "--out", f"{name}.json", "--outline", f"{name}.outline")
        self.run("assay", "sign", f"{name}.json", "--key", "keys/publisher.pem",
                 "--out", f"{name}.signed.json")
        self.run("assay", "push", f"{name}.signed.json", "--outline", f"{name}.outline", token="ci")
        statement = json.loads((self.dir / f"{name}.json").read_text())
        return "assay-tree-v1-sha256:" + statement["subject"][0]["digest"]["assay-tree-v1-sha256"]

    def place(self, node, name="a"):
        """The model's copy on a node; its directory."""
        claim = self.claim_on(node)
        self.run("rm", "-rf", str(claim))
        self.run("cp", "-r", f"model-{name}", str(claim))
        return claim

    def claim_on(self, node):
        """Where a node has the claim of the models mounted."""
        claim = self.dir / f"claims-{node}" / "models"
        claim.mkdir(parents=True, exist_ok=True)
        return claim

    def worker(self, node="node-1", principal="worker-1", server=None, **options):
        return Worker(self, node, principal, server, **options)

    def new_job(self, artifact, node="node-1", **members):
        body = json.dumps({"artifact": artifact, "node": node, "location": LOCATION, **members})
        status, job = self.request("POST", "/v1/jobs", body)
        if status not in (200, 201):
            raise AssertionError(f"no job: {status} {job}")
        return job["id"]

    def job(self, job):
        status, view = self.request("GET", f"/v1/jobs/{job}")
        if status != 200:
            raise AssertionError(f"no job: {status} {view}")
        return view

    def finished(self, job):
        """The job once it is done."""
        def look():
            view = self.job(job)
            return view if view["result"] else None
        return wait_until(f"job {job}", look)

    def activate(self, policy):
        """Publishes and activates a policy document."""
        name = f"{policy['name']}-{policy['version']}"
        (self.dir / f"{name}.json").write_text(json.dumps(policy))
        self.run("assay", "sign", f"{name}.json", "--key", "keys/author.pem",
                 "--out", f"{name}.signed.json")
        pushed = self.run("assay", "push", f"{name}.signed.json", token="desk")
        self.run("assay", "policy", "activate", pushed.stdout.strip(),
                 "--without-tests", "--key", "keys/approver.pem", token="desk")

    def change_trust(self, *options):
        """A change of trust, signed by both operators."""
        self.run("assay", "trust", "change", *options, "--sequence", "auto",
                 "--out", "change.json", token="admin")
        self.push_change()

    def push_change(self):
        """Signs change.json as both operators and submits it."""
        self.run("assay", "sign", "change.json", "--key", "keys/operator-1.pem",
                 "--key", "keys/operator-2.pem", "--out", "change.signed.json")
        self.run("assay", "trust", "push", "change.signed.json", token="admin")

    def ask(self, review):
        """What the admission webhook says about a review of deploy/demo/pod.py: allowed, message."""
        (self.dir / "review.json").write_text(json.dumps(review))
        admission = f"https://127.0.0.1:{self.ready['admission_port']}"
        done = self.run("assay", "admission", "test", "-f", "review.json", "--server", admission,
                        "--cert", "kube.crt", "--cert-key", "kube.key", check=False)
        if done.returncode not in (0, 1):
            raise AssertionError(done.stdout + done.stderr)
        return done.returncode == 0, done.stdout + done.stderr

    def records(self, **query):
        """Log records by type and subject, oldest first."""
        text = "&".join(f"{name}={value}" for name, value in query.items())
        status, page = self.request("GET", f"/v1/audit/events?limit=1000&{text}")
        if status != 200:
            raise AssertionError(f"no events: {status} {page}")
        return page["items"]


class Worker:
    """`assay worker run` with its event lines. Use as a context manager."""

    def __init__(self, service, node, principal, server=None, evidence="simulate", seed="seed",
                 device="cpu", options=()):
        env = dict(service.env, ASSAY_TOKEN_FILE=f"tokens/{principal}")
        if server:
            env["ASSAY_SERVER"] = server
        command = ["assay", "worker", "run", "--node", node,
                   "--map", f"{LOCATION}={service.claim_on(node)},volume={VOLUME}",
                   "--evidence", evidence, "--device", device, "-o", "json", *options]
        if evidence == "simulate":
            command += ["--simulator-seed", seed]
        self.events, self.errors, self.lock = [], "", threading.Condition()
        self.process = subprocess.Popen(command, cwd=service.dir, env=env, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.threads = [threading.Thread(target=target, daemon=True)
                        for target in (self._read, self._read_errors)]
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def _read(self):
        for line in self.process.stdout:
            with self.lock:
                self.events.append(json.loads(line))
                self.lock.notify_all()
        with self.lock:
            self.lock.notify_all()

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def wait(self, event, **members):
        """The first event of this name with these members."""
        deadline = time.monotonic() + SLOW
        seen = 0
        with self.lock:
            while True:
                for item in self.events[seen:]:
                    if item["event"] == event and members.items() <= item.items():
                        return item
                seen = len(self.events)
                if not self.threads[0].is_alive() and seen == len(self.events):
                    self.threads[1].join(SLOW)  # what it said last comes on its own pipe
                    raise AssertionError(f"ended without {event} {members}: {self}")
                if not self.lock.wait(min(1, max(0.01, deadline - time.monotonic()))) \
                        and time.monotonic() > deadline:
                    raise AssertionError(f"no event {event} {members}: {self}")

    def signal(self, number=signal.SIGTERM):
        os.kill(self.process.pid, number)

    def kill(self):
        """SIGKILL, and gone."""
        self.process.kill()
        self.process.wait()

    def end(self):
        """The exit status, once it ends."""
        status = self.process.wait(timeout=SLOW)
        for thread in self.threads:
            thread.join()
        return status

    def stop(self):
        self.signal()
        return self.end()

    def metrics(self):
        port = self.wait("started")["metrics_port"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))}

    def __str__(self):
        return json.dumps(self.events, indent=1) + "\n" + self.errors
