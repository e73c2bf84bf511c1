// SPDX-License-Identifier: Apache-2.0
// Conditions about the artifact itself: who published it, and how its tree was made.
#include <algorithm>

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

}  // namespace

// All manifests of an artifact bind the same root, or name it as another digest of the same model,
// so their signers are counted together.
ConditionResult judge(const ManifestCondition& condition, const JudgedFacts& facts) {
  Tally tally(condition.signers);
  for (const JudgedStatement& statement : facts.manifest_statements) {
    tally.add(statement);
  }
  ConditionResult result{
      {}, tally.outcome(), {}, tally.expected(), tally.actual(), ids_of(facts.manifests), {}};
  if (facts.manifests.empty()) {
    result.code = ErrorCode::kManifestMissing;
  } else if (result.outcome == Outcome::kFail) {
    result.code = tally.failure();
  } else if (result.outcome == Outcome::kError) {
    result.code = ErrorCode::kConditionUndecided;
  }
  return result;
}

// The root binds the parameters, so a manifest with this root needs no signature to be believed
// here; two that differ cannot have the same root. What a manifest with another root says of its
// own parameters is not about this artifact.
ConditionResult judge(const ParametersCondition& condition, const JudgedFacts& facts) {
  ConditionResult result{{},
                         Outcome::kError,
                         ErrorCode::kConditionUndecided,
                         {{"hash", condition.hash}, {"chunk_size", condition.chunk_size}},
                         nullptr,
                         ids_of(facts.own_manifests),
                         {}};
  if (facts.own_manifests.empty()) {
    return result;
  }
  const TreeParameters& parameters = facts.own_manifests.front()->parameters;
  for (const ManifestFact* manifest : facts.own_manifests) {
    if (!(manifest->parameters == parameters)) {
      return result;
    }
  }
  result.actual = {{"hash", name(parameters.hash)}, {"chunk_size", parameters.chunk_size}};
  if (allows(condition.hash, std::string(name(parameters.hash))) &&
      allows(condition.chunk_size, parameters.chunk_size)) {
    result.outcome = Outcome::kPass;
    result.code.reset();
  } else {
    result.outcome = Outcome::kFail;
    result.code = ErrorCode::kParametersMismatch;
  }
  return result;
}

}  // namespace assay::policy
