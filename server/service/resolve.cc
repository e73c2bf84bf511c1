// SPDX-License-Identifier: Apache-2.0
// Which artifact a model reference stands for.
#include <algorithm>
#include <map>

#include "schemas/location.h"
#include "schemas/manifest.h"
#include "server/service/collect.h"

namespace assay::server {
namespace {

constexpr std::string_view kReferenceCondition = "model-reference";
constexpr std::string_view kBoundCondition = "reference-bound";

// Artifacts that trusted manifests stand for, with those manifests.
using Candidates = std::map<ArtifactId, std::vector<storage::StatementRow>>;

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
Status add_trusted(storage::Snapshot& snapshot, const std::vector<storage::StatementRow>& rows,
                   const std::string& asked, Timestamp now, Candidates& candidates) {
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

Result<Candidates> manifests_matching(storage::Snapshot& snapshot, storage::StatementQuery query,
                                      Timestamp now) {
  Candidates candidates;
  query.kind = storage::StatementKind::kManifest;
  query.with_unanchored = true;
  query.bounds.limit = 1000;
  for (std::size_t count = 0;;) {
    ASSAY_ASSIGN(auto page, snapshot.statements(query));
    count += page.items.size();
    if (count > kMaxStatementsPerArtifact) {
      return fail(ErrorCode::kLimitExceeded, "too many manifests match; name the artifact id");
    }
    ASSAY_TRY(add_trusted(snapshot, page.items, query.subject, now, candidates));
    if (!page.next) {
      return candidates;
    }
    query.bounds.after = page.next;
  }
}

// Keeps the artifacts that one of the places maps to.
Candidates bound_to(const Candidates& candidates, const std::vector<std::string>& places) {
  Candidates bound;
  for (const auto& [artifact, rows] : candidates) {
    for (const storage::StatementRow& row : rows) {
      const bool maps =
          std::any_of(row.locations.begin(), row.locations.end(), [&](const std::string& location) {
            return std::any_of(places.begin(), places.end(), [&](const std::string& place) {
              return location_covers(location, place);
            });
          });
      if (maps) {
        bound[artifact].push_back(row);
      }
    }
  }
  return bound;
}

Result<Candidates> manifests_at_places(storage::Snapshot& snapshot,
                                       const std::vector<std::string>& places, Timestamp now) {
  Candidates candidates;
  for (const std::string& place : places) {
    ASSAY_ASSIGN(auto rows, snapshot.manifests_at(place));
    ASSAY_TRY(add_trusted(snapshot, rows, {}, now, candidates));
  }
  return candidates;
}

ConditionResult refused(std::string_view id, ErrorCode code, Json expected, Json actual) {
  return {std::string(id), Outcome::kFail, code, std::move(expected), std::move(actual), {}, {}};
}

ConditionResult passed(std::string_view id, Json actual,
                       const std::vector<storage::StatementRow>& evidence) {
  ConditionResult result{std::string(id), Outcome::kPass, {}, nullptr, std::move(actual), {}, {}};
  for (const storage::StatementRow& row : evidence) {
    result.evidence.push_back(row.id.text());
  }
  return result;
}

Json ids_of(const Candidates& candidates) {
  Json ids = Json::array();
  for (const auto& [artifact, rows] : candidates) {
    ids.push_back(artifact.text());
  }
  return ids;
}

// Takes the one artifact of `candidates`, or says why there is none.
void choose(const Candidates& candidates, const std::string& asked, ResolvedReference& resolved) {
  if (candidates.size() == 1) {
    const auto& [artifact, rows] = *candidates.begin();
    resolved.artifact = artifact;
    resolved.model_name = rows.front().name;
    resolved.preconditions.push_back(passed(kReferenceCondition, artifact.text(), rows));
  } else if (candidates.empty()) {
    resolved.preconditions.push_back(
        refused(kReferenceCondition, ErrorCode::kModelReferenceMissing,
                "a model name or artifact id with a trusted manifest, or a place that one names",
                asked.empty() ? Json(nullptr) : Json(asked)));
  } else {
    resolved.preconditions.push_back(refused(kReferenceCondition,
                                             ErrorCode::kModelReferenceAmbiguous,
                                             "exactly one artifact", ids_of(candidates)));
  }
}

void choose_given(const Candidates& known, const ParsedReference& parsed,
                  ResolvedReference& resolved) {
  const auto found = known.find(*parsed.artifact);
  const std::vector<storage::StatementRow> rows =
      found == known.end() ? std::vector<storage::StatementRow>{} : found->second;
  resolved.artifact = parsed.artifact;
  const bool named =
      parsed.name.empty() || std::any_of(rows.begin(), rows.end(),
                                         [&](const auto& row) { return row.name == parsed.name; });
  if (!rows.empty()) {
    resolved.model_name = parsed.name.empty() ? rows.front().name : parsed.name;
  }
  if (named || rows.empty()) {
    // An artifact nobody has vouched for is a clear reference; the conditions say what is missing.
    resolved.preconditions.push_back(passed(kReferenceCondition, parsed.artifact->text(), rows));
  } else {
    resolved.preconditions.push_back(
        refused(kReferenceCondition, ErrorCode::kSubjectMismatch, parsed.name, rows.front().name));
  }
}

}  // namespace

Result<ResolvedReference> resolve(storage::Snapshot& snapshot, const ModelReference& reference,
                                  Timestamp now) {
  ResolvedReference resolved;
  Candidates known;
  if (reference.text.empty()) {
    ASSAY_ASSIGN(known, manifests_at_places(snapshot, reference.places, now));
    choose(known, {}, resolved);
  } else if (const auto parsed = parse_reference(reference.text); !parsed) {
    resolved.preconditions.push_back(refused(kReferenceCondition, ErrorCode::kModelReferenceMissing,
                                             "name, artifact id or name@artifact id",
                                             reference.text.substr(0, 256)));
  } else if (parsed->artifact) {
    storage::StatementQuery query;
    query.subject = parsed->artifact->text();
    ASSAY_ASSIGN(known, manifests_matching(snapshot, std::move(query), now));
    choose_given(known, *parsed, resolved);
  } else {
    storage::StatementQuery query;
    query.name = parsed->name;
    ASSAY_ASSIGN(known, manifests_matching(snapshot, std::move(query), now));
    const Candidates bound = bound_to(known, reference.places);
    choose(known.size() > 1 && bound.size() == 1 ? bound : known, reference.text, resolved);
  }
  if (!reference.must_be_bound || !resolved.artifact) {
    return resolved;
  }
  const Candidates bound = bound_to(known, reference.places);
  const auto found = bound.find(*resolved.artifact);
  resolved.preconditions.push_back(
      found != bound.end()
          ? passed(kBoundCondition, reference.places, found->second)
          : refused(kBoundCondition, ErrorCode::kReferenceUnbound,
                    "a volume, image or URI at a location that the model's manifest names",
                    reference.places));
  return resolved;
}

}  // namespace assay::server
