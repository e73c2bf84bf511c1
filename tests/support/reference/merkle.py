# SPDX-License-Identifier: Apache-2.0
"""Merkle tree of RFC 9162 section 2.1, written as the RFC defines it.

Functions take leaf hashes, not leaf data, because a model does not fit into memory; leaf_hash
makes one from the other. `hash_name` is "sha256" or "sha384".

    python3 merkle.py root HASH FILE...                 root over the files' contents as leaves
    python3 merkle.py inclusion HASH INDEX FILE...      inclusion path of one of them
    python3 merkle.py consistency HASH SIZE FILE...     proof from the first SIZE files to all
"""
import hashlib
import sys


def digest(hash_name, data):
    """HASH of RFC 9162 section 2.1.1, fixed to the two algorithms that Assay knows."""
    if hash_name not in ("sha256", "sha384"):
        raise ValueError(hash_name)
    return hashlib.new(hash_name, data).digest()


def leaf_hash(hash_name, data):
    """RFC 9162 section 2.1.1: MTH({d[0]}) = HASH(0x00 || d[0])."""
    return digest(hash_name, b"\x00" + bytes(data))


def node_hash(hash_name, left, right):
    """RFC 9162 section 2.1.1: HASH(0x01 || left || right)."""
    return digest(hash_name, b"\x01" + left + right)


def split_point(n):
    """RFC 9162 section 2.1.1: the largest power of two smaller than n, for n > 1."""
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def root(hash_name, leaves):
    """RFC 9162 section 2.1.1: MTH(D_n) over leaf hashes."""
    n = len(leaves)
    if n == 0:
        return digest(hash_name, b"")
    if n == 1:
        return leaves[0]
    k = split_point(n)
    return node_hash(hash_name, root(hash_name, leaves[:k]), root(hash_name, leaves[k:]))


def inclusion_path(hash_name, m, leaves):
    """RFC 9162 section 2.1.3.1: PATH(m, D_n), for 0 <= m < n."""
    n = len(leaves)
    if not 0 <= m < n:
        raise ValueError("no such leaf")
    if n == 1:
        return []
    k = split_point(n)
    if m < k:
        return inclusion_path(hash_name, m, leaves[:k]) + [root(hash_name, leaves[k:])]
    return inclusion_path(hash_name, m - k, leaves[k:]) + [root(hash_name, leaves[:k])]


def consistency_proof(hash_name, m, leaves):
    """RFC 9162 section 2.1.4.1: PROOF(m, D_n), for 0 < m <= n; empty for m == n."""
    if not 0 < m <= len(leaves):
        raise ValueError("no consistency proof from this size")
    return _subproof(hash_name, m, leaves, True)


def _subproof(hash_name, m, leaves, complete):
    """RFC 9162 section 2.1.4.1: SUBPROOF(m, D_n, b)."""
    n = len(leaves)
    if m == n:
        return [] if complete else [root(hash_name, leaves)]
    k = split_point(n)
    if m <= k:
        return _subproof(hash_name, m, leaves[:k], complete) + [root(hash_name, leaves[k:])]
    return _subproof(hash_name, m - k, leaves[k:], False) + [root(hash_name, leaves[:k])]


def verify_inclusion(hash_name, leaf, index, size, path, expected_root):
    """RFC 9162 section 2.1.3.2, step by step. `leaf` is a leaf hash. Returns a bool."""
    if not 0 <= index < size:  # step 1
        return False
    fn, sn, r = index, size - 1, leaf  # steps 2, 3
    for p in path:  # step 4
        if sn == 0:  # 4a
            return False
        if fn & 1 or fn == sn:  # 4b
            r = node_hash(hash_name, p, r)
            while not (fn & 1 or fn == 0):
                fn >>= 1
                sn >>= 1
        else:
            r = node_hash(hash_name, r, p)
        fn >>= 1  # 4c
        sn >>= 1
    return sn == 0 and r == expected_root  # step 5


def verify_consistency(hash_name, size1, size2, root1, root2, path):
    """RFC 9162 section 2.1.4.2, step by step. Returns a bool.

    Every tree is consistent with the empty tree, so a proof from size 0 proves nothing: refused.
    """
    if not 0 < size1 <= size2:
        return False
    if size1 == size2:  # section 2.1.4.1: the proof between equal trees is empty
        return not path and root1 == root2
    if not path:  # step 1
        return False
    path = list(path)
    if size1 & (size1 - 1) == 0:  # step 2: a power of two
        path.insert(0, root1)
    fn, sn = size1 - 1, size2 - 1  # step 3
    while fn & 1:  # step 4
        fn >>= 1
        sn >>= 1
    fr = sr = path[0]  # step 5
    for c in path[1:]:  # step 6
        if sn == 0:  # 6a
            return False
        if fn & 1 or fn == sn:  # 6b
            fr = node_hash(hash_name, c, fr)
            sr = node_hash(hash_name, c, sr)
            while not (fn & 1 or fn == 0):
                fn >>= 1
                sn >>= 1
        else:
            sr = node_hash(hash_name, sr, c)
        fn >>= 1  # 6c
        sn >>= 1
    return fr == root1 and sr == root2 and sn == 0  # step 7


def main(argv):
    verbs = {"root": 0, "inclusion": 1, "consistency": 1}
    if len(argv) < 3 or argv[1] not in verbs or argv[2] not in ("sha256", "sha384"):
        print(__doc__, file=sys.stderr)
        return 2
    verb, hash_name, rest = argv[1], argv[2], argv[3:]
    try:
        number = int(rest.pop(0)) if verbs[verb] else 0
        leaves = []
        for name in rest:
            with open(name, "rb") as stream:
                leaves.append(leaf_hash(hash_name, stream.read()))
        if verb == "root":
            print(root(hash_name, leaves).hex())
        else:
            make = inclusion_path if verb == "inclusion" else consistency_proof
            for step in make(hash_name, number, leaves):
                print(step.hex())
    except (OSError, ValueError, IndexError) as error:
        print(f"merkle: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
