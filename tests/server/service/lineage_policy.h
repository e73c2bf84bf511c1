// SPDX-License-Identifier: Apache-2.0
// What tests of lineages over a real store share, whatever else their fixture has.
#pragma once

#include <utility>
#include <vector>

#include "schemas/lifecycle.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {

// `Base` is ServiceTest, or made from it.
template <typename Base>
class LineagePolicyTest : public Base {
 protected:
  // Puts a policy in force: a publisher, and this lineage condition.
  void require_lineage(const Json& condition) {
    const Json document = {{"name", "lineage"},
                           {"version", ++version_},
                           {"mode", "enforce"},
                           {"match", {{"resources", {"nvidia.com/gpu"}}}},
                           {"require",
                            {{{"id", "published"}, {"manifest", Json::object()}},
                             {{"id", "lineage"}, {"lineage", condition}}}}};
    const auto accepted = accept_policy(
        *this->services_,
        this->envelope(kPolicyPayloadType, canonical_json(document).value(), {&this->author_}),
        this->actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    const StatementId id = accepted->row.id;
    const auto applied = apply_policy_approval(
        *this->services_, PolicyApproval::Action::kActivate, id,
        this->policy_approval(id, version_, this->policy_approver_), this->actor_);
    ASSERT_TRUE(applied) << to_string(applied.error());
  }

  // What a stage says of datasets. `comment` tells statements apart.
  Lifecycle lifecycle_from(const std::string& stage, const std::vector<Manifest>& datasets,
                           const std::string& comment) {
    Lifecycle made;
    made.stage = stage;
    made.comment = comment;
    for (const Manifest& input : datasets) {
      made.inputs.push_back({"dataset", input.name, this->subject_of(input).digest});
    }
    return made;
  }

  DecisionRequest request_about(const Manifest& model) {
    return {.point = DecisionPoint::kCreate,
            .models = {this->id_of(model).text()},
            .workload = {"inference", {}, {"nvidia.com/gpu"}},
            .context = Json::object(),
            .principal = "kube-apiserver"};
  }
  Decision decide_about(const Manifest& model) {
    const auto answer = decide(*this->services_, request_about(model));
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer->decision.value();
  }

  std::uint64_t version_ = 0;  // of the policy, and the policy epoch
};

}  // namespace assay::server::test
