# SPDX-License-Identifier: Apache-2.0
"""assay fill: what is in the destination afterwards, and what never is."""
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from harness import NO, TROUBLE, YES

STAGING, MOVING = ".assay-fill", ".assay-fill-moving"


def content(directory):
    """Every file below the directory by its path, links as links; the mode besides."""
    found = {}
    for path in sorted(pathlib.Path(directory).rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            found[name] = "link"
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


class FillCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.source = self.model()
        shutil.rmtree(self.source / ".git")
        self.key("publisher")
        self.sign()
        self.to = self.dir / "volume"

    def sign(self, path="model", *options, name="acme/demo", out="signed.json"):
        self.assay("manifest", "create", path, "--name", name, "--key", "publisher.pem", "--out", out,
                   *options)  # fmt: skip

    def arguments(self, source="model", to="volume", *options, manifest="signed.json"):
        return ("fill", source, to, "--manifest", manifest, "--key", "publisher.pem.pub", *options)

    def fill(self, *arguments, code=YES, **options):
        return self.assay(*self.arguments(*arguments, **options), "-o", "json", code=code).json()

    def refused(self, *arguments, code=TROUBLE, **options):
        return self.error(*self.arguments(*arguments, **options), code=code)

    def files(self, got):
        return [(one["kind"], one["file"]) for one in got["differences"]]

    def nothing_there(self):
        """Neither under the final name nor beside it."""
        self.assertEqual([str(path) for path in self.dir.glob(".volume*")], [])
        if self.to.exists():
            self.assertEqual(list(self.to.iterdir()), [])


class Fill(FillCase):
    def test_copies_every_file_to_a_new_name(self):
        got = self.fill()
        self.assertEqual(content(self.to), content(self.source))
        self.assertEqual((got["filled"], got["verified_in_place"], got["decision"]), (True, False, None))
        self.assertEqual(got["bytes"], sum(map(len, content(self.source).values())))
        self.assertEqual(sorted(got), ["artifact", "bytes", "decision", "destination", "device", "differences",
                                       "filled", "name", "read_protection", "seconds", "signers",
                                       "verified_in_place"])  # fmt: skip
        text = self.assay(*self.arguments(to="again"))
        self.assertRegex(text.out, r"^filled again with acme/demo assay-tree-v1-sha256:")
        self.assertIn("no service was asked", text.err)

    def test_fills_a_directory_that_is_there_as_a_volume_is(self):
        self.to.mkdir()
        os.chmod(self.to, 0o777)
        before = self.to.stat()
        self.fill()
        self.assertEqual(content(self.to), content(self.source))
        self.assertEqual((self.to.stat().st_ino, self.to.stat().st_mode), (before.st_ino, before.st_mode))

    def test_other_users_of_the_pod_can_read_the_model(self):
        for to in ("volume", "made"):
            self.to.mkdir(exist_ok=True)
            mask = os.umask(0o077)
            try:
                self.fill("model", to)
            finally:
                os.umask(mask)
            modes = {oct(path.stat().st_mode & 0o7777) for path in (self.dir / to).rglob("*") if path.is_file()}
            self.assertEqual(modes, {"0o644"})
            modes = {oct(path.stat().st_mode & 0o7777) for path in (self.dir / to).rglob("*") if path.is_dir()}
            self.assertEqual(modes, {"0o755"})
        self.assertEqual(oct((self.dir / "made").stat().st_mode & 0o7777), "0o755")

    def test_large_and_small_chunks_of_both_algorithms(self):
        self.write("model/large.bin", os.urandom(9 << 20))
        for number, options in enumerate((("--hash", "sha384"), ("--chunk-size", "1048576"),
                                          ("--objects", "files"))):  # fmt: skip
            self.sign("model", *options)
            for threads in ("1", "7"):
                to = f"copy-{number}-{threads}"
                self.fill("model", to, "--threads", threads)
                self.assertEqual(content(self.dir / to), content(self.source), (options, threads))

    def test_a_model_of_one_file_gets_the_name_that_was_signed(self):
        self.write("weights.gguf.d/one.bin", b"w" * 100_000)
        self.sign("weights.gguf.d/one.bin")
        shutil.copy(self.dir / "weights.gguf.d/one.bin", self.dir / "renamed")
        self.fill("renamed")
        self.assertEqual(content(self.to), {"one.bin": b"w" * 100_000})

    def test_links_become_files_where_the_root_follows_them(self):
        (self.source / "link.json").symlink_to("config.json")
        self.sign("model", "--follow-symlinks")
        self.fill()
        self.assertEqual(content(self.to)["link.json"], (self.source / "config.json").read_bytes())

    def test_ignored_files_stay_behind(self):
        self.write("model/.git/config", b"not part of the model")
        self.sign()
        self.fill()
        self.assertNotIn(".git/config", content(self.to))

    def test_the_second_run_verifies_what_the_first_one_left(self):
        """A kubelet runs init containers again when the node started anew."""
        self.fill()
        before = {path: path.stat().st_ino for path in self.to.rglob("*")}
        shutil.rmtree(self.source)
        self.source.mkdir()
        got = self.fill()
        self.assertEqual((got["filled"], got["verified_in_place"]), (True, True))
        self.assertEqual({path: path.stat().st_ino for path in self.to.rglob("*")}, before)


class Mismatch(FillCase):
    """The answer is no, with the named file, and nothing is there."""

    def check(self, *expected):
        for made in (False, True):
            if made:
                self.to.mkdir()
            got = self.fill(code=NO)
            self.assertEqual(self.files(got), list(expected))
            self.assertEqual((got["filled"], got["error"]["code"]), (False, "content-mismatch"))
            self.nothing_there()
        text = self.assay(*self.arguments(), code=NO)
        for kind, file in expected:
            self.assertIn(f"{kind} {file}", text.out)

    def test_changed_byte(self):
        path = self.source / "data/longer.bin"
        path.write_bytes(path.read_bytes()[:-1] + b"!")
        self.check(("changed", "data/longer.bin"))

    def test_last_byte_of_a_large_file(self):
        data = os.urandom(5 << 20)
        self.write("model/large.bin", data)
        self.sign()
        self.write("model/large.bin", data[:-1] + bytes([data[-1] ^ 1]))
        self.check(("changed", "large.bin"))

    def test_missing_file(self):
        (self.source / "config.json").unlink()
        self.check(("missing", "config.json"))

    def test_extra_file(self):
        self.write("model/modeling_evil.py", b"import os")
        self.check(("extra", "modeling_evil.py"))

    def test_longer_and_shorter_file(self):
        path = self.source / "config.json"
        signed = path.read_bytes()
        for other in (signed + b"x", signed[:-1], b"", signed + bytes(3 << 20)):
            path.write_bytes(other)
            self.check(("changed", "config.json"))
            self.to.rmdir()

    def test_file_that_was_empty(self):
        self.write("model/empty", b"no more")
        self.check(("changed", "empty"))

    def test_link_in_the_source(self):
        (self.source / "config.json").unlink()
        (self.source / "config.json").symlink_to("/etc/passwd")
        self.assertEqual(self.refused(code=NO), "unsupported-file-type")
        self.nothing_there()

    def test_link_that_leads_out(self):
        (self.source / "link.json").symlink_to("config.json")
        self.sign("model", "--follow-symlinks")
        (self.source / "link.json").unlink()
        (self.source / "link.json").symlink_to("../publisher.pem")
        self.assertEqual(self.refused(code=NO), "invalid-path")
        self.nothing_there()

    def test_fifo_in_the_source(self):
        os.mkfifo(self.source / "pipe")
        self.assertEqual(self.refused(code=NO), "unsupported-file-type")
        self.nothing_there()

    def test_manifest_of_tensors_alone(self):
        self.sign("model", "--objects", "tensors")
        got = self.fill(code=NO)
        self.assertIn(("extra", "model.safetensors"), self.files(got))
        self.nothing_there()

    def test_file_that_the_kernel_does_not_give(self):
        if os.geteuid() == 0:
            return  # reads everything
        (self.source / "config.json").chmod(0)
        self.assertEqual(self.refused(), "file-unreadable")
        self.nothing_there()


class Signatures(FillCase):
    def test_another_key(self):
        self.key("stranger")
        got = self.assay("fill", "model", "volume", "--manifest", "signed.json", "--key",
                         "stranger.pem.pub", "-o", "json", code=NO).json()  # fmt: skip
        self.assertEqual(got["error"]["code"], "untrusted-signer")
        self.nothing_there()

    def test_unsigned(self):
        self.assay("manifest", "create", "model", "--name", "acme/demo", "--out", "plain.json")
        self.assertEqual(self.refused(manifest="plain.json", code=NO), "signature-missing")
        self.nothing_there()

    def test_changed_manifest(self):
        text = (self.dir / "signed.json").read_text()
        at = text.index('"payload":"') + 40
        self.write("bad.json", text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1:])
        self.assertNotEqual(self.assay(*self.arguments(manifest="bad.json"), code=None).code, YES)
        self.nothing_there()

    def test_manifest_of_another_model_than_the_uri_names(self):
        options = ("--source", "model")
        got = self.refused("assay://acme/other", "volume", *options, code=NO)
        self.assertEqual(got, "subject-mismatch")
        self.nothing_there()
        other = "assay-tree-v1-sha256:" + "0" * 64
        self.assertEqual(self.refused(f"assay://acme/demo@{other}", "volume", *options, code=NO),
                         "subject-mismatch")  # fmt: skip
        self.fill("assay://acme/demo", "volume", *options)

    def test_models_by_name(self):
        """As KServe calls: the URI and the directory are the last arguments."""
        (self.dir / "models/acme").mkdir(parents=True)
        shutil.move(self.source, self.dir / "models/acme/demo")
        self.assay("fill", "--sources", "models", "--manifest", "signed.json", "--key", "publisher.pem.pub",
                   "assay://acme/demo", "volume")  # fmt: skip
        self.assertEqual(content(self.to), content(self.dir / "models/acme/demo"))


class Destination(FillCase):
    def test_content_that_is_not_the_model_is_never_touched(self):
        self.write("volume/notes.txt", b"mine")
        got = self.fill(code=NO)
        self.assertIn(("extra", "notes.txt"), self.files(got))
        self.assertEqual(content(self.to), {"notes.txt": b"mine"})
        # One file of the model, changed, and one more: nothing is brought right.
        self.write("volume/config.json", b"other")
        self.assertIn(("changed", "config.json"), self.files(self.fill(code=NO)))
        self.assertEqual(content(self.to), {"notes.txt": b"mine", "config.json": b"other"})

    def test_in_the_source_and_around_it(self):
        (self.source / "inner").mkdir()
        for to in ("model/new", "model/inner", "model", ".", "./model/../model/inner/"):
            self.assertEqual(self.refused("model", to), "usage", to)
        (self.dir / "alias").symlink_to("model")
        self.assertEqual(self.refused("model", "alias/inner"), "usage")
        self.assertEqual(sorted(path.name for path in (self.source / "inner").iterdir()), [])
        self.assertEqual(self.refused("model/data", "model"), "usage")

    def test_link_file_and_missing_parent(self):
        (self.dir / "target").mkdir()
        (self.dir / "link").symlink_to("target")
        self.write("file", b"x")
        self.assertEqual(self.refused("model", "link"), "usage")
        self.assertEqual(self.refused("model", "link/"), "usage")
        self.assertEqual(self.refused("model", "file"), "usage")
        self.assertEqual(self.refused("model", "no/such/parent"), "file-unreadable")
        self.assertEqual(list((self.dir / "target").iterdir()), [])

    def test_missing_source(self):
        self.assertEqual(self.refused("nothing"), "file-unreadable")
        self.nothing_there()

    def test_two_at_once(self):
        self.to.mkdir()
        held = os.open(self.to, os.O_RDONLY)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX)
        self.assertEqual(self.refused(), "conflict")
        (self.dir / f".new{STAGING}").mkdir()
        beside = os.open(self.dir / f".new{STAGING}", os.O_RDONLY)
        self.addCleanup(os.close, beside)
        fcntl.flock(beside, fcntl.LOCK_EX)
        self.assertEqual(self.refused("model", "new"), "conflict")

    def test_what_a_killed_run_left_is_removed(self):
        self.write(f"volume/{STAGING}/data/half", b"half")
        self.write(f".new{STAGING}/data/half", b"half")
        for to in ("volume", "new"):
            self.fill("model", to)
            self.assertEqual(content(self.dir / to), content(self.source))
        self.assertFalse((self.dir / f".new{STAGING}").exists())

    def test_a_run_that_was_killed_while_it_moved_files_is_done_again(self):
        self.write(f"volume/{MOVING}/data/chunk.bin", b"verified once")
        self.write("volume/config.json", b"anything")
        self.fill()
        self.assertEqual(content(self.to), content(self.source))
        # What is not of the model stays, and so the model does not come.
        shutil.rmtree(self.to)
        self.write(f"volume/{MOVING}/x", b"")
        self.write("volume/notes.txt", b"mine")
        self.assertIn(("extra", "notes.txt"), self.files(self.fill(code=NO)))
        self.assertEqual(content(self.to), {"notes.txt": b"mine"})

    def test_leftovers_that_are_links_lead_nowhere(self):
        self.write("precious/file", b"keep")
        self.to.mkdir()
        (self.to / STAGING).symlink_to(self.dir / "precious")
        (self.to / MOVING).symlink_to(self.dir / "precious")
        (self.dir / f".new{STAGING}").symlink_to(self.dir / "precious")
        self.fill()
        self.fill("model", "new")
        self.assertEqual(content(self.dir / "precious"), {"file": b"keep"})

    def test_model_with_a_file_of_that_name(self):
        for name in (STAGING, MOVING):
            self.write(f"odd/{name}/x", b"x")
            self.sign("odd")
            self.assertEqual(self.refused("odd", code=NO), "invalid-path")
            shutil.rmtree(self.dir / "odd")
        self.nothing_there()


class NoSpace(FillCase):
    """On a file system of its own, of 1 MiB."""

    def setUp(self):
        super().setUp()
        self.to.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(self.to)],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("no tmpfs can be mounted here")
        self.addCleanup(subprocess.run, ["umount", str(self.to)], check=False)

    def test_model_that_is_too_large(self):
        self.write("model/large.bin", b"x" * (3 << 20))
        self.sign()
        result = self.assay(*self.arguments(), code=TROUBLE)
        self.assertIn("No space left on device", result.err)
        self.nothing_there()

    def test_room_that_others_take_meanwhile(self):
        """The whole fits by its size, and not by the blocks that its files take."""
        for number in range(300):
            self.write(f"many/{number}", b"x" * 100)
        self.sign("many")
        result = self.assay(*self.arguments("many"), code=TROUBLE)
        self.assertIn("No space left on device", result.err)
        self.nothing_there()

    def test_model_that_fits(self):
        self.fill()
        self.assertEqual(content(self.to), content(self.source))


class Interrupted(FillCase):
    """The source comes through a pipe-like file system: it is large enough to be under way."""

    def start(self, size):
        self.write("model/large.bin", b"")
        os.truncate(self.source / "large.bin", size)
        self.sign("model", "--objects", "files")
        self.to.mkdir()
        return subprocess.Popen([harness.PROGRAM, *self.arguments("model", "volume", "--threads", "1")],
                                cwd=self.dir, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)  # fmt: skip

    def under_way(self, process):
        """Until the large file is written to."""
        written = self.to / STAGING / "large.bin"
        end = time.monotonic() + harness.SLOW
        while time.monotonic() < end and process.poll() is None:
            try:
                if written.stat().st_blocks > 0:
                    return
            except FileNotFoundError:
                pass
            os.sched_yield()
        self.assertIsNone(process.poll(), "the copy ended before it could be interrupted")

    def test_signals_leave_nothing(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start(768 << 20)
            self.under_way(process)
            process.send_signal(number)
            out, err = process.communicate(timeout=harness.SLOW)
            self.assertEqual(process.returncode, TROUBLE, out + err)
            self.assertIn("cancelled", err)
            self.nothing_there()
            self.to.rmdir()

    def test_killed_and_run_again(self):
        process = self.start(768 << 20)
        self.under_way(process)
        process.kill()
        process.communicate()
        self.assertEqual([path.name for path in self.to.iterdir()], [STAGING])
        os.truncate(self.source / "large.bin", 1 << 20)
        self.sign("model", "--objects", "files")
        self.fill()
        self.assertEqual(sorted(content(self.to)), sorted(content(self.source)))

    def test_a_source_that_changes_meanwhile(self):
        process = self.start(768 << 20)
        self.under_way(process)
        lease = None
        # Where the program holds a lease, the open waits until it was noticed.
        with open(self.source / "large.bin", "r+b") as stream:
            stream.write(b"changed")
        out, err = process.communicate(timeout=harness.SLOW)
        self.assertIsNone(lease)
        self.assertNotEqual(process.returncode, YES, out + err)
        self.assertIn("large.bin", out + err)
        self.nothing_there()


class InPlace(FillCase):
    def verify(self, *options, code=YES):
        return self.assay("fill", "--verify-in-place", "model", "--manifest", "signed.json", "--key",
                          "publisher.pem.pub", "-o", "json", *options, code=code).json()  # fmt: skip

    def test_same_and_changed(self):
        got = self.verify()
        self.assertEqual((got["filled"], got["verified_in_place"]), (True, True))
        self.write("model/config.json", b"{}")
        self.write("model/more.py", b"")
        got = self.verify(code=NO)
        self.assertEqual(self.files(got), [("changed", "config.json"), ("extra", "more.py")])
        self.assertEqual(content(self.source)["config.json"], b"{}")

    def test_takes_one_directory(self):
        self.assertEqual(self.error("fill", "--verify-in-place", "model", "volume", "--manifest",
                                    "signed.json", "--key", "publisher.pem.pub"), "usage")  # fmt: skip


class Usage(FillCase):
    def test_wrong_calls(self):
        key, manifest = ("--key", "publisher.pem.pub"), ("--manifest", "signed.json")
        for arguments in (("model", "volume"), ("model",), ("model", "volume", "more", *manifest, *key),
                          ("model", "volume", *manifest), ("model", "volume", *key, "--model", "acme/demo"),
                          ("assay://acme/demo", "volume", *manifest, *key),
                          ("assay://acme/demo", "volume", "--source", "model", "--sources", ".", *manifest, *key),
                          ("assay://acme/demo", "volume", "--source", "model", "--model", "x", *manifest, *key),
                          ("assay://acme/../demo", "volume", "--sources", ".", *manifest, *key),
                          ("assay://", "volume", "--sources", ".", *manifest, *key),
                          ("assay://acme/demo@latest", "volume", "--sources", ".", *manifest, *key),
                          ("model", "volume", "--source", "model", *manifest, *key),
                          ("model", "volume", "--threads", "1025", *manifest, *key)):  # fmt: skip
            self.assertEqual(self.error("fill", *arguments), "usage", arguments)
            self.nothing_there()


if __name__ == "__main__":
    harness.main()
