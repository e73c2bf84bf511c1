# SPDX-License-Identifier: Apache-2.0
"""Processes that the kernel says are in a container of a pod: in a control group with the names that
a kubelet with the driver cgroupfs gives. No container runs. Needs the right to make such a group."""
import json
import os
import pathlib
import subprocess
import sys
import time

ROOTS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")  # version 1, version 2
CONTAINER = "c0" * 32


class Server:
    """A program that prints a JSON object a line, and takes commands."""

    def __init__(self, process):
        self.process = process

    def says(self, wanted=lambda said: True):
        """The next thing it says that `wanted` is true of."""
        for line in self.process.stdout:
            said = json.loads(line)
            if wanted(said):
                return said
        raise AssertionError("it ended: " + self.process.stderr.read())

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.communicate()


class Group:
    """Raises OSError where no such group can be made."""

    def __init__(self, uid):
        root = next((root for root in ROOTS if os.path.exists(root + "/cgroup.procs")), ROOTS[1])
        self.path = pathlib.Path(root, "kubepods", f"pod{uid}", CONTAINER)
        self.servers = []
        self.path.mkdir(parents=True)

    def start(self, script, *arguments):
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'echo $$ > "{self.path}/cgroup.procs" && exec "$@"', "sh",
             sys.executable, "-B", *map(str, (script, *arguments))],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.servers.append(Server(process))
        return self.servers[-1]

    def close(self):
        for server in self.servers:
            server.end()
        for path in (self.path, *self.path.parents[:2]):
            for _ in range(50):
                try:
                    path.rmdir()
                    break
                except OSError:  # the kernel lets go of processes a moment later; or not ours alone
                    time.sleep(0.02)
