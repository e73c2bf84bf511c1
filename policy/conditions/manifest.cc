// SPDX-License-Identifier: Apache-2.0
// Conditions about the artifact itself: who published it, and how its tree was made.
#include <algorithm>
#include <set>

#include "policy/conditions.h"

namespace assay::policy {
namespace {

std::vector<std::string> ids_of(const std::vector<const ManifestFact*>& manifests) {
  std::vector<std::string> ids;
  ids.reserve(manifests.size());
  for (const ManifestFact* manifest : manifests) {
    ids.push_back(manifest->statement.id.text());
  }
  return ids;
}

template <typename Value>
bool allows(const std::vector<Value>& list, const Value& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

// Patterns of the artifact that are not among the accepted ones, compared as text.
std::vector<std::string> beyond(const std::vector<std::string>& accepted,
                                const TreeParameters& parameters) {
  std::vector<std::string> others;
  for (const std::string& pattern : parameters.ignore) {
    if (std::find(accepted.begin(), accepted.end(), pattern) == accepted.end()) {
      others.push_back(pattern);
    }
  }
  return others;
}

bool includes(Objects has, Objects wanted) { return has == Objects::kBoth || has == wanted; }

// The root binds parameters and entries, so a manifest with this root needs no signature to be
// believed here; two that differ cannot have the same root, and then nothing is known. What a
// manifest with another root says of itself is not about this artifact. A manifest that was
// withdrawn says nothing.
const ManifestFact* own_manifest(const JudgedFacts& facts) {
  const ManifestFact* standing = nullptr;
  for (const ManifestFact* other : facts.own_manifests) {
    const ManifestFact* first = facts.own_manifests.front();
    if (other->parameters != first->parameters || other->objects != first->objects) {
      return nullptr;
    }
    standing = standing == nullptr && !is_withdrawn(other->statement) ? other : standing;
  }
  return standing;
}

// All of them have the same entries; one that was withdrawn says nothing. Nothing when no manifest
// says which formats there are.
std::optional<std::set<ModelFormat>> own_formats(const JudgedFacts& facts) {
  std::optional<std::set<ModelFormat>> formats;
  for (const ManifestFact* one : facts.own_manifests) {
    if (one->formats && !is_withdrawn(one->statement)) {
      if (!formats) {
        formats.emplace();
      }
      formats->insert(one->formats->begin(), one->formats->end());
    }
  }
  return formats;
}

Json format_names(const auto& formats) {
  Json names = Json::array();
  for (const ModelFormat format : formats) {
    names.push_back(name(format));
  }
  return names;
}

bool allows_all(const std::vector<ModelFormat>& list, const std::set<ModelFormat>& formats) {
  return std::all_of(formats.begin(), formats.end(),
                     [&list](ModelFormat format) { return allows(list, format); });
}

// Why there is no own manifest to read.
Reason without_manifest(const JudgedFacts& facts) {
  const bool withdrawn =
      !facts.own_manifests.empty() &&
      std::all_of(facts.own_manifests.begin(), facts.own_manifests.end(),
                  [](const ManifestFact* one) { return is_withdrawn(one->statement); });
  return withdrawn ? Reason::kStatementWithdrawn : Reason::kConditionUndecided;
}

// True when a condition among these, or in them but below no `not`, says which patterns it accepts.
bool has_own_ignore(const std::vector<Condition>& conditions, int depth) {
  return std::any_of(conditions.begin(), conditions.end(), [depth](const Condition& condition) {
    if (const auto* own = std::get_if<ParametersCondition>(&condition.kind)) {
      return own->ignore.has_value();
    }
    const std::vector<Condition>* parts = parts_of(condition);
    return parts != nullptr && depth < kMaxConditionDepth &&
           !std::holds_alternative<NotCondition>(condition.kind) &&
           has_own_ignore(*parts, depth + 1);
  });
}

}  // namespace

// All manifests of an artifact bind the same root, or name it as another digest of the same model,
// so their signers are counted together.
ConditionResult judge(const ManifestCondition& condition, const JudgedFacts& facts) {
  Tally tally(condition.signers);
  std::vector<const JudgedStatement*> all;
  for (const JudgedStatement& statement : facts.manifest_statements) {
    tally.add(statement);
    all.push_back(&statement);
  }
  ConditionResult result{
      {}, tally.outcome(), {}, tally.expected(), tally.actual(), ids_of(facts.manifests), {}};
  if (Json withdrawn = withdrawn_among(all); !withdrawn.is_null()) {
    result.actual["withdrawn"] = std::move(withdrawn);
  }
  if (facts.manifests.empty()) {
    result.code = Reason::kManifestMissing;
  } else if (result.outcome == Outcome::kFail) {
    result.code = tally.failure();
  } else if (result.outcome == Outcome::kError) {
    result.code = Reason::kConditionUndecided;
  }
  return result;
}

ConditionResult judge(const ParametersCondition& condition, const JudgedFacts& facts) {
  ConditionResult result{{},
                         Outcome::kError,
                         without_manifest(facts),
                         {{"hash", condition.hash}, {"chunk_size", condition.chunk_size}},
                         nullptr,
                         ids_of(facts.own_manifests),
                         {}};
  if (condition.ignore) {
    result.expected["ignore"] = *condition.ignore;
  }
  if (condition.objects) {
    result.expected["objects"] = name(*condition.objects);
  }
  if (!condition.formats.empty()) {
    result.expected["formats"] = format_names(condition.formats);
  }
  const ManifestFact* manifest = own_manifest(facts);
  if (manifest == nullptr) {
    return result;
  }
  const TreeParameters& parameters = manifest->parameters;
  result.actual = {{"hash", name(parameters.hash)}, {"chunk_size", parameters.chunk_size}};
  if (condition.ignore) {
    result.actual["ignore"] = parameters.ignore;
  }
  if (condition.objects) {
    result.actual["objects"] = name(manifest->objects);
  }
  const auto formats = own_formats(facts);
  if (!condition.formats.empty()) {
    result.actual["formats"] = formats ? format_names(*formats) : Json();
  }
  const bool others_fit = allows(condition.hash, std::string(name(parameters.hash))) &&
                          allows(condition.chunk_size, parameters.chunk_size) &&
                          (!condition.ignore || beyond(*condition.ignore, parameters).empty()) &&
                          (!condition.objects || includes(manifest->objects, *condition.objects));
  if (others_fit && !condition.formats.empty() && !formats) {
    result.code = Reason::kConditionUndecided;  // an error: nobody says which formats there are
  } else if (others_fit && (condition.formats.empty() || allows_all(condition.formats, *formats))) {
    result.outcome = Outcome::kPass;
    result.code.reset();
  } else {
    result.outcome = Outcome::kFail;
    result.code = Reason::kParametersMismatch;
  }
  return result;
}

std::optional<ConditionResult> judge_ignore(const std::vector<Condition>& require,
                                            const Scope& scope) {
  if (!scope.known.artifact || has_own_ignore(require, 1)) {
    return std::nullopt;
  }
  const JudgedFacts& facts = scope.facts;
  const std::vector<std::string> accepted(kUsualIgnore.begin(), kUsualIgnore.end());
  ConditionResult result{std::string(kIgnoreCondition),
                         Outcome::kError,
                         without_manifest(facts),
                         {{"ignore", accepted}},
                         nullptr,
                         ids_of(facts.own_manifests),
                         {}};
  if (facts.manifests.empty()) {
    result.outcome = Outcome::kFail;
    result.code = Reason::kManifestMissing;
  } else if (const ManifestFact* manifest = own_manifest(facts); manifest != nullptr) {
    const bool fits = beyond(accepted, manifest->parameters).empty();
    result.outcome = fits ? Outcome::kPass : Outcome::kFail;
    result.code = fits ? std::nullopt : std::optional(Reason::kParametersMismatch);
    result.actual = {{"ignore", manifest->parameters.ignore}};
  }
  return result;
}

}  // namespace assay::policy
