# SPDX-License-Identifier: Apache-2.0
"""Stands for PyTorch where it is not installed: as much of it as docs/python.md, "On one machine", uses.
A model is assay.SharedTensors, so that package, node agent and service do what they do with PyTorch."""
import contextlib
import random

import assay

uint8 = "uint8"
manual_seed = random.seed
no_grad = contextlib.nullcontext


class Tensor:
    """float32, row-major; its bytes are those of the shared memory once its model is built."""

    def __init__(self, *shape):
        self.shape = list(shape)
        self.bytes = random.randbytes(4 * (shape[0] * (shape[1] if len(shape) > 1 else 1)))

    def view(self, dtype):
        assert dtype == uint8
        return self

    def __getitem__(self, at):
        row, column = at
        return self.bytes[4 * self.shape[-1] * row + column]

    def __setitem__(self, at, value):
        row, column = at
        self.bytes[4 * self.shape[-1] * row + column] = value


class nn:
    class Linear:
        def __init__(self, inputs, outputs):
            self.weight, self.bias = Tensor(outputs, inputs), Tensor(outputs)

    class ReLU:
        pass

    class Sequential(assay.SharedTensors):
        def __init__(self, *layers):
            self.layers = layers
            self.named = {f"{at}.{name}": tensor for at, layer in enumerate(layers)
                          for name, tensor in vars(layer).items()}  # fmt: skip
            super().__init__({name: ("F32", one.shape, one.bytes) for name, one in self.named.items()})
            for name, tensor in self.named.items():
                tensor.bytes = super().__getitem__(name)

        def __getitem__(self, at):
            return self.layers[at] if isinstance(at, int) else super().__getitem__(at)

        def eval(self):
            return self

        def state_dict(self):
            return self.named
