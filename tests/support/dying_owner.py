# SPDX-License-Identifier: Apache-2.0
"""An owner of memory that kills itself right after a step; a step is a frame that it sent or got.

    dying_owner.py SOCKET ARTIFACT TENSOR WEIGHTS_FILE LAST_STEP [staged]

Prints each step, such as `sent hello`, `got state verified`. Ends with its input.
"""
import os
import pathlib
import signal
import sys
import threading

import instance_owner


class Connection(instance_owner.Connection):
    steps, last, lock = 0, 0, threading.Lock()

    def send(self, message, descriptors=()):
        super().send(message, descriptors)
        self.step("sent", message)

    def receive(self):
        message = super().receive()
        self.step("got", message)
        return message

    def step(self, did, message):
        with self.lock:
            self.steps += 1
            state = message.get("state", "")
            print(did, message["type"], *([state] if state else []), flush=True)
            if self.steps == self.last:
                os.kill(os.getpid(), signal.SIGKILL)


def main():
    path, artifact, tensor, weights, Connection.last = (*sys.argv[1:5], int(sys.argv[5]))
    instance_owner.Connection = Connection
    content = pathlib.Path(weights).read_bytes()
    owner = instance_owner.Owner(path, artifact, [([tensor], "U8", [len(content)], content)],
                                 staged="staged" in sys.argv[6:])  # fmt: skip
    owner.register()
    sys.stdin.read()


if __name__ == "__main__":
    main()
