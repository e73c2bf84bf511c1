# SPDX-License-Identifier: Apache-2.0
"""assay.ranks: processes of one process group (gloo), which hold the same weights or do not."""
import json
import os
import stat
import subprocess
import sys
import pathlib

import pytest

import assay
from conftest import needs_torch

pytestmark = needs_torch
HERE = pathlib.Path(__file__).resolve().parent

# Each rank runs one of these and prints what it saw as JSON.
CASES = '''
import json, os, sys
import torch
import torch.distributed as dist
sys.path[:0] = sys.argv[3:5]
import assay.ranks
from conftest import net

rank, world = int(sys.argv[1]), int(sys.argv[2])
folder = sys.argv[5]


def flip(tensor, place=0):
    tensor.detach().view(torch.uint8).view(-1)[place] ^= 1


def said(outcome):
    return [[one.tensor, list(one.suspects), one.again, len(set(one.digests.values()))] for one in outcome.differences]


def trained():
    model = net()
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def step(model, optimizer):
    model(torch.ones(4, 33)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def caught(call):
    try:
        return said(call())
    except assay.ranks.RanksDiffer as error:
        return [str(error), said(error.outcome)]
    except assay.AssayError as error:
        return [type(error).__name__, str(error)]


def hook():
    model, optimizer = trained()
    other = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    check = assay.ranks.check(model, every=2)
    for _ in range(3):
        step(model, optimizer)
        other.step()
    before = check.checks
    if rank == 1:
        flip(model.last.weight, 1)  # a lower bit is rounded away by the step
    raised = caught(lambda: step(model, optimizer))
    check.remove()
    step(model, optimizer)
    return [before, check.step, raised]


def changed(place=0, buffers=False, **options):
    model, _ = trained()
    seen = []
    check = assay.ranks.check(model, buffers=buffers, on_difference=lambda outcome: seen.append(said(outcome)), **options)
    assert caught(check.now) == []
    if rank == 1:
        flip(model.first.weight, place)
        model.norm.running_mean[3] += 1
    assert caught(check.now) == seen[0]
    return seen[0]


def everywhere():
    return [changed(place)[0][:2] for place in (0, 1, 4 * 33 * 65 - 1)]


def zero():  # equal numbers, other bytes
    model, _ = trained()
    with torch.no_grad():
        model.first.bias.zero_()
        if rank == 1:
            model.first.bias.neg_()
    return caught(assay.ranks.check(model).now)[1]


def transposed():  # bytes in the order of elements, wherever they lie
    model = torch.nn.ParameterList([torch.arange(6.0).reshape(2, 3)])
    if rank == 1:
        model = torch.nn.ParameterList([torch.arange(6.0).reshape(2, 3).t().contiguous().t()])
    return caught(assay.ranks.check(model).now)


def shapes():
    model = torch.nn.Linear(3, 3 + rank)
    return caught(lambda: assay.ranks.check(model))


def sharded():
    from torch.distributed.device_mesh import init_device_mesh
    try:
        from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    except ImportError:
        from torch.distributed._tensor import Replicate, Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    whole = torch.arange(32.0).reshape(8, 4)
    model = torch.nn.ParameterList([torch.nn.Parameter(distribute_tensor(whole, mesh, [Replicate(), Shard(0)])),
                                    torch.nn.Parameter(distribute_tensor(whole, mesh, [Shard(0), Shard(1)]))])
    where = {"dp": mesh.get_local_rank("dp"), "tp": mesh.get_local_rank("tp")}
    check = assay.ranks.check(model, coordinates=where, on_difference=lambda outcome: None)
    assert caught(check.now) == []
    if rank == 3:
        flip(model[0].to_local())
        flip(model[1].to_local())  # no other rank has this shard
    return caught(check.now)


def once():
    model, _ = trained()
    check = assay.ranks.check(model, on_difference=lambda outcome: None)
    tags = check._sets[0].tagger.tags
    if rank == 1:
        check._sets[0].tagger.tags = lambda tensors, key: [bytes(16), *tags(tensors, key)[1:]]
    return caught(check.now)


def attested():
    model, _ = trained()
    check = assay.ranks.check(model)
    root = check.attest("manifest.json", key="k.pem", out="o.json", name="acme/m", program=folder + "/assay")
    if rank == 1:
        flip(model.first.weight)
    return [root, caught(lambda: check.attest("x", key="k", out="o", program=folder + "/assay"))[0].splitlines()[0]]


def nothing():
    return caught(lambda: assay.ranks.check(net()))


if sys.argv[6] != "nothing()":
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
answer = json.dumps(eval(sys.argv[6]))
if dist.is_initialized():
    dist.barrier()
    dist.destroy_process_group()
print(answer)
'''


@pytest.fixture
def ranks(tmp_path):
    def run(case, world=2):
        script = tmp_path / "case.py"
        script.write_text(CASES)
        (tmp_path / "store").unlink(missing_ok=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        processes = [subprocess.Popen([sys.executable, "-B", script, str(rank), str(world), str(HERE), str(HERE.parent / "src"),
                                       str(tmp_path), case if "(" in case else case + "()"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env=environment) for rank in range(world)]
        answers = [process.communicate(timeout=300) for process in processes]
        assert not any(process.returncode for process in processes), [error[-2000:] for _, error in answers]
        return [json.loads(out.splitlines()[-1]) for out, _ in answers]
    return run


def test_hook_checks_after_every_second_step_of_its_model(ranks):
    for before, step, (text, found) in ranks("hook", 3):
        assert (before, step) == (1, 4)
        assert text.startswith("ranks differ after step 4\n") and "tensor 'last.weight': rank 1" in text
        assert ["last.weight", ["rank 1"], True, 2] in found
        assert all(suspects == ["rank 1"] for _, suspects, _, _ in found)  # gradients follow the weight


def test_first_middle_and_last_byte_count(ranks):
    assert ranks("everywhere", 3) == [[["first.weight", ["rank 1"]]] * 3] * 3


def test_two_ranks_have_no_majority(ranks):
    assert ranks("changed") == [[["first.weight", ["rank 0", "rank 1"], True, 2]]] * 2


def test_buffers_count_where_asked_for(ranks):
    for found in ranks("changed(buffers=True)", 3):
        assert [row[0] for row in found] == ["first.weight", "norm.running_mean"]


def test_bytes_are_compared_not_numbers(ranks):
    assert ranks("zero")[0][0][0] == "first.bias"
    assert ranks("transposed") == [[], []]


def test_other_tensors_are_refused_at_once(ranks):
    for kind, text in ranks("shapes"):
        assert kind == "ModelError" and "(3, 3)" in text and "(4, 3)" in text


def test_replicas_of_a_sharded_model_are_named_by_their_place(ranks):
    one, two, three, four = ranks("sharded", 4)
    assert one == three == []
    names = ["rank 1 (dp 0, tp 1)", "rank 3 (dp 1, tp 1)"]
    assert two == four == [["0", names, True, 2]]


def test_difference_that_is_gone_when_read_again_says_so(ranks):
    for found in ranks("once", 3):
        assert found == [["first.weight", ["rank 1"], False, 1]]


def test_attested_is_what_did_not_differ(ranks, tmp_path):
    program = tmp_path / "assay"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$(dirname "$0")/asked"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (root, first), (none, second) = ranks("attested")
    assert none is None and root.startswith("sha256:") and first == second == "ranks differ after step 0"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:4] == ["attest", "create", "--stage", "train"]
    for option in ("step=0", "equal_ranks=2", f"root={root}", "manifest.json", "acme/m"):
        assert option in asked


def test_what_an_engine_received_is_what_was_published():
    import torch
    from assay import ranks
    from conftest import net
    published = json.loads(json.dumps(ranks.publish(net())))
    assert ranks.received(net(), published) == []
    assert ranks.publish(net())["key"] != published["key"]
    engine = net()
    engine.first.weight.detach().view(torch.uint8)[64, 0] ^= 1
    engine.last = torch.nn.Linear(65, 8, bias=False)
    engine.more = torch.nn.Parameter(torch.ones(1))
    del engine.norm
    assert [(one.kind, one.tensor) for one in ranks.received(engine, published)] == [
        ("mismatch", "first.weight"), ("mismatch", "last.weight"), ("extra", "more"), ("missing", "norm.bias"),
        ("missing", "norm.weight")]
    for wrong in ({}, {**published, "tagger": "nh"}, {**published, "key": "xy"}, {**published, "tensors": 3}):
        with pytest.raises(assay.ModelError):
            ranks.received(net(), wrong)


def test_no_process_group_is_an_error(ranks):
    ((kind, text),) = ranks("nothing", 1)
    assert kind == "AssayError" and "init_process_group" in text


def test_nh_on_a_gpu_is_that_of_its_definition():
    import torch
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    code = '''
import os, sys
sys.path[:0] = sys.argv[1:2]
import torch
device = "cuda"
import hashlib, struct
from assay import _nh, _tags

def nh(data, key):
    data += bytes(-len(data) % (4 * _nh.BLOCK))
    out = b""
    for begin in range(0, len(data), 4 * _nh.BLOCK):
        m = struct.unpack_from(f"<{_nh.BLOCK}I", data, begin)
        for k in (key[:_nh.BLOCK], key[_nh.BLOCK:]):
            out += struct.pack("<Q", sum(((m[i] + k[i]) % 2**32) * ((m[i + _nh.HALF] + k[i + _nh.HALF]) % 2**32)
                                         for i in range(_nh.HALF)) % 2**64)
    return out

torch.manual_seed(1)
sizes = [0, 1, 7, 4096, 16384, 16388, 3 * 16384 + 5, 70 * 16384]
tensors = [torch.randint(0, 256, (size,), dtype=torch.uint8, device=device) for size in sizes]
tensors.append(torch.randn(64, 65, device=device).t())
tagger = _tags.CudaTagger(torch.device(device))
for key in (b"k" * 32, b"l" * 32):
    words = struct.unpack(f"<{2 * _nh.KEY}I", hashlib.shake_256(key).digest(8 * _nh.KEY))
    want = []
    for tensor in tensors:
        data = bytes(tensor.contiguous().reshape(-1).view(torch.uint8).cpu().tolist())
        inner = nh(data, words[:_nh.KEY])
        want.append(hashlib.blake2b(nh(inner, words[_nh.KEY:]), digest_size=16).digest())
    assert tagger.tags(tensors, key) == want, [a == b for a, b in zip(tagger.tags(tensors, key), want)]
    assert tagger.tags(tensors, key) == want  # with the tables that it keeps
'''
    done = subprocess.run([sys.executable, "-B", "-c", code, str(HERE.parent / "src")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
