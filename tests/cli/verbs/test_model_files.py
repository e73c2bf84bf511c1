# SPDX-License-Identifier: Apache-2.0
"""What usually lies in a model's directory, and what usually is missing: the words that users get."""
import ctypes
import errno
import json
import mmap
import os
import socket
import stat
import struct
import subprocess
import unicodedata

import harness
from harness import NO, PROGRAM, TROUBLE, YES
from reference import tree

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 4942085904\n".format("0" * 64)
# File systems on which a read lease says that nobody writes.
LEASED = ("ext2/ext3", "xfs", "btrfs", "f2fs")


def refuse_openat2(error):
    """Makes openat2 fail in this process and its children, as sandboxes do that do not know it."""
    # Load the number of the call; 437 is openat2 on every architecture.
    program = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 437,
                          0x06, 0, 0, 0x00050000 | error, 0x06, 0, 0, 0x7FFF0000)  # fmt: skip
    buffer = ctypes.create_string_buffer(program)
    filters = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    set_no_new_privileges, set_seccomp, mode_filter = 38, 22, 2
    if libc.prctl(set_no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_seccomp, mode_filter, filters):
        raise OSError(ctypes.get_errno(), "prctl")


class Case(harness.TestCase):
    def hash(self, path, *options):
        return self.assay("hash", path, "-o", "json", *options).json()

    def create(self, path, *options, code=YES):
        return self.assay("manifest", "create", path, "--name", "acme/demo", "--out", "m.json",
                          "-o", "json", *options, code=code)  # fmt: skip

    def signed(self, path, *options):
        self.key("publisher")
        self.create(path, "--key", "publisher.pem", *options)

    def verify(self, path, code=YES):
        return self.assay("manifest", "verify", "m.json", path, "--key", "publisher.pem.pub",
                          "-o", "json", code=code).json()  # fmt: skip


class DownloadTools(Case):
    def download(self, name, time, folder=".cache/huggingface"):
        self.write(f"{name}/model.bin", "weights")
        self.write(f"{name}/{folder}/download/model.bin.metadata", f"revision\netag\n{time}\n")
        self.write(f"{name}/{folder}/download/model.bin.lock", "")
        self.write(f"{name}/{folder}/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")

    def test_records_are_named_and_a_preset_leaves_them_out(self):
        self.download("a", 1.25)
        self.download("b", 2.5)
        self.write("plain/model.bin", "weights")
        told = self.assay("hash", "a").err
        self.assertIn("/.cache/huggingface", told)
        self.assertIn("--ignore-preset huggingface", told)
        preset = ("--ignore-preset", "huggingface")
        roots = {self.hash(name, *preset)["root"] for name in ("a", "b", "plain")}
        self.assertEqual(len(roots), 1, "one revision has one root, whether records are there or not")
        self.assertEqual(self.hash("a", *preset)["parameters"]["ignore"], ["/.cache/huggingface"])
        self.assertNotIn("--ignore-preset", self.assay("hash", "a", *preset).err)
        self.assertEqual(self.hash("a", "--ignore", "/.cache/huggingface")["root"], *roots)

        self.signed("a", *preset)
        self.assertTrue(self.verify("b")["verified"])

    def test_a_second_download_that_differs_says_why(self):
        self.download("a", 1.25)
        self.download("b", 2.5)
        self.signed("a")
        (difference,) = self.verify("b", code=NO)["differences"]
        self.assertIn("--ignore-preset huggingface", difference["detail"])

    def test_other_presets(self):
        for name in (".msc", ".mdl", ".mv", "._____temp/part"):
            self.write(f"m/{name}", name)
        self.write("m/model.bin", "weights")
        self.assertIn("--ignore-preset modelscope", self.assay("hash", "m").err)
        got = self.hash("m", "--ignore-preset", "modelscope", "--ignore-preset", "huggingface")
        self.assertEqual(got["parameters"]["ignore"],
                         ["/._____temp", "/.cache/huggingface", "/.mdl", "/.msc", "/.mv"])  # fmt: skip
        self.assertEqual([entry["path"] for entry in got["objects"]], ["model.bin"])
        self.assertEqual(self.error("hash", "m", "--ignore-preset", "nothing"), "usage")


class Outputs(Case):
    def setUp(self):
        super().setUp()
        self.model()
        self.key("publisher")

    def test_a_file_of_the_model_is_never_written_over(self):
        before = (self.dir / "model/config.json").read_bytes()
        for where, model in (("model/config.json", "model"), ("model/data/longer.bin", "model"),
                             ("model/config.json", "model/config.json")):  # fmt: skip
            for flag in ("--out", "--outline"):
                refused = self.assay("manifest", "create", model, "--name", "acme/demo", flag, where,
                                     code=TROUBLE)  # fmt: skip
                self.assertIn("usage: This would write over a file of the model", refused.err)
        self.assertEqual((self.dir / "model/config.json").read_bytes(), before)
        for _ in range(2):  # what an earlier call wrote is no file of the model
            self.assay("manifest", "create", "model", "--name", "acme/demo", "--outline", "model/o",
                       "--out", "model/m.json")  # fmt: skip

    def test_one_file_may_have_another_name_and_users_see_which_is_signed(self):
        self.assay("manifest", "create", "model/config.json", "--name", "acme/demo", "--key",
                   "publisher.pem", "--out", "one.json")  # fmt: skip
        self.write("copy.bin", (self.dir / "model/config.json").read_text())
        seen = self.assay("manifest", "verify", "one.json", "copy.bin", "--key", "publisher.pem.pub").err
        self.assertIn("signed under another name: config.json", seen)


class Links(Case):
    MODEL = "models--acme--tiny"
    SNAPSHOT = MODEL + "/snapshots/r1"

    def cache(self):
        """What huggingface_hub 2.4 makes of two files, one of which came by Xet."""
        self.write("blobs/ab/abcd", "weights")
        self.write(f"{self.MODEL}/refs/main", "r1")
        self.write(f"{self.MODEL}/blobs/e2", "{}")
        (self.dir / self.SNAPSHOT).mkdir(parents=True)
        os.symlink("../../blobs/ab/abcd", self.dir / self.MODEL / "blobs/e1")
        os.symlink("../../blobs/e1", self.dir / self.SNAPSHOT / "model.bin")
        os.symlink("../../blobs/e2", self.dir / self.SNAPSHOT / "config.json")
        self.write("plain/model.bin", "weights")
        self.write("plain/config.json", "{}")

    def test_a_snapshot_of_a_hugging_face_cache_is_the_plain_folder(self):
        self.cache()
        want = self.hash("plain")
        for path in (self.SNAPSHOT, self.dir / self.SNAPSHOT, self.SNAPSHOT + "/"):
            got = self.hash(path)
            self.assertEqual((got["artifact"], got["objects"], got["parameters"]),
                             (want["artifact"], want["objects"], want["parameters"]))  # fmt: skip
        reference, _ = tree.hash_path(str(self.dir / self.SNAPSHOT), "sha256", 16384, "both", [], False, None)
        self.assertEqual(reference["root"], want["root"])
        self.signed("plain")
        self.assertTrue(self.verify(self.SNAPSHOT)["verified"])
        self.create(self.SNAPSHOT, "--key", "publisher.pem")
        self.assertTrue(self.verify("plain")["verified"])
        self.write(f"{self.MODEL}/blobs/e2", "[]")
        (difference,) = self.verify(self.SNAPSHOT, code=NO)["differences"]
        self.assertEqual((difference["kind"], difference["file"]), ("changed", "config.json"))

    def test_a_pointer_of_git_lfs_in_a_cache(self):
        self.cache()
        self.signed("plain")
        self.write("blobs/ab/abcd", LFS)
        refused = json.loads(self.create(self.SNAPSHOT, code=TROUBLE).err.splitlines()[-1])["error"]
        self.assertEqual((refused["code"], refused["where"]), ("incomplete-model", "model.bin"))
        (difference,) = self.verify(self.SNAPSHOT, code=NO)["differences"]
        self.assertIn("git lfs pull", difference["detail"])

    def test_other_directories_of_a_cache_name_the_option(self):
        self.cache()
        refused = self.assay("hash", self.MODEL, code=TROUBLE).err
        self.assertIn("unsupported-file-type", refused)
        self.assertIn("--follow-symlinks", refused)
        self.assertIn("--ignore", refused)
        refused = self.assay("hash", self.MODEL, "--follow-symlinks", code=TROUBLE).err
        self.assertIn("invalid-path", refused)
        self.assertIn("snapshots/REVISION", refused)
        self.assertIn("HF_HUB_DISABLE_SHARED_BLOBS=1", refused)
        self.assertIn("hf download --local-dir", refused)
        self.assertIn("without --follow-symlinks",
                      self.assay("hash", self.SNAPSHOT, "--follow-symlinks", code=TROUBLE).err)

    def test_a_link_of_a_snapshot_to_another_model(self):
        self.cache()
        self.write("models--acme--other/blobs/e9", "secret")
        os.symlink("../../../models--acme--other/blobs/e9", self.dir / self.SNAPSHOT / "x")
        refused = self.assay("hash", self.SNAPSHOT, code=TROUBLE).err
        self.assertIn("invalid-path", refused)
        self.assertIn("--ignore", refused)
        with self.assertRaises(tree.TreeError):
            tree.walk(self.dir / self.SNAPSHOT)
        self.hash(self.SNAPSHOT, "--ignore", "x")

    def test_links_are_followed_where_openat2_is_refused(self):
        self.write("m/b/1", "w")
        os.symlink("b/1", self.dir / "m/x")
        want = self.hash("m", "--follow-symlinks")["root"]
        for error in (errno.EPERM, errno.ENOSYS):
            done = subprocess.run([PROGRAM, "hash", "m", "--follow-symlinks", "--device", "cpu"],
                                  cwd=self.dir, env=self.environment, capture_output=True, text=True,
                                  timeout=harness.SLOW, preexec_fn=lambda e=error: refuse_openat2(e),
                                  check=False)  # fmt: skip
            self.assertEqual(done.returncode, YES, done.stderr)
            self.assertIn(want, done.stdout)


class Lacks(Case):
    def test_a_git_lfs_pointer_is_no_model(self):
        self.write("m/model.safetensors", LFS)
        self.write("n/pytorch_model.bin", LFS)
        self.assertIn("git lfs pull", self.assay("hash", "m", code=TROUBLE).err)
        self.assertIn("git lfs pull", self.assay("hash", "n").err)
        (lack,) = self.hash("n")["lacks"]
        self.assertEqual(lack["file"], "pytorch_model.bin")
        refused = json.loads(self.create("n", code=TROUBLE).err.splitlines()[-1])["error"]
        self.assertEqual((refused["code"], refused["where"]), ("incomplete-model", "pytorch_model.bin"))
        self.assertIn("git lfs pull", self.create("n", "--allow-incomplete").err)

    def test_a_pointer_in_place_of_what_was_signed(self):
        self.write("m/model.bin", "weights" * 1000)
        self.signed("m")
        self.write("m/model.bin", LFS)
        (difference,) = self.verify("m", code=NO)["differences"]
        self.assertIn("git lfs pull", difference["detail"])

    def test_a_file_that_only_speaks_of_lfs_is_whole(self):
        self.write("m/notes.md", "A pointer begins with\n" + LFS)
        self.write("m/long.txt", LFS + "x" * 1000)
        self.assertNotIn("lacks", self.hash("m"))
        self.create("m")

    def test_a_shard_that_the_index_names_is_missing(self):
        one = harness.safetensors({"a": ("U8", [3], b"abc")})
        self.write("m/sub/model-1.safetensors", one)
        index = {"metadata": {"total_size": 6}, "weight_map": {
            "a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-2.safetensors"}}  # fmt: skip
        self.write_json("m/sub/model.safetensors.index.json", index)
        (lack,) = self.hash("m")["lacks"]
        self.assertEqual(lack["file"], "sub/model.safetensors.index.json")
        self.assertIn("sub/model-2.safetensors", lack["detail"])
        refused = json.loads(self.create("m", code=TROUBLE).err.splitlines()[-1])["error"]
        self.assertEqual(refused["code"], "incomplete-model")
        self.create("m", "--allow-incomplete")
        other = harness.safetensors({"b": ("U8", [1], b"x"), "c": ("U8", [2], b"yz")})
        self.write("m/sub/model-2.safetensors", other)
        self.assertNotIn("lacks", self.hash("m"))
        self.create("m")

    def test_an_index_that_nobody_can_read(self):
        for text, word in (("{", "well-formed"), ('{"a":NaN}', "NaN"), ("[]", "weight_map"),
                           ('{"weight_map":{"a":1}}', "weight_map")):  # fmt: skip
            self.write("m/model.safetensors.index.json", text)
            with self.subTest(text=text):
                (lack,) = self.hash("m")["lacks"]
                self.assertIn(word, lack["detail"])
        os.truncate(self.dir / "m/model.safetensors.index.json", (32 << 20) + 1)
        self.assertIn("longer than", self.hash("m")["lacks"][0]["detail"])


class Protection(Case):
    def setUp(self):
        super().setUp()
        kind = subprocess.run(["stat", "-f", "-c", "%T", self.dir], capture_output=True, text=True,
                              check=True).stdout.strip()  # fmt: skip
        if kind not in LEASED:
            self.skipTest(f"leases of {kind} do not see every writer")

    def test_what_kept_files_from_being_written_is_said(self):
        content = b"w" * 300_000
        self.write("m/a.bin", content)
        written = self.write("m/b.bin", content)
        counts = {"none": 0, "read-only-mount": 0, "lease": 2, "fs-verity": 0}
        self.assertEqual(self.hash("m")["read_protection"], {"weakest": "lease", "files": counts})
        self.assertIn("2 files by a lease", self.assay("hash", "m").err)
        self.signed("m")
        with open(written, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
            mapping[0] = mapping[0]  # the page is there now: later writes move no time
            want = {"weakest": "none", "files": {**counts, "lease": 1, "none": 1}}
            self.assertEqual(self.verify("m")["read_protection"], want)
            self.assertIn("1 file by nothing", self.assay("hash", "m").err)
        self.assertEqual(self.verify("m")["read_protection"]["weakest"], "lease")


class AwkwardFiles(Case):
    def test_two_names_of_one_file_are_two_files(self):
        self.write("m/a", "weights")
        os.link(self.dir / "m/a", self.dir / "m/b")
        self.write("plain/a", "weights")
        self.write("plain/b", "weights")
        self.signed("m")
        self.assertEqual(self.hash("m")["root"], self.hash("plain")["root"])
        self.assertTrue(self.verify("plain")["verified"])

    def test_a_hole_is_zeros(self):
        size = (5 << 20) + 3
        self.write("plain/x", bytes(size))
        self.write("m/x", "")
        os.truncate(self.dir / "m/x", size)
        self.assertEqual(self.hash("m")["root"], self.hash("plain")["root"])

    def test_what_is_no_file_is_named(self):
        self.write("m/model.bin", "w")
        place = self.dir / "m/sub"
        place.mkdir()
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        kinds = {"a FIFO": lambda: os.mkfifo(place / "x"),
                 "a socket": lambda: listener.bind(str(place / "x"))}
        if os.geteuid() == 0:  # /dev/null, and a disk that does not exist
            kinds["a device"] = lambda: os.mknod(place / "x", stat.S_IFCHR | 0o666, os.makedev(1, 3))
            kinds["a device "] = lambda: os.mknod(place / "x", stat.S_IFBLK | 0o666, os.makedev(0, 0))
        self.signed("m")
        for kind, make in kinds.items():
            make()
            told = self.assay("hash", "m", "-o", "json", code=TROUBLE).err
            for error in (json.loads(told.splitlines()[-1])["error"], self.verify("m", code=NO)["error"]):
                with self.subTest(kind=kind):
                    self.assertEqual((error["code"], error["where"]), ("unsupported-file-type", "sub/x"))
                    self.assertIn(kind.strip(), error["detail"])
            (place / "x").unlink()


class Messages(Case):
    def test_a_directory_of_the_file_system(self):
        self.write("m/model.bin", "w")
        self.write("m/lost+found/x", "w")
        os.chmod(self.dir / "m/lost+found", 0)
        self.addCleanup(os.chmod, self.dir / "m/lost+found", 0o700)
        if os.geteuid() == 0:
            done = self.as_nobody("hash", "m")
        else:
            done = self.assay("hash", "m", code=TROUBLE).err
        self.assertIn("--ignore /lost+found", done)

    def test_a_directory_that_cannot_be_read_is_named(self):
        self.write("m/model.bin", "w")
        self.write("m/sub/private/x", "w")
        private = self.dir / "m/sub/private"
        self.addCleanup(os.chmod, private, 0o700)
        for mode in (0, 0o400, 0o100):
            os.chmod(private, mode)
            command = ("hash", "m", "-o", "json")
            told = self.as_nobody(*command) if os.geteuid() == 0 else self.assay(*command, code=TROUBLE).err
            error = json.loads(told.splitlines()[-1])["error"]
            self.assertEqual(error["code"], "file-unreadable", mode)
            self.assertRegex(error["where"], "^sub/private", mode)

    def as_nobody(self, *arguments):
        """Standard error of a run that fails, as a user without the powers of root."""
        for folder in (self.dir, self.dir / "m", self.dir / "m/sub"):
            if folder.exists():
                os.chmod(folder, 0o755)

        def drop():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        done = subprocess.run([PROGRAM, *arguments, "--device", "cpu"], cwd=self.dir, preexec_fn=drop,
                              env=self.environment, capture_output=True, text=True,
                              timeout=harness.SLOW, check=False)  # fmt: skip
        self.assertEqual(done.returncode, TROUBLE, done.stderr)
        return done.stderr

    def test_capital_letters(self):
        self.write("m/model.bin", "w")
        refused = self.assay("manifest", "create", "m", "--name", "Acme/Llama-3", "--out", "m.json",
                             code=TROUBLE).err  # fmt: skip
        self.assertIn("no capital letters; write acme/llama-3", refused)
        self.write_json("p.json", {"name": "My-Policy", "version": 1, "mode": "enforce",
                                   "match": {}, "require": []})  # fmt: skip
        self.assertIn("capital letters", str(self.assay("policy", "lint", "p.json", code=None)))

    def test_names_that_look_alike(self):
        name = "m/caf\u00e9.bin"
        self.write(unicodedata.normalize("NFC", name), "w")
        self.write("m/other.bin", "w")
        self.signed("m")
        os.rename(self.dir / unicodedata.normalize("NFC", name),
                  self.dir / unicodedata.normalize("NFD", name))  # fmt: skip
        os.rename(self.dir / "m/other.bin", self.dir / "m/another.bin")
        details = {(found["kind"], found["file"]): found["detail"]
                   for found in self.verify("m", code=NO)["differences"]}  # fmt: skip
        self.assertIn("NFC and NFD", details["missing", "caf\u00e9.bin"])
        self.assertNotIn("NFC", details["missing", "other.bin"])

    def test_names_that_some_file_systems_take_for_one(self):
        nfc, nfd = (unicodedata.normalize(form, "caf\u00e9.bin") for form in ("NFC", "NFD"))
        for name in ("README.md", "readme.md", nfc, nfd, "Data/one", "data/one", "data/two",
                     "\u00c4", "\u00e4", "\u65e5\u672c", "\u4e2d\u56fd", "cafe.bin", "e", "\u00e9"):  # fmt: skip
            self.write("m/" + name, "w")
        for told in (self.assay("hash", "m").err, self.create("m").err):
            pairs = [line.split("for one: ")[1].split(" and ")
                     for line in told.splitlines() if "differ only by case" in line]  # fmt: skip
            pairs = sorted([json.loads(a), json.loads(b)] for a, b in pairs)
            self.assertEqual(pairs, [["Data", "data"], ["README.md", "readme.md"], [nfd, nfc],
                                     ["\u00c4", "\u00e4"]])  # fmt: skip
        for number in range(12):
            self.write(f"n/{number}/x", "w")
            self.write(f"n/{number}/X", "w")
        self.assertIn("and 2 more pairs", self.assay("hash", "n").err)
        self.write("plain/model.bin", "w")
        self.assertNotIn("differ only by case", self.assay("hash", "plain").err)

    def test_no_number(self):
        self.write("s.json", '{"a": NaN}')
        self.assertIn("JSON has no NaN", self.assay("manifest", "show", "s.json", code=None).err)
        header = b'{"__metadata__":{"loss":NaN}}'
        self.write("m/x.safetensors", struct.pack("<Q", len(header)) + header)
        self.assertIn("JSON has no NaN", self.assay("hash", "m", code=TROUBLE).err)


if __name__ == "__main__":
    harness.main()
