# SPDX-License-Identifier: Apache-2.0
"""Stands for a server: loads a model into memory, and registers that with the node agent.

    serve.py MODEL_DIR SOCKET ARTIFACT

Each safetensors file becomes one piece of memory, as a framework's allocator would make it. Prints one
JSON object a line: `registered` or `refused`, then each state that the node agent finds. Lines on its
input are commands: `flip TENSOR` changes one bit in the middle of a tensor, as a stray write or an
attacker would. Ends with its input.
"""
import json
import pathlib
import struct
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/support"))
from instance_owner import MemoryFile, Owner  # noqa: E402


def load(directory):
    """The pieces, and name -> (dtype, shape, piece, offset, size)."""
    pieces, tensors = [], {}
    for path in sorted(directory.glob("*.safetensors")):
        with open(path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            pieces.append(MemoryFile(file.read()))
        header.pop("__metadata__", None)
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            tensors[name] = (tensor["dtype"], tensor["shape"], len(pieces) - 1, begin, end - begin)
    return pieces, tensors


class Server(Owner):
    def __init__(self, socket, artifact, pieces, tensors):
        super().__init__(socket, artifact, [])
        self.connection.socket.settimeout(None)  # nothing is asked while kernels are compiled
        self.files, self.tensors = pieces, tensors

    def registration(self):
        return {**super().registration(), "tensors": [
            {"names": [name], "dtype": dtype, "shape": shape,
             "parts": [[piece, offset, size]] if size else []}
            for name, (dtype, shape, piece, offset, size) in self.tensors.items()]}  # fmt: skip

    def flip(self, name):
        _, _, piece, offset, size = self.tensors[name]
        place = offset + size // 2
        self.write(piece, place, bytes([self.files[piece].bytes[place] ^ 1]))


def say(what):
    print(json.dumps(what), flush=True)


def tell_states(server):
    while not server.ended:
        try:
            state = server.wait(lambda message: message["type"] == "state", timeout=3600)
        except Exception:
            return
        say({"state": state["state"], "findings": state["findings"]})


def main():
    directory, socket, artifact = sys.argv[1:]
    server = Server(socket, artifact, *load(pathlib.Path(directory)))
    answer = server.register()
    say(answer)
    if answer["type"] != "registered":
        return 1
    threading.Thread(target=tell_states, args=(server,), daemon=True).start()
    for line in sys.stdin:
        command, name = line.split()
        if command == "flip":
            server.flip(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
