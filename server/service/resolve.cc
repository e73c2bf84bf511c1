// SPDX-License-Identifier: Apache-2.0
// Which artifacts the references of a workload stand for.
#include <algorithm>
#include <map>
#include <set>

#include "schemas/location.h"
#include "schemas/placement.h"
#include "server/service/collect.h"
#include "server/service/publishers.h"

namespace assay::server {
namespace {

constexpr std::string_view kReferenceCondition = "model-reference";
// Mounted locations that are looked up for a workload that names no model.
constexpr std::size_t kMaxPlaces = 256;
// Bytes of a reference that an explanation shows.
constexpr std::size_t kMaxShown = 256;

using Rows = std::vector<storage::StatementRow>;

// A trusted statement that says what a name or a place stands for.
struct Heard {
  storage::StatementRow row;
  Word word;
};
// Artifacts that are said, with those who say it.
using Candidates = std::map<ArtifactId, std::vector<Heard>>;

// What one resolution rests on.
struct Asking {
  storage::Snapshot& snapshot;
  Timestamp now;
  Publishers publishers{};
};

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

// A manifest stands for the artifact of its own root (its first subject), and for another digest
// that it names when that is asked for.
Status add_trusted(const Asking& asking, const Rows& rows, const std::string& asked,
                   Candidates& candidates) {
  for (const storage::StatementRow& row : rows) {
    ASSAY_ASSIGN(const Word word, asking.publishers.hear(asking.snapshot, row, asking.now));
    if (!word.trusted) {
      continue;
    }
    ASSAY_ASSIGN(const ArtifactId id,
                 ArtifactId::parse(asked.empty() ? row.subjects.front() : asked));
    candidates[id].push_back({row, word});
  }
  return {};
}

// Manifests, unless the query is about placements.
Result<Candidates> manifests_matching(const Asking& asking, storage::StatementQuery query) {
  Candidates candidates;
  query.kind = query.kind.value_or(storage::StatementKind::kManifest);
  query.with_unanchored = true;
  query.bounds.limit = 1000;
  for (std::size_t count = 0;;) {
    ASSAY_ASSIGN(auto page, asking.snapshot.statements(query));
    count += page.items.size();
    if (query.subject.empty() && count > kMaxManifestsOfName) {
      return fail(ErrorCode::kLimitExceeded, "too many manifests match; name the artifact id");
    }
    ASSAY_TRY(add_trusted(asking, page.items, query.subject, candidates));
    if (!page.next) {
      return candidates;
    }
    query.bounds.after = page.next;
  }
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

ConditionResult refused(ErrorCode code, Json expected, Json actual) {
  return {std::string(kReferenceCondition),
          Outcome::kFail,
          code,
          std::move(expected),
          std::move(actual),
          {},
          {}};
}

ConditionResult passed(Json actual, const std::vector<Heard>& evidence) {
  ConditionResult result{
      std::string(kReferenceCondition), Outcome::kPass, {}, nullptr, std::move(actual), {}, {}};
  for (const Heard& one : evidence) {
    result.evidence.push_back(one.row.id.text());
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
void add_model(DecidedModel model, const std::vector<Heard>& said, ResolvedReference& resolved) {
  if (std::find(resolved.models.begin(), resolved.models.end(), model) != resolved.models.end()) {
    return;
  }
  resolved.preconditions.push_back(passed(reference_to({model}), said));
  resolved.models.push_back(std::move(model));
}

Status resolve_artifact(const Asking& asking, const ParsedReference& parsed,
                        ResolvedReference& resolved) {
  storage::StatementQuery query;
  query.subject = parsed.artifact->text();
  ASSAY_ASSIGN(Candidates known, manifests_matching(asking, std::move(query)));
  std::vector<Heard>& said = known[*parsed.artifact];
  const bool any = !said.empty();
  const std::string other = any ? said.front().row.name : std::string();
  if (!parsed.name.empty()) {
    std::erase_if(said, [&](const Heard& one) { return one.row.name != parsed.name; });
  }
  if (any && said.empty()) {
    resolved.preconditions.push_back(refused(ErrorCode::kSubjectMismatch, parsed.name, other));
    return {};
  }
  // An artifact nobody has vouched for is a clear reference; the conditions say what is missing.
  add_model({*parsed.artifact, parsed.name}, said, resolved);
  return {};
}

Status resolve_name(const Asking& asking, const std::string& name, const policy::Workload& workload,
                    ResolvedReference& resolved) {
  storage::StatementQuery query;
  query.name = name;
  ASSAY_ASSIGN(const Candidates trusted, manifests_matching(asking, std::move(query)));
  Candidates known = believed(trusted);
  if (known.empty()) {
    known = trusted;  // the conditions say who is missing
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
    add_model({known.begin()->first, name}, known.begin()->second, resolved);
  }
  return {};
}

Status resolve_one(const Asking& asking, const std::string& reference,
                   const policy::Workload& workload, ResolvedReference& resolved) {
  const auto parsed = parse_reference(reference);
  if (!parsed) {
    resolved.preconditions.push_back(refused(ErrorCode::kModelReferenceMissing,
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
    add_model({artifact, only_name(said)}, said, resolved);
  }
}

Status resolve_places(const Asking& asking, const policy::Workload& workload,
                      ResolvedReference& resolved) {
  const std::set<std::string> places = places_of(workload);
  if (places.size() > kMaxPlaces) {
    resolved.preconditions.push_back(too_many());
    return {};
  }
  Candidates others;
  for (const std::string& place : places) {
    ASSAY_ASSIGN(const auto rows, asking.snapshot.manifests_at(place));
    Candidates all;
    ASSAY_TRY(add_trusted(asking, rows, {}, all));
    add_found(bound_to(believed(all), {place}), resolved);
    others.merge(all);
  }
  if (resolved.preconditions.empty()) {
    // Nobody who is believed knows a place. If somebody else does, the conditions say what is
    // missing.
    add_found(others, resolved);
  }
  if (resolved.preconditions.empty()) {
    resolved.preconditions.push_back(missing(nullptr));
  }
  return {};
}

Result<Rows> trusted_rows(storage::Snapshot& snapshot, storage::StatementQuery query,
                          const ArtifactId& artifact, Timestamp now) {
  query.subject = artifact.text();
  ASSAY_ASSIGN(Candidates known, manifests_matching({snapshot, now}, std::move(query)));
  Rows rows;
  for (Heard& one : known[artifact]) {
    rows.push_back(std::move(one.row));
  }
  return rows;
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

Result<Rows> trusted_manifests(storage::Snapshot& snapshot, const ArtifactId& artifact,
                               Timestamp now) {
  return trusted_rows(snapshot, {}, artifact, now);
}

Result<Rows> trusted_placements(storage::Snapshot& snapshot, const ArtifactId& artifact,
                                Timestamp now) {
  storage::StatementQuery query;
  query.kind = storage::StatementKind::kAttestation;
  query.predicate_type = kPlacementPredicateType;
  return trusted_rows(snapshot, std::move(query), artifact, now);
}

Result<ResolvedReference> resolve(storage::Snapshot& snapshot, const ReferenceQuestion& question) {
  const Asking asking{snapshot, question.now,
                      Publishers(question.policies, question.workload, question.point)};
  const std::vector<std::string>& references = question.references;
  ResolvedReference resolved;
  if (references.empty()) {
    ASSAY_TRY(resolve_places(asking, question.workload, resolved));
  } else if (references.size() <= kMaxModels) {
    for (const std::string& reference : references) {
      ASSAY_TRY(resolve_one(asking, reference, question.workload, resolved));
    }
  }
  if (references.size() > kMaxModels || resolved.models.size() > kMaxModels) {
    resolved.models.clear();
    resolved.preconditions = {too_many()};
  }
  return resolved;
}

}  // namespace assay::server
