// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/asked_locations.h"

#include <algorithm>
#include <set>

#include "policy/signers.h"

namespace assay::server {
namespace {

using Places = std::set<std::string, std::less<>>;

bool counts(const policy::JudgedStatement& statement) {
  return std::ranges::any_of(statement.signers, [](const policy::JudgedSigner& signer) {
    return signer.state == policy::SignerState::kCounts;
  });
}

// Where the model lies, by signatures that count.
Places places_of(const policy::Facts& known, Timestamp now) {
  policy::Facts facts;
  facts.artifact = known.artifact;
  facts.manifests = known.manifests;
  facts.placements = known.placements;
  const policy::JudgedFacts judged = policy::judge_signers(facts, now);
  Places places;
  for (std::size_t i = 0; i < judged.manifests.size(); ++i) {
    if (counts(judged.manifest_statements[i])) {
      places.insert(judged.manifests[i]->locations.begin(), judged.manifests[i]->locations.end());
    }
  }
  for (std::size_t i = 0; i < judged.placements.size(); ++i) {
    if (counts(judged.placement_statements[i])) {
      places.insert(judged.placements[i]->locations.begin(), judged.placements[i]->locations.end());
    }
  }
  return places;
}

}  // namespace

std::vector<std::vector<std::string>> asked_locations(const std::vector<std::string>& locations,
                                                      std::span<const CaseModel> models,
                                                      Timestamp now) {
  std::vector<std::vector<std::string>> asked(models.size(), locations);
  if (locations.empty() || models.size() < 2) {
    return asked;
  }
  std::vector<Places> places;
  places.reserve(models.size());
  for (const CaseModel& model : models) {
    places.push_back(places_of(model.facts, now));
  }
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto is_of_another = [&](const std::string& location) {
      return !places[i].contains(location) &&
             std::ranges::any_of(places, [&](const Places& of) { return of.contains(location); });
    };
    std::erase_if(asked[i], is_of_another);
    if (asked[i].empty()) {
      asked[i] = locations;  // its reports are missed
    }
  }
  return asked;
}

}  // namespace assay::server
