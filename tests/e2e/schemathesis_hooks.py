# SPDX-License-Identifier: Apache-2.0
"""Checks beside those of Schemathesis, and a count: what the schema allows is refused with 400 or
422 only for a documented reason. SCHEMATHESIS_HOOKS names this module, ASSAY_SHARE_FILE the file
that schemathesis_run.py reads."""
import atexit
import collections
import json
import os

import schemathesis
from schemathesis_reasons import is_not_ours, reason

_counts = {"requests": 0, "not_ours": 0, "refused": collections.Counter()}


@schemathesis.check
def refusals_have_a_documented_reason(ctx, response, case):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    _counts["requests"] += 1
    if response.status_code not in (400, 422):
        return
    problem = response.json()
    if is_not_ours(case, problem):
        _counts["not_ours"] += 1
        return
    _counts["refused"][problem["code"]] += 1
    if reason(problem) is None:
        raise AssertionError(f"{case.method} {case.path} refused what the schema allows: {problem}")


@atexit.register
def _write():
    if "ASSAY_SHARE_FILE" in os.environ and _counts["requests"]:
        with open(os.environ["ASSAY_SHARE_FILE"], "w", encoding="utf-8") as out:
            json.dump(_counts, out)


@schemathesis.check
def errors_are_problems(ctx, response, case):
    if response.status_code >= 400 and case.method != "HEAD":
        assert response.headers.get("content-type", [""])[0] == "application/problem+json", response.status_code
    if response.status_code == 405:
        assert response.headers.get("allow"), "405 without Allow"
