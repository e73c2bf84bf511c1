#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch model on a GPU from its registration to the decision at serve: a real assayd, a real node
agent, a process that serves.

Usage: bench/gpu_instance.py --bin DIR [--gib N] [--seconds N] [--device cuda|cpu] [--json FILE]

The process runs a decode-like loop (all weights once a step). Measured: registration, the job
(SHA-256 of all weights in place), steps a second without and with the watch (tags of everything once
a period), and the time from one flipped byte to the denied decision. Ends with 1 when the flipped
byte is not found, or the wrong tensor is named.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
NODE, TENSOR, BYTE = "node-1", "layers.1.weight", 1_234_567
POLICY = {
    "name": "loaded", "version": 1, "mode": "enforce", "match": {"accelerators": "any"},
    "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}},
                {"id": "loaded", "report": {"scope": "device-memory"}}]}


# --- the process that serves

def build(torch, gib, device):
    """Square bf16 matrices, `gib` GiB in all."""
    wide = 8192 if gib >= 1 else 2048
    count = max(2, int(gib * (1 << 30)) // (2 * wide * wide))
    torch.manual_seed(7)
    layers = torch.nn.ModuleList(torch.nn.Linear(wide, wide, bias=False, dtype=torch.bfloat16, device=device)
                                 for _ in range(count))
    return torch.nn.ModuleDict({"layers": layers})


def serve(options):
    """Reads commands, one a line: artifact ID, loop SECONDS, flip, state. Answers one line of JSON."""
    sys.path[:0] = [str(ROOT / "python/src")]
    import torch

    import assay

    def say(**members):
        print(json.dumps(members), flush=True)

    model = build(torch, options.gib, options.device)
    x = torch.ones(1, model["layers"][0].in_features, dtype=torch.bfloat16, device=options.device)

    def sync():
        if options.device == "cuda":
            torch.cuda.synchronize()

    def steps(seconds):
        taken, end = [], time.monotonic() + seconds
        with torch.no_grad():
            while time.monotonic() < end:
                start, y = time.monotonic(), x
                for layer in model["layers"]:
                    y = layer(y).clamp(-1, 1)
                sync()
                taken.append(time.monotonic() - start)
        taken.sort()
        return {"steps_per_second": round(len(taken) / sum(taken), 2),
                "p99_ms": round(1000 * taken[int(0.99 * (len(taken) - 1))], 2), "steps": len(taken)}

    say(bytes=sum(p.numel() * p.element_size() for p in model.parameters()),
        device=torch.cuda.get_device_name() if options.device == "cuda" else "cpu")
    registration = None
    for line in sys.stdin:
        word, _, argument = line.strip().partition(" ")
        if word == "save":
            from safetensors.torch import save_file
            save_file({name: p.detach().cpu() for name, p in model.named_parameters()}, argument)
            say(saved=argument)
        elif word == "artifact":
            start = time.monotonic()
            registration = assay.register(model, artifact=argument, socket=options.socket)
            kinds = {}
            for piece in registration._link._plan.pieces:
                kinds[piece.kind] = kinds.get(piece.kind, 0) + 1
            say(seconds=round(time.monotonic() - start, 3), pieces=kinds)
        elif word == "loop":
            say(**steps(float(argument)))
        elif word == "flip":
            with torch.no_grad():
                model["layers"][1].weight.view(torch.uint8).view(-1)[BYTE] ^= 1
            sync()
            say(at=time.time())
        elif word == "state":
            say(state=registration.state, findings=[[f.kind, f.tensor] for f in registration.findings])


class Server:
    """That process, asked over its standard input."""

    def __init__(self, options, socket):
        env = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
        command = [sys.executable, __file__, "--serve", "--gib", str(options.gib), "--device", options.device,
                   "--socket", str(socket)]
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the serving process ended")
        return json.loads(line)

    def ask(self, line):
        self.tell(line)
        return self.answer()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


# --- the service and its node agent

def publish(service, model):
    """A manifest of the tensors, hashed on the same device; the artifact id."""
    service.run("assay", "manifest", "create", str(model), "--name", "acme/demo", "--objects", "both",
                "--location", "pvc://inference/models", "--out", "a.json")
    service.run("assay", "sign", "a.json", "--key", "keys/publisher.pem", "--out", "a.signed.json")
    service.run("assay", "push", "a.signed.json", token="ci")
    statement = json.loads((service.dir / "a.json").read_text())
    return "assay-tree-v1-sha256:" + statement["subject"][0]["digest"]["assay-tree-v1-sha256"]


def decision(service, artifact):
    done = service.run("assay", "decide", "--model", artifact, "--point", "serve", "--node", NODE, "--resource",
                       "nvidia.com/gpu", "-o", "json", token="ci", check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.returncode == 0, done.stdout


def wait_for(service, artifact, allowed, limit=120):
    """Asks until the answer is this one; the moment of that answer and its text."""
    end = time.time() + limit
    while time.time() < end:
        now, said = decision(service, artifact)
        if now == allowed:
            return time.time(), said
    raise SystemExit(f"no {'allow' if allowed else 'deny'} within {limit} s: {said}")


def measure(options):
    os.environ["ASSAY_BIN"] = str(options.bin)
    sys.path[:0] = [str(ROOT / "tests/e2e")]
    import nodes

    with nodes.NodeService() as service, tempfile.TemporaryDirectory(dir=options.folder) as folder:
        socket, model = service.dir / "register.sock", pathlib.Path(folder) / "model"
        model.mkdir()
        server = Server(options, socket)
        found = server.answer()
        server.ask(f"save {model / 'model.safetensors'}")
        artifact = publish(service, model)
        service.activate(POLICY)
        flags = ("--register-socket", str(socket), "--register-uid", str(os.getuid()))
        with service.worker(device="opencl" if options.device == "cuda" else "cpu", options=flags) as worker:
            worker.wait("enrolled")
            found["loop_alone"] = server.ask(f"loop {options.seconds}")
            found["registration"] = server.ask(f"artifact {artifact}")
            start = time.monotonic()
            done = service.run("assay", "job", "new", artifact, "--node", NODE, "--instance", "main", "--wait",
                               "-o", "json", token="ci", check=False)
            job = json.loads(done.stdout)
            found["job_seconds"] = round(time.monotonic() - start, 3)
            found["result"] = job["result"]
            found["memory"] = job["detail"].get("memory")
            found["hashed_on"] = job["detail"].get("device")
            found["detail"] = {name: job["detail"].get(name) for name in ("started_at", "finished_at", "bytes")}
            wait_for(service, artifact, True)
            found["loop_watched"] = server.ask(f"loop {options.seconds}")
            server.tell(f"loop {options.seconds}")  # the flip comes while nothing else is asked
            server.answer()
            flipped = server.ask("flip")["at"]
            denied, said = wait_for(service, artifact, False)
            found["flip_to_denied_seconds"] = round(denied - flipped, 3)
            found["denied_with"] = [code for code in ("instance-violated", "model-mismatch") if code in said]
            found["owner"] = server.ask("state")
        server.process.kill()
        server.process.wait()
    found["found"] = found["owner"]["state"] == "violated" and found["owner"]["findings"][0][1] == TENSOR
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="assay and assayd")
    parser.add_argument("--gib", type=float, default=8)
    parser.add_argument("--seconds", type=float, default=10, help="of each loop")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--folder", help="for the model's file")
    parser.add_argument("--commit", default="")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--socket", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options)
    found = {"commit": options.commit, "command": " ".join(["bench/gpu_instance.py", *sys.argv[1:]]),
             **measure(options)}
    text = json.dumps(found, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    return 0 if found["found"] and found["result"] == "verified" else 1


if __name__ == "__main__":
    sys.exit(main())
