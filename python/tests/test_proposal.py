# SPDX-License-Identifier: Apache-2.0
"""Layouts that are proposed from names, dtypes and shapes, for models as servers hold them."""
import json
import struct

import pytest

import assay
from assay import _model, _proposal
from conftest import ARTIFACT, needs_torch, torch

pytestmark = needs_torch
SIZES = {"F32": 4, "BF16": 2, "F16": 2}


def write(path, tensors):
    """A safetensors file of zeros."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape) in tensors.items():
        size = SIZES[dtype]
        for one in shape:
            size *= one
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(offset))
    return path


def proposed(files, tensors):
    inventory = _model.take({name: torch.zeros(shape, dtype=getattr(torch, dtype))
                             for name, (dtype, shape) in tensors.items()})
    return _proposal.propose(inventory, _proposal.read_entries(files), ARTIFACT)


def expressions(layout):
    assert layout["artifact"] == ARTIFACT and len(layout["ranks"]) == 1
    tensors = layout["ranks"][0]["tensors"]
    assert [one["name"] for one in tensors] == sorted(one["name"] for one in tensors)
    return {one["name"]: one["from"] for one in tensors}


def entry(name):
    return {"entry": name}


def test_model_as_its_files_needs_no_layout(tmp_path):
    write(tmp_path / "a.safetensors", {"x": ("BF16", (2, 3))})
    write(tmp_path / "b.safetensors", {"y": ("F32", (4,))})
    assert proposed(tmp_path, {"x": ("bfloat16", (2, 3)), "y": ("float32", (4,))}) is None


def test_cast_and_joined_attention(tmp_path):
    files = write(tmp_path / "m.safetensors", {
        **{f"model.layers.0.self_attn.{one}_proj.weight": ("F32", (4 if one == "q" else 2, 4)) for one in "qkv"},
        "model.norm.weight": ("F32", (4,))})
    layout = proposed(files, {"layers.0.self_attn.qkv_proj.weight": ("bfloat16", (8, 4)),
                              "norm.weight": ("float32", (4,))})
    joined = {"concat": [entry(f"model.layers.0.self_attn.{one}_proj.weight") for one in "qkv"], "axis": 0}
    assert expressions(layout) == {"layers.0.self_attn.qkv_proj.weight": {"cast": joined, "to": "BF16"},
                                   "norm.weight": entry("model.norm.weight")}
    assert "dropped" not in layout and "replicated" not in layout


@pytest.mark.parametrize("fused, down", [("gate_up_proj", "down_proj"), ("w13_weight", "w2_weight")])
@pytest.mark.parametrize("old", [True, False])
def test_fused_experts(tmp_path, fused, down, old):
    outer = "model.layers.1.block_sparse_moe.experts" if old else "model.layers.1.mlp.experts"
    names = ("w1", "w3", "w2") if old else ("gate_proj", "up_proj", "down_proj")
    shapes = {names[0]: (6, 4), names[1]: (6, 4), names[2]: (4, 6)}
    files = write(tmp_path / "m.safetensors", {f"{outer}.{number}.{name}.weight": ("BF16", shapes[name])
                                               for number in range(11) for name in names})
    layout = proposed(files, {f"model.layers.1.mlp.experts.{fused}": ("bfloat16", (11, 12, 4)),
                              f"model.layers.1.mlp.experts.{down}": ("bfloat16", (11, 4, 6))})

    def stack(name):
        return {"stack": [entry(f"{outer}.{number}.{name}.weight") for number in range(11)], "axis": 0}
    assert expressions(layout) == {
        f"model.layers.1.mlp.experts.{fused}": {"concat": [stack(names[0]), stack(names[1])], "axis": 1},
        f"model.layers.1.mlp.experts.{down}": stack(names[2])}


def test_two_ranks_hold_rows_columns_and_whole_entries(tmp_path):
    files = write(tmp_path / "m.safetensors", {
        **{f"l.{one}_proj.weight": ("BF16", (8, 6)) for one in "qkv"},
        "l.o_proj.weight": ("BF16", (6, 8)), "norm.weight": ("BF16", (6,))})
    held = {"l.qkv_proj.weight": (12, 6), "l.o_proj.weight": (6, 4), "norm.weight": (6,)}
    inventory = _model.take({name: torch.zeros(shape, dtype=torch.bfloat16) for name, shape in held.items()})
    layout = _proposal.propose(inventory, _proposal.read_entries(files), ARTIFACT, 2)
    assert layout["replicated"] == [entry("norm.weight")] and "dropped" not in layout
    for rank, one in enumerate(layout["ranks"]):
        def share(name, axis):
            return {"slice": entry(name), "axis": axis, "start": 4 * rank, "size": 4}
        assert {tensor["name"]: tensor["from"] for tensor in one["tensors"]} == {
            "l.o_proj.weight": share("l.o_proj.weight", 1), "norm.weight": entry("norm.weight"),
            "l.qkv_proj.weight": {"concat": [share(f"l.{part}_proj.weight", 0) for part in "qkv"], "axis": 0}}
    with pytest.raises(assay.ModelError, match="l.qkv_proj.weight"):  # of three ranks nobody holds that
        _proposal.propose(inventory, _proposal.read_entries(files), ARTIFACT, 3)


def test_entries_that_nothing_holds_are_dropped_by_name(tmp_path):
    files = write(tmp_path / "m.safetensors", {"a": ("F32", (2,)), "lm_head.weight": ("F32", (2, 2))})
    layout = proposed(files, {"a": ("float16", (2,))})
    assert layout["dropped"] == [entry("lm_head.weight")]


def test_one_name_in_several_files_says_which(tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.safetensors", {"x": ("F32", (2,)), name: ("F32", (1,))})
    with pytest.raises(assay.ModelError, match="tensor 'x'"):
        proposed(tmp_path, {"x": ("bfloat16", (2,)), "a": ("float32", (1,)), "b": ("float32", (1,))})


def test_tied_weights_stand_for_each_entry_of_their_names(tmp_path):
    files = write(tmp_path / "m.safetensors", {"embed.weight": ("F32", (4, 2)), "lm_head.weight": ("F32", (4, 2))})

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(4, 2, dtype=torch.bfloat16)
            self.lm_head = torch.nn.Linear(2, 4, bias=False, dtype=torch.bfloat16)
            self.lm_head.weight = self.embed.weight
    layout = _proposal.propose(_model.take(Tied()), _proposal.read_entries(files), ARTIFACT)
    assert expressions(layout) == {name: {"cast": entry(name), "to": "BF16"}
                                   for name in ("embed.weight", "lm_head.weight")}


@pytest.mark.parametrize("dtype, shape, text", [
    ("int64", (2, 2), "F32 \\[2, 2\\] follows from x"), ("float32", (4,), "F32 \\[2, 2\\]"),
    ("float32", (2, 3), "F32 \\[2, 2\\]")])
def test_what_cannot_follow_is_named(tmp_path, dtype, shape, text):
    files = write(tmp_path / "m.safetensors", {"x": ("F32", (2, 2))})
    with pytest.raises(assay.ModelError, match=f"tensor 'x' .*{text}"):
        proposed(files, {"x": (dtype, shape)})
    with pytest.raises(assay.ModelError, match="no entry has its name"):
        proposed(files, {"y": ("float32", (2, 2))})


def test_rows_of_other_shapes_do_not_join(tmp_path):
    files = write(tmp_path / "m.safetensors", {"gate_proj.weight": ("F32", (2, 2)), "up_proj.weight": ("F32", (2, 3))})
    with pytest.raises(assay.ModelError, match="gate_up_proj"):
        proposed(files, {"gate_up_proj.weight": ("float32", (4, 2))})


def test_registration_carries_what_was_proposed(agent, tmp_path):
    files = write(tmp_path / "m.safetensors", {"weight": ("F32", (3, 2))})
    model = torch.nn.Linear(2, 3, bias=False, dtype=torch.bfloat16)
    layout = assay.layout(model, ARTIFACT, tmp_path)
    assert expressions(layout) == {"weight": {"cast": entry("weight"), "to": "BF16"}}
    with assay.register(model, artifact=ARTIFACT, socket=agent.path, layout="auto", files=[files]):
        assert agent.of("register")[-1]["layout"] == layout

    class Auto:
        @staticmethod
        def from_pretrained(path, dtype):
            return torch.nn.Linear(2, 3, bias=False, dtype=dtype)
    loaded = assay.from_pretrained(Auto, tmp_path, dtype=torch.bfloat16, artifact=ARTIFACT, socket=agent.path,
                                   layout="auto")
    assert agent.of("register")[-1]["layout"] == layout
    assay.registration(loaded).close()
    for wrong in ({"layout": "auto"}, {"layout": "other", "files": tmp_path}):
        with pytest.raises(ValueError, match="layout"):
            assay.register(model, artifact=ARTIFACT, socket=agent.path, **wrong)


@pytest.mark.parametrize("content", [b"", b"\x05\0\0\0\0\0\0\0{}", b"\xff" * 8, struct.pack("<Q", 2) + b"[]",
                                     struct.pack("<Q", 8) + b'{"x": 3}'])
def test_files_that_are_none_are_refused(tmp_path, content):
    (tmp_path / "m.safetensors").write_bytes(content)
    with pytest.raises(assay.ModelError, match="is no safetensors file"):
        _proposal.read_entries(tmp_path)
    with pytest.raises(assay.ModelError, match="no tensors"):
        _proposal.read_entries([])
