// SPDX-License-Identifier: Apache-2.0
// The locations of a model that a policy accepts, and those that a pod mounts.
#include "policy/locations.h"

#include <algorithm>
#include <map>

#include "policy/conditions/combine.h"
#include "policy/evaluate.h"
#include "policy/filler.h"
#include "schemas/core/hub_name.h"
#include "schemas/core/printable.h"

namespace assay::policy {
namespace {

constexpr std::string_view kId = "reference-bound";

void collect(const std::vector<Condition>& conditions, int depth, PublisherDemands& found) {
  for (const Condition& condition : conditions) {
    if (const auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
      found.push_back(manifest);
    } else if (const auto* parts = parts_of(condition);
               parts != nullptr && depth < kMaxConditionDepth &&
               !std::holds_alternative<NotCondition>(condition.kind)) {
      collect(*parts, depth + 1, found);
    }
  }
}

// The entry of `set` that is `location` or, with `within`, a directory above it. Links lead out of
// the parts of a repository of a Hugging Face cache.
const std::string* entry_for(const LocationSet& set, std::string_view location, bool within) {
  for (const std::string_view mounted = location;;) {
    const auto it = set.find(location);
    if (it != set.end() && (location == mounted || !is_hub_repository(location))) {
      return &*it;
    }
    const std::size_t slash = location.rfind('/');
    if (!within || slash == std::string_view::npos || slash == 0) {
      return nullptr;
    }
    location = location.substr(0, slash);
  }
}

// A report at serve has to hold: at the top of the policy or in an `all`.
bool asks_at_serve(const std::vector<Condition>& conditions, const PointTable& points, int depth) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    if (std::holds_alternative<ReportCondition>(condition.kind)) {
      return point_of_leaf(points, condition) == DecisionPoint::kServe;
    }
    const auto* all = std::get_if<AllCondition>(&condition.kind);
    return all != nullptr && depth < kMaxConditionDepth &&
           asks_at_serve(all->of, points, depth + 1);
  });
}

std::vector<LocationStatement> manifests_of_this_root(const JudgedFacts& facts) {
  std::vector<LocationStatement> found;
  auto own = facts.own_manifests.begin();
  for (std::size_t i = 0; i < facts.manifests.size() && own != facts.own_manifests.end(); ++i) {
    if (facts.manifests[i] == *own) {
      found.push_back({&facts.manifest_statements[i], (*own)->name, &(*own)->locations});
      ++own;
    }
  }
  return found;
}

Json shown_set(const LocationSet& texts) {
  return shown_texts(std::vector<std::string>(texts.begin(), texts.end()));
}

// Why nothing is bound, for whoever wrote policy or pod.
std::string advice(const Locations& locations, const FilledVolumes& filled, DecisionPoint point) {
  if (!locations.asked) {
    return "a manifest condition: without one the policy believes no location";
  }
  if (!filled.allowed.empty() && point == DecisionPoint::kServe) {
    return "a report condition at serve: only a report says what a filled volume holds";
  }
  if (!filled.differing.empty()) {
    return std::string(kNeedsMountedLocation) +
           "; an init container runs something else than fillers lets its image run";
  }
  if (!filled.others.empty()) {
    return std::string(kNeedsMountedLocation) +
           "; volumes that an init container fills need the digest of its image in fill_at_run";
  }
  return std::string(kNeedsMountedLocation);
}

}  // namespace

PublisherDemands publisher_demands(const PolicyDocument& policy) {
  return publisher_demands(policy.require);
}

PublisherDemands publisher_demands(const std::vector<Condition>& require) {
  PublisherDemands demands;
  collect(require, 1, demands);
  return demands;
}

Outcome meets(const JudgedStatement& statement, const PublisherDemands& demands) {
  if (demands.empty()) {
    return Outcome::kFail;
  }
  OutcomeCounts counts;
  for (const ManifestCondition* condition : demands) {
    Tally tally(condition->signers);
    tally.add(statement);
    const Outcome outcome = tally.outcome();
    counts.pass += outcome == Outcome::kPass ? 1U : 0U;
    counts.fail += outcome == Outcome::kFail ? 1U : 0U;
    counts.error += outcome == Outcome::kError ? 1U : 0U;
  }
  return combine_all(counts);
}

Names names_of(const PublisherDemands& demands, const JudgedFacts& facts, std::string_view name) {
  Names names;
  for (const LocationStatement& own : manifests_of_this_root(facts)) {
    const bool asked = name.empty() || own.name == name;
    if (asked && !names.contains(own.name) && meets(*own.statement, demands) == Outcome::kPass) {
      names.insert(own.name);
    }
  }
  return names;
}

Believed believed_manifests(const PublisherDemands& demands, const JudgedFacts& facts,
                            std::string_view name) {
  const bool any_joined = std::ranges::any_of(
      facts.index->in_order,
      [](const StatementFact* statement) { return !statement->joined_by.empty(); });
  Believed believed;
  for (const LocationStatement& own :
       any_joined ? manifests_of_this_root(facts) : std::vector<LocationStatement>()) {
    if ((name.empty() || own.name == name) && meets(*own.statement, demands) == Outcome::kPass) {
      believed.insert(own.statement->fact->id);
    }
  }
  return believed;
}

std::vector<LocationStatement> location_statements(const JudgedFacts& facts) {
  std::vector<LocationStatement> found = manifests_of_this_root(facts);
  for (std::size_t i = 0; i < facts.placements.size(); ++i) {
    const PlacementFact& placement = *facts.placements[i];
    found.push_back({&facts.placement_statements[i], placement.name, &placement.locations});
  }
  return found;
}

Locations locations_of(const PolicyDocument& policy, const JudgedFacts& facts,
                       const std::string& name) {
  const PublisherDemands demands = publisher_demands(policy);
  Locations locations;
  locations.asked = !demands.empty();
  locations.whole =
      std::any_of(facts.own_manifests.begin(), facts.own_manifests.end(),
                  [](const ManifestFact* own) { return own->parameters.follow_symlinks; });
  if (demands.empty()) {
    return locations;
  }
  for (const LocationStatement& one : location_statements(facts)) {
    if (!name.empty() && one.name != name) {
      continue;
    }
    const Outcome outcome = meets(*one.statement, demands);
    if (outcome == Outcome::kPass) {
      locations.counted.insert(one.locations->begin(), one.locations->end());
      locations.evidence.push_back(one.statement->fact->id.text());
    } else if (outcome == Outcome::kError) {
      locations.undecided.insert(one.locations->begin(), one.locations->end());
    }
  }
  return locations;
}

MountedModels mounted_models(const PolicyDocument& policy, const Workload& workload,
                             std::span<const Locations> locations) {
  const bool within = policy.mounts == MountRule::kWithin;
  MountedModels mounted;
  mounted.models.resize(locations.size());
  mounted.judged.resize(workload.mounts.size());
  mounted.undecided.resize(workload.mounts.size());
  std::vector<LocationSet> bound(locations.size());
  LocationSet inside;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    const Mount& mount = workload.mounts[m];
    if (mount.location.empty() || (mount.kind != VolumeKind::kModel && !mount.device)) {
      continue;
    }
    for (std::size_t i = 0; i < locations.size(); ++i) {
      const bool part = within && !locations[i].whole;
      if (const auto* at = entry_for(locations[i].counted, mount.location, part)) {
        mounted.judged[m] = true;
        if (*at != mount.location) {
          inside.insert(mount.location);
        }
        // A block device is accounted for, but shows no files that anybody signed.
        if (!mount.device) {
          bound[i].insert(*at);
        }
      } else if (entry_for(locations[i].undecided, mount.location, part) != nullptr) {
        mounted.undecided[m] = true;
        mounted.models[i].undecided = mounted.models[i].undecided || !mount.device;
      }
    }
  }
  for (std::size_t i = 0; i < locations.size(); ++i) {
    mounted.models[i].bound.assign(bound[i].begin(), bound[i].end());
    mounted.bound.merge(bound[i]);
  }
  mounted.within.assign(inside.begin(), inside.end());
  return mounted;
}

FilledVolumes filled_volumes(const PolicyDocument& policy, const Workload& workload) {
  FilledVolumes filled;
  std::set<std::string_view> init;
  bool over = false;  // another container came after a filler
  for (const ContainerImage& one : workload.images) {
    const bool listed =
        one.init &&
        std::any_of(policy.fill_at_run.begin(), policy.fill_at_run.end(),
                    [&](const std::string& digest) { return has_digest(one.image, digest); });
    const std::string list = listed ? differing_list(policy, one) : std::string();
    if (!list.empty()) {
      filled.differing.insert(one.container + ": " + list);
    }
    const bool fills = listed && list.empty();
    if (one.init) {
      init.insert(one.container);
    }
    if (fills && !over) {
      filled.fillers.insert(one.container);
    }
    over = over || (!fills && !filled.fillers.empty());
  }
  std::map<std::string_view, std::set<std::string_view>> readers;  // of each scratch volume
  for (const Mount& mount : workload.mounts) {
    if (mount.kind == VolumeKind::kScratch && !mount.device) {
      readers[mount.volume].insert(mount.container);
    }
  }
  for (const auto& [volume, containers] : readers) {
    for (const std::string_view container : containers) {
      if (init.contains(container) && containers.size() > 1) {
        (filled.fillers.contains(container) ? filled.allowed : filled.others).emplace(volume);
      }
    }
  }
  return filled;
}

std::vector<std::size_t> models_to_fill(const MountedModels& mounted) {
  const bool all = std::none_of(mounted.models.begin(), mounted.models.end(),
                                [](const auto& model) { return model.bound.empty(); });
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < mounted.models.size(); ++i) {
    if (all || mounted.models[i].bound.empty()) {
      found.push_back(i);
    }
  }
  return found;
}

bool parts_count(const PolicyDocument& policy, const MountedModels& mounted,
                 std::span<const Locations> locations) {
  const std::vector<std::size_t> fillable = models_to_fill(mounted);
  return policy.mounts == MountRule::kWithin &&
         std::none_of(fillable.begin(), fillable.end(),
                      [&](std::size_t i) { return locations[i].whole; });
}

ConditionResult judge_reference(const PolicyDocument& policy, const Locations& locations,
                                const MountedModels::Model& mounted, const FilledVolumes& filled,
                                const Scope& scope) {
  ConditionResult result{std::string(kId),
                         Outcome::kFail,
                         Reason::kReferenceUnbound,
                         nullptr,
                         {{"bound", shown_texts(mounted.bound)}},
                         locations.evidence,
                         {}};
  if (!mounted.bound.empty()) {
    result.outcome = Outcome::kPass;
    result.code.reset();
    return result;
  }
  if (!filled.allowed.empty()) {
    result.actual["filled"] = shown_set(filled.allowed);
    if (scope.point < DecisionPoint::kServe) {
      result.outcome = Outcome::kDeferred;
      result.code = Reason::kConditionDeferred;
      return result;
    }
    if (asks_at_serve(policy.require, scope.points, 1)) {
      result.outcome = Outcome::kPass;
      result.code.reset();
      return result;
    }
  }
  if (mounted.undecided) {
    result.outcome = Outcome::kError;
    result.code = Reason::kConditionUndecided;
  }
  result.expected = {{"needs", advice(locations, filled, scope.point)},
                     {"locations", shown_set(locations.counted)}};
  if (!filled.others.empty()) {
    result.actual["filled_by_others"] = shown_set(filled.others);
  }
  if (!filled.differing.empty()) {
    result.actual["fillers_differ"] = shown_set(filled.differing);
  }
  return result;
}

Json shown_texts(std::span<const std::string> texts) {
  Json list = Json::array();
  for (const std::string& text : texts.first(std::min(texts.size(), kMaxShown))) {
    const std::string_view shown = utf8_prefix(text, kMaxShownBytes);
    list.push_back(std::string(shown) + (shown.size() < text.size() ? "..." : ""));
  }
  if (texts.size() > kMaxShown) {
    list.push_back("and " + std::to_string(texts.size() - kMaxShown) + " more");
  }
  return list;
}

}  // namespace assay::policy
