# SPDX-License-Identifier: Apache-2.0
"""From tensors to parts, and what is refused, with the tensor's name."""
import copy
import itertools
import os
import random

import pytest

import assay
from assay import _layout, _model
from conftest import ARTIFACT, manifest_of, needs_torch, net, torch

pytestmark = needs_torch


def gather(tensor):
    """Bytes of a tensor as its runs say, read from its storage."""
    storage = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).numpy().tobytes()
    start = tensor.storage_offset() * tensor.element_size()
    return b"".join(storage[start + offset:start + offset + size] for offset, size in
                    _layout.runs("t", tensor.shape, tensor.stride(), tensor.element_size()))


def test_runs_are_the_bytes_row_major():
    seed = int(os.environ.get("ASSAY_SEED", random.randrange(1 << 32)))
    draw = random.Random(seed)
    for _ in range(300):
        shape = [draw.randint(1, 5) for _ in range(draw.randint(0, 5))]
        tensor = torch.arange(3 + int(torch.Size(shape).numel()), dtype=torch.int16)[3:]
        tensor = tensor[:torch.Size(shape).numel()].reshape(shape)
        tensor = tensor.permute(draw.sample(range(len(shape)), len(shape)))
        for axis in range(tensor.dim()):
            if draw.random() < 0.3:
                tensor = tensor.narrow(axis, draw.randrange(tensor.shape[axis]), 1)
            elif draw.random() < 0.3:
                tensor = tensor[(slice(None),) * axis + (slice(None, None, 2),)]
        assert gather(tensor) == tensor.contiguous().numpy().tobytes(), f"ASSAY_SEED={seed}"


def test_a_contiguous_tensor_is_one_run():
    assert list(_layout.runs("t", (4, 1, 5), (5, 77, 1), 4)) == [(0, 80)]
    assert list(_layout.runs("t", (), (), 8)) == [(0, 8)]


def test_non_contiguous_parameters(agent):
    fused = torch.randn(24, 10)
    tensors = {"q": fused[:8], "rows": fused[8:16:2], "columns": fused[16:, 2:5], "turned": torch.randn(6, 5).t()}
    agent.manifest = manifest_of(tensors)
    with assay.register(tensors, artifact=ARTIFACT, socket=agent.path) as registration:
        assert registration.verify_now() == "verified"
        counts = {t["names"][0]: len(t["parts"]) for t in agent.of("register")[0]["tensors"]}
        assert counts == {"q": 1, "rows": 4, "columns": 8, "turned": 30}
        fused[9, 0] += 1  # between the rows
        assert registration.verify_now() == "verified"
        fused[10, 0] += 1
        assert registration.verify_now() == "violated"


def refused(model, error=assay.ModelError, **options):
    with pytest.raises(error) as caught:
        _layout.build(model, **options)
    return str(caught.value)


def test_too_many_runs():
    assert "'w'" in refused({"w": torch.randn(300, 300).t()}, assay.NonContiguous)
    assert ".contiguous()" in refused({"w": torch.randn(300, 300).t()}, assay.NonContiguous)
    assert "expand" in refused({"w": torch.randn(1, 4).expand(3, 4)}, assay.NonContiguous)


def test_partly_shared_storage():
    whole = torch.randn(10)
    text = refused({"whole": whole, "part": whole[:5]})
    assert "'whole'" in text and "'part'" in text


def test_names():
    model = net()
    assert "'nowhere'" in refused(model, names={"nowhere": "x"})
    assert "both called" in refused(model, names={"first.weight": "first.bias"})
    plan = _layout.build(model, names={"first.weight": "w1"})
    assert "w1" in {name for tensor in plan.tensors for name in tensor["names"]}
    plan.close()
    assert "characters" in refused({"x" * 513: torch.zeros(1)})
    assert "Unicode" in str(pytest.raises(assay.ModelError, assay._wire.encode, {"name": "\ud800"}).value)


@pytest.mark.filterwarnings("ignore:torch.quantize")
@pytest.mark.parametrize("make, words", [
    (lambda: torch.nn.Linear(2, 2, device="meta"), "meta"),
    (lambda: torch.nn.LazyLinear(2), "not initialized"),
    (lambda: {"s": torch.eye(3).to_sparse()}, "layout"),
    (lambda: {"c": torch.zeros(2, dtype=torch.complex128)}, "dtype"),
    (lambda: {"c": torch.zeros(2, dtype=torch.complex64).conj()}, "conjugate"),
    (lambda: {"q": torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8)}, "dtype"),
    (lambda: {"d": torch.zeros([1] * 9)}, "dimensions"),
    (lambda: {"n": 5}, "no tensor"),
    (lambda: torch.nn.ReLU(), "no parameters"),
    (lambda: [torch.zeros(1)], "neither"),
    (lambda: {f"t{n}": torch.zeros(1) for n in range(131073)}, "at most 131072"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_cannot_be_registered(make, words):
    assert words in refused(make())


def test_freed_storage():
    tensor = torch.zeros(5)
    tensor.untyped_storage().resize_(0)
    assert "freed" in refused({"f": tensor})


def test_tensor_subclasses():
    from torch.utils._python_dispatch import return_and_correct_aliasing  # noqa: F401 (has such classes)

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            raise NotImplementedError
    assert "keeps its bytes in other tensors" in refused({"w": Wrapper(torch.zeros(2))})


def test_too_many_names():
    one = torch.zeros(1)
    assert "more than 16 names" in refused({f"n{n}": one for n in range(17)})


@pytest.mark.filterwarnings("ignore")
def test_frozen_scripts():
    model = torch.jit.script(net())
    plan = _layout.build(model)  # a script that is not frozen has its parameters
    assert {n for t in plan.tensors for n in t["names"]} >= {"first.weight", "last.weight"}
    plan.close()
    text = refused(torch.jit.freeze(model), assay.FoldedParameters)
    assert "constants" in text


def test_frozen_graphs(monkeypatch):
    graph = torch.fx.symbolic_trace(net())
    plan = _layout.build(graph)
    plan.close()
    graph._frozen_param0 = torch.zeros(3)
    assert "_frozen_param0" in refused(graph, assay.FoldedParameters)
    import torch._inductor.config as config
    monkeypatch.setattr(config, "freezing", True)
    assert "freezing" in refused(torch.compile(net()), assay.FoldedParameters)


def test_compiled_modules_keep_their_names():
    model = net()
    model.first = torch.compile(model.first)
    plan = _layout.build(torch.compile(model))
    assert {n for t in plan.tensors for n in t["names"]} == set(net().state_dict())
    plan.close()


def test_constants_of_graphs_are_uncovered():
    graph = torch.fx.symbolic_trace(net())  # leaves out the unused buffer
    graph._tensor_constant0 = torch.zeros(50)
    found = _model.take(graph)
    assert (found.uncovered_count, found.uncovered_bytes) == (1, 200)


def test_a_plan_that_fails_moves_nothing_apart():
    """Tensors that could not all be moved stay together."""
    model = net()
    before = copy.deepcopy(model.state_dict())
    plan = _layout.build(model)
    again = _layout.build(model)  # they already lie in memory files: the same ones
    assert [p.start for p in plan.pieces] == [p.start for p in again.pieces]
    for one in (plan, again):
        one.close()
    assert all(torch.equal(a, b) for a, b in zip(before.values(), model.state_dict().values()))


def test_moved_together_or_not_at_all(monkeypatch):
    """PyTorch refuses one of two views of a storage: both stay where they are."""
    from assay import _move
    storage = torch.arange(10.0)
    a, b = storage[:5], storage[5:].detach()
    del storage
    pointers = a.data_ptr(), b.data_ptr()
    real = torch.empty
    calls = itertools.count()

    def empty(*arguments, **options):
        if options.get("dtype") is torch.float32 and next(calls) == 1:
            raise RuntimeError("no")
        return real(*arguments, **options)
    monkeypatch.setattr(torch, "empty", empty)
    monkeypatch.setattr(_move, "_why_not", lambda *_: "")
    causes = _move.move_to_memory_files(torch, _model.take({"a": a, "b": b}))
    assert list(causes.values()) == ["PyTorch refused: no"]
    assert (a.data_ptr(), b.data_ptr()) == pointers and a.tolist() == [0, 1, 2, 3, 4]


def test_weights_made_for_inference(agent):
    with torch.inference_mode():
        model = net()
    agent.manifest = manifest_of(model.state_dict())
    with assay.register(model, artifact=ARTIFACT, socket=agent.path) as registration:
        assert registration.verify_now() == "verified"
        assert {p["kind"] for p in agent.of("register")[0]["pieces"]} == {"host"}


def test_the_memory_goes_with_the_model():
    import gc

    from assay import _memory
    gc.collect()
    before = set(_memory._live)
    model = net()
    plan = _layout.build(model)
    (base,) = set(_memory._live) - before
    fd = _memory._live[base].fd
    plan.close()
    gc.collect()
    assert base in _memory._live  # the model lies there
    del model, plan
    gc.collect()
    assert set(_memory._live) <= before
    with pytest.raises(OSError):
        os.fstat(fd)
