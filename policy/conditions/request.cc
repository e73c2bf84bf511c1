// SPDX-License-Identifier: Apache-2.0
// Conditions about who asked for the workload, and about the time of the evaluation.
#include <algorithm>

#include "policy/conditions.h"
#include "policy/glob.h"

namespace assay::policy {
namespace {

constexpr std::size_t kMaxShownGroups = 16;

// What was asked of the requester, one list after the other.
class Asked {
 public:
  explicit Asked(ConditionResult& result) : result_(result) {}

  // `matches` is nullopt when the value is not known.
  void ask(const char* name, const std::vector<std::string>& patterns, std::optional<bool> matches,
           Json actual) {
    if (patterns.empty()) {
      return;
    }
    result_.expected[name] = patterns;
    result_.actual[name] = std::move(actual);
    unknown_ = unknown_ || !matches;
    mismatch_ = mismatch_ || matches == false;
  }

  void conclude() {
    result_.outcome = mismatch_ ? Outcome::kFail : unknown_ ? Outcome::kError : Outcome::kPass;
    result_.code = mismatch_  ? std::optional(Reason::kRequesterMismatch)
                   : unknown_ ? std::optional(Reason::kRequesterUnknown)
                              : std::nullopt;
  }

 private:
  ConditionResult& result_;
  bool unknown_ = false;
  bool mismatch_ = false;
};

void ask_text(Asked& asked, const char* name, const std::vector<std::string>& patterns,
              const std::optional<std::string>& value) {
  asked.ask(name, patterns,
            value ? std::optional(any_glob_matches(patterns, *value)) : std::nullopt,
            value ? Json(*value) : Json(nullptr));
}

void ask_groups(Asked& asked, const std::vector<std::string>& patterns,
                const std::optional<std::vector<std::string>>& groups) {
  if (!groups) {
    asked.ask("groups", patterns, std::nullopt, nullptr);
    return;
  }
  Json matching = Json::array();
  for (const std::string& group : *groups) {
    if (any_glob_matches(patterns, group) && matching.size() < kMaxShownGroups) {
      matching.push_back(group);
    }
  }
  const bool matches = !matching.empty();
  asked.ask("groups", patterns, matches, std::move(matching));
}

}  // namespace

ConditionResult judge(const RequestCondition& condition, const Scope& scope) {
  ConditionResult result{
      {}, Outcome::kError, Reason::kRequesterUnknown, Json::object(), Json::object(), {}, {}};
  const Requester nobody;
  const Requester& requester = scope.requester == nullptr ? nobody : *scope.requester;
  Asked asked(result);
  ask_text(asked, "users", condition.users, requester.user);
  ask_groups(asked, condition.groups, requester.groups);
  ask_text(asked, "service_accounts", condition.service_accounts, requester.service_account);
  ask_text(asked, "principals", condition.principals, requester.principal);
  asked.conclude();
  return result;
}

ConditionResult judge(const WindowCondition& condition, const Scope& scope) {
  const bool open = is_open(condition.window, scope.now);
  return {{},
          open ? Outcome::kPass : Outcome::kFail,
          open ? std::nullopt : std::optional(Reason::kOutsideWindow),
          assay::to_json(condition.window),
          {{"now", to_rfc3339(scope.now)}},
          {},
          {}};
}

}  // namespace assay::policy
