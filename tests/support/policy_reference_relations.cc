// SPDX-License-Identifier: Apache-2.0
// The second evaluator: relations between signers, who asked, and windows of time.
#include <algorithm>
#include <ctime>
#include <regex>

#include "tests/support/policy_reference_case.h"
#include "tests/support/policy_reference_predicates.h"

namespace assay::policy::reference {
namespace {

Truth both(Truth a, Truth b) {
  return a == Truth::kNo || b == Truth::kNo     ? Truth::kNo
         : a == Truth::kYes && b == Truth::kYes ? Truth::kYes
                                                : Truth::kUnknown;
}

Truth either(Truth a, Truth b) {
  return a == Truth::kYes || b == Truth::kYes ? Truth::kYes
         : a == Truth::kNo && b == Truth::kNo ? Truth::kNo
                                              : Truth::kUnknown;
}

const Condition* find(const std::vector<Condition>& list, const std::string& id) {
  for (const Condition& condition : list) {
    const std::vector<Condition>* parts = nullptr;
    if (const auto* all = std::get_if<AllCondition>(&condition.kind)) {
      parts = &all->of;
    } else if (const auto* any = std::get_if<AnyCondition>(&condition.kind)) {
      parts = &any->of;
    } else if (const auto* negation = std::get_if<NotCondition>(&condition.kind)) {
      parts = &negation->of;
    } else if (const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
      parts = &at_least->of;
    }
    const Condition* found = parts != nullptr     ? find(*parts, id)
                             : condition.id == id ? &condition
                                                  : nullptr;
    if (found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

bool in(const std::vector<std::string>& list, const std::string& one) {
  return list.empty() || std::find(list.begin(), list.end(), one) != list.end();
}

bool matches_one(const std::vector<std::string>& patterns, const std::string& text) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    std::string regex;
    for (const char c : pattern) {
      regex += c == '*' ? std::string(".*") : std::string("[") + c + "]";
    }
    return std::regex_match(text, std::regex(regex));
  });
}

// Who took back what he signed did sign, of the manifests or of the statements of the kind.
std::set<std::string> who_took_back(const Facts& facts, const ManifestCondition* manifest,
                                    const StatementCondition* statement) {
  std::set<std::string> identities;
  const auto add = [&](const StatementFact& fact, const std::vector<std::string>& listed) {
    for (const SignerFact& signer : fact.signers) {
      if (taken_back(fact, signer) && in(listed, signer.key.identity)) {
        identities.insert(signer.key.identity);
      }
    }
  };
  if (statement == nullptr) {
    for (const ManifestFact& one : facts.manifests) {
      add(one.statement,
          manifest == nullptr ? std::vector<std::string>{} : manifest->signers.identities);
    }
    return identities;
  }
  for (const StatementFact& one : facts.statements) {
    if (one.predicate_type == statement->predicate_type && one.stage == statement->stage) {
      add(one, statement->signers.identities);
    }
  }
  std::erase_if(identities, [&](const auto& one) { return !in(statement->considered, one); });
  return identities;
}

}  // namespace

Others Case::others_of(const SignerRequirement& signers) const {
  Others others;
  for (const std::string& id : signers.none_of) {
    std::map<std::string, Truth> there;
    const auto add = [&](const SignerRequirement& listed, const SignerFact& signer, Truth truth) {
      if (in(listed.identities, signer.key.identity)) {
        const auto [it, added] = there.emplace(signer.key.identity, truth);
        it->second = added ? truth : either(it->second, truth);
      }
    };
    const Condition* condition = id == kPublishers ? nullptr : find(*conditions, id);
    if (condition != nullptr && condition->open_set) {
      others.unknown = true;
      continue;
    }
    const auto* manifest =
        condition == nullptr ? nullptr : std::get_if<ManifestCondition>(&condition->kind);
    const auto* statement =
        condition == nullptr ? nullptr : std::get_if<StatementCondition>(&condition->kind);
    if (id == kPublishers || manifest != nullptr) {
      for (const ManifestFact& one : facts.manifests) {
        for (const SignerFact& signer : one.statement.signers) {
          const auto listed = manifest == nullptr ? SignerRequirement{} : manifest->signers;
          add(listed, signer, counts_on(signer, one));
        }
      }
    } else if (statement != nullptr) {
      for (const StatementFact& one : asked_about(*statement)) {
        const Truth holds = as_required(*statement, one);
        for (const SignerFact& signer : one.signers) {
          if (in(statement->considered, signer.key.identity)) {
            add(statement->signers, signer, both(holds, counts(signer, one)));
          }
        }
      }
    }
    bool somebody = false;
    for (const auto& [identity, truth] : there) {
      somebody = somebody || truth == Truth::kYes;
      others.known[identity] = either(others.has(identity), truth);
    }
    others.unknown = others.unknown || !somebody;
    const bool signers_meant = id == kPublishers || manifest != nullptr || statement != nullptr;
    for (const std::string& identity :
         signers_meant ? who_took_back(facts, manifest, statement) : std::set<std::string>{}) {
      others.known[identity] = Truth::kYes;
    }
  }
  return others;
}

Answer Case::judge(const RequestCondition& condition) const {
  std::vector<Truth> all;
  const auto ask = [&](const std::vector<std::string>& patterns,
                       const std::optional<std::vector<std::string>>& values) {
    if (patterns.empty()) {
      return;
    }
    all.push_back(!values ? Truth::kUnknown
                          : truth(std::any_of(values->begin(), values->end(), [&](const auto& one) {
                              return matches_one(patterns, one);
                            })));
  };
  const auto one = [](const std::optional<std::string>& value) {
    return value ? std::optional(std::vector{*value}) : std::nullopt;
  };
  ask(condition.users, one(requester->user));
  ask(condition.groups, requester->groups);
  ask(condition.service_accounts, one(requester->service_account));
  ask(condition.principals, one(requester->principal));
  if (std::count(all.begin(), all.end(), Truth::kNo) > 0) {
    return answer(Outcome::kFail, Reason::kRequesterMismatch);
  }
  return std::count(all.begin(), all.end(), Truth::kUnknown) > 0
             ? answer(Outcome::kError, Reason::kRequesterUnknown)
             : answer(Outcome::kPass, Reason::kRequesterMismatch);
}

Answer Case::judge(const WindowCondition& condition) const {
  const TimeWindow& window = condition.window;
  const auto seconds = static_cast<std::time_t>(
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  const auto minute = static_cast<std::uint32_t>(utc.tm_hour * 60 + utc.tm_min);
  const std::size_t day = (static_cast<std::size_t>(utc.tm_wday) + 6) % 7;
  const bool days = std::count(window.days.begin(), window.days.end(), true) > 0;
  const bool open = (!days || window.days.at(day)) && minute >= window.from_minute &&
                    minute < window.to_minute && !(window.not_before && now < *window.not_before) &&
                    !(window.not_after && now >= *window.not_after);
  return answer(open ? Outcome::kPass : Outcome::kFail, Reason::kOutsideWindow);
}

}  // namespace assay::policy::reference
