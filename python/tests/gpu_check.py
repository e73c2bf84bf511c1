#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On a machine with CUDA and PyTorch: registers a model on the GPU, flips a byte, says what was seen.

    gpu_check.py [MEBIBYTES]

The node agent is fake_agent.py in a process of its own, which imports what is exported and compares
SHA-256. Two ways to allocate: expandable segments (exported) and plain cudaMalloc (staged). Ends
with "gpu_check: passed" and 0, or says what was otherwise.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ARTIFACT = "assay-tree-v1-sha256:" + "5a" * 32
MODES = {"expandable": "expandable_segments:True", "malloc": "expandable_segments:False"}


def milliseconds(function):
    start = time.perf_counter()
    result = function()
    return result, f"{(time.perf_counter() - start) * 1000:.1f} ms"


def owner(mode, mebibytes, folder):
    """One process with a model, as PyTorch allocates it in this mode."""
    sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]
    import torch

    import assay
    from conftest import manifest_of

    torch.manual_seed(3)
    count = max(2, mebibytes // 8)
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 1024, dtype=torch.bfloat16, device="cuda")
                                  for _ in range(count * 2)])
    path, manifest = folder / "register.sock", folder / "manifest.json"
    manifest.write_text(json.dumps(manifest_of(model.state_dict())))
    agent = subprocess.Popen([sys.executable, str(HERE / "fake_agent.py"), str(path), str(manifest)],
                             stdout=subprocess.PIPE, text=True)
    try:
        assert json.loads(agent.stdout.readline())["listening"]
        registration, took = milliseconds(lambda: assay.register(model, artifact=ARTIFACT, socket=str(path),
                                                                 period=0.5))
        kinds = {}
        for piece in registration._link._plan.pieces:
            key = piece.kind + (f" ({piece.cause})" if piece.cause else "")
            kinds[key] = kinds.get(key, 0) + 1
        print(f"  {mode}: registered {len(list(model.parameters()))} tensors in {took}: {kinds}", flush=True)
        wanted = "device" if mode == "expandable" else "staged (cudaMalloc)"
        assert set(kinds) == {wanted}, f"pieces of kind {wanted} expected"
        state, took = milliseconds(registration.verify_now)
        print(f"  {mode}: {state} in {took}", flush=True)
        assert state == "verified", registration.findings

        plan = registration._link._plan
        _, took = milliseconds(lambda: [names for names in plan.check() if names])
        print(f"  {mode}: one look at {len(plan.pieces)} pieces: {took}", flush=True)

        weight = model[1].weight
        with torch.no_grad():
            weight.view(torch.uint8).view(-1)[12345] ^= 1
        torch.cuda.synchronize()
        state = registration.verify_now()
        print(f"  {mode}: after one flipped byte: {state}, "
              f"{[(f.kind, f.tensor) for f in registration.findings]}", flush=True)
        assert [(f.kind, f.tensor) for f in registration.findings] == [("mismatch", "1.weight")]
        with torch.no_grad():
            weight.view(torch.uint8).view(-1)[12345] ^= 1
        torch.cuda.synchronize()
        assert registration.verify_now() == "verified"

        # A graph is captured while the node agent reads.
        x = torch.ones(8, 2048, dtype=torch.bfloat16, device="cuda")
        model[0](x)
        graph = torch.cuda.CUDAGraph()
        verifying = registration._link.command(registration._link.verify)
        with torch.no_grad(), torch.cuda.graph(graph):
            for _ in range(100):
                model[0](x)
        graph.replay()
        torch.cuda.synchronize()
        assert verifying.result(60) == "verified"
        print(f"  {mode}: a CUDA graph was captured meanwhile", flush=True)

        _, took = milliseconds(registration.release)
        print(f"  {mode}: released in {took}", flush=True)
        registration.update(ARTIFACT)
        assert registration.verify_now() == "verified"

        model[0].weight.data = model[0].weight.data.clone()
        assert registration.verify_now() == "violated"
        print(f"  {mode}: after a replaced storage: {[(f.kind, f.tensor) for f in registration.findings]}",
              flush=True)
        assert ("changed", "0.weight") in {(f.kind, f.tensor) for f in registration.findings}
        registration.close()
    finally:
        agent.kill()
        agent.wait()
        agent.stdout.close()


def main():
    mebibytes = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    for mode, setting in MODES.items():
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "PYTORCH_CUDA_ALLOC_CONF": setting, "PYTORCH_ALLOC_CONF": setting}
            result = subprocess.run([sys.executable, __file__, "--owner", mode, str(mebibytes), folder],
                                    env=environment, timeout=600)
        if result.returncode != 0:
            sys.exit(f"gpu_check: {mode} failed")
    print("gpu_check: passed")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--owner"]:
        owner(sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4]))
    else:
        main()
