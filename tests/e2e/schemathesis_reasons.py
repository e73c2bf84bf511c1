# SPDX-License-Identifier: Apache-2.0
"""Why the service refuses, with 400 or 422, what schemas/openapi.yaml allows."""
import re

# Values that only the service gives, or that need a key: no schema can say which these are. Not
# counted as refusals of what the schema allows. code -> parameters or members, None for any.
NOT_OURS = {
    "invalid-cursor": None,  # cursors are authenticated
    "untrusted-signer": None,  # the keys are those of the trust store
    "signature-invalid": None,
    "collateral-refused": None,  # a vendor signs it
    "invalid-parameter": {"after", "tree_size", "first", "second"},  # `next` of a page, sizes of the log
}
NOT_OURS_DETAIL = {"the log is not that long", "sizes must satisfy 0 < first <= second",
                   "the leaf index must be below the tree size"}  # fmt: skip
# The payload of an envelope is a document of its own, which is read where anybody may sign it.
PAYLOADS = {"malformed-json", "duplicate-key", "unknown-member", "schema-violation"}
OWN_KEYS = ("/v1/nodes", "/heartbeat", "/report")

# Refusals of what the schema allows, with what a schema cannot say. At most MOST of the requests.
# code -> pattern of the place, and why.
REASONS = {
    "limit-exceeded": (".*", "bytes and memory of all of a document"),
    "bad-request": ("", "C2SP writes the index of a tile with slashes, which clients of OpenAPI "
                        "encode; a target has no control characters"),
    "schema-violation": ("/subset(/.*)?", "1.0 is an integer for JSON Schema alone, and numbers have "
                                          "no order there"),
    "invalid-time": (".*", "29 February of a year that is no leap year"),
    "invalid-parameter": ("type", "a type of records that is well-formed, and none"),
    "policy-invalid": (".*", "what members of a policy or a set say of each other"),
}  # fmt: skip
MOST = 0.01


def is_not_ours(case, problem):
    code, where = problem["code"], problem.get("where")
    if code == "invalid-parameter" and problem.get("detail") in NOT_OURS_DETAIL:
        return True
    if code in PAYLOADS and case.method == "POST" and case.path.endswith(OWN_KEYS):
        return True
    return code in NOT_OURS and (NOT_OURS[code] is None or where in NOT_OURS[code])


def reason(problem):
    """Why such a refusal is one that no schema can say; None when there is no such reason."""
    place, why = REASONS.get(problem["code"], (None, None))
    return why if place is not None and re.fullmatch(place, problem.get("where") or "") else None


def judge(counts):
    """Prints the share of refusals; returns whether it is small enough."""
    requests, refused = counts["requests"], sum(counts["refused"].values())
    share = refused / requests if requests else 1
    print(f"schemathesis: {refused} of {requests} requests that the schema allows were refused "
          f"({100 * share:.2f} %, at most {100 * MOST:.0f} %); {counts['not_ours']} more had no key, "
          "or a cursor or size that the service never gave")  # fmt: skip
    for code, times in sorted(counts["refused"].items()):
        print(f"  {times:4} {code}: {REASONS[code][1] if code in REASONS else 'not documented'}")
    return share <= MOST
