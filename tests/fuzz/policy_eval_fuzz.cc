// SPDX-License-Identifier: Apache-2.0
// {"policy":...,"facts":...} as any JSON: what both codecs accept is evaluated on a node. A deny
// has a reason, an allow has none, facts survive their document, and replay from it gives the same
// digest.
#include <cstdlib>

#include "policy/evaluate.h"
#include "policy/lint.h"
#include "schemas/core/sha.h"

namespace {

using namespace assay;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check(const PolicyDocument& policy, const policy::Facts& facts) {
  const std::string document = canonical_json(policy::to_json(facts)).value();
  const policy::Facts stored = policy::facts_from_json(parse_json(document).value()).value();
  require(canonical_json(policy::to_json(stored)).value() == document);
  const DocumentId id(sha256(as_bytes(document)));
  const policy::ActivePolicy policies[] = {{StatementId(id.digest()), policy}};
  const policy::Workload workload{"prod-eu", {{"app", "chat"}}, {"nvidia.com/gpu"}, "gpu-1"};
  const Timestamp now = parse_rfc3339("2026-06-01T12:00:00Z").value();
  const auto evaluate = [&](const policy::Facts& used) {
    return policy::evaluate(policies, workload, std::span(&used, 1), {}, DecisionPoint::kServe,
                            now);
  };
  const Verdict verdict = evaluate(facts);
  require(verdict.allowed == verdict.reasons.empty());
  require(replay_digest(verdict, id, now).value() ==
          replay_digest(evaluate(stored), id, now).value());
  require(!policy::lint(policy).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = parse_json(ByteView(data, size));
  if (json && json->is_object() && json->contains("policy") && json->contains("facts")) {
    const auto policy = parse_policy(as_bytes((*json)["policy"].dump()));
    const auto facts = policy::facts_from_json((*json)["facts"]);
    if (policy && facts) {
      check(*policy, *facts);
    }
  }
  return 0;
}
