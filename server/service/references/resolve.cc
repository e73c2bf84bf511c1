// SPDX-License-Identifier: Apache-2.0
#include "server/service/references/resolve.h"

#include <algorithm>
#include <map>
#include <set>

#include "schemas/location.h"
#include "schemas/placement.h"
#include "server/service/facts/artifact_facts.h"
#include "server/service/references/hearing.h"
#include "server/service/references/releases.h"
#include "storage/lineage_reads.h"

namespace assay::server {
namespace {

// Mounted locations that are looked up for a workload that names no model.
constexpr std::size_t kMaxPlaces = 64;
// Bytes of a reference that an explanation shows.
constexpr std::size_t kMaxShown = 256;

using Rows = std::vector<storage::StatementRow>;

// Artifacts that are said, with those who say it.
using Candidates = std::map<ArtifactId, std::vector<Heard>>;

struct ParsedReference {
  std::string name;                    // empty when not given
  std::optional<ArtifactId> artifact;  // absent when not given
};

bool has_artifact_id(std::string_view reference) {
  return reference.find('@') != std::string_view::npos || reference.starts_with("assay-tree-");
}

// "name", "artifact id" or "name@artifact id".
Result<ParsedReference> parse_reference(std::string_view text) {
  ParsedReference parsed;
  const std::size_t at = text.find('@');
  const bool has_id = has_artifact_id(text);
  if (has_id) {
    const std::string_view id = at == std::string_view::npos ? text : text.substr(at + 1);
    ASSAY_ASSIGN(parsed.artifact, ArtifactId::parse(id));
  }
  if (at != std::string_view::npos || !has_id) {
    parsed.name = std::string(text.substr(0, at));
    ASSAY_TRY(check_model_name(parsed.name));
  }
  return parsed;
}

// Those of the trusted manifests and placements about one artifact that are wanted.
template <typename Wanted>
Result<Rows> trusted_rows(storage::Snapshot& snapshot, Wanted wanted, const ArtifactId& artifact,
                          Timestamp now) {
  const Publishers publishers;
  Rows rows;
  ASSAY_ASSIGN(const auto indexes, snapshot.lineage().about(artifact.text()));
  for (const LeafIndex index : indexes) {
    ASSAY_ASSIGN(storage::StatementRow row, snapshot.statement_at(index));
    if (!wanted(row)) {
      continue;
    }
    ASSAY_ASSIGN(const Word word, publishers.hear(snapshot, row, now));
    if (word.trusted) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// What trusted statements among `signatures` stand for: a manifest or a placement for the artifact
// of its first subject. An index only says where to look: each row must fit what was asked for.
template <typename Fits>
Result<Candidates> listen(Asking& asking, const std::vector<storage::SignedBy>& signatures,
                          Ears ears, Fits fits) {
  std::set<LeafIndex> indexes;
  for (const storage::SignedBy& signature : signatures) {
    ASSAY_ASSIGN(const bool worth, is_worth_reading(asking, signature.key, ears));
    if (worth) {
      indexes.insert(signature.index);
    }
  }
  Candidates candidates;
  for (const LeafIndex index : indexes) {
    ASSAY_ASSIGN(const Heard* const heard, hear(asking, index));
    if (!fits(heard->row)) {
      return fail(ErrorCode::kDataLoss, "an index names another statement than it should");
    }
    if (heard->word.trusted) {
      ASSAY_ASSIGN(const ArtifactId id, ArtifactId::parse(heard->row.subjects.front()));
      candidates[id].push_back(*heard);
    }
  }
  return candidates;
}

Result<Candidates> listen_for_name(Asking& asking, const std::string& name, Ears ears) {
  ASSAY_ASSIGN(const auto signatures, asking.snapshot.signed_under(name));
  return listen(asking, signatures, ears, [&](const storage::StatementRow& row) {
    return row.kind == storage::StatementKind::kManifest && row.name == name;
  });
}

Result<Candidates> listen_at(Asking& asking, const std::string& place, Ears ears) {
  ASSAY_ASSIGN(const auto signatures, asking.snapshot.signed_at(place));
  return listen(asking, signatures, ears, [&](const storage::StatementRow& row) {
    return std::any_of(row.locations.begin(), row.locations.end(), [&](const std::string& one) {
      return place == one || place.starts_with(one + "/");
    });
  });
}

template <typename Keep>
Candidates kept(const Candidates& candidates, Keep keep) {
  Candidates found;
  for (const auto& [artifact, all] : candidates) {
    for (const Heard& one : all) {
      if (keep(one)) {
        found[artifact].push_back(one);
      }
    }
  }
  return found;
}

// Each policy that is asked believes one of them.
bool meets_all(const std::vector<Heard>& said) {
  std::vector<bool> by = said.front().word.by;
  for (const Heard& one : said) {
    for (std::size_t i = 0; i < by.size(); ++i) {
      by[i] = by[i] || one.word.by[i];
    }
  }
  return std::all_of(by.begin(), by.end(), [](bool believes) { return believes; });
}

// The artifacts that every policy believes; where there is none, those that one of them does.
Candidates believed(const Candidates& candidates) {
  Candidates by_any = kept(candidates, [](const Heard& one) { return one.word.believed; });
  Candidates by_all;
  for (const auto& [artifact, said] : by_any) {
    if (meets_all(said)) {
      by_all.emplace(artifact, said);
    }
  }
  return by_all.empty() ? by_any : by_all;
}

// Locations of what the workload mounts and could hold a model.
std::set<std::string> places_of(const policy::Workload& workload) {
  std::set<std::string> places;
  for (const policy::Mount& mount : workload.mounts) {
    if (mount.kind == policy::VolumeKind::kModel && !mount.location.empty()) {
      places.insert(mount.location);
    }
  }
  return places;
}

bool covers_one(const std::string& location, const std::set<std::string>& places) {
  return std::any_of(places.begin(), places.end(),
                     [&](const std::string& place) { return location_covers(location, place); });
}

// Keeps what names one of the places; what names a place above one of them only when nothing names
// one exactly, and never when its policies bind no directory inside. Which of them counts is for
// the policies to say: this only tells what is meant.
Candidates bound_to(const Candidates& candidates, const std::set<std::string>& places) {
  const auto names = [](const Heard& one, const auto& test) {
    return std::any_of(one.row.locations.begin(), one.row.locations.end(), test);
  };
  Candidates exact = kept(candidates, [&](const Heard& one) {
    return names(one, [&](const std::string& place) { return places.contains(place); });
  });
  if (!exact.empty()) {
    return exact;
  }
  return kept(candidates, [&](const Heard& one) {
    return (one.word.within || !one.word.believed) &&
           names(one, [&](const std::string& place) { return covers_one(place, places); });
  });
}

ConditionResult passed(Json actual, const std::vector<std::string>& evidence) {
  return {std::string(kReferenceCondition),
          Outcome::kPass,
          {},
          nullptr,
          std::move(actual),
          evidence,
          {}};
}

ConditionResult too_many(std::size_t at_most) {
  return refused(Reason::kLimitExceeded, {{"at_most", at_most}}, nullptr);
}

ConditionResult missing(const Json& asked) {
  return refused(Reason::kModelReferenceMissing,
                 "a model name or artifact id with a trusted manifest, or a mounted location that "
                 "one names",
                 asked);
}

ConditionResult ambiguous(const Candidates& candidates) {
  Json ids = Json::array();
  for (const auto& [artifact, rows] : candidates) {
    if (ids.size() == EvidenceIds::kShown) {
      ids.push_back("and " + std::to_string(candidates.size() - ids.size()) + " more");
      break;
    }
    ids.push_back(artifact.text());
  }
  return refused(Reason::kModelReferenceAmbiguous, "exactly one artifact", std::move(ids));
}

std::vector<std::string> ids_of(const std::vector<Heard>& said) {
  std::vector<std::string> ids;
  ids.reserve(said.size());
  for (const Heard& one : said) {
    ids.push_back(one.row.id.text());
  }
  return ids;
}

// A model that was found passes; the same one found twice counts once.
void add_model(DecidedModel model, const std::vector<std::string>& said,
               ResolvedReference& resolved) {
  if (std::find(resolved.models.begin(), resolved.models.end(), model) != resolved.models.end()) {
    return;
  }
  resolved.preconditions.push_back(passed(reference_to({model}), said));
  resolved.models.push_back(std::move(model));
}

// `said` are the ids of statements that named the artifact; those of its manifests are added.
Status resolve_artifact(const Asking& asking, const ParsedReference& parsed,
                        ResolvedReference& resolved, std::vector<std::string> said = {}) {
  ASSAY_TRY(check_deadline(asking.services, asking.deadline));
  ASSAY_ASSIGN(const auto known,
               artifact_facts(asking.services, asking.snapshot, *parsed.artifact));
  policy::Facts facts;
  facts.artifact = parsed.artifact;
  facts.manifests = known->facts.manifests;
  const policy::JudgedFacts judged = policy::judge_signers(facts, asking.now);
  const std::string* other = nullptr;
  bool known_so = false;
  for (std::size_t i = 0; i < judged.manifests.size(); ++i) {
    if (judged.manifest_statements[i].has_signer()) {
      const policy::ManifestFact& manifest = *judged.manifests[i];
      other = other == nullptr ? &manifest.name : other;
      if (parsed.name.empty() || manifest.name == parsed.name) {
        said.push_back(manifest.statement.id.text());
        known_so = true;
      }
    }
  }
  if (other != nullptr && !known_so) {
    resolved.preconditions.push_back(refused(Reason::kSubjectMismatch, parsed.name, *other));
    return {};
  }
  // An artifact nobody has vouched for is a clear reference; the conditions say what is missing.
  add_model({*parsed.artifact, parsed.name}, said, resolved);
  return {};
}

// As the policies say that name it by a rule of their own. They must agree. What policies without
// such a rule think of the artifact their conditions say.
Status resolve_by_rules(Asking& asking, const std::string& name, ResolvedReference& resolved) {
  std::optional<NamedArtifact> found;
  for (const Publishers::Naming& naming : asking.publishers.naming()) {
    ASSAY_ASSIGN(auto named, artifact_under(asking, naming, name));
    if (auto* refusal = std::get_if<ConditionResult>(&named)) {
      resolved.preconditions.push_back(std::move(*refusal));
      return {};
    }
    auto& one = std::get<NamedArtifact>(named);
    if (found && found->artifact != one.artifact) {
      resolved.preconditions.push_back(refused(Reason::kModelReferenceAmbiguous,
                                               "exactly one artifact",
                                               Json{found->artifact.text(), one.artifact.text()}));
      return {};
    }
    found = found.value_or(std::move(one));
  }
  return resolve_artifact(asking, {name, found->artifact}, resolved, found->said);
}

Status resolve_name(Asking& asking, const std::string& name, const policy::Workload& workload,
                    ResolvedReference& resolved) {
  if (!asking.publishers.naming().empty()) {
    return resolve_by_rules(asking, name, resolved);
  }
  ASSAY_ASSIGN(const Candidates heard, listen_for_name(asking, name, Ears::kBelieved));
  Candidates known = believed(heard);
  if (known.empty()) {
    // The conditions say who is missing.
    ASSAY_ASSIGN(known, listen_for_name(asking, name, Ears::kTrusted));
  }
  if (known.size() > 1) {
    Candidates bound = bound_to(known, places_of(workload));
    if (bound.size() == 1) {
      known = std::move(bound);
    }
  }
  if (known.empty()) {
    resolved.preconditions.push_back(missing(name));
  } else if (known.size() > 1) {
    resolved.preconditions.push_back(ambiguous(known));
  } else {
    add_model({known.begin()->first, name}, ids_of(known.begin()->second), resolved);
  }
  return {};
}

Status resolve_one(Asking& asking, const std::string& reference, const policy::Workload& workload,
                   ResolvedReference& resolved) {
  const auto parsed = parse_reference(reference);
  if (!parsed) {
    resolved.preconditions.push_back(refused(Reason::kModelReferenceMissing,
                                             "name, artifact id or name@artifact id",
                                             reference.substr(0, kMaxShown)));
    return {};
  }
  return parsed->artifact ? resolve_artifact(asking, *parsed, resolved)
                          : resolve_name(asking, parsed->name, workload, resolved);
}

// The name under which a place says its model; empty when there are several, and none is meant.
std::string only_name(const std::vector<Heard>& said) {
  const bool same = std::all_of(said.begin(), said.end(), [&](const Heard& one) {
    return one.row.name == said.front().row.name;
  });
  return same ? said.front().row.name : std::string();
}

// Nothing, the one artifact that is meant, or that it is not clear which.
void add_found(const Candidates& found, ResolvedReference& resolved) {
  if (found.size() > 1) {
    resolved.preconditions.push_back(ambiguous(found));
  } else if (!found.empty()) {
    const auto& [artifact, said] = *found.begin();
    add_model({artifact, only_name(said)}, ids_of(said), resolved);
  }
}

Status resolve_places(Asking& asking, const policy::Workload& workload,
                      ResolvedReference& resolved) {
  const std::set<std::string> places = places_of(workload);
  if (places.size() > kMaxPlaces) {
    resolved.preconditions.push_back(too_many(kMaxPlaces));
    return {};
  }
  for (const std::string& place : places) {
    ASSAY_ASSIGN(const Candidates heard, listen_at(asking, place, Ears::kBelieved));
    add_found(bound_to(believed(heard), {place}), resolved);
  }
  if (resolved.preconditions.empty()) {
    // Nobody who is believed knows a place. If somebody else does, the conditions say what is
    // missing.
    Candidates others;
    for (const std::string& place : places) {
      ASSAY_ASSIGN(Candidates heard, listen_at(asking, place, Ears::kTrusted));
      others.merge(heard);
    }
    add_found(others, resolved);
  }
  if (resolved.preconditions.empty()) {
    resolved.preconditions.push_back(missing(nullptr));
  }
  return {};
}

// Without references, the places say what is meant.
Status resolve_all(Asking& asking, const ReferenceQuestion& question, ResolvedReference& resolved) {
  if (question.references.empty()) {
    return resolve_places(asking, question.workload, resolved);
  }
  for (const std::string& reference : question.references) {
    ASSAY_TRY(resolve_one(asking, reference, question.workload, resolved));
  }
  return {};
}

// Nothing is meant, for there is too much of something.
ResolvedReference beyond(std::size_t at_most) { return {{}, {too_many(at_most)}}; }

}  // namespace

std::vector<std::string> references_in(std::string_view text) {
  std::vector<std::string> references;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, comma);
    const std::size_t start = std::min(one.find_first_not_of(' '), one.size());
    one = one.substr(start, one.find_last_not_of(' ') + 1 - start);
    references.emplace_back(one);
    if (comma + 1 == text.size()) {
      references.emplace_back();  // behind the last comma
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return references;
}

std::vector<std::string> bare_names_in(const std::vector<std::string>& references) {
  if (references.empty()) {
    return {""};
  }
  std::set<std::string> names;
  for (const std::string& reference : references) {
    if (!has_artifact_id(reference)) {
      names.insert(reference.substr(0, kMaxShown));
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> names_in(const std::vector<std::string>& references) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < std::min(references.size(), kMaxModels); ++i) {
    const auto parsed = parse_reference(references[i]);
    if (parsed && !parsed->name.empty()) {
      names.insert(parsed->name);
    }
  }
  return {names.begin(), names.end()};
}

std::string reference_to(const std::vector<DecidedModel>& models) {
  std::string text;
  for (const DecidedModel& model : models) {
    text += text.empty() ? "" : ",";
    text += model.name.empty() ? model.artifact.text() : model.name + "@" + model.artifact.text();
  }
  return text;
}

Result<Rows> trusted_manifests(storage::Snapshot& snapshot, const ArtifactId& artifact,
                               Timestamp now) {
  const auto is_manifest = [](const storage::StatementRow& row) {
    return row.kind == storage::StatementKind::kManifest;
  };
  return trusted_rows(snapshot, is_manifest, artifact, now);
}

Result<Rows> trusted_placements(storage::Snapshot& snapshot, const ArtifactId& artifact,
                                Timestamp now) {
  const auto is_placement = [](const storage::StatementRow& row) {
    return row.kind == storage::StatementKind::kAttestation &&
           row.predicate_type == kPlacementPredicateType;
  };
  return trusted_rows(snapshot, is_placement, artifact, now);
}

Result<ResolvedReference> resolve(Services& services, storage::Snapshot& snapshot,
                                  const ReferenceQuestion& question) {
  if (question.references.size() > kMaxModels) {
    return beyond(kMaxModels);
  }
  Asking asking{.services = services,
                .snapshot = snapshot,
                .now = question.now,
                .publishers = Publishers(question.policies, question.workload, question.point),
                .deadline = question.deadline};
  ResolvedReference resolved;
  const Status done = resolve_all(asking, question, resolved);
  if (!done) {
    return done.error().code == ErrorCode::kLimitExceeded
               ? Result<ResolvedReference>(beyond(kMaxManifestsHeard))
               : std::unexpected(done.error());
  }
  if (resolved.models.size() > kMaxModels) {
    return beyond(kMaxModels);
  }
  return resolved;
}

}  // namespace assay::server
