# SPDX-License-Identifier: Apache-2.0
"""Write a made-up transformer in the layout that model hubs use, for demos and tests.

    python3 make_model.py OUT_DIR [--size 300MB] [--seed N] [--force]

Two safetensors shards with their index, config and tokenizer files; the weights are noise. The shards
hold several dtypes, unaligned tensors (everything after an odd-sized U8 tensor), one empty tensor and
one scalar. The output depends on size and seed alone. Memory does not grow with the size.
"""
import argparse
import hashlib
import json
import os
import re
import struct
import sys

BLOCK = 1 << 20
BITS = {"F32": 32, "F16": 16, "BF16": 16, "I8": 8, "U8": 8, "I64": 64, "BOOL": 8, "F8_E4M3": 8}
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


def parse_size(text):
    match = re.fullmatch(r"([0-9]+)([A-Za-z]*)", text)
    if not match or match[2].upper() not in UNITS:
        raise argparse.ArgumentTypeError(f"not a size: {text}")
    return int(match[1]) * UNITS[match[2].upper()]


def byte_count(dtype, shape):
    count = BITS[dtype] // 8
    for dimension in shape:
        count *= dimension
    return count


def layer_tensors(layer, hidden, inner):
    """Tensors of one decoder layer; some layers are quantised."""
    base = f"model.layers.{layer}."
    attention = "F8_E4M3" if layer % 4 == 2 else "BF16"
    mlp = "I8" if layer % 4 == 1 else ("F16" if layer % 4 == 3 else "BF16")
    for name in ("q", "k", "v", "o"):
        yield f"{base}self_attn.{name}_proj.weight", attention, [hidden, hidden]
    if attention == "F8_E4M3":
        yield f"{base}self_attn.weight_scale", "F32", [4]
    for name, shape in (("gate", [inner, hidden]), ("up", [inner, hidden]), ("down", [hidden, inner])):
        yield f"{base}mlp.{name}_proj.weight", mlp, shape
    if mlp == "I8":
        yield f"{base}mlp.weight_scale", "F16", [3, hidden]
        yield f"{base}mlp.zero_points", "U8", [3, hidden // 2 - 1]  # odd: the rest is unaligned
    yield f"{base}input_layernorm.weight", "F32", [hidden]
    yield f"{base}post_attention_layernorm.weight", "F32", [hidden]


def plan(size):
    """(hidden, inner, layers, [tensors of shard 1, tensors of shard 2]) of at least `size` bytes."""
    hidden = next((h for h in (4096, 2048, 1024, 512, 256, 128) if 128 * h * h <= size // 2), 64)
    inner = hidden * 11 // 4
    vocabulary = 32 * hidden
    first = [
        ("model.embed_tokens.weight", "BF16", [vocabulary, hidden]),
        ("model.position_ids", "I64", [1, 2048]),
        ("model.token_type_mask", "U8", [997]),  # odd: what follows in this shard is unaligned
        ("model.rotary_emb.inv_freq", "F32", [hidden // 16]),
    ]
    last = [
        ("model.attention_mask", "BOOL", [127, 127]),
        ("model.adapter.weight", "F16", [0, hidden]),
        ("model.logit_scale", "F32", []),
        ("model.norm.weight", "F32", [hidden]),
        ("lm_head.weight", "BF16", [vocabulary, hidden]),
    ]
    total = sum(byte_count(dtype, shape) for _, dtype, shape in first + last)
    layers = []
    while total < size or len(layers) < 4:  # four layers show every dtype
        tensors = list(layer_tensors(len(layers), hidden, inner))
        total += sum(byte_count(dtype, shape) for _, dtype, shape in tensors)
        layers.append(tensors)
    half = len(layers) // 2
    shards = [first + sum(layers[:half], []), sum(layers[half:], []) + last]
    return hidden, inner, len(layers), shards


def content(seed, name, dtype, shape):
    """Blocks of a tensor's bytes."""
    size = byte_count(dtype, shape)
    if dtype == "I64":
        yield struct.pack(f"<{size // 8}q", *range(size // 8))
        return
    bits = bytes(i & 1 for i in range(256))
    for index in range(-(-size // BLOCK)):
        key = f"{seed}/{name}/{index}".encode()
        block = hashlib.shake_128(key).digest(min(BLOCK, size - index * BLOCK))
        yield block.translate(bits) if dtype == "BOOL" else block


def write_shard(path, tensors, seed):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, dtype, shape in tensors:
        size = byte_count(dtype, shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for name, dtype, shape in tensors:
            for block in content(seed, name, dtype, shape):
                stream.write(block)
    return at


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(value, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


def write_model(out, size, seed):
    os.makedirs(out, exist_ok=True)
    hidden, inner, layers, shards = plan(size)
    total, weight_map = 0, {}
    for shard, tensors in zip(SHARDS, shards):
        total += write_shard(os.path.join(out, shard), tensors, seed)
        weight_map.update({name: shard for name, _, _ in tensors})
    write_json(os.path.join(out, "model.safetensors.index.json"),
               {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))})  # fmt: skip
    write_json(os.path.join(out, "config.json"), {
        "architectures": ["DemoForCausalLM"], "model_type": "demo", "torch_dtype": "bfloat16",
        "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers,
        "num_attention_heads": max(1, hidden // 64), "vocab_size": 32 * hidden,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "tie_word_embeddings": False,
        "bos_token_id": 1, "eos_token_id": 2,
    })  # fmt: skip
    write_json(os.path.join(out, "generation_config.json"),
               {"bos_token_id": 1, "eos_token_id": 2, "temperature": 0.7, "top_p": 0.9})  # fmt: skip
    words = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + ["\u2581the", "\u00e9t\u00e9"]
    write_json(os.path.join(out, "tokenizer.json"),
               {"version": "1.0", "model": {"type": "BPE", "vocab": {w: i for i, w in enumerate(words)}, "merges": []}})  # fmt: skip
    write_json(os.path.join(out, "tokenizer_config.json"),
               {"tokenizer_class": "DemoTokenizer", "model_max_length": 2048, "unk_token": "<unk>"})  # fmt: skip
    return total


def main(argv):
    parser = argparse.ArgumentParser(prog="make_model.py", description=__doc__.splitlines()[0])
    parser.add_argument("out", metavar="OUT_DIR")
    parser.add_argument("--size", type=parse_size, default=parse_size("300MB"),
                        help="bytes of weights, at least (default 300MB; KB, MB, GB, KiB, MiB, GiB)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--force", action="store_true", help="write into a directory that is not empty")
    args = parser.parse_args(argv[1:])
    try:
        if os.path.isdir(args.out) and os.listdir(args.out) and not args.force:
            print(f"make_model: {args.out} is not empty", file=sys.stderr)
            return 2
        total = write_model(args.out, args.size, args.seed)
    except OSError as error:
        print(f"make_model: {error}", file=sys.stderr)
        return 2
    print(f"make_model: {total} bytes of weights in {args.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
