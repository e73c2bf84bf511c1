# SPDX-License-Identifier: Apache-2.0
"""Checks beside those of Schemathesis: a request that the schema allows is refused with 400 only for
a reason that a schema cannot say. SCHEMATHESIS_HOOKS names this module."""
import schemathesis

# code -> parameters or members that may be refused with it, or None for any place
REASONS = {
    "invalid-cursor": None,  # cursors are authenticated
    "invalid-encoding": None,  # base64 and hex in documents
    "invalid-time": None,  # days that no month has
    "limit-exceeded": None,
    "invalid-digest": None,
    "invalid-parameter": {
        "after",  # an id that there is not
        "tree_size", "first", "second",  # a size that the log has not had
        "type",  # well-formed, and no type of record
        "pod", "node",  # what does not go together in a request for a decision
        "locations", "location", "subset", None,
    },  # fmt: skip
}
# Envelopes carry a document of their own, which the schema of the envelope says nothing about.
WITH_PAYLOAD = {"malformed-json", "duplicate-key", "unknown-member", "schema-violation"}
TAKES_DOCUMENTS = ("/v1/manifests", "/v1/attestations", "/v1/policies", "/v1/trust/changes", "/v1/withdrawals",
                   "/v1/nodes", "/report", ":activate", ":deactivate")  # fmt: skip


@schemathesis.check
def refusals_have_a_documented_reason(ctx, response, case):
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    problem = response.json()
    code, where = problem["code"], problem.get("where")
    if code in REASONS and (REASONS[code] is None or where in REASONS[code]):
        return
    # Which URI is a location is more than a pattern can say; 1.0 is an integer for JSON Schema alone.
    if code == "schema-violation" and (where in ("locations", "/location")
                                       or str(where).startswith("/subset/")):  # fmt: skip
        return
    # C2SP writes the index of a tile with slashes, which a client of OpenAPI encodes.
    if code == "bad-request" and case.path.startswith("/log/tile/"):
        return
    if code in WITH_PAYLOAD and case.method == "POST" and case.path.endswith(TAKES_DOCUMENTS):
        return
    raise AssertionError(f"{case.method} {case.path} refused what the schema allows: {problem}")


@schemathesis.check
def errors_are_problems(ctx, response, case):
    if response.status_code >= 400 and case.method != "HEAD":
        assert response.headers.get("content-type", [""])[0] == "application/problem+json", response.status_code
    if response.status_code == 405:
        assert response.headers.get("allow"), "405 without Allow"
