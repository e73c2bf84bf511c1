# SPDX-License-Identifier: Apache-2.0
"""Stands for a server: loads a model into memory, and registers that with the node agent.

    serve.py MODEL_DIR SOCKET ARTIFACT

Uses the package of python/: CPU tensors of PyTorch where that is installed, else its SharedTensors.
Prints one JSON object a line: `registered` or `refused`, then each state that the node agent finds.
Lines on its input are commands: `flip TENSOR` changes one bit in the middle of a tensor, as a stray
write or an attacker would. Ends with its input.
"""
import json
import pathlib
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/src"))
import assay  # noqa: E402

try:
    import torch
except ImportError:
    torch = None


def load(directory):
    """name -> (dtype, shape, content)."""
    tensors = {}
    for path in sorted(directory.glob("*.safetensors")):
        with open(path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            content = file.read()
        header.pop("__metadata__", None)
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            tensors[name] = (tensor["dtype"], tensor["shape"], content[begin:end])
    return tensors


class SharedModel:
    def __init__(self, tensors):
        self.model = assay.SharedTensors(tensors)

    def flip(self, name):
        content = self.model[name]
        content[len(content) // 2] ^= 1


class TorchModel:
    DTYPES = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32",
              "I32": "int32", "U64": "uint64", "I64": "int64", "F16": "float16", "F32": "float32",
              "F64": "float64", "C64": "complex64", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
              "F8_E5M2": "float8_e5m2"}  # fmt: skip

    def __init__(self, tensors):
        self.model = {name: self.tensor(*tensor) for name, tensor in tensors.items()}

    def tensor(self, dtype, shape, content):
        dtype = getattr(torch, self.DTYPES[dtype])
        if not content:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(bytearray(content), dtype=dtype).reshape(shape).clone()

    def flip(self, name):
        content = self.model[name].view(-1).view(torch.uint8)
        content[len(content) // 2] ^= 1


def say(what):
    print(json.dumps(what), flush=True)


def tell_states(registration):
    told = None
    while registration.state != "closed":
        now = registration.state, [{"kind": one.kind, "tensor": one.tensor, "detail": one.detail}
                                   for one in registration.findings]  # fmt: skip
        if now != told:
            say({"state": now[0], "findings": now[1]})
            told = now
        time.sleep(0.05)


def main():
    directory, socket, artifact = sys.argv[1:]
    made = (TorchModel if torch else SharedModel)(load(pathlib.Path(directory)))
    try:
        registration = assay.register(made.model, artifact=artifact, socket=socket)
    except assay.Refused as error:
        say({"type": "refused", "code": error.code, "detail": error.detail})
        return 1
    say({"type": "registered"})
    threading.Thread(target=tell_states, args=(registration,), daemon=True).start()
    for line in sys.stdin:
        command, name = line.split()
        if command == "flip":
            made.flip(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
