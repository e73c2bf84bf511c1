# SPDX-License-Identifier: Apache-2.0
"""Verifiers of evidence are pure, and read bytes field by field.

A verdict follows from what comes in: no clock of the machine, no environment, nothing that one
verdict leaves to the next. Bytes of others become fields through readers that check lengths, never by
being taken for a struct. dependencies.json says which headers of the system these folders lack; here
are the words that need no header, or one that is free.
"""

import re

import sources
from sources import Finding

# Folders, and files of attestation/ by their names without the suffix.
FOLDERS = ("attestation/corim/", "attestation/cose/", "attestation/nvidia/",
           "attestation/tdx/")
FILES = tuple(f"attestation/{name}" for name in (
    "collateral_set", "ear", "ear_evidence", "ear_status", "evidence_verifier", "jwks", "jws",
    "outside_ear", "outside_verifier", "plugin/plugin_verifier", "tdx_collateral", "tdx_evidence",
    "verifier_registry"))

_CAST = "bytes become fields through a reader (attestation/tdx/cursor.h), not by a cast or a copy"
_CLOCK = "verifiers have no clock: the time is a parameter"
_ENVIRONMENT = "verifiers do not read the environment"
_STATE = "verifiers keep nothing from one verdict to the next"
_RULES = [(re.compile(pattern), reason) for pattern, reason in (
    (r"\b(reinterpret_cast|bit_cast|start_lifetime_as(_array)?|mem(cpy|move))\b", _CAST),
    (r"\bunion\b", _CAST),
    (r"\b\w+_clock\b|\bSystemClock\b", _CLOCK),
    (r"\b(clock_gettime|gettimeofday|timespec_get|ftime|localtime(_r)?|gmtime(_r)?|mktime)\b", _CLOCK),
    # fields::time() and members::time() read a member of a document.
    (r"(\bstd\s*::\s*|(?<![\w.:>])(::\s*)?)time\s*\(\s*(nullptr|NULL|0|&)", _CLOCK),
    (r"\bclock\s*\(\s*\)", _CLOCK),
    (r"\b(secure_getenv|getenv|setenv|putenv|unsetenv|environ)\b", _ENVIRONMENT),
    (r"\bthread_local\b", _STATE),
    # A variable: a static function has a parenthesis before its end.
    (r"\bstatic\s+(?!const\b|constexpr\b)(?![^;(){}=]*\*\s*const\b)[^;(){}=]*[\w>&*]\s+\w+\s*[;={]", _STATE),
)]


def _is_verifier(path):
    stem = path.rsplit(".", 1)[0]
    return path.endswith(sources.CPP) and (path.startswith(FOLDERS) or stem in FILES)


def check(root):
    paths = [path for path in sources.list_files(root) if _is_verifier(path)]
    if root == sources.ROOT:
        stems = {path.rsplit(".", 1)[0] for path in paths}
        for name in sorted(set(FILES) - stems):
            yield Finding("tests/lint/check_verifiers.py", 1, f"{name} is listed and not there")
    for path in paths:
        text = sources.blank_comments(sources.read(root / path) or "", strings=True)
        for pattern, reason in _RULES:
            for match in pattern.finditer(text):
                word = " ".join(match.group(0).split())
                yield Finding(path, text.count("\n", 0, match.start()) + 1, f"{word}: {reason}")


if __name__ == "__main__":
    sources.main(check)
