// SPDX-License-Identifier: Apache-2.0
#include "schemas/reference_values.h"

#include "schemas/members.h"

namespace assay {
namespace {

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::kDataLoss, "stored reference values cannot be read");
}

bool is_text(const Json& json, const char* name) {
  return json.contains(name) && json[name].is_string();
}

Result<std::optional<Timestamp>> time_if_there(const Json& json, const char* name) {
  if (!json.contains(name)) {
    return std::optional<Timestamp>();
  }
  ASSAY_ASSIGN(const Timestamp time, members::time(json, name));
  return time;
}

Result<ImportedSet> set_from_json(const Json& json) {
  if (!json.is_object() || !is_text(json, "name") || !json.contains("values") ||
      !json["values"].is_object()) {
    return unreadable();
  }
  ImportedSet set{members::text(json, "name"), {}};
  for (const auto& [measurement, values] : json["values"].items()) {
    if (!values.is_array()) {
      return unreadable();
    }
    for (const Json& value : values) {
      if (!value.is_string()) {
        return unreadable();
      }
      set.values[measurement].push_back(value.get<std::string>());
    }
  }
  ASSAY_ASSIGN(set.not_before, time_if_there(json, "not_before"));
  ASSAY_ASSIGN(set.not_after, time_if_there(json, "not_after"));
  return set;
}

void put_target(Json& json, const std::string& evidence_type, const std::string& stage) {
  json["evidence_type"] = evidence_type;
  if (!stage.empty()) {
    json["stage"] = stage;
  }
}

}  // namespace

Json to_json(const ImportedSet& set) {
  Json json = {{"name", set.name}, {"values", set.values}};
  if (set.not_before) {
    json["not_before"] = to_rfc3339(*set.not_before);
  }
  if (set.not_after) {
    json["not_after"] = to_rfc3339(*set.not_after);
  }
  return json;
}

Json to_json(const ReferenceTag& tag) {
  Json json = {{"appraisal", tag.appraisal},
               {"tag_id", tag.tag_id},
               {"version", tag.version},
               {"document", tag.document.text()},
               {"imported_at", to_rfc3339(tag.imported_at)},
               {"sets", Json::array()},
               {"constrains", tag.constrains}};
  for (const ImportedSet& set : tag.sets) {
    json["sets"].push_back(to_json(set));
  }
  if (tag.key) {
    json["key"] = tag.key->text();
    json["identity"] = tag.identity;
  }
  if (!tag.removed.empty()) {
    json["removed"] = tag.removed;
  }
  return json;
}

Result<ReferenceTag> reference_tag_from_json(const Json& json) {
  const bool shaped = json.is_object() && is_text(json, "appraisal") && is_text(json, "tag_id") &&
                      is_text(json, "document") && is_text(json, "imported_at") &&
                      json.contains("version") && json["version"].is_number_unsigned() &&
                      json.contains("sets") && json["sets"].is_array() &&
                      json.contains("constrains") && json["constrains"].is_array();
  auto document = shaped ? DocumentId::parse(members::text(json, "document")) : unreadable();
  if (!document) {
    return unreadable();
  }
  ReferenceTag tag{members::text(json, "appraisal"), members::text(json, "tag_id"),
                   members::number(json, "version"), *std::move(document)};
  ASSAY_ASSIGN(tag.imported_at, members::time(json, "imported_at"));
  for (const Json& item : json["sets"]) {
    ASSAY_ASSIGN(ImportedSet set, set_from_json(item));
    tag.sets.push_back(std::move(set));
  }
  for (const Json& item : json["constrains"]) {
    if (!item.is_string()) {
      return unreadable();
    }
    tag.constrains.push_back(item.get<std::string>());
  }
  if (json.contains("key")) {
    ASSAY_ASSIGN(tag.key, KeyId::parse(members::text(json, "key")));
    tag.identity = members::text(json, "identity");
  }
  tag.removed = members::text(json, "removed");
  return tag;
}

Json to_json(const PutReferenceValues& operation) {
  Json json = {{"document", base64_encode(operation.document)}};
  put_target(json, operation.evidence_type, operation.stage);
  if (operation.is_unsigned) {
    json["unsigned"] = true;
  }
  return json;
}

Result<PutReferenceValues> read_put_reference_values(const Json& json) {
  auto document = base64_decode(members::text(json, "document"));
  if (!document) {
    return members::under("/document", std::move(document).error());
  }
  return PutReferenceValues{members::text(json, "evidence_type"), members::text(json, "stage"),
                            *std::move(document), json.value("unsigned", false)};
}

Json to_json(const RemoveReferenceValues& operation) {
  Json json = {{"tag_id", operation.tag_id}, {"reason", operation.reason}};
  put_target(json, operation.evidence_type, operation.stage);
  if (operation.dangerous_unconstrain) {
    json["dangerous_unconstrain"] = true;
  }
  return json;
}

RemoveReferenceValues read_remove_reference_values(const Json& json) {
  return {members::text(json, "evidence_type"), members::text(json, "stage"),
          members::text(json, "tag_id"), members::text(json, "reason"),
          json.value("dangerous_unconstrain", false)};
}

}  // namespace assay
