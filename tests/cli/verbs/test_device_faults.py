# SPDX-License-Identifier: Apache-2.0
"""What the verbs that hash say when the device fails: an error and nothing else, or with
--fallback cpu the CPU's answer, with the reason. Faults come from a layer of the OpenCL loader
(tests/gpu_hash/opencl/fault_layer.h) above the real driver."""
import os
import subprocess
import unittest

import harness
from harness import NO, TROUBLE, YES

LAYER = os.environ.get("ASSAY_FAULT_LAYER")
# The way back of the third slice (two reads are those of the self-test): accepted and never done.
LATE = "clEnqueueReadBuffer:5:CL_OUT_OF_RESOURCES:late"
FAULTS = ["clCreateBuffer:3:CL_MEM_OBJECT_ALLOCATION_FAILURE:gone",
          "clEnqueueMapBuffer:1:CL_OUT_OF_HOST_MEMORY:gone",
          "clEnqueueWriteBuffer:4:CL_DEVICE_NOT_AVAILABLE:gone",
          "clEnqueueNDRangeKernel:20:CL_OUT_OF_RESOURCES:late",
          "clWaitForEvents:3:CL_DEVICE_NOT_AVAILABLE:gone",
          LATE]  # fmt: skip
WRONG = "clEnqueueReadBuffer:1:CL_OUT_OF_RESOURCES:flip"


@unittest.skipUnless(LAYER, "no layer for the OpenCL loader in this build")
class DeviceFaults(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.environment["OPENCL_LAYERS"] = LAYER
        if len(self.assay("device", "list", "-o", "json").json()["devices"]) < 2:
            self.skipTest("no OpenCL device")
        self.model()
        # Several slices of 32 MiB, so that the first ones are done when the fault comes.
        with open(self.write("model/large.bin", b"start"), "r+b") as large:
            large.truncate(150 << 20)
        self.want = self.assay("hash", "model", "--device", "cpu", "-o", "json").json()
        # Kernels are built here, so that the counts of calls are those of a warm start.
        warm = self.assay("hash", "model", "--device", "opencl", "-o", "json").json()
        self.assertEqual((warm["device"], warm["root"]), ("opencl:0", self.want["root"]))
        self.name = warm["device_name"]

    def faulty(self, plan, *arguments, **options):
        return self.assay(*arguments, "--device", "opencl", env={"FAULT_LAYER_PLAN": plan}, **options)

    def test_which_device_ran(self):
        def launches(device):
            log = self.dir / "calls"
            self.assay("hash", "model", "--device", device, env={"FAULT_LAYER_LOG": str(log)})
            calls = dict(line.split() for line in log.read_text().splitlines()) if log.exists() else {}
            log.unlink(missing_ok=True)
            return int(calls.get("clEnqueueNDRangeKernel", 0))

        self.assertGreater(launches("opencl"), 10)
        self.assertEqual(launches("cpu"), 0)

    def test_a_device_that_fails_is_an_error_and_no_result(self):
        for plan in FAULTS:
            with self.subTest(plan=plan):
                result = self.faulty(plan, "hash", "model", code=TROUBLE)
                self.assertEqual(result.out, "")
                self.assertIn("error: device-failed: ", result.err)
                self.assertIn(self.name, result.err)
                made = self.faulty(plan, "manifest", "create", "model", "--name", "a/b", "--out",
                                   "m.json", "--outline", "m.outline", code=TROUBLE)  # fmt: skip
                self.assertEqual(made.out, "")
                self.assertFalse((self.dir / "m.json").exists())
                self.assertFalse((self.dir / "m.outline").exists())

    def test_with_fallback_the_cpu_does_all_of_it_and_says_so(self):
        for plan in FAULTS:
            with self.subTest(plan=plan):
                result = self.faulty(plan, "hash", "model", "--fallback", "cpu", "-o", "json")
                got = result.json()
                self.assertEqual(got["root"], self.want["root"])
                self.assertEqual(got["objects"], self.want["objects"])
                self.assertEqual((got["device"], got["device_name"]),
                                 ("cpu", self.want["device_name"]))  # fmt: skip
                self.assertEqual(got["fallback"]["device"], "opencl")
                self.assertEqual(got["fallback"]["error"]["code"], "device-failed")
                self.assertIn(self.name, got["fallback"]["error"]["detail"])
                self.assertIn("the device failed, so the CPU hashes everything", result.err)
        quiet = self.faulty(LATE, "hash", "model", "--fallback", "cpu", "--quiet")
        self.assertEqual(quiet.out.strip(), self.want["artifact"])
        self.assertIn("the CPU hashes everything", quiet.err)

    def test_fallback_is_not_mentioned_when_it_was_not_needed(self):
        got = self.assay("hash", "model", "--device", "opencl", "--fallback", "cpu", "-o", "json")
        self.assertEqual(got.json()["device"], "opencl:0")
        self.assertNotIn("fallback", got.json())
        self.assertNotIn("CPU hashes", got.err)

    def test_fallback_is_for_devices_alone(self):
        os.mkfifo(self.dir / "model" / "pipe")
        result = self.assay("hash", "model", "--device", "opencl", "--fallback", "cpu", "-o", "json",
                            code=TROUBLE)  # fmt: skip
        self.assertIn("unsupported-file-type", result.err)
        self.assertNotIn("CPU hashes", result.err)
        self.assay("hash", "model", "--fallback", "gpu", code=TROUBLE)

    def test_a_device_that_is_not_there(self):
        (self.dir / "none").mkdir()
        env = {"OCL_ICD_VENDORS": str(self.dir / "none")}
        self.assertEqual(self.error("hash", "model", "--device", "opencl", env=env),
                         "device-not-found")  # fmt: skip
        got = self.assay("hash", "model", "--device", "opencl", "--fallback", "cpu", "-o", "json",
                         env=env).json()  # fmt: skip
        self.assertEqual((got["root"], got["device"]), (self.want["root"], "cpu"))
        self.assertEqual(got["fallback"]["error"]["code"], "device-not-found")

    def test_a_device_that_computes_something_else(self):
        wrong = r"device-self-test-failed: .*the sha256 root of 1 bytes came out as [0-9a-f]{64}"
        result = self.faulty(WRONG, "hash", "model", code=TROUBLE)
        self.assertEqual(result.out, "")
        self.assertRegex(result.err, wrong)
        self.assertIn(self.name, result.err)
        tested = self.assay("device", "selftest", env={"FAULT_LAYER_PLAN": WRONG}, code=NO)
        self.assertRegex(tested.out, wrong)
        got = self.faulty(WRONG, "hash", "model", "--fallback", "cpu", "-o", "json").json()
        self.assertEqual((got["root"], got["device"]), (self.want["root"], "cpu"))
        self.assertEqual(got["fallback"]["error"]["code"], "device-self-test-failed")

    def test_manifests(self):
        self.key("publisher")
        made = self.faulty(LATE, "manifest", "create", "model", "--name", "a/b", "--key",
                           "publisher.pem", "--out", "m.json", "--fallback", "cpu",
                           "-o", "json").json()  # fmt: skip
        self.assertEqual(made["artifact"], self.want["artifact"])
        self.assertEqual(made["fallback"]["error"]["code"], "device-failed")
        verify = ["manifest", "verify", "m.json", "model", "--key", "publisher.pem.pub", "-o", "json"]
        result = self.faulty(LATE, *verify, code=TROUBLE)
        self.assertEqual(result.out, "")
        self.assertIn("device-failed", result.err)
        for part in ([], ["--file", "large.bin"]):
            with self.subTest(part=part):
                got = self.faulty(LATE, *verify, *part, "--fallback", "cpu").json()
                self.assertEqual((got["verified"], got["device"]), (True, "cpu"))
                self.assertEqual(got["fallback"]["error"]["code"], "device-failed")
        # A difference is a difference, on whichever device it is found.
        with open(self.dir / "model" / "large.bin", "r+b") as large:
            large.seek(140 << 20)
            large.write(b"!")
        got = self.faulty(LATE, *verify, "--fallback", "cpu", code=NO).json()
        self.assertEqual([d["file"] for d in got["differences"]], ["large.bin"])
        self.assertEqual(got["fallback"]["error"]["code"], "device-failed")


class HostMemory(harness.TestCase):
    """What hashing needs does not grow with the model."""

    def peak(self, size, device):
        """Peak of resident memory while a file of `size` bytes is hashed, in MiB."""
        with open(self.write("sparse", b""), "r+b") as file:
            file.truncate(size)
        command = [harness.PROGRAM, "hash", str(self.dir / "sparse"), "--device", device]
        child = subprocess.Popen(command, env=self.environment, cwd=self.dir,
                                 stdout=subprocess.PIPE)  # fmt: skip
        with child.stdout:
            out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, YES, out)
        return usage.ru_maxrss / 1024

    def test_the_peak_is_the_same_whatever_the_size(self):
        devices = [device["id"] for device in self.assay("device", "list", "-o", "json").json()["devices"]]
        self.peak(1, devices[-1])  # builds kernels
        for device in devices:
            with self.subTest(device=device):
                # All lanes are in use with 256 MiB.
                small = self.peak(256 << 20, device)
                large = self.peak(1024 << 20, device)
                self.assertLess(large - small, 48, f"{small} MiB, then {large} MiB")


if __name__ == "__main__":
    harness.main()
