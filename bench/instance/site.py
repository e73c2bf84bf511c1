# SPDX-License-Identifier: Apache-2.0
"""What stands around the process that serves: a real assayd, a real node agent, a published manifest."""
import contextlib
import http.client
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODE, LOCATION = "node-1", "pvc://inference/models"
POLICY = {
    "name": "loaded", "version": 1, "mode": "enforce", "match": {"accelerators": "any"},
    "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}},
                {"id": "loaded", "report": {"scope": "device-memory"}}]}
OLD = 3600  # seconds: a file that was written just now is hashed again whatever its record says


class Failed(Exception):
    """A part of the benchmark could not be measured."""


class Owner:
    """A process that serves (owner.py), asked over its standard input."""

    def __init__(self, options, socket, rank=0, world=1):
        env = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True", PYTHONUNBUFFERED="1")
        if world > 1 and options.device == "cuda":
            env["CUDA_VISIBLE_DEVICES"] = str(rank)
        command = [sys.executable, str(ROOT / "bench/instance/owner.py"), "--gib", str(options.gib), "--device",
                   options.device, "--socket", str(socket), "--rank", str(rank), "--world", str(world)]
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self._lines, self._asked = queue.Queue(), 0
        threading.Thread(target=self._read, daemon=True).start()
        self.found = self.answer(0, 180)

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self._lines.put(line)
            else:
                sys.stderr.write(line)  # what a library had to say
        self._lines.put(None)

    def answer(self, number, limit=120):
        """The answer to the command of this number; answers that came too late for others are dropped."""
        end = time.monotonic() + limit
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise Failed(f"the serving process did not answer within {limit} s") from None
            if line is None:
                self._lines.put(None)
                raise Failed("the serving process ended")
            answer = json.loads(line)
            if answer.pop("number") != number:
                continue
            if "error" in answer:
                raise Failed("the serving process: " + answer["error"])
            return answer

    def tell(self, do, **arguments):
        """Gives a command; its number."""
        self._asked += 1
        try:
            self.process.stdin.write(json.dumps({"number": self._asked, "do": do, **arguments}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed("the serving process ended") from None
        return self._asked

    def ask(self, do, limit=120, **arguments):
        return self.answer(self.tell(do, **arguments), limit)

    def end(self):
        self.process.kill()
        self.process.wait()


class Site:
    """Use as a context manager."""

    def __init__(self, options):
        self.options, self._stack, self._connection = options, contextlib.ExitStack(), None

    def __enter__(self):
        os.environ["ASSAY_BIN"] = str(self.options.bin)
        sys.path[:0] = [str(ROOT / "tests/e2e")]
        import nodes

        self.service = self._stack.enter_context(nodes.NodeService())
        self.service.compares = False
        self.service.activate(POLICY)
        self.socket = self.service.dir / "register.sock"
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    # Manifests.

    def publish(self, owners):
        """Manifests of the weights as they lie on the devices, pushed with their outlines.

        Returns the artifact of the first owner's tensors alone, and so on, up to that of all owners'.
        """
        names, kept = [f"m{at}" for at in range(len(owners))], self.options.manifest
        if kept and all(pathlib.Path(f"{kept}.{name}.json").exists() for name in names):
            for name in names:
                for end in ("json", "outline"):
                    shutil.copy(f"{kept}.{name}.{end}", self.service.dir / f"{name}.{end}")
        else:
            self._make_manifests(owners, names)
            for name in names if kept else ():
                for end in ("json", "outline"):
                    shutil.copy(self.service.dir / f"{name}.{end}", f"{kept}.{name}.{end}")
        return [self._push(name) for name in names]

    def _push(self, name):
        self.service.run("assay", "sign", f"{name}.json", "--key", "keys/publisher.pem", "--out",
                         f"{name}.signed.json")
        self.service.run("assay", "push", f"{name}.signed.json", "--outline", f"{name}.outline", token="ci")
        subject = json.loads((self.service.dir / f"{name}.json").read_text())["subject"][0]
        return "assay-tree-v1-sha256:" + subject["digest"]["assay-tree-v1-sha256"]

    def _make_manifests(self, owners, names):
        """Files of some GiB are written and hashed one after the other, so that the weights need not fit
        into the machine's memory: a file that was hashed becomes a hole of the same size and time."""
        with tempfile.TemporaryDirectory(dir=self.options.folder) as folder:
            room = 0.4 * shutil.disk_usage(folder).free
            most, old, count = min(self.options.shard_gib * (1 << 30), room), None, 0
            for owner, name in zip(owners, names):
                sizes, first = owner.found["tensor_bytes"], 0
                while first < len(sizes):
                    taken = max(1, int(most // sizes[first]))
                    path = pathlib.Path(folder) / "model" / f"model-{count:05}.safetensors"
                    path.parent.mkdir(exist_ok=True)
                    written = owner.ask("shard", 300, path=str(path), first=first, count=taken)
                    os.utime(path, (time.time() - OLD,) * 2)
                    first, count = first + taken, count + 1
                    new = f"s{count}" if first < len(sizes) else name
                    self._hash_shard(path.parent, new, old)
                    self._empty(path, written)
                    old = new

    def _hash_shard(self, model, new, old):
        reuse = ["--reuse", f"{old}.json", "--reuse-outline", f"{old}.outline", "--trust-mtime"] if old else []
        self.service.run("assay", "manifest", "create", str(model), "--name", "acme/demo", "--objects", "tensors",
                         "--location", LOCATION, "--device", self.options.manifest_device, "--out", f"{new}.json",
                         "--outline", f"{new}.outline", "--record-mtime", *reuse)

    @staticmethod
    def _empty(path, written):
        before = path.stat()
        os.truncate(path, written["header"])
        os.truncate(path, written["bytes"])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    # The node agent.

    @contextlib.contextmanager
    def agent(self, period=2.0, slices=8, check="tags"):
        """`assay worker run` with this plan and --watch-check."""
        options = ["--register-socket", str(self.socket), "--register-uid", str(os.getuid()), "--watch-period",
                   f"{round(1000 * period)}ms", "--watch-slices", str(slices), "--watch-full", "1h",
                   "--watch-check", check]
        device = self.options.agent_device
        with self.service.worker(device=device, options=options) as worker:
            worker.wait("enrolled")
            try:
                yield worker
            except Exception:
                for event in worker.events[-30:]:
                    print("   agent:", json.dumps(event)[:400], file=sys.stderr)
                print(worker.errors[-2000:], file=sys.stderr)
                raise
            worker.stop()

    def job(self, artifact):
        """A job about the instance, done; its result and detail."""
        start = time.monotonic()
        done = self.service.run("assay", "job", "new", artifact, "--node", NODE, "--instance", "main", "--wait",
                                "-o", "json", token="ci", check=False)
        try:
            job = json.loads(done.stdout)
        except ValueError:
            raise Failed(f"no job: {done.stdout}{done.stderr}") from None
        return dict(job, waited=round(time.monotonic() - start, 3))

    def verified(self, artifact):
        """A job that verifies, and the allow at serve that follows."""
        job = self.job(artifact)
        if job["result"] != "verified":
            raise Failed(f"the job said {job['result']}: {json.dumps(job['detail'])[:800]}")
        self.wait_for(artifact, True)
        return job

    # Decisions.

    def decide(self, artifact):
        """Whether the model may serve on the node, and why not, by the REST API."""
        body = json.dumps({"point": "serve", "dry_run": False, "node": NODE, "model": artifact,
                           "workload": {"resources": ["nvidia.com/gpu"]}})
        for attempt in range(2):  # the service closes connections that were idle
            try:
                if self._connection is None:
                    self._connection = self.service.connect()
                status, answer = self.service.request("POST", "/v1/decisions", body,
                                                      connection=self._connection)
                break
            except (OSError, http.client.HTTPException):
                self._connection = None
                if attempt:
                    raise
        if status != 200 or not answer.get("decision"):
            raise Failed(f"no decision: {status} {answer}")
        verdict = answer["decision"]["verdict"]
        return verdict["allowed"], verdict["reasons"]

    def wait_for(self, artifact, allowed, limit=60):
        """Asks until the answer is this one; the moment of that answer and its reasons."""
        end = time.time() + limit
        while time.time() < end:
            now, reasons = self.decide(artifact)
            if now == allowed:
                return time.time(), reasons
            time.sleep(0.005)
        raise Failed(f"no {'allow' if allowed else 'deny'} within {limit} s: {reasons}")


# --- what processes use

def tree(pid):
    """A process and those below it."""
    found = [pid]
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found += tree(int(child))
    return found


def names(pids):
    """Pairs of a process and how it was started."""
    for pid in pids:
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            yield pid, f"{pid} " + " ".join(word.decode(errors="replace") for word in words[1:4])


def passes(agent):
    """Where the time of the full passes of a node agent went, so far."""
    return [{name: event[name] for name in event if name.endswith("_seconds") or name in ("device", "bytes")}
            for event in list(agent.events) if event.get("event") == "memory-hashed"]


def resident_mib(pids):
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    total += int(line.split()[1])
    return total // 1024


class Gpu:
    """What the driver says of the first GPU, through NVML; nothing where that is missing."""

    def __init__(self):
        self._nvml = None
        with contextlib.suppress(Exception):
            import pynvml

            pynvml.nvmlInit()
            self._nvml, self._device = pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)

    def driver(self):
        version = self._nvml.nvmlSystemGetDriverVersion() if self._nvml else None
        return version.decode() if isinstance(version, bytes) else version

    def used_mib(self):
        return self._nvml.nvmlDeviceGetMemoryInfo(self._device).used >> 20 if self._nvml else None

    def used_by_mib(self, pids):
        if not self._nvml:
            return None
        return sum((one.usedGpuMemory or 0) >> 20 for one in
                   self._nvml.nvmlDeviceGetComputeRunningProcesses(self._device) if one.pid in pids)
