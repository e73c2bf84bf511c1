# SPDX-License-Identifier: Apache-2.0
"""Frames of the protocol of docs/instances.md, as the owner of memory sends and reads them."""
from __future__ import annotations

import json
import re
import socket
import struct
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

from ._errors import ModelError, ProtocolError

PROTOCOL = 1
MAX_OWNER_FRAME = 24 << 20  # bytes
MAX_AGENT_FRAME = 1 << 20  # bytes
MAX_DESCRIPTORS = 253  # beside one frame
MAX_PIECES = 65536
MAX_TENSORS = 131072
MAX_PARTS = 1 << 20
MAX_NAMES = 16  # of one tensor
MAX_DIMENSIONS = 8
MAX_WORLD = 1024
MAX_CHANGED = 16  # names in one frame
MAX_TEXT = 512  # characters of a name or a detail
MAX_CAUSE = 128  # characters
WINDOW = 64 << 20  # bytes
MAX_YIELD = 10_000  # ms
STATES = ("pending", "verified", "violated", "unknown")
FINDINGS = ("missing", "extra", "mismatch", "changed", "error")

Frame = Dict[str, Any]
_LENGTH = struct.Struct("<I")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def encode(frame: Frame) -> bytes:
    """A frame with its length. ModelError when it is larger than the node agent takes."""
    try:
        body = json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise ModelError(f"a name is no valid Unicode: {error.object[error.start:error.end]!r}") from None
    if len(body) > MAX_OWNER_FRAME:
        raise ModelError(f"the registration takes {len(body)} bytes of JSON, at most {MAX_OWNER_FRAME}: "
                         "non-contiguous tensors and long names make it large")
    return _LENGTH.pack(len(body)) + body


def send(peer: socket.socket, frame: Frame, descriptors: Sequence[int] = ()) -> None:
    """Sends a frame; the descriptors travel beside its first byte and stay the caller's."""
    data = memoryview(encode(frame))
    if descriptors:
        data = data[socket.send_fds(peer, [data], list(descriptors)):]
    peer.sendall(data)


def _number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 53


def _numbers(value: Any) -> bool:
    return (isinstance(value, list) and 0 < len(value) <= MAX_DESCRIPTORS and
            all(map(_number, value)) and all(a < b for a, b in zip(value, value[1:])))


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _time(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _findings(value: Any) -> bool:
    return (isinstance(value, list) and len(value) <= 16 and
            all(isinstance(f, dict) and set(f) == {"kind", "tensor", "detail"} and
                all(map(_text, f.values())) and f["kind"] in FINDINGS for f in value))


_AGENT_FRAMES: Dict[str, Dict[str, Callable[[Any], bool]]] = {
    "welcome": {"protocol": lambda v: _number(v) and v == PROTOCOL, "pod": _text, "container": _text},
    "registered": {"registration": lambda v: _text(v) and bool(_UUID.fullmatch(v))},
    "refused": {"code": _text, "detail": _text},
    "state": {"state": lambda v: v in STATES, "checked_at": _time, "findings": _findings,
              "request": _number},
    "export": {"request": _number, "pieces": _numbers},
    "read": {"request": _number, "piece": _number, "offset": _number, "size": _number},
    "released": {"request": _number},
    "yielded": {"request": _number, "slices": _number,
                "next_ms": lambda v: _number(v) and 1 <= v <= 60_000},
}


def _unique(pairs: List[Tuple[str, Any]]) -> Frame:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


def decode(body: bytes) -> Frame:
    """A frame of the node agent. ProtocolError unless it has exactly the members of its type."""
    try:
        frame = json.loads(body.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the node agent sent no strict JSON: {error}") from None
    kind = frame.get("type") if isinstance(frame, dict) else None
    members = _AGENT_FRAMES.get(kind) if isinstance(kind, str) else None
    if members is None:
        raise ProtocolError(f"the node agent sent a frame of type {kind!r}")
    if set(frame) != {"type", *members}:
        raise ProtocolError(f"a frame {kind} has the members {sorted(frame)}")
    for name, valid in members.items():
        if not valid(frame[name]):
            raise ProtocolError(f"a frame {kind} has {name} = {frame[name]!r}")
    return frame  # type: ignore[no-any-return]


class Reader:
    """Cuts what arrives into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._data += data
        while len(self._data) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._data)
            if size > MAX_AGENT_FRAME:
                raise ProtocolError(f"the node agent announced a frame of {size} bytes")
            end = _LENGTH.size + size
            if len(self._data) < end:
                return
            body = bytes(self._data[_LENGTH.size:end])
            del self._data[:end]
            yield decode(body)


def few(names: Sequence[str]) -> Iterator[List[str]]:
    """Cuts names into lists for frames `changed`: small ones, which may come before descriptors."""
    out: List[str] = []
    for name in names:
        if out and (len(out) == MAX_CHANGED or sum(map(len, out)) + len(name) > MAX_TEXT):
            yield out
            out = []
        out.append(name)
    if out:
        yield out


def consecutive(numbers: Sequence[int]) -> Iterator[Tuple[int, int]]:
    """Cuts ascending numbers into (position, count) of neighbours, for frames `pieces`."""
    start = 0
    for at in range(1, len(numbers) + 1):
        if (at == len(numbers) or numbers[at] != numbers[at - 1] + 1 or at - start == MAX_DESCRIPTORS):
            yield start, at - start
            start = at
