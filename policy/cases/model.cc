// SPDX-License-Identifier: Apache-2.0
// The facts about one model of a case.
#include <algorithm>
#include <array>

#include "policy/case_documents.h"
#include "policy/cases/members.h"

namespace assay::policy {
namespace {

// Lists of the facts document whose items are parts.
constexpr std::array<std::string_view, 3> kFactLists = {"manifests", "placements", "statements"};

// Adds the manifests, placements and statements of a model to the document of its facts.
Status read_statements(const ReadPart& read, const Json& member, Json& document,
                       Envelopes& envelopes) {
  ASSAY_ASSIGN(const DocumentId statements, case_id(member_at(member, "statements")));
  ASSAY_ASSIGN(const DocumentId keys_id, case_id(member_at(member, "keys")));
  ASSAY_ASSIGN(std::vector<Json> items, read_case_list(read, statements));
  ASSAY_ASSIGN(const Json keys, read(keys_id));
  for (Json& item : items) {
    ASSAY_TRY(join_signers(item, keys));
    const std::string list = text_at(item, "list");
    item.erase("list");
    if (std::ranges::find(kFactLists, list) == kFactLists.end()) {
      return broken_case();
    }
    if (list == kFactLists.back()) {
      ASSAY_ASSIGN(const DocumentId id, case_id(member_at(item, "id")));
      ASSAY_ASSIGN(DocumentId envelope, case_id(member_at(item, "envelope")));
      envelopes.emplace(StatementId(id.digest()), std::move(envelope));
      item.erase("envelope");
      item["predicate"] = nullptr;
    }
    document[list].push_back(std::move(item));
  }
  document["artifact"] = member["artifact"];
  return {};
}

}  // namespace

Result<CaseModelFacts> read_case_model(const ReadPart& read, const Json& member) {
  Json document = {{"manifests", Json::array()}, {"statements", Json::array()}};
  Envelopes envelopes;
  if (!member.is_object()) {
    return broken_case();
  }
  if (member.contains("artifact")) {
    ASSAY_TRY(read_statements(read, member, document, envelopes));
  }
  if (member.contains("lineage")) {
    ASSAY_ASSIGN(const DocumentId id, case_id(member["lineage"]));
    ASSAY_ASSIGN(document["lineage"], read_case_lineage(read, id));
  }
  if (member.contains("node")) {
    ASSAY_ASSIGN(const DocumentId id, case_id(member["node"]));
    ASSAY_ASSIGN(const Json node, read(id));
    // Signed statements about the model stand in lists of their own.
    const auto is_signed = [&document](const auto& one) { return document.contains(one.key()); };
    if (!node.is_object() || std::ranges::any_of(node.items(), is_signed)) {
      return broken_case();
    }
    document.update(node);
  }
  if (member.contains("name")) {
    document["name"] = member["name"];
  }
  document["format"] = kFactsFormat;
  auto facts = facts_from_json(document);
  if (!facts) {
    return broken_case();
  }
  return CaseModelFacts{*std::move(facts), std::move(envelopes)};
}

}  // namespace assay::policy
