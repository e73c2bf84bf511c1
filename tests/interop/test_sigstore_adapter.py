# SPDX-License-Identifier: Apache-2.0
"""The adapter for sigstore-conformance: each folder of the suite comes out as its name says."""
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ADAPTER = SOURCE / "tests/interop/sigstore_adapter"
SHARED = pathlib.Path(os.environ.get("ASSAY_SHARED_VECTORS", SOURCE.parent / "shared/vectors"))
SUITE = SHARED / "sigstore-bundle/bundle-verify"
CARRIED = SOURCE / "tests/vectors/sigstore"
BEACON = ("https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/"
          ".github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main")  # fmt: skip
ISSUER = "https://token.actions.githubusercontent.com"


def adapter(*arguments):
    line = [str(ADAPTER), *(str(argument) for argument in arguments)]
    return subprocess.run(line, capture_output=True, timeout=120, check=False)


def signer(folder):
    """Flags for the signer of a folder of the suite, as its README.md says."""
    if (folder / "key.pub").exists():
        return ("--key", folder / "key.pub")

    def text(name, otherwise):
        file = folder / name
        return file.read_text().rstrip("\n") if file.exists() else otherwise

    return ("--certificate-identity", text("identity", BEACON),
            "--certificate-oidc-issuer", text("issuer", ISSUER))  # fmt: skip


def verify(folder, by_digest):
    artifact = folder / "artifact"
    artifact = artifact if artifact.exists() else folder.parent / "a.txt"
    root = folder / "trusted_root.json"
    if by_digest:
        artifact = "sha256:" + hashlib.sha256(artifact.read_bytes()).hexdigest()
    flags = ("--trusted-root", root) if root.exists() else ()
    return adapter("verify-bundle", "--bundle", folder / "bundle.sigstore.json", *signer(folder),
                   *flags, artifact)  # fmt: skip


class Suite(unittest.TestCase):
    def test_every_folder_is_as_its_name_says(self):
        if not SUITE.exists():
            raise unittest.SkipTest(f"no suite at {SUITE}")
        cases = [(folder, by_digest) for folder in sorted(SUITE.iterdir()) if folder.is_dir()
                 for by_digest in (False, True)]  # fmt: skip
        self.assertGreater(len(cases), 80)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (folder, by_digest), done in zip(
                    cases, pool.map(lambda case: verify(*case), cases)):  # fmt: skip
                with self.subTest(case=folder.name, by_digest=by_digest):
                    expected = 1 if folder.name.endswith("_fail") else 0
                    self.assertEqual(done.returncode, expected, done.stderr.decode())


class Adapter(unittest.TestCase):
    """What the project carries, so that a clone proves itself."""

    who = ("--certificate-identity", BEACON, "--certificate-oidc-issuer", ISSUER)

    def test_defaults(self):
        bundle = ("--bundle", CARRIED / "message-v0.3.bundle.json")
        self.assertEqual(adapter("verify-bundle", *bundle, *self.who,
                                 CARRIED / "a.txt").returncode, 0)  # fmt: skip
        self.assertEqual(adapter("verify-bundle", "--staging", *bundle, *self.who,
                                 CARRIED / "a.txt").returncode, 1)  # fmt: skip
        self.assertEqual(adapter("verify-bundle", *bundle, *self.who,
                                 CARRIED / "managed-key.pub").returncode, 1)  # fmt: skip

    def test_staging_and_keys(self):
        self.assertEqual(adapter("verify-bundle", "--staging", "--bundle",
                                 CARRIED / "rekor2-message.bundle.json", *self.who,
                                 CARRIED / "a.txt").returncode, 0)  # fmt: skip
        self.assertEqual(adapter("verify-bundle", "--staging", "--bundle",
                                 CARRIED / "managed-key.bundle.json", "--key",
                                 CARRIED / "managed-key.pub", CARRIED / "a.txt").returncode,
                         0)  # fmt: skip

    def test_wrong_usage_is_no_yes(self):
        for arguments in ((), ("verify-bundle",), ("sign-bundle", "x"),
                          ("verify-bundle", "--bundle", "x", "y")):  # fmt: skip
            self.assertNotEqual(adapter(*arguments).returncode, 0)


if __name__ == "__main__":
    unittest.main()
