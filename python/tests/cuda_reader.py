# SPDX-License-Identifier: Apache-2.0
"""Imports an exported allocation with the CUDA driver and copies bytes of it, as fake_agent.py needs."""
import ctypes
import os

_calls = {}
_u64, _size, _int = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int


class _Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = [("location_type", _int), ("location_id", _int), ("flags", _int)]


def _call(name, *arguments):
    if "library" not in _calls:
        _calls["library"] = ctypes.CDLL("libcuda.so.1")
    result = getattr(_calls["library"], name)(*arguments)
    assert result == 0, f"{name}: {result}"


def _enter():
    """A context for this thread: each connection of the agent is a thread of its own."""
    if "context" not in _calls:
        _call("cuInit", ctypes.c_uint(0))
        device, context = _int(), ctypes.c_void_p()
        _call("cuDeviceGet", ctypes.byref(device), _int(0))
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        _calls["context"] = context
    _call("cuCtxSetCurrent", _calls["context"])


def read_device(fd, spans, size):
    """Bytes (offset, size) of the allocation of this size behind a descriptor."""
    _enter()
    handle, address = _u64(), _u64()
    _call("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(fd), _int(1))
    _call("cuMemAddressReserve", ctypes.byref(address), _size(size), _size(0), _u64(0), _u64(0))
    try:
        _call("cuMemMap", address, _size(size), _size(0), handle, _u64(0))
        try:
            access = _Access(1, 0, 3)  # of device 0, read and write
            _call("cuMemSetAccess", address, _size(size), ctypes.byref(access), _size(1))
            out = []
            for offset, length in spans:
                buffer = ctypes.create_string_buffer(length)
                _call("cuMemcpyDtoH_v2", buffer, _u64(address.value + offset), _size(length))
                out.append(buffer.raw)
            return out
        finally:
            _call("cuMemUnmap", address, _size(size))
    finally:
        _call("cuMemAddressFree", address, _size(size))
        _call("cuMemRelease", handle)


def there_is_a_device():
    """Whether the driver is here and has a device; says why not."""
    if not os.path.exists("/dev/nvidiactl") and not os.path.exists("/dev/dxg"):
        return "no CUDA device on this machine"
    try:
        _enter()
    except (OSError, AssertionError) as error:
        return f"the CUDA driver does not work: {error}"
    return ""
