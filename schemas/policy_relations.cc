// SPDX-License-Identifier: Apache-2.0
#include "schemas/policy_relations.h"

#include <string>
#include <utility>

namespace assay {
namespace {

const SignerRequirement* signers_of(const Condition& condition) {
  if (const auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
    return &manifest->signers;
  }
  const auto* statement = std::get_if<StatementCondition>(&condition.kind);
  return statement == nullptr ? nullptr : &statement->signers;
}

// Parts, and the name of the member that holds them.
std::pair<const std::vector<Condition>*, const char*> parts_of(const Condition& condition) {
  if (const auto* all = std::get_if<AllCondition>(&condition.kind)) {
    return {&all->of, "/all"};
  }
  if (const auto* any = std::get_if<AnyCondition>(&condition.kind)) {
    return {&any->of, "/any"};
  }
  if (const auto* negation = std::get_if<NotCondition>(&condition.kind)) {
    return {&negation->of, "/not"};
  }
  if (const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
    return {&at_least->of, "/at_least/of"};
  }
  return {nullptr, ""};
}

class Relations {
 public:
  void collect(const std::vector<Condition>& conditions) {
    for (const Condition& condition : conditions) {
      if (signers_of(condition) != nullptr) {
        signed_.emplace(condition.id, &condition);
      }
      if (const auto* parts = parts_of(condition).first) {
        collect(*parts);
      }
    }
  }

  [[nodiscard]] Status check(const std::vector<Condition>& conditions, const std::string& where,
                             bool only) const {
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      const std::string place = only ? where : where + "/" + std::to_string(i);
      const auto [parts, member] = parts_of(conditions[i]);
      if (parts != nullptr) {
        const bool negation = std::holds_alternative<NotCondition>(conditions[i].kind);
        ASSAY_TRY(check(*parts, place + member, negation));
      }
      ASSAY_TRY(check_one(conditions[i], place));
    }
    return {};
  }

 private:
  [[nodiscard]] Status check_one(const Condition& condition, const std::string& place) const {
    const SignerRequirement* signers = signers_of(condition);
    if (signers == nullptr || signers->none_of.empty()) {
      return {};
    }
    if (std::holds_alternative<ManifestCondition>(condition.kind)) {
      return fail(ErrorCode::kPolicyInvalid, "only the signers of statements have relations",
                  place + "/manifest/signers/none_of");
    }
    for (std::size_t i = 0; i < signers->none_of.size(); ++i) {
      const std::string& other = signers->none_of[i];
      if (other != kPublishers && (other == condition.id || !signed_.contains(other))) {
        return fail(ErrorCode::kPolicyInvalid,
                    "this is the id of no other manifest or statement condition",
                    place + "/statement/signers/none_of/" + std::to_string(i));
      }
    }
    return {};
  }

  std::map<std::string_view, const Condition*> signed_;
};

}  // namespace

Status check_relations(const std::vector<Condition>& require) {
  Relations relations;
  relations.collect(require);
  return relations.check(require, "/require", false);
}

}  // namespace assay
