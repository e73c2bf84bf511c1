# SPDX-License-Identifier: Apache-2.0
"""Models with an entry for each expert: the names and files of large checkpoints, and a few bytes a tensor."""
import itertools
import json
import struct

LAYOUT = 89_088  # expert tensors of 58 layers with 256 experts each, and their scales
LIMIT = 131_072  # entries of a manifest


def names():
    """As many as one asks for, in the order of layers."""
    for layer in itertools.count(3):
        for expert, projection, part in itertools.product(
                range(256), ("gate", "up", "down"), ("weight", "weight_scale_inv")):
            yield f"model.layers.{layer}.mlp.experts.{expert}.{projection}_proj.{part}"


def write(directory, tensors, shards, dimensions=2):
    """A model of `tensors` tensors in `shards` files, which makes as many entries as both together.

    The scales have two bytes, so that not all roots are the same."""
    directory.mkdir(exist_ok=True)
    chosen = list(itertools.islice(names(), tensors))
    per_shard = -(-tensors // shards)
    for number in range(shards):
        header, at = {}, 0
        for name in chosen[number * per_shard:(number + 1) * per_shard]:
            size = 2 if name.endswith("_inv") else 1
            header[name] = {"dtype": "U8", "shape": [1] * (dimensions - 1) + [size], "data_offsets": [at, at + size]}
            at += size
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        path = directory / f"model-{number + 1:05}-of-{shards:06}.safetensors"
        path.write_bytes(struct.pack("<Q", len(text)) + text + bytes((number + i) % 251 for i in range(at)))
