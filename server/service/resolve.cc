// SPDX-License-Identifier: Apache-2.0
// Which artifacts the references of a workload stand for.
#include <algorithm>
#include <map>
#include <set>

#include "schemas/location.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "server/service/collect.h"
#include "server/service/outlines.h"

namespace assay::server {
namespace {

constexpr std::string_view kReferenceCondition = "model-reference";
// Mounted locations that are looked up for a workload that names no model.
constexpr std::size_t kMaxPlaces = 256;
// Bytes of a reference that an explanation shows.
constexpr std::size_t kMaxShown = 256;

using Rows = std::vector<storage::StatementRow>;
// Artifacts that trusted manifests stand for, with those manifests.
using Candidates = std::map<ArtifactId, Rows>;

struct ParsedReference {
  std::string name;                    // empty when not given
  std::optional<ArtifactId> artifact;  // absent when not given
};

// "name", "artifact id" or "name@artifact id".
Result<ParsedReference> parse_reference(std::string_view text) {
  ParsedReference parsed;
  const std::size_t at = text.find('@');
  const bool has_id = at != std::string_view::npos || text.starts_with("assay-tree-");
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

// True when a publisher's signature on the manifest counts at `now`.
Result<bool> is_trusted(storage::Snapshot& snapshot, const storage::StatementRow& row,
                        Timestamp now) {
  if (row.kind == storage::StatementKind::kManifest && !is_current_manifest(row)) {
    return false;
  }
  const SigningContext context{KeyPurpose::kPublisher, {}, row.predicate_type, row.name};
  for (const storage::SignerRow& signer : row.signers) {
    ASSAY_ASSIGN(const TrustedKey key, snapshot.key(signer.key));
    if (check_grant(key, context, signer.signed_at, now)) {
      return true;
    }
  }
  return false;
}

// A manifest stands for the artifact of its own root (its first subject), and for another digest
// that it names when that is asked for.
Status add_trusted(storage::Snapshot& snapshot, const Rows& rows, const std::string& asked,
                   Timestamp now, Candidates& candidates) {
  for (const storage::StatementRow& row : rows) {
    ASSAY_ASSIGN(const bool trusted, is_trusted(snapshot, row, now));
    if (!trusted) {
      continue;
    }
    ASSAY_ASSIGN(const ArtifactId id,
                 ArtifactId::parse(asked.empty() ? row.subjects.front() : asked));
    candidates[id].push_back(row);
  }
  return {};
}

// Manifests, unless the query is about placements.
Result<Candidates> manifests_matching(storage::Snapshot& snapshot, storage::StatementQuery query,
                                      Timestamp now) {
  Candidates candidates;
  query.kind = query.kind.value_or(storage::StatementKind::kManifest);
  query.with_unanchored = true;
  query.bounds.limit = 1000;
  for (std::size_t count = 0;;) {
    ASSAY_ASSIGN(auto page, snapshot.statements(query));
    count += page.items.size();
    if (query.subject.empty() && count > kMaxManifestsOfName) {
      return fail(ErrorCode::kLimitExceeded, "too many manifests match; name the artifact id");
    }
    ASSAY_TRY(add_trusted(snapshot, page.items, query.subject, now, candidates));
    if (!page.next) {
      return candidates;
    }
    query.bounds.after = page.next;
  }
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

// Keeps the manifests that name one of the places; those that name a place above one of them only
// when no manifest names one exactly. Which of them counts is for the policies to say: this only
// tells what is meant.
Candidates bound_to(const Candidates& candidates, const std::set<std::string>& places) {
  Candidates exact;
  Candidates above;
  for (const auto& [artifact, rows] : candidates) {
    for (const storage::StatementRow& row : rows) {
      const auto& list = row.locations;
      if (std::any_of(list.begin(), list.end(),
                      [&](const std::string& one) { return places.contains(one); })) {
        exact[artifact].push_back(row);
      } else if (std::any_of(list.begin(), list.end(),
                             [&](const std::string& one) { return covers_one(one, places); })) {
        above[artifact].push_back(row);
      }
    }
  }
  return exact.empty() ? above : exact;
}

ConditionResult refused(ErrorCode code, Json expected, Json actual) {
  return {std::string(kReferenceCondition),
          Outcome::kFail,
          code,
          std::move(expected),
          std::move(actual),
          {},
          {}};
}

ConditionResult passed(Json actual, const Rows& evidence) {
  ConditionResult result{
      std::string(kReferenceCondition), Outcome::kPass, {}, nullptr, std::move(actual), {}, {}};
  for (const storage::StatementRow& row : evidence) {
    result.evidence.push_back(row.id.text());
  }
  return result;
}

ConditionResult too_many() {
  return refused(ErrorCode::kLimitExceeded, {{"at_most", kMaxModels}}, nullptr);
}

ConditionResult missing(const Json& asked) {
  return refused(ErrorCode::kModelReferenceMissing,
                 "a model name or artifact id with a trusted manifest, or a mounted location that "
                 "one names",
                 asked);
}

ConditionResult ambiguous(const Candidates& candidates) {
  Json ids = Json::array();
  for (const auto& [artifact, rows] : candidates) {
    ids.push_back(artifact.text());
  }
  return refused(ErrorCode::kModelReferenceAmbiguous, "exactly one artifact", std::move(ids));
}

// A model that was found passes; the same one found twice counts once.
void add_model(DecidedModel model, const Rows& rows, ResolvedReference& resolved) {
  if (std::find(resolved.models.begin(), resolved.models.end(), model) != resolved.models.end()) {
    return;
  }
  resolved.preconditions.push_back(passed(reference_to({model}), rows));
  resolved.models.push_back(std::move(model));
}

Status resolve_artifact(storage::Snapshot& snapshot, const ParsedReference& parsed, Timestamp now,
                        ResolvedReference& resolved) {
  ASSAY_ASSIGN(Rows rows, trusted_manifests(snapshot, *parsed.artifact, now));
  const bool any = !rows.empty();
  const std::string other = any ? rows.front().name : std::string();
  if (!parsed.name.empty()) {
    std::erase_if(rows, [&](const auto& row) { return row.name != parsed.name; });
  }
  if (any && rows.empty()) {
    resolved.preconditions.push_back(refused(ErrorCode::kSubjectMismatch, parsed.name, other));
    return {};
  }
  // An artifact nobody has vouched for is a clear reference; the conditions say what is missing.
  add_model({*parsed.artifact, parsed.name}, rows, resolved);
  return {};
}

Status resolve_name(storage::Snapshot& snapshot, const std::string& name,
                    const policy::Workload& workload, Timestamp now, ResolvedReference& resolved) {
  storage::StatementQuery query;
  query.name = name;
  ASSAY_ASSIGN(Candidates known, manifests_matching(snapshot, std::move(query), now));
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
    add_model({known.begin()->first, name}, known.begin()->second, resolved);
  }
  return {};
}

Status resolve_one(storage::Snapshot& snapshot, const std::string& reference,
                   const policy::Workload& workload, Timestamp now, ResolvedReference& resolved) {
  const auto parsed = parse_reference(reference);
  if (!parsed) {
    resolved.preconditions.push_back(refused(ErrorCode::kModelReferenceMissing,
                                             "name, artifact id or name@artifact id",
                                             reference.substr(0, kMaxShown)));
    return {};
  }
  return parsed->artifact ? resolve_artifact(snapshot, *parsed, now, resolved)
                          : resolve_name(snapshot, parsed->name, workload, now, resolved);
}

// The name under which a place says its model; empty when there are several, and none is meant.
std::string only_name(const Rows& rows) {
  const bool same = std::all_of(rows.begin(), rows.end(),
                                [&](const auto& row) { return row.name == rows.front().name; });
  return same ? rows.front().name : std::string();
}

Status resolve_places(storage::Snapshot& snapshot, const policy::Workload& workload, Timestamp now,
                      ResolvedReference& resolved) {
  const std::set<std::string> places = places_of(workload);
  if (places.size() > kMaxPlaces) {
    resolved.preconditions.push_back(too_many());
    return {};
  }
  for (const std::string& place : places) {
    ASSAY_ASSIGN(const auto rows, snapshot.manifests_at(place));
    Candidates all;
    ASSAY_TRY(add_trusted(snapshot, rows, {}, now, all));
    const Candidates found = bound_to(all, {place});
    if (found.size() > 1) {
      resolved.preconditions.push_back(ambiguous(found));
    } else if (!found.empty()) {
      const auto& [artifact, manifests] = *found.begin();
      add_model({artifact, only_name(manifests)}, manifests, resolved);
    }
  }
  if (resolved.preconditions.empty()) {
    resolved.preconditions.push_back(missing(nullptr));
  }
  return {};
}

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

std::string reference_to(const std::vector<DecidedModel>& models) {
  std::string text;
  for (const DecidedModel& model : models) {
    text += text.empty() ? "" : ",";
    text += model.name.empty() ? model.artifact.text() : model.name + "@" + model.artifact.text();
  }
  return text;
}

Result<std::vector<storage::StatementRow>> trusted_manifests(storage::Snapshot& snapshot,
                                                             const ArtifactId& artifact,
                                                             Timestamp now) {
  storage::StatementQuery query;
  query.subject = artifact.text();
  ASSAY_ASSIGN(Candidates known, manifests_matching(snapshot, std::move(query), now));
  return std::move(known[artifact]);
}

Result<std::vector<storage::StatementRow>> trusted_placements(storage::Snapshot& snapshot,
                                                              const ArtifactId& artifact,
                                                              Timestamp now) {
  storage::StatementQuery query;
  query.kind = storage::StatementKind::kAttestation;
  query.predicate_type = kPlacementPredicateType;
  query.subject = artifact.text();
  ASSAY_ASSIGN(Candidates known, manifests_matching(snapshot, std::move(query), now));
  return std::move(known[artifact]);
}

Result<ResolvedReference> resolve(storage::Snapshot& snapshot,
                                  const std::vector<std::string>& references,
                                  const policy::Workload& workload, Timestamp now) {
  ResolvedReference resolved;
  if (references.empty()) {
    ASSAY_TRY(resolve_places(snapshot, workload, now, resolved));
  } else if (references.size() <= kMaxModels) {
    for (const std::string& reference : references) {
      ASSAY_TRY(resolve_one(snapshot, reference, workload, now, resolved));
    }
  }
  if (references.size() > kMaxModels || resolved.models.size() > kMaxModels) {
    resolved.models.clear();
    resolved.preconditions = {too_many()};
  }
  return resolved;
}

}  // namespace assay::server
