#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Evidence for example_hmac.c, as `assay worker run --evidence-command` takes it.

The one argument is the report data in hex. ASSAY_* variables do not get here, so MACHINE names the
machine: 16 bytes in hex.
"""
import base64
import hashlib
import hmac
import json
import os
import sys

SECRET = b"an example, known to everybody"
IMAGE = hashlib.sha256(b"an image").digest()


def main():
    report_data = bytes.fromhex(sys.argv[1])
    machine = bytes.fromhex(os.environ.get("MACHINE", "00" * 16))
    signed = report_data + machine + IMAGE
    evidence = signed + hmac.new(SECRET, signed, hashlib.sha256).digest()
    print(json.dumps({"platform": machine.hex(),
                      "evidence": base64.b64encode(evidence).decode()}))


if __name__ == "__main__":
    main()
