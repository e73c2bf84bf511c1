#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models as servers hold them, from their files to the decision at serve: a real assayd, a real node agent, PyTorch.

Usage: bench/layouts.py --bin DIR [--gb N] [--device cuda] [--agent-device opencl:0] [--kinds NAMES] [--json FILE]

Each kind writes a model as its publisher does, publishes it, loads it as its server does, registers it with the layout
that the package proposes, and has a job verify it in memory. Then one bit of a tensor changes.

  exact    a Llama of transformers in bf16, loaded as it lies in its files
  cast     the same in fp32, loaded as bf16
  experts  a Mixtral of transformers, whose experts are fused while it is loaded
  joined   q, k, v and gate, up of a Llama in bf16 joined as vLLM and SGLang hold them

Prints the rate of the pass over the memory, the time for the expected roots, and what was decided. Ends with 1 when a
model is not verified, or its flipped bit is not found.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python/src"), str(ROOT / "tests/e2e"), str(ROOT / "bench")]

KINDS = ("exact", "cast", "experts", "joined")
POLICY = {
    "name": "loaded", "version": 1, "mode": "enforce", "match": {"accelerators": "any"},
    "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}},
                {"id": "loaded", "report": {"scope": "device-memory", "layouts": ["exact", "recipe"]}}]}


# --- the process that serves


def config_of(kind, gigabytes, transformers):
    """A model of about so many bytes in bf16; small ones have one layer of small matrices."""
    width = 4096 if gigabytes >= 1 else 256
    shape = dict(hidden_size=width, intermediate_size=width * 7 // 2, num_attention_heads=width // 128,
                 num_key_value_heads=max(1, width // 512), vocab_size=8192, tie_word_embeddings=False)
    if kind == "experts":
        layer = 2 * (3 * 8 * width * width * 7 // 2 + 2 * width * width)
        return transformers.MixtralConfig(num_local_experts=8, num_experts_per_tok=2,
                                          num_hidden_layers=max(1, round(gigabytes * 1e9 / layer)), **shape)
    layer = 2 * (3 * width * width * 7 // 2 + 2 * width * width + width * width // 2)
    return transformers.LlamaConfig(num_hidden_layers=max(1, round(gigabytes * 1e9 / layer)), **shape)


def write(kind, folder, gigabytes, device):
    import torch
    import transformers
    config = config_of(kind, gigabytes, transformers)
    torch.manual_seed(11)
    torch.set_default_dtype(torch.float32 if kind == "cast" else torch.bfloat16)
    cls = transformers.MixtralForCausalLM if kind == "experts" else transformers.LlamaForCausalLM
    with torch.device(device):
        cls(config).save_pretrained(folder, max_shard_size="4GB")


def joined(folder, device):
    """Matrices of the files, joined as engines hold them."""
    import torch
    from safetensors.torch import load_file
    tensors = {}
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        tensors.update(load_file(path, device=device))
    for parts, whole in ((("q_proj", "k_proj", "v_proj"), "qkv_proj"), (("gate_proj", "up_proj"), "gate_up_proj")):
        for name in [name for name in tensors if f".{parts[0]}." in name]:
            found = [tensors.pop(name.replace(parts[0], part)) for part in parts]
            tensors[name.replace(parts[0], whole)] = torch.cat(found)
            del found
    return tensors


def load(kind, folder, device):
    import torch
    import transformers
    if kind == "joined":
        return joined(folder, device)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, device_map=device)
    return model.eval()


def serve(options):
    import torch

    import assay
    if options.write:
        write(options.write, options.folder, options.gb, options.device)
        return
    model = load(options.serve, options.folder, options.device)
    tensors = dict(model.state_dict() if hasattr(model, "state_dict") else model)
    start = time.monotonic()
    layout = assay.layout(model, options.artifact, options.folder)
    proposed = time.monotonic() - start
    registration = assay.register(model, artifact=options.artifact, layout=layout, socket=options.socket)
    print(json.dumps({"registered": True, "bytes": sum(t.numel() * t.element_size() for t in tensors.values()),
                      "tensors": len(tensors), "layout_seconds": round(proposed, 3), "layout": layout is not None}), flush=True)
    for line in sys.stdin:
        if line.strip() == "verify":
            start = time.monotonic()
            state = registration.verify_now()
            print(json.dumps({"state": state, "seconds": round(time.monotonic() - start, 3),
                              "findings": [str(one) for one in registration.findings[:3]]}), flush=True)
        elif line.strip() == "flip":
            name, tensor = sorted(tensors.items(), key=lambda one: -one[1].numel())[-1 if len(tensors) == 1 else 1]
            tensor.detach().view(-1).view(torch.uint8)[2 * (tensor.numel() // 3)] ^= 1
            if tensor.device.type == "cuda":
                torch.cuda.synchronize()
            print(json.dumps({"flipped": name}), flush=True)
        else:
            registration.close()
            return


# --- what stands around it


class Serving:
    def __init__(self, options, kind, folder, artifact, socket):
        env = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True", PYTORCH_ALLOC_CONF="expandable_segments:True")
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--bin", str(options.bin), "--device", options.device, "--gb", str(options.gb),
             "--serve", kind, "--folder", str(folder), "--artifact", artifact, "--socket", str(socket)],
            env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.found = self.answer()

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit("the serving process ended")

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def publish(service, folder, device):
    claim = service.claim_on("node-1")
    service.run("assay", "manifest", "create", str(claim), "--name", "acme/demo", "--objects", "tensors", "--location",
                "pvc://inference/models", "--device", device, "--out", "m.json", "--outline", "m.outline")
    service.run("assay", "sign", "m.json", "--key", "keys/publisher.pem", "--out", "m.signed.json")
    service.run("assay", "push", "m.signed.json", "--outline", "m.outline", token="ci")
    subject = json.loads((service.dir / "m.json").read_text())["subject"][0]
    return "assay-tree-v1-sha256:" + subject["digest"]["assay-tree-v1-sha256"]


def decide(service, artifact):
    body = json.dumps({"point": "serve", "dry_run": False, "node": "node-1", "model": artifact,
                       "workload": {"resources": ["nvidia.com/gpu"]}})
    status, answer = service.request("POST", "/v1/decisions", body)
    verdict = answer["decision"]["verdict"]
    return {"allowed": verdict["allowed"], "reasons": verdict["reasons"]}


def measure(options, kind):
    import nodes
    with nodes.NodeService() as service:
        service.compares = False
        service.activate(POLICY)
        claim = service.claim_on("node-1")
        subprocess.run([sys.executable, __file__, "--bin", str(options.bin), "--device", options.device, "--gb",
                        str(options.gb), "--write", kind, "--folder", str(claim)], check=True, stdout=subprocess.DEVNULL)
        files = sum(path.stat().st_size for path in claim.glob("*.safetensors"))
        artifact = publish(service, claim, options.manifest_device)
        socket = service.dir / "register.sock"
        agent = ["--register-socket", str(socket), "--register-uid", str(os.getuid()), "--watch-period", "2s"]
        with service.worker(device=options.agent_device, options=agent) as worker:
            worker.wait("enrolled")
            serving = Serving(options, kind, claim, artifact, socket)
            start = time.monotonic()
            done = service.run("assay", "job", "new", artifact, "--node", "node-1", "--instance", "main", "--wait", "-o",
                               "json", token="ci", check=False)
            job = json.loads(done.stdout)
            row = {"kind": kind, "files_bytes": files, **serving.found, "job": job["result"],
                   "job_seconds": round(time.monotonic() - start, 3), "detail": job["detail"]}
            row["serve"] = decide(service, artifact)
            row["passes"] = [serving.ask("verify") for _ in range(2)]
            hashed = [event for event in worker.events if event["event"] == "memory-hashed"]
            row["gb_per_second"] = round(max((row["bytes"] / event["hashing_seconds"] / 1e9 for event in hashed),
                                             default=0), 1)
            row["roots"] = [{name: event[name] for name in event if name not in ("event", "time", "job")}
                            for event in worker.events if event["event"] == "layout-computed"]
            if job["result"] != "verified":
                print(json.dumps(worker.events)[-3000:], worker.errors[-2000:], file=sys.stderr)
            row["flipped"] = serving.ask("flip")["flipped"]
            row["after"] = serving.ask("verify")
            row["serve_after"] = decide(service, artifact)
            serving.end()
            worker.stop()
        shutil.rmtree(claim)
    named = any(row["flipped"] in finding for finding in row["after"]["findings"])
    row["ok"] = (job["result"] == "verified" and row["serve"]["allowed"] and row["after"]["state"] == "violated" and named
                 and not row["serve_after"]["allowed"])
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--gb", type=float, default=0.01)
    parser.add_argument("--device", default="cpu", help="of PyTorch: cpu or cuda")
    parser.add_argument("--agent-device", default="cpu")
    parser.add_argument("--manifest-device", default="cpu")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--json", type=pathlib.Path)
    for internal in ("--write", "--serve", "--folder", "--artifact", "--socket"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write or options.serve:
        serve(options)
        return
    options.bin = options.bin.resolve()
    os.environ["ASSAY_BIN"] = str(options.bin)
    rows = []
    for kind in options.kinds.split(","):
        rows.append(measure(options, kind))
        print(json.dumps(rows[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps({"benchmark": "layouts", "rows": rows}, indent=1) + "\n")
    raise SystemExit(not all(row["ok"] for row in rows))


if __name__ == "__main__":
    main()
