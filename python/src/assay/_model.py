# SPDX-License-Identifier: Apache-2.0
"""Which tensors a model has: names, aliases, what is not covered, and where to look again later."""
from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from ._errors import FoldedParameters, ModelError, TorchMissing
from ._wire import MAX_DIMENSIONS, MAX_NAMES, MAX_TENSORS, MAX_TEXT

_DTYPES = {  # names of PyTorch: names of safetensors
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16", "int32": "I32",
    "uint32": "U32", "int64": "I64", "uint64": "U64", "float16": "F16", "bfloat16": "BF16",
    "float32": "F32", "float64": "F64", "complex64": "C64", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0", "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
}


def torch() -> Any:
    """The module torch. Errors: TorchMissing."""
    try:
        import torch as module
    except ImportError as error:
        raise TorchMissing("registering a model needs PyTorch: pip install torch") from error
    return module


@dataclass
class Slot:
    """A place of the model that holds a tensor, and what it held when it was registered."""

    holder: Any  # mapping
    key: str
    name: str  # in the manifest
    path: str  # in the model
    tensor: Any  # None: the place was empty
    seen: Tuple[Any, ...] = ()

    def same(self) -> bool:
        try:
            now = self.holder[self.key]
        except KeyError:
            return False
        return now is self.tensor and (now is None or look(now) == self.seen)


def look(tensor: Any) -> Tuple[Any, ...]:
    """Where a tensor's bytes lie and what they mean."""
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


@dataclass
class Keys:
    """A mapping of the model, and what it held when it was registered."""

    holder: Any
    path: str
    skipped: Any  # keys that may come and go
    values: Dict[str, Any]  # modules; None for tensors, which have slots

    def changes(self) -> List[str]:
        """Paths of tensors that are new, and of modules that are new, gone or others."""
        now = {key: value for key, value in self.holder.items() if key not in self.skipped}
        changed = [key for key, value in now.items()
                   if key not in self.values or
                   (self.values[key] is not None and self.values[key] is not value)]
        changed += [key for key, value in self.values.items() if value is not None and key not in now]
        return [f"{self.path}.{key}" if self.path else key for key in changed]


@dataclass
class Tensor:
    """One tensor with all its names."""

    names: List[str]
    tensor: Any
    objects: List[Any]  # the tensor objects that show the same bytes

    @property
    def dtype(self) -> str:
        return _DTYPES[str(self.tensor.dtype).rpartition(".")[2]]


@dataclass
class Inventory:
    tensors: List[Tensor] = field(default_factory=list)
    slots: List[Slot] = field(default_factory=list)
    shape: List[Keys] = field(default_factory=list)
    others: List[Tuple[str, Any]] = field(default_factory=list)  # buffers that are not persistent
    uncovered_count: int = 0
    uncovered_bytes: int = 0


def take(model: Any, names: Optional[Mapping[str, str]] = None) -> Inventory:
    """Lists a module's parameters and persistent buffers, or the tensors of a mapping.

    Errors: ModelError and its kinds.
    """
    t = torch()
    found = Inventory()
    _refuse_frozen(t, model)
    if isinstance(model, Mapping):
        found.shape.append(Keys(model, "", (), dict.fromkeys(model)))
        found.slots = [Slot(model, key, key, key, model[key]) for key in model]
    else:
        if not isinstance(model, t.nn.Module):
            raise ModelError(f"a {type(model).__name__} is neither a torch.nn.Module nor a mapping of tensors")
        _walk(model, found)
    _rename(found.slots, names or {})
    _merge(t, found)
    constants = list(_constants(t, model))
    if not found.tensors:
        if constants:
            raise FoldedParameters("the model has no parameters: a frozen graph holds its weights as "
                                   "constants. Register the module that was frozen, or do not freeze")
        raise ModelError("the model has no parameters and no persistent buffers")
    known = {entry.tensor.data_ptr() for entry in found.tensors}
    for _, tensor in found.others + constants:
        if tensor.data_ptr() not in known:
            found.uncovered_count += 1
            found.uncovered_bytes += tensor.numel() * tensor.element_size()
    return found


def _walk(model: Any, found: Inventory) -> None:
    for path, module in model.named_modules(remove_duplicate=False):
        # torch.compile wraps a module into another one, which no file knows.
        path = ".".join(part for part in path.split(".") if part and part != "_orig_mod")
        prefix = path + "." if path else ""
        skipped = getattr(module, "_non_persistent_buffers_set", None) or set()
        for key, tensor in module._parameters.items():
            found.slots.append(Slot(module._parameters, key, prefix + key, prefix + key, tensor))
        for key, tensor in module._buffers.items():
            if key not in skipped:
                found.slots.append(Slot(module._buffers, key, prefix + key, prefix + key, tensor))
            elif tensor is not None:
                found.others.append((prefix + key, tensor))
        found.shape.append(Keys(module._parameters, path, (), dict.fromkeys(module._parameters.keys())))
        found.shape.append(Keys(module._buffers, path, skipped, dict.fromkeys(
            key for key in module._buffers.keys() if key not in skipped)))
        found.shape.append(Keys(module._modules, path, (), dict(module._modules.items())))


def _rename(slots: List[Slot], names: Mapping[str, str]) -> None:
    for slot in slots:
        if not isinstance(slot.name, str) or not 0 < len(names.get(slot.name, slot.name)) <= MAX_TEXT:
            raise ModelError(f"a tensor's name is text of 1 to {MAX_TEXT} characters, not {slot.name!r:.80}")
    have = {slot.name for slot in slots if slot.tensor is not None}
    unknown = sorted(set(names) - have)
    if unknown:
        raise ModelError(f"names= has {unknown[0]!r}, and {len(unknown) - 1} more, which the model has not"
                         if len(unknown) > 1 else f"names= has {unknown[0]!r}, which the model has not")
    taken: Dict[str, str] = {}
    for slot in slots:
        own, slot.name = slot.name, names.get(slot.name, slot.name)
        if slot.tensor is not None and taken.setdefault(slot.name, own) != own:
            raise ModelError(f"tensors {taken[slot.name]!r} and {own!r} are both called {slot.name!r}")


def _merge(t: Any, found: Inventory) -> None:
    """Tensors that show the same bytes become one with several names."""
    merged: Dict[Tuple[Any, ...], Tensor] = {}
    for slot in found.slots:
        tensor = slot.tensor
        if tensor is None:
            continue
        _check(t, slot.name, tensor)
        slot.seen = look(tensor)
        key = (tensor.device, *slot.seen) if tensor.numel() else (id(tensor),)
        entry = merged.setdefault(key, Tensor([], tensor, []))
        if slot.name not in entry.names:
            entry.names.append(slot.name)
        if all(tensor is not known for known in entry.objects):
            entry.objects.append(tensor)
        if len(entry.names) > MAX_NAMES:
            raise ModelError(f"tensor {entry.names[0]!r} has more than {MAX_NAMES} names")
    found.tensors = list(merged.values())
    if len(found.tensors) > MAX_TENSORS:
        raise ModelError(f"the model has {len(found.tensors)} tensors, at most {MAX_TENSORS}")


def _check(t: Any, name: str, tensor: Any) -> None:
    if not isinstance(tensor, t.Tensor):
        raise ModelError(f"{name!r} is a {type(tensor).__name__}, no tensor")
    if type(tensor).__name__ == "ErasedTensor":
        raise FoldedParameters(f"tensor {name!r} was folded into a compiled graph. Compile with "
                               "torch._inductor.config.freezing = False")
    problem = None
    if isinstance(tensor, t.nn.parameter.UninitializedTensorMixin):
        problem = "is not initialized; run the model once"
    elif tensor.device.type == "meta":
        problem = "is on the device meta and has no bytes; load the weights first"
    elif type(tensor).__torch_dispatch__ is not t.Tensor.__torch_dispatch__:
        problem = f"is a {type(tensor).__name__}, which keeps its bytes in other tensors"
    elif tensor.layout != t.strided:
        problem = f"has the layout {tensor.layout}"
    elif tensor.is_quantized or str(tensor.dtype).rpartition(".")[2] not in _DTYPES:
        problem = f"has the dtype {tensor.dtype}, which safetensors has not"
    elif tensor.is_conj() or tensor.is_neg():
        problem = "is a lazy conjugate or negative; call resolve_conj().resolve_neg()"
    elif tensor.dim() > MAX_DIMENSIONS:
        problem = f"has {tensor.dim()} dimensions, at most {MAX_DIMENSIONS}"
    elif tensor.numel() and tensor.untyped_storage().nbytes() == 0:
        problem = "has no storage: it was freed or lies elsewhere until it is needed"
    if problem:
        raise ModelError(f"tensor {name!r} {problem}")


def _refuse_frozen(t: Any, model: Any) -> None:
    """Graphs that surely compute with copies of their parameters."""
    if not isinstance(model, t.nn.Module):
        return
    freezing = getattr(sys.modules.get("torch._inductor.config"), "freezing", False)
    for path, module in model.named_modules():
        if freezing and type(module).__name__ == "OptimizedModule":
            raise FoldedParameters(f"module {path!r} is compiled with torch._inductor.config.freezing, "
                                   "which computes with copies of its parameters. Turn that off")
        if isinstance(module, t.fx.GraphModule):
            for key, value in vars(module).items():
                if isinstance(value, t.Tensor) and key.startswith("_frozen_param"):
                    raise FoldedParameters(f"module {path!r} is a frozen graph: {key} is a constant "
                                           "of it. Register the module that was frozen")


def _constants(t: Any, model: Any) -> Iterator[Tuple[str, Any]]:
    """Tensors that graphs hold as constants."""
    if isinstance(model, Mapping):
        return
    for path, module in model.named_modules():
        if isinstance(module, t.fx.GraphModule):
            for key, value in vars(module).items():
                if isinstance(value, t.Tensor):
                    yield f"{path}.{key}", value
    if isinstance(model, t.jit.ScriptModule):
        try:
            graph = model.inlined_graph
        except RuntimeError:  # no method forward
            return
        for node in graph.findAllNodes("prim::Constant"):
            if node.output().type().isSubtypeOf(t._C.TensorType.get()) and node.hasAttribute("value"):
                yield "constant", node.t("value")
