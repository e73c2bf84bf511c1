// SPDX-License-Identifier: Apache-2.0
// Lists of a case, the signers in them, and the lineage of a model.
#include "policy/case_documents.h"
#include "policy/cases/members.h"

namespace assay::policy {
namespace {

Status read_items(const ReadPart& read, const DocumentId& id, std::uint64_t level,
                  std::vector<Json>& items) {
  ASSAY_ASSIGN(Json json, read(id));
  if (level == 0) {
    items.push_back(std::move(json));
    return {};
  }
  if (!json.is_object() || json.value("level", Json()) != level || !json.contains("parts") ||
      !json["parts"].is_array() || json["parts"].size() > kCaseFanOut) {
    return broken_case();
  }
  for (const Json& part : json["parts"]) {
    ASSAY_ASSIGN(const DocumentId child, case_id(part));
    ASSAY_TRY(read_items(read, child, level - 1, items));
  }
  return {};
}

}  // namespace

Result<std::vector<Json>> read_case_list(const ReadPart& read, const DocumentId& root) {
  ASSAY_ASSIGN(const Json top, read(root));
  if (!top.is_object() || !top.contains("level") || !top["level"].is_number_unsigned() ||
      top["level"] < 1 || top["level"] >= kCaseLevels) {
    return broken_case();
  }
  std::vector<Json> items;
  ASSAY_TRY(read_items(read, root, top["level"].get<std::uint64_t>(), items));
  return items;
}

Status join_signers(Json& statement, const Json& keys) {
  if (!statement.is_object() || !statement.contains("signers") ||
      !statement["signers"].is_array()) {
    return broken_case();
  }
  for (Json& signer : statement["signers"]) {
    if (!signer.is_object() || !signer.contains("key") || !signer["key"].is_string() ||
        !signer.contains("signed_at")) {
      return broken_case();
    }
    const Json& key = member_at(keys, signer["key"].get_ref<const std::string&>());
    if (!key.is_object()) {
      return broken_case();
    }
    Json whole = key;
    whole["signed_at"] = signer["signed_at"];
    if (const auto certificate = signer.find("certificate"); certificate != signer.end()) {
      whole["certificate"] = *certificate;
    }
    signer = std::move(whole);
  }
  return {};
}

Result<Json> read_case_lineage(const ReadPart& read, const DocumentId& head) {
  ASSAY_ASSIGN(const Json json, read(head));
  ASSAY_ASSIGN(const DocumentId statements, case_id(member_at(json, "statements")));
  ASSAY_ASSIGN(const DocumentId keys_id, case_id(member_at(json, "keys")));
  ASSAY_ASSIGN(std::vector<Json> items, read_case_list(read, statements));
  ASSAY_ASSIGN(const Json keys, read(keys_id));
  Json document = {{"start", text_at(json, "start")}, {"statements", Json::array()}};
  if (const Json& reached = array_at(json, "reached"); !reached.empty()) {
    document["reached"] = reached;
  }
  for (Json& item : items) {
    const char* const rest = item.is_object() && item.contains("cut") ? "cut" : "aside";
    const Json& list = array_at(item, rest);
    if (!list.empty()) {
      for (const Json& one : list) {
        document[rest].push_back(one);
      }
      continue;
    }
    if (!item.is_object() || !item.contains("fact")) {
      return broken_case();
    }
    ASSAY_TRY(join_signers(item["fact"], keys));
    document["statements"].push_back(std::move(item));
  }
  return document;
}

}  // namespace assay::policy
