// SPDX-License-Identifier: Apache-2.0
#include "attestation/corim/reference_document.h"

#include <algorithm>

#include "attestation/corim/measurement_mapping.h"
#include "schemas/core/json.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay::attestation::corim {
namespace {

constexpr std::uint8_t kCborTag18 = 0xd2;  // RFC 8949 section 3: major type 6, argument 18

std::string set_name(const DocumentTag& tag, const std::string& label) {
  return tag.tag_id + "@" + std::to_string(tag.version) + ":" + label + "#" +
         std::to_string(tag.sets.size() + 1);
}

std::optional<Timestamp> later(std::optional<Timestamp> a, std::optional<Timestamp> b) {
  return a && b ? std::max(a, b) : (a ? a : b);
}
std::optional<Timestamp> earlier(std::optional<Timestamp> a, std::optional<Timestamp> b) {
  return a && b ? std::min(a, b) : (a ? a : b);
}

Status set_type(ReferenceDocument& document, std::string_view evidence_type) {
  if (!document.evidence_type.empty() && document.evidence_type != evidence_type) {
    return fail(ErrorCode::kReferenceClassMismatch,
                "the document has values for two types of evidence");
  }
  document.evidence_type = evidence_type;
  return {};
}

// --- CoRIM

Result<DocumentTag> tag_of(const Comid& comid, const Validity& validity,
                           ReferenceDocument& document) {
  DocumentTag tag{comid.tag_id, comid.tag_version, comid.replaces, {}, comid.other_triples};
  for (const ReferenceTriple& triple : comid.references) {
    ASSAY_ASSIGN(const Mapping* mapping, mapping_for(triple.environment));
    ASSAY_TRY(set_type(document, mapping->evidence_type));
    ASSAY_ASSIGN(auto values, values_of(*mapping, triple));
    const Environment& environment = triple.environment;
    const std::string label =
        environment.vendor + " " + environment.model +
        (environment.class_id.empty() ? "" : " (" + environment.class_id + ")");
    tag.sets.push_back(
        {set_name(tag, label), std::move(values), validity.not_before, validity.not_after});
  }
  if (tag.sets.empty()) {
    return fail(ErrorCode::kReferenceUnmapped, "a tag has no reference triples", tag.tag_id);
  }
  return tag;
}

Status read_corim(ByteView payload, const Validity& signature, ReferenceDocument& document) {
  ASSAY_ASSIGN(const Corim corim, parse_corim(payload));
  const Validity validity{later(corim.validity.not_before, signature.not_before),
                          earlier(corim.validity.not_after, signature.not_after)};
  for (const Comid& comid : corim.tags) {
    ASSAY_ASSIGN(DocumentTag tag, tag_of(comid, validity, document));
    document.tags.push_back(std::move(tag));
  }
  return {};
}

// --- JSON

Result<std::optional<Timestamp>> time_of(const Json& json, const char* member) {
  if (!json.contains(member)) {
    return std::optional<Timestamp>();
  }
  ASSAY_ASSIGN(const Timestamp time, members::time(json, member));
  return std::optional(time);
}

Status read_json(ByteView payload, ReferenceDocument& document) {
  ASSAY_ASSIGN(const Json json, parse_json(payload));
  ASSAY_TRY(validate("reference-values", json));
  const Mapping* mapping = mapping_of(members::text(json, "evidence_type"));
  if (mapping == nullptr) {
    return fail(ErrorCode::kReferenceClassMismatch, "no values are mapped to this type of evidence",
                "/evidence_type");
  }
  document.evidence_type = mapping->evidence_type;
  DocumentTag tag{members::text(json, "tag_id"),
                  members::number(json, "tag_version"),
                  members::texts(json, "replaces"),
                  {},
                  {}};
  ASSAY_ASSIGN(const auto not_before, time_of(json, "not_before"));
  ASSAY_ASSIGN(const auto not_after, time_of(json, "not_after"));
  for (const Json& item : json["sets"]) {
    std::map<std::string, std::vector<std::string>> values;
    for (const auto& [measurement, list] : item["values"].items()) {
      values[measurement] = members::texts(item["values"], measurement);
    }
    auto checked = check_values(*mapping, values);
    if (!checked) {
      return members::under("/sets/" + std::to_string(tag.sets.size()) + "/values",
                            std::move(checked).error());
    }
    const std::string label = item.value("label", document.evidence_type);
    tag.sets.push_back({set_name(tag, label), std::move(values), not_before, not_after});
  }
  document.tags.push_back(std::move(tag));
  return {};
}

// --- both

bool is_json(ByteView bytes) { return !bytes.empty() && bytes.front() == '{'; }

Status read_signed(ByteView bytes, ReferenceDocument& document) {
  ASSAY_ASSIGN(document.envelope, cose::parse_sign1(bytes));
  document.media_type = kSignedType;
  const cose::Sign1& envelope = *document.envelope;
  if (envelope.content_type == kJsonType && envelope.corim_meta.empty()) {
    return read_json(envelope.payload, document);
  }
  if (envelope.content_type != kCorimType) {
    return fail(ErrorCode::kMalformedCose,
                "the content type in the protected header is application/rim+cbor, or that of the "
                "JSON form");
  }
  Validity signature;
  if (!envelope.corim_meta.empty()) {
    ASSAY_ASSIGN(signature, parse_corim_meta(envelope.corim_meta));
  }
  return read_corim(envelope.payload, signature, document);
}

Status check_limits(const ReferenceDocument& document) {
  std::size_t sets = 0;
  for (const DocumentTag& tag : document.tags) {
    sets += tag.sets.size();
  }
  return sets <= kMaxSetsOfDocument
             ? Status()
             : fail(ErrorCode::kLimitExceeded, "a document has at most 256 sets of values");
}

}  // namespace

Result<ReferenceDocument> read_reference_document(ByteView bytes) {
  if (bytes.size() > kMaxReferenceDocument) {
    return fail(ErrorCode::kLimitExceeded, "a document of reference values has at most 256 KiB");
  }
  ReferenceDocument document;
  if (is_json(bytes)) {
    document.media_type = kJsonType;
    ASSAY_TRY(read_json(bytes, document));
  } else if (!bytes.empty() && bytes.front() == kCborTag18) {
    ASSAY_TRY(read_signed(bytes, document));
  } else {
    document.media_type = kCorimType;
    ASSAY_TRY(read_corim(bytes, {}, document));
  }
  ASSAY_TRY(check_limits(document));
  return document;
}

Result<Bytes> sign_reference_document(ByteView payload, const Signer& signer, const Bytes& meta) {
  ASSAY_ASSIGN(const ReferenceDocument document, read_reference_document(payload));
  if (document.envelope) {
    return fail(ErrorCode::kConflict, "the document is signed already");
  }
  ASSAY_ASSIGN(Bytes message, cose::sign1(payload, {document.media_type, meta}, signer));
  ASSAY_TRY(read_reference_document(message));
  return message;
}

}  // namespace assay::attestation::corim
