# SPDX-License-Identifier: Apache-2.0
import base64
import glob
import hashlib
import json
import unittest

import support
from reference import merkle

# The tree that certificate transparency implementations share as a known answer.
INPUTS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def level_by_level(hash_name, leaves):
    """Another way to the same root: join neighbours, a last one without neighbour moves up."""
    if not leaves:
        return hashlib.new(hash_name, b"").digest()
    while len(leaves) > 1:
        joined = [merkle.node_hash(hash_name, leaves[i], leaves[i + 1]) for i in range(0, len(leaves) - 1, 2)]
        leaves = joined + leaves[len(joined) * 2 :]
    return leaves[0]


def leaves_of(hash_name, count):
    return [merkle.leaf_hash(hash_name, b"%d" % i) for i in range(count)]


class Roots(unittest.TestCase):
    def test_known_answers(self):
        leaves = [merkle.leaf_hash("sha256", bytes.fromhex(data)) for data in INPUTS]
        for size, want in enumerate(ROOTS):
            self.assertEqual(merkle.root("sha256", leaves[:size]).hex(), want)

    def test_two_algorithms_agree(self):
        for hash_name in ("sha256", "sha384"):
            for count in list(range(70)) + [127, 128, 129, 1000]:
                leaves = leaves_of(hash_name, count)
                self.assertEqual(merkle.root(hash_name, leaves), level_by_level(hash_name, leaves))

    def test_other_hashes_are_refused(self):
        self.assertRaises(ValueError, merkle.leaf_hash, "md5", b"")


class Proofs(unittest.TestCase):
    def test_public_vectors(self):
        decode = base64.b64decode
        kinds = {"inclusion": 0, "consistency": 0}
        for kind in kinds:
            for name in glob.glob(support.shared_vectors("merkle-rfc6962", kind) + "/**/*.json", recursive=True):
                with open(name, encoding="utf-8") as stream:
                    case = json.load(stream)
                path = [decode(step) for step in case["proof"] or []]
                if kind == "inclusion":
                    got = merkle.verify_inclusion("sha256", decode(case["leafHash"]), case["leafIdx"],
                                                  case["treeSize"], path, decode(case["root"]))  # fmt: skip
                else:
                    got = merkle.verify_consistency("sha256", case["size1"], case["size2"],
                                                    decode(case["root1"]), decode(case["root2"]), path)  # fmt: skip
                self.assertEqual(got, not case["wantErr"], name)
                kinds[kind] += 1
        self.assertGreater(min(kinds.values()), 20)

    def test_every_pair_verifies(self):
        for hash_name in ("sha256", "sha384"):
            for size in range(1, 34):
                leaves = leaves_of(hash_name, size)
                root = merkle.root(hash_name, leaves)
                for m in range(size):
                    path = merkle.inclusion_path(hash_name, m, leaves)
                    self.assertTrue(merkle.verify_inclusion(hash_name, leaves[m], m, size, path, root))
                for m in range(1, size + 1):
                    proof = merkle.consistency_proof(hash_name, m, leaves)
                    old = merkle.root(hash_name, leaves[:m])
                    self.assertTrue(merkle.verify_consistency(hash_name, m, size, old, root, proof))

    def test_mutations_are_refused(self):
        size = 13
        leaves = leaves_of("sha256", size)
        root = merkle.root("sha256", leaves)
        for m in range(size):
            path = merkle.inclusion_path("sha256", m, leaves)
            wrong = [path[:-1], path + [root], [root] + path, path[1:]]
            wrong += [path[:i] + [bytes(32)] + path[i + 1 :] for i in range(len(path))]
            for other in wrong:
                self.assertFalse(merkle.verify_inclusion("sha256", leaves[m], m, size, other, root))
            for index in (m - 1, m + 1, m + 16, size, -1):
                self.assertFalse(merkle.verify_inclusion("sha256", leaves[m], index, size, path, root))
        for m in range(1, size):
            proof = merkle.consistency_proof("sha256", m, leaves)
            old = merkle.root("sha256", leaves[:m])
            wrong = [proof[:-1], proof + [root], [root] + proof, []]
            wrong += [proof[:i] + [bytes(32)] + proof[i + 1 :] for i in range(len(proof))]
            for other in wrong:
                self.assertFalse(merkle.verify_consistency("sha256", m, size, old, root, other))
            self.assertFalse(merkle.verify_consistency("sha256", m, size, root, old, proof))

    def test_nothing_is_proven_from_the_empty_tree(self):
        empty = merkle.root("sha256", [])
        self.assertFalse(merkle.verify_consistency("sha256", 0, 0, empty, empty, []))
        self.assertFalse(merkle.verify_consistency("sha256", 0, 1, empty, bytes(32), []))
        self.assertRaises(ValueError, merkle.consistency_proof, "sha256", 0, leaves_of("sha256", 3))


if __name__ == "__main__":
    unittest.main()
