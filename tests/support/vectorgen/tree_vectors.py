# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/tree.json: object roots and outline digests of painted objects."""
import io

from reference import merkle, tree
from . import painted


def sizes(chunk):
    """Sizes around the chunk and, in chunks, around each power of two up to 64."""
    found = [0, 1, chunk - 1, chunk, chunk + 1]
    for k in range(1, 7):
        for chunks in (2**k - 1, 2**k, 2**k + 1):
            found.append(chunks * chunk)
        found += [2**k * chunk - 1, 2**k * chunk + 1]
    return sorted(set(found))


def case(hash_name, chunk, size):
    leaves = tree.chunk_leaves(io.BytesIO(painted(size)), size, hash_name, chunk)
    span = 4 * chunk
    digests = tree.span_digests(leaves, hash_name, chunk, span)
    return {
        "hash": hash_name,
        "chunk_size": chunk,
        "size": size,
        "leaves": len(leaves),
        "root": merkle.root(hash_name, leaves).hex(),
        "span": span,
        "outline": [digest.hex() for digest in digests],
    }


def build():
    cases = []
    for hash_name in ("sha256", "sha384"):
        for chunk in (4096, 16384, 65536):
            cases += [case(hash_name, chunk, size) for size in sizes(chunk)]
        biggest = tree.MAX_CHUNK
        for size in (0, 1, biggest - 1, biggest, biggest + 1, 3 * biggest, 5 * biggest + 7):
            cases.append(case(hash_name, biggest, size))
    return {
        "what": "Object roots of assay-tree-v1 and subtree digests at span. The object of a case "
        "holds `size` bytes, byte i being i mod 251. leaves: number of chunks. outline: the "
        "subtree digests of bytes [i*span, min((i+1)*span, size)), schemas/tree.md section 7.2. "
        "refused_chunk_sizes: parameters that are refused.",
        "source": "computed by tests/support/reference/tree.py from schemas/tree.md and "
        "RFC 9162 section 2.1.1",
        "painted_1000_sha256": merkle.digest("sha256", painted(1000)).hex(),
        "refused_chunk_sizes": [0, 1, 512, 2048, 4095, 4097, 12288, 16383, 1048577, 2097152],
        "cases": cases,
    }
