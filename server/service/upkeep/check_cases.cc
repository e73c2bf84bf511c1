// SPDX-License-Identifier: Apache-2.0
#include "server/service/upkeep/check_cases.h"

#include <array>

#include "attestation/dsse.h"
#include "schemas/core/json_at.h"

namespace assay::server {
namespace {

constexpr std::size_t kMaxFindings = 1000;
constexpr std::array<const char*, 2> kOfCase = {"policies", "workload"};
constexpr std::array<const char*, 2> kOfModel = {"node", "keys"};

}  // namespace

void CaseChecker::note(std::string id, const std::string& what) {
  if (findings_.size() >= kMaxFindings) {
    return;
  }
  findings_.push_back({"case-part", std::move(id),
                       "a part of the case of decision " + decision_ + " is " + what +
                           ", so the decision cannot be shown or replayed; restore a backup that "
                           "has it"});
}

Result<Json> CaseChecker::open(const Json& id) {
  const auto parsed = id.is_string() ? DocumentId::parse(id.get_ref<const std::string&>())
                                     : Result<DocumentId>(fail(ErrorCode::kDataLoss, ""));
  if (!parsed) {
    note("decision " + decision_, "named by something that is no digest");
    return Json();
  }
  if (!seen_.insert(*parsed).second) {
    return Json();
  }
  const auto document = snapshot_.document(*parsed);
  if (!document) {
    if (document.error().code != ErrorCode::kDataLoss) {
      return std::unexpected(document.error());
    }
    ASSAY_ASSIGN(const bool stored, snapshot_.has_document(*parsed));
    note(parsed->text(), stored ? "damaged" : "missing");
    return Json();
  }
  auto json = parse_json(document->bytes);
  if (!json) {
    note(parsed->text(), "unreadable");
    return Json();
  }
  return json;
}

// Of the statement that a part of the list speaks of: replay tests its predicate.
Status CaseChecker::envelope(const DocumentId& id) {
  if (!seen_.insert(id).second) {
    return {};
  }
  ASSAY_ASSIGN(const bool known, snapshot_.has_document(id));
  if (!known) {
    note(id.text(), "missing");
  }
  return {};
}

// A tree of {"level", "parts"} over the items. Each document below is looked at once, so this ends.
Status CaseChecker::walk_list(const Json& id) {
  ASSAY_ASSIGN(const Json json, open(id));
  for (const Json& part : member_at(json, "parts")) {
    ASSAY_TRY(walk_list(part));
  }
  if (const Json& named = member_at(json, "envelope"); named.is_string()) {
    if (const auto parsed = DocumentId::parse(named.get_ref<const std::string&>())) {
      return envelope(*parsed);
    }
  }
  return {};
}

Status CaseChecker::walk_case(const Json& id) {
  ASSAY_ASSIGN(const Json json, open(id));
  if (json.is_null()) {
    return {};
  }
  for (const char* name : kOfCase) {
    ASSAY_TRY(open(member_at(json, name)));
  }
  for (const Json& model : member_at(json, "models")) {
    for (const char* name : kOfModel) {
      if (!member_at(model, name).is_null()) {
        ASSAY_TRY(open(member_at(model, name)));
      }
    }
    if (!member_at(model, "statements").is_null()) {
      ASSAY_TRY(walk_list(member_at(model, "statements")));
    }
    if (!member_at(model, "lineage").is_null()) {
      ASSAY_ASSIGN(const Json lineage, open(member_at(model, "lineage")));
      if (!lineage.is_null()) {
        ASSAY_TRY(open(member_at(lineage, "keys")));
        ASSAY_TRY(walk_list(member_at(lineage, "statements")));
      }
    }
  }
  return {};
}

Status CaseChecker::check(const storage::DecisionRow& row) {
  decision_ = row.id;
  const auto document = snapshot_.document(row.envelope);
  if (!document) {
    if (document.error().code != ErrorCode::kDataLoss) {
      return std::unexpected(document.error());
    }
    note(row.envelope.text(), "damaged");
    return {};
  }
  const auto envelope = attestation::parse_envelope(document->bytes);
  const auto decision =
      envelope ? parse_json(envelope->payload) : Result<Json>(std::unexpected(envelope.error()));
  if (!decision) {
    note(row.envelope.text(), "unreadable");
    return {};
  }
  ASSAY_TRY(open(member_at(*decision, "results")));
  return walk_case(member_at(*decision, "facts"));
}

}  // namespace assay::server
