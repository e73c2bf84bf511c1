#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`assay evidence verify --type nvidia-gpu` beside NVIDIA's own local verifier: the same verdict about the same bytes?

Needs an interpreter with nv-local-gpu-verifier of PyPI (2.7.3), whose functions are called in this process. Its
network is left out on both sides: no OCSP, RIMs from files. Each case is judged at a time when its certificates are
valid, by both.

  evidence  chain, digest of the firmware in the leaf, nonce, signature: real reports, and changes of them
  RIM       chain and XML signature: real ones, and changes of them

Usage: PYTHON bench/nvidia_verifier.py ASSAY EVIDENCE.json... RIM.xml... [--json FILE]
Prints a table of counts, and each case that Assay accepts and NVIDIA's verifier refuses; exits with 1 then. Assay alone
refuses a document type, and a root in the evidence that is not the root: NVIDIA's verifier puts its own in that place.
"""
import argparse
import base64
import collections
import datetime
import json
import logging
import pathlib
import statistics
import subprocess
import tempfile
import time

from cryptography import x509
from OpenSSL import SSL, crypto
from verifier.attestation import AttestationReport
from verifier.cc_admin_utils import CcAdminUtils
from verifier.config import GPU_ARCHITECTURE_MAP, BaseSettings
from verifier.rim import RIM
from verifier.utils import format_vbios_version

ARCHITECTURES = {"HOPPER": 9, "BLACKWELL": 10}
EVIDENCE_TIME = datetime.datetime(2026, 11, 1)
FLIPS = 96  # of a report, at places spread over it
AUTHENTIC = ("REVOCATION_UNKNOWN", "RIM_MISSING", "MEASUREMENT_MISMATCH",
             "TOPOLOGY_")  # one of a board


class Theirs:
    """NVIDIA's verifier at a time of ours, and without its network."""

    def __init__(self):
        logging.disable(logging.CRITICAL)
        self.now = EVIDENCE_TIME
        store = crypto.X509Store

        def at_our_time(made):
            made.set_time(self.now)
            return made
        of_context = SSL.Context.get_cert_store
        crypto.X509Store = lambda: at_our_time(store())
        SSL.Context.get_cert_store = lambda context: at_our_time(of_context(context))  # for the XML signature
        CcAdminUtils.ocsp_certificate_chain_validation = staticmethod(lambda *_: (True, "", "good", None))

    def evidence(self, device):
        self.now = EVIDENCE_TIME
        settings = GPU_ARCHITECTURE_MAP[ARCHITECTURES[device["arch"]]]
        report = AttestationReport(base64.b64decode(device["evidence"]), settings)
        said = report.get_response_message().get_opaque_data()
        pem = base64.b64decode(device["certificate"]).split(b"-----END CERTIFICATE-----")[:-2]
        chain = [crypto.load_certificate(crypto.FILETYPE_PEM, part + b"-----END CERTIFICATE-----\n") for part in pem]
        root = pathlib.Path(BaseSettings.DEVICE_ROOT_CERT).read_bytes()
        chain.append(crypto.load_certificate(crypto.FILETYPE_PEM, root))
        if not CcAdminUtils.verify_gpu_certificate_chain(chain, settings, said.get_data("OPAQUE_FIELD_ID_FWID").hex())[0]:
            return False
        driver = said.get_data("OPAQUE_FIELD_ID_DRIVER_VERSION").decode().rstrip("\0")
        firmware = format_vbios_version(said.get_data("OPAQUE_FIELD_ID_VBIOS_VERSION"))
        return CcAdminUtils.verify_attestation_report(report, chain[0], bytes.fromhex(device["nonce"]), driver,
                                                      firmware, settings)

    def rim(self, path, at):
        self.now = at
        settings = GPU_ARCHITECTURE_MAP[9]
        rim = RIM(rim_name="driver" if "DRIVER" in path.name.upper() else "vbios", settings=settings, rim_path=str(path))
        return rim.verify(version=rim.get_colloquial_version(), settings=settings)[0]


class Ours:
    def __init__(self, assay, folder):
        self.assay = assay
        self.folder = folder

    def verify(self, devices, at, *more):
        path = self.folder / "evidence.json"
        path.write_text(json.dumps(devices))
        done = subprocess.run([self.assay, "evidence", "verify", "--type", "nvidia-gpu", "--at", f"{at:%Y-%m-%dT%H:%M:%SZ}",
                               "-o", "json", *more, path], capture_output=True)
        return json.loads(done.stdout) if done.returncode < 2 else None

    def evidence(self, device):
        value = self.verify([device], EVIDENCE_TIME, "--nonce", device["nonce"])
        return value is not None and all(error["error"].startswith(AUTHENTIC) for error in value["errors"])

    # The evidence is any: files that are not authentic are listed whether it asks for them or not.
    def rim(self, path, at, any_device):
        value = self.verify([any_device], at, "--rim", str(path))
        return value is not None and not value["refused_files"]


def changed_evidence(device):
    yield "as it came", device
    report = base64.b64decode(device["evidence"])
    yield "other nonce", {**device, "nonce": "00" * 32}
    for number in range(FLIPS):
        changed = bytearray(report)
        changed[number * len(report) // FLIPS] ^= 1 << number % 8
        yield "one bit of the report", {**device, "evidence": base64.b64encode(changed).decode()}
    for cut in (1, 48, len(report) // 2):
        yield "shorter report", {**device, "evidence": base64.b64encode(report[:-cut]).decode()}
    yield "longer report", {**device, "evidence": base64.b64encode(report + b"\0").decode()}
    pem = base64.b64decode(device["certificate"])
    for place in range(200, len(pem), len(pem) // 8):
        changed = bytearray(pem)
        changed[place] = ord("A") if changed[place] != ord("A") else ord("B")
        yield "one letter of the chain", {**device, "certificate": base64.b64encode(changed).decode()}


def changed_rim(text):
    yield "as it came", text
    place = text.index('Hash0="') + 7 if 'Hash0="' in text else text.index("Hash0=") + 7
    yield "one digit of a measurement", text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1:]
    begin = text.index("SignatureValue>") + 15
    yield "one letter of the signature", text[:begin] + ("A" if text[begin] != "A" else "B") + text[begin + 1:]
    head = text.index("?>") + 2 if text.lstrip().startswith("<?xml") else 0
    yield "document type with an entity", text[:head] + '<!DOCTYPE SoftwareIdentity [<!ENTITY e "x">]>' + text[head:]
    yield "bytes behind the document", text + "<more/>"
    version = text.index('colloquialVersion="') + 19
    yield "other version", text[:version] + "9" + text[version:]


def rim_id(path, text):
    """The id in the name of the file, or made of what NVIDIA's samples are named by."""
    stem = path.stem.removesuffix("_PROD").removesuffix("_test_no_gpu")
    if "DRIVER" in path.name.upper():
        begin = text.index('colloquialVersion="') + 19
        return "NV_GPU_DRIVER_GH100_" + text[begin:text.index('"', begin)]
    known = stem.find("NV_")
    return stem[known:].removesuffix("_measurement_mismatch") if known >= 0 else f"NV_GPU_VBIOS_{stem.upper()}"


def first_moment(text):
    """A day after the first certificate of a RIM began."""
    begin = text.index("X509Certificate>") + 16
    der = base64.b64decode("".join(text[begin:text.index("<", begin)].split()))
    return x509.load_der_x509_certificate(der).not_valid_before_utc.replace(tzinfo=None) + datetime.timedelta(days=1)


def answer(judge, *arguments):
    start = time.perf_counter()
    try:
        verdict = bool(judge(*arguments))
    except Exception:  # whatever it raises refuses
        verdict = False
    return verdict, time.perf_counter() - start


class Table:
    def __init__(self):
        self.rows = collections.defaultdict(collections.Counter)
        self.seconds = collections.defaultdict(list)

    def add(self, what, name, change, ours, theirs):
        same = ours[0] == theirs[0]
        kind = "both accept" if same and ours[0] else "both refuse" if same else \
            "Assay alone refuses" if theirs[0] else "Assay alone accepts"
        self.rows[f"{what}, {change}"][kind] += 1
        if change == "as it came":
            self.seconds[f"{what}, assay, process"].append(ours[1])
            self.seconds[f"{what}, NVIDIA, in this process"].append(theirs[1])
        if ours[0] and not same:
            print(f"{kind}: {name}, {change}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--json")
    options = parser.parse_args()
    table, theirs, any_device = Table(), Theirs(), None
    with tempfile.TemporaryDirectory() as scratch:
        ours = Ours(options.assay, pathlib.Path(scratch))
        for path in options.files:
            if path.suffix == ".json":
                for device in [d for d in json.loads(path.read_bytes()) if d["arch"] in ARCHITECTURES][:1]:
                    any_device = any_device or device
                    for change, made in changed_evidence(device):
                        table.add("evidence", path.name, change, answer(ours.evidence, made), answer(theirs.evidence, made))
                continue
            text = path.read_text()
            for change, made in changed_rim(text):
                copy = pathlib.Path(scratch) / f"{rim_id(path, text)}.xml"
                copy.write_text(made)
                at = first_moment(text)
                table.add("RIM", path.name, change, answer(ours.rim, copy, at, any_device), answer(theirs.rim, copy, at))
    for row, counts in sorted(table.rows.items()):
        print(f"{row:40}", ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())))
    medians = {name: round(1e3 * statistics.median(times), 2) for name, times in table.seconds.items()}
    print(json.dumps({"milliseconds": medians}))
    if options.json:
        result = {"benchmark": "nvidia_verifier", "rows": table.rows, "milliseconds": medians}
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    raise SystemExit(any("Assay alone accepts" in counts for counts in table.rows.values()))


if __name__ == "__main__":
    main()
