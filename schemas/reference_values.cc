// SPDX-License-Identifier: Apache-2.0
#include "schemas/reference_values.h"

#include "schemas/core/json_object.h"

namespace assay {

static auto members_of(json::As<ImportedSet>) {
  using T = ImportedSet;
  return std::tuple(json::always("name", &T::name), json::always("values", &T::values),
                    json::if_set("not_before", &T::not_before),
                    json::if_set("not_after", &T::not_after));
}
Json to_json(const ImportedSet& set) { return json::write(set); }
Result<ImportedSet> read_json(json::As<ImportedSet> /*type*/, const Json& json) {
  return json::read<ImportedSet>(json);
}

static auto members_of(json::As<ReferenceTag>) {
  using T = ReferenceTag;
  return std::tuple(json::always("appraisal", &T::appraisal), json::always("tag_id", &T::tag_id),
                    json::always("version", &T::version), json::always("document", &T::document),
                    json::always("imported_at", &T::imported_at), json::always("sets", &T::sets),
                    json::always("constrains", &T::constrains), json::if_set("key", &T::key),
                    json::if_set("identity", &T::identity), json::if_set("removed", &T::removed));
}
static ReferenceTag start(json::As<ReferenceTag>) {
  return {{}, {}, 0, json::unread<DocumentId>()};
}
Json to_json(const ReferenceTag& tag) { return json::write(tag); }
Result<ReferenceTag> reference_tag_from_json(const Json& json) {
  auto tag = json::read<ReferenceTag>(json);
  return tag ? std::move(tag)
             : fail(ErrorCode::kDataLoss, "stored reference values cannot be read");
}

static auto members_of(json::As<PutReferenceValues>) {
  using T = PutReferenceValues;
  return std::tuple(json::always("evidence_type", &T::evidence_type),
                    json::if_set("stage", &T::stage), json::always("document", &T::document),
                    json::if_set("unsigned", &T::is_unsigned));
}
Json to_json(const PutReferenceValues& operation) { return json::write(operation); }
Result<PutReferenceValues> read_json(json::As<PutReferenceValues> /*type*/, const Json& json) {
  return json::read<PutReferenceValues>(json);
}

static auto members_of(json::As<RemoveReferenceValues>) {
  using T = RemoveReferenceValues;
  return std::tuple(json::always("evidence_type", &T::evidence_type),
                    json::if_set("stage", &T::stage), json::always("tag_id", &T::tag_id),
                    json::always("reason", &T::reason),
                    json::if_set("dangerous_unconstrain", &T::dangerous_unconstrain));
}
Json to_json(const RemoveReferenceValues& operation) { return json::write(operation); }
Result<RemoveReferenceValues> read_json(json::As<RemoveReferenceValues> /*type*/,
                                        const Json& json) {
  return json::read<RemoveReferenceValues>(json);
}

}  // namespace assay
