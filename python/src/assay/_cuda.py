# SPDX-License-Identifier: Apache-2.0
"""The few calls of the CUDA driver that are needed, through ctypes.

Calls release Python's lock. A thread calls enter() before others.
"""
from __future__ import annotations

import ctypes
import threading
import uuid
from typing import Any, Dict, Optional, Tuple

_POSIX_FILE_DESCRIPTOR, _FABRIC = 1, 8  # CUmemAllocationHandleType
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_CAPTURE_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class DriverError(OSError):
    """A call of the driver failed."""


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _AllocationProp(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", _Location),
                ("win32", ctypes.c_void_p), ("flags", ctypes.c_uint8 * 8)]


_u64, _size, _int, _ptr = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
_SIGNATURES: Dict[str, Tuple[Any, ...]] = {
    "cuInit": (ctypes.c_uint,),
    "cuGetErrorName": (_int, ctypes.POINTER(ctypes.c_char_p)),
    "cuMemGetAddressRange_v2": (ctypes.POINTER(_u64), ctypes.POINTER(_size), _u64),
    "cuMemRetainAllocationHandle": (ctypes.POINTER(_u64), _u64),
    "cuMemRelease": (_u64,),
    "cuMemGetAllocationPropertiesFromHandle": (ctypes.POINTER(_AllocationProp), _u64),
    "cuMemExportToShareableHandle": (ctypes.POINTER(_int), _u64, _int, _u64),
    "cuDeviceGet": (ctypes.POINTER(_int), _int),
    "cuDeviceGetUuid": (_ptr, _int),
    "cuDevicePrimaryCtxRetain": (ctypes.POINTER(_ptr), _int),
    "cuCtxGetCurrent": (ctypes.POINTER(_ptr),),
    "cuCtxSetCurrent": (_ptr,),
    "cuStreamCreate": (ctypes.POINTER(_ptr), ctypes.c_uint),
    "cuMemcpyDtoHAsync_v2": (_ptr, _u64, _size, _ptr),
    "cuStreamSynchronize": (_ptr,),
    "cuThreadExchangeStreamCaptureMode": (ctypes.POINTER(_int),),
}


class Driver:
    """libcuda. Errors: DriverError."""

    def __init__(self, library: Any) -> None:
        self._calls: Dict[str, Any] = {}
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, _int
            self._calls[name] = function
        self._lock = threading.Lock()
        self._contexts: Dict[int, int] = {}  # by ordinal; retained until the process ends
        self._streams: Dict[int, int] = {}
        self._call("cuInit", 0)

    def _call(self, name: str, *arguments: Any) -> None:
        result = self._calls[name](*arguments)
        if result != 0:
            text = ctypes.c_char_p()
            self._calls["cuGetErrorName"](result, ctypes.byref(text))
            known = text.value.decode() if text.value else "unknown error"
            raise DriverError(result, f"{name}: {known} ({result})")

    def _context(self, ordinal: int) -> int:
        """The context of a device that PyTorch uses, too."""
        with self._lock:
            if ordinal not in self._contexts:
                device, primary = _int(), _ptr()
                self._call("cuDeviceGet", ctypes.byref(device), ordinal)
                self._call("cuDevicePrimaryCtxRetain", ctypes.byref(primary), device)
                self._contexts[ordinal] = primary.value or 0
            return self._contexts[ordinal]

    def _current(self) -> Optional[int]:
        context = _ptr()
        self._call("cuCtxGetCurrent", ctypes.byref(context))
        return context.value

    def enter(self, ordinal: int) -> None:
        """Gives this thread a context, if it has none."""
        if self._current() is None:
            self._call("cuCtxSetCurrent", self._context(ordinal))

    def relax_capture(self) -> None:
        """Lets this thread make calls while others capture a CUDA graph."""
        mode = _int(_CAPTURE_RELAXED)
        self._call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))

    def uuid(self, ordinal: int) -> str:
        device, raw = _int(), (ctypes.c_char * 16)()
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        self._call("cuDeviceGetUuid", raw, device)
        return f"GPU-{uuid.UUID(bytes=bytes(raw))}"

    def address_range(self, address: int) -> Tuple[int, int]:
        """Start and size of the mapping that this address lies in."""
        base, size = _u64(), _size()
        self._call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), address)
        return base.value, size.value

    def retain(self, base: int) -> int:
        """Handle of the allocation that is mapped here; release() it. Fails for cudaMalloc."""
        handle = _u64()
        self._call("cuMemRetainAllocationHandle", ctypes.byref(handle), base)
        return handle.value

    def release(self, handle: int) -> None:
        self._call("cuMemRelease", handle)

    def export(self, handle: int) -> int:
        """A new descriptor of the allocation; the caller closes it."""
        fd = _int(-1)
        self._call("cuMemExportToShareableHandle", ctypes.byref(fd), handle, _POSIX_FILE_DESCRIPTOR, 0)
        return fd.value

    def handle_types(self, handle: int) -> int:
        """Kinds of handles that the allocation was made for, as bits."""
        properties = _AllocationProp()
        self._call("cuMemGetAllocationPropertiesFromHandle", ctypes.byref(properties), handle)
        return int(properties.handle_types)

    def copy_to_host(self, ordinal: int, destination: int, source: int, size: int) -> None:
        """Copies on a stream of its own and waits for it."""
        before = self._current()
        self._call("cuCtxSetCurrent", self._context(ordinal))
        try:
            with self._lock:
                if ordinal not in self._streams:
                    stream = _ptr()
                    self._call("cuStreamCreate", ctypes.byref(stream), _NON_BLOCKING)
                    self._streams[ordinal] = stream.value or 0
                queue = self._streams[ordinal]
            self._call("cuMemcpyDtoHAsync_v2", destination, source, size, queue)
            self._call("cuStreamSynchronize", queue)
        finally:
            self._call("cuCtxSetCurrent", before)


def why_not_exportable(driver: Any, handle: int, error: DriverError) -> str:
    """The cause of a failed export, for the registration."""
    try:
        types = driver.handle_types(handle)
    except DriverError:
        return str(error.args[-1])
    if types == 0:
        return "allocated without a handle to export"
    if not types & _POSIX_FILE_DESCRIPTOR:
        return "fabric handle" if types & _FABRIC else f"handle of kind {types}"
    return str(error.args[-1])


_loaded: Optional[Driver] = None


def load() -> Driver:
    """The driver of this process. Errors: OSError when there is none."""
    global _loaded
    if _loaded is None:
        try:
            _loaded = Driver(ctypes.CDLL("libcuda.so.1"))
        except AttributeError as error:
            raise OSError(f"the CUDA driver is too old: {error}") from None
    return _loaded
