# SPDX-License-Identifier: Apache-2.0
"""Drivers that end or hang the process that calls them: an error of the device, and nothing more.
The drivers are the real PoCL in a bad environment, PoCL under a layer that dies or hangs, and one of
our own (tests/gpu_hash/driver_process/dying_driver.cc)."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

import harness
from harness import TROUBLE, YES

DRIVER = os.environ.get("ASSAY_DYING_DRIVER")
LAYER = os.environ.get("ASSAY_FAULT_LAYER")
POCL = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")


class DriverTestCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not POCL.exists():
            self.skipTest("no PoCL")
        self.vendors = self.dir / "vendors"
        self.vendors.mkdir()
        shutil.copy(POCL, self.vendors / "pocl.icd")
        self.environment["OCL_ICD_VENDORS"] = str(self.vendors)
        self.model()
        self.root = self.assay("hash", "model", "--device", "cpu", "-o", "json").json()["root"]

    def listed(self, *options, env=None):
        """Devices by id, errors of platforms by name."""
        found = self.assay("device", "list", *options, "-o", "json", env=env).json()
        return ({device["id"]: device["platform"] for device in found["devices"]},
                {item["platform"]: item["error"] for item in found["failed_platforms"]})  # fmt: skip

    def fails_and_others_go_on(self, words, env, *options, device="opencl:0", code="device-failed"):
        """Hashing on the device is an error of it; the CPU does the work where it may."""
        result = self.assay("hash", "model", "--device", device, *options, env=env, code=TROUBLE)
        self.assertEqual(result.out, "")
        self.assertRegex(result.err, f"error: {code}: .*{words}")
        made = self.assay("manifest", "create", "model", "--name", "a/b", "--out", "m.json", "--device",
                          device, *options, env=env, code=TROUBLE)  # fmt: skip
        self.assertIn(code, made.err)
        self.assertFalse((self.dir / "m.json").exists())
        got = self.assay("hash", "model", "--device", device, "--fallback", "cpu", *options, "-o", "json",
                         env=env).json()  # fmt: skip
        self.assertEqual((got["root"], got["device"]), (self.root, "cpu"))
        self.assertEqual(got["fallback"]["error"]["code"], code)
        auto = self.assay("hash", "model", "-o", "json", env=env).json()
        self.assertEqual((auto["root"], auto["device"]), (self.root, "cpu"))


class Pocl(DriverTestCase):
    def test_what_kept_writers_away_is_what_the_process_saw(self):
        (self.dir / "model" / "notes.bin").write_bytes(bytes(100_000))
        by_device, by_cpu = (self.assay("hash", "model", "--device", device, "-o", "json").json()
                             for device in ("opencl:0", "cpu"))
        self.assertEqual(by_device["read_protection"], by_cpu["read_protection"])
        # A writer is in the way of the process that reads.
        with open(self.dir / "model" / "notes.bin", "r+b"):
            seen = self.assay("hash", "model", "--device", "opencl:0", "-o", "json").json()
        self.assertEqual(seen["read_protection"]["weakest"], "none")

    def test_pocl_that_ends_the_process(self):
        env = {"POCL_CACHE_DIR": ""}
        self.fails_and_others_go_on("ended .signal 6., last words: .*Assertion", env)
        devices, failed = self.listed(env=env)
        self.assertEqual(list(devices), ["cpu"])
        self.assertEqual(failed["pocl.icd"]["code"], "device-failed")
        self.assertIn("Assertion", failed["pocl.icd"]["detail"])
        text = self.assay("device", "list", env=env)
        self.assertIn("pocl.icd", text.err)
        self.assertIn("auto takes cpu", text.out)
        self.assay("device", "selftest", env=env)

    def test_pocl_with_a_cut_cache(self):
        # Whatever PoCL makes of it, the answer is right or it is an error of the device.
        self.assay("hash", "model", "--device", "opencl:0")
        cache = self.dir / "cut"
        shutil.copytree(self.environment["POCL_CACHE_DIR"], cache)
        for path in cache.rglob("*"):
            if path.is_file():
                os.truncate(path, min(100, path.stat().st_size))
        shutil.rmtree(self.dir / "cache", ignore_errors=True)
        env = {"POCL_CACHE_DIR": str(cache)}
        result = self.assay("hash", "model", "--device", "opencl:0", "-o", "json", env=env, code=None)
        if result.code == YES:
            self.assertEqual(result.json()["root"], self.root)
        else:
            self.assertEqual(result.code, TROUBLE, result)
            self.assertIn("device-failed", result.err)
            got = self.assay("hash", "model", "--device", "opencl:0", "--fallback", "cpu", "-o", "json",
                             env=env).json()  # fmt: skip
            self.assertEqual((got["root"], got["device"]), (self.root, "cpu"))

    def test_pocl_that_cannot_write_its_cache(self):
        # Nobody makes directories in /proc, not even root.
        for name in ("POCL_CACHE_DIR", "XDG_CACHE_HOME"):
            del self.environment[name]
        env = {"HOME": "/proc/home"}  # as where it is not set
        self.fails_and_others_go_on("CL_DEVICE_NOT_FOUND.*HOME", env, code="device-not-found")
        result = self.assay("hash", "model", "--device", "opencl", env=env, code=TROUBLE)
        self.assertNotIn("vendors", result.err)
        _, failed = self.listed(env=env)
        self.assertIn("CL_DEVICE_NOT_FOUND", failed["Portable Computing Language"]["detail"])

    def test_no_driver_takes_code_that_others_could_have_written(self):
        for name in ("POCL_CACHE_DIR", "XDG_CACHE_HOME"):
            del self.environment[name]
        home = self.dir / "apart"
        drivers = home / ".cache" / "assay" / "drivers"
        home.mkdir()
        env = {"HOME": str(home)}
        self.assertIn("opencl:0", self.listed(env=env)[0])
        self.assertTrue(any(drivers.iterdir()))
        self.assertEqual([path.name for path in (home / ".cache").iterdir()], ["assay"])
        for folder, mode in ((drivers, 0o777), (drivers, 0o770), (drivers, 0o1777), (drivers.parent, 0o707),
                             (drivers.parent.parent, 0o770), (home, 0o777)):  # fmt: skip
            folder.chmod(mode)
            with self.subTest(folder=folder.name, mode=oct(mode)):
                self.fails_and_others_go_on("CL_DEVICE_NOT_FOUND", env, code="device-not-found")
            folder.chmod(0o700)
        drivers.rename(home / "elsewhere")
        drivers.symlink_to(home / "elsewhere")
        self.fails_and_others_go_on("CL_DEVICE_NOT_FOUND", env, code="device-not-found")
        del self.environment["HOME"]
        self.fails_and_others_go_on("CL_DEVICE_NOT_FOUND", {}, code="device-not-found")

    def test_a_driver_that_cannot_be_loaded_is_named(self):
        (self.vendors / "pocl.icd").write_text("/nowhere/libdriver.so\n")
        _, failed = self.listed()
        self.assertIn("cannot load the driver", failed["pocl.icd"]["detail"])
        self.fails_and_others_go_on("pocl.icd: .*cannot load", {})


@unittest.skipUnless(DRIVER, "no driver of our own in this build")
class DyingDriver(DriverTestCase):
    def setUp(self):
        super().setUp()
        (self.vendors / "dying.icd").write_text(f"{DRIVER}\n")

    def test_the_others_stay_usable(self):
        for way, words, options in (("abort", r"signal 6\), last words: dying driver: \\x1b", []),
                                    ("hang", r"said nothing for 9 s \(killed\)", ["--device-timeout", 9])):
            with self.subTest(way=way):
                env = {"DYING_DRIVER": way}
                devices, failed = self.listed(*options, env=env)
                self.assertEqual(devices, {"cpu": "CPU engine", "opencl:0": "Portable Computing Language"})
                self.assertEqual(list(failed), ["dying.icd"])
                self.assertRegex(failed["dying.icd"]["detail"], words)
                got = self.assay("hash", "model", "--device", "opencl:0", *options, "-o", "json",
                                 env=env).json()  # fmt: skip
                self.assertEqual((got["root"], got["device"]), (self.root, "opencl:0"))
                missing = self.assay("hash", "model", "--device", "opencl:1", *options, env=env,
                                     code=TROUBLE)  # fmt: skip
                self.assertRegex(missing.err, "error: device-failed: .*dying.icd: .*" + words)

    def test_alone(self):
        (self.vendors / "pocl.icd").unlink()
        self.fails_and_others_go_on("dying.icd: .*signal 6", {"DYING_DRIVER": "abort"})
        (self.vendors / "dying.icd").rename(self.dir / "one.icd")
        env = {"DYING_DRIVER": "abort", "OCL_ICD_VENDORS": str(self.dir / "one.icd")}
        self.fails_and_others_go_on("one.icd: .*signal 6", env)
        env = {"DYING_DRIVER": "abort", "OCL_ICD_VENDORS": "", "OPENCL_VENDOR_PATH": str(self.dir)}
        self.fails_and_others_go_on("one.icd: .*signal 6", env)

    def test_its_process_has_no_secret_and_ends_with_its_parent(self):
        mark = self.dir / "mark"
        secret = open(self.write("secret", b"s"), "rb")
        self.addCleanup(secret.close)
        parent = subprocess.Popen(
            [harness.PROGRAM, "device", "list"], cwd=self.dir, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, pass_fds=[secret.fileno()],
            env={**self.environment, "DYING_DRIVER": "hang", "DYING_DRIVER_MARK": str(mark),
                 "ASSAY_TOKEN": "secret"})  # fmt: skip

        def end():
            parent.kill()
            parent.wait()
        self.addCleanup(end)
        self.wait_for(mark.exists)
        (child,) = [int(path.parent.name) for path in pathlib.Path("/proc").glob("[0-9]*/stat")
                    if self.parent_of(path) == parent.pid]  # fmt: skip
        folder = pathlib.Path(f"/proc/{child}")
        try:
            variables = (folder / "environ").read_bytes()
            files = {os.readlink(path) for path in (folder / "fd").iterdir()}
        except PermissionError:
            variables, files = b"", set()  # who is not root cannot look into it, which is as good
        self.assertNotIn(b"ASSAY_TOKEN", variables)
        self.assertNotIn(str(self.dir / "secret"), files)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        self.wait_for(lambda: not folder.exists())

    @staticmethod
    def parent_of(path):
        try:
            return int(path.read_text().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return 0

    def wait_for(self, condition):
        end = time.monotonic() + harness.SLOW
        while not condition():
            self.assertLess(time.monotonic(), end)
            os.sched_yield()


@unittest.skipUnless(LAYER, "no layer for the OpenCL loader in this build")
class DyingDevice(DriverTestCase):
    def setUp(self):
        super().setUp()
        self.environment["OPENCL_LAYERS"] = LAYER
        self.assay("hash", "model", "--device", "opencl")  # kernels are built

    def test_while_it_hashes(self):
        with open(self.write("model/large.bin", b"start"), "r+b") as large:
            large.truncate(150 << 20)
        self.root = self.assay("hash", "model", "--device", "cpu", "-o", "json").json()["root"]
        plan = "clEnqueueNDRangeKernel:20:CL_OUT_OF_RESOURCES:"
        self.fails_and_others_go_on(r"opencl:0 .*ended .signal 6., last words: driver: assertion",
                                    {"FAULT_LAYER_PLAN": plan + "dies"})  # fmt: skip
        got = self.assay("hash", "model", "--device", "opencl:0", "--device-timeout", 20, "--fallback", "cpu",
                         "-o", "json", env={"FAULT_LAYER_PLAN": plan + "hangs"}).json()  # fmt: skip
        self.assertEqual((got["root"], got["device"]), (self.root, "cpu"))
        self.assertRegex(got["fallback"]["error"]["detail"], "opencl:0 .*said nothing for 20 s .killed.")

    def test_the_self_test_names_it(self):
        result = self.assay("device", "selftest", "-o", "json", code=harness.NO,
                            env={"FAULT_LAYER_PLAN": "clEnqueueNDRangeKernel:1:CL_OUT_OF_RESOURCES:dies"})
        (failed,) = [item for item in json.loads(result.out)["devices"] if not item["passed"]]
        self.assertEqual((failed["id"], failed["error"]["code"]), ("opencl:0", "device-failed"))


if __name__ == "__main__":
    harness.main()
