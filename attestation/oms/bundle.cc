// SPDX-License-Identifier: Apache-2.0
// Section numbers are those of OMS v1.0.
#include "attestation/oms/bundle.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/core/json.h"
#include "schemas/core/json_at.h"
#include "schemas/statement.h"

namespace assay::attestation::oms {
namespace {

constexpr JsonLimits kBundleLimits{.max_bytes = kMaxBundleBytes,
                                   .max_memory = kMaxBundleBytes + (std::size_t{8} << 20)};
constexpr std::size_t kMaxCertificate = std::size_t{64} << 10;  // bytes
constexpr std::size_t kMaxHint = 256;
// Release 1.0 and older: PEM in base64 in place of a hint. It is not read.
constexpr std::array<std::string_view, 2> kOldKeyMembers = {"rawBytes", "keyDetails"};

std::unexpected<Error> malformed(std::string why, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(why), std::move(where));
}

Status check_only(const Json& json, std::initializer_list<std::string_view> known,
                  const std::string& where) {
  if (!json.is_object()) {
    return malformed("an object is needed", where);
  }
  for (const auto& [member, value] : json.items()) {
    if (std::ranges::find(known, member) == known.end()) {
      return fail(ErrorCode::kUnknownMember, "a bundle does not have this member",
                  where + "/" + member);
    }
  }
  return {};
}

Result<Bytes> decoded(const Json& value, std::size_t most, const std::string& where) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    return malformed("base64 is needed", where);
  }
  auto bytes = base64_decode(value.get_ref<const std::string&>());
  if (!bytes) {
    return fail(ErrorCode::kInvalidEncoding, bytes.error().detail, where);
  }
  if (bytes->size() > most) {
    return fail(ErrorCode::kLimitExceeded, "at most " + std::to_string(most) + " bytes", where);
  }
  return bytes;
}

Result<Bytes> read_certificate(const Json& json, const std::string& where) {
  ASSAY_TRY(check_only(json, {"rawBytes"}, where));
  return decoded(member_at(json, "rawBytes"), kMaxCertificate, where + "/rawBytes");
}

Result<Material> read_key(const Json& json, const std::string& where) {
  ASSAY_TRY(check_only(json, {"hint", kOldKeyMembers[0], kOldKeyMembers[1]}, where));
  for (const auto& [member, value] : json.items()) {
    const bool is_hint = member == "hint";
    if (!value.is_string() && !(is_hint && value.is_null())) {
      return malformed("text is needed", where + "/" + member);
    }
  }
  KeyMaterial key{text_at(json, "hint")};
  if (key.hint.size() > kMaxHint) {
    return fail(ErrorCode::kLimitExceeded, "the hint is too long", where + "/hint");
  }
  return key;
}

Result<Material> read_chain(const Json& json, const std::string& where) {
  ASSAY_TRY(check_only(json, {"certificates"}, where));
  const Json& list = member_at(json, "certificates");
  const std::string place = where + "/certificates";
  if (!list.is_array() || list.empty()) {
    return malformed("a list of certificates is needed", place);
  }
  if (list.size() > kMaxChain) {
    return fail(ErrorCode::kLimitExceeded, "too many certificates", place);
  }
  CertificateMaterial made;
  for (const Json& item : list) {
    ASSAY_ASSIGN(Bytes der,
                 read_certificate(item, place + "/" + std::to_string(made.chain.size())));
    made.chain.push_back(std::move(der));
  }
  return made;
}

Result<Material> read_fulcio(const Json& json, const std::string& where) {
  ASSAY_ASSIGN(Bytes der, read_certificate(json, where));
  return SigstoreMaterial{std::move(der)};
}

// Exactly one of the three (section 4.1). What a log or a time stamp says is read by whoever
// verifies sigstore bundles.
Result<Material> read_material(const Json& json) {
  const std::string where = "/verificationMaterial";
  ASSAY_TRY(check_only(json,
                       {"publicKey", "x509CertificateChain", "certificate", "tlogEntries",
                        "timestampVerificationData"},
                       where));
  if (json.contains("tlogEntries") && !json["tlogEntries"].is_array()) {
    return malformed("a list is needed", where + "/tlogEntries");
  }
  using Read = Result<Material> (*)(const Json&, const std::string&);
  const std::array<std::pair<const char*, Read>, 3> kinds = {{{"publicKey", read_key},
                                                              {"x509CertificateChain", read_chain},
                                                              {"certificate", read_fulcio}}};
  std::optional<Result<Material>> found;
  for (const auto& [member, read] : kinds) {
    const auto item = json.find(member);
    if (item == json.end()) {
      continue;
    }
    if (found) {
      return malformed("a bundle has one of publicKey, x509CertificateChain and certificate",
                       where);
    }
    found = read(*item, where + "/" + member);
  }
  return found ? *std::move(found)
               : malformed("a bundle has publicKey, x509CertificateChain or certificate", where);
}

Result<EnvelopeSignature> read_signature(const Json& json, const std::string& where) {
  ASSAY_TRY(check_only(json, {"sig", "keyid"}, where));
  const Json& keyid = member_at(json, "keyid");
  if (!keyid.is_null() && !keyid.is_string()) {
    return malformed("a keyid is text", where + "/keyid");
  }
  constexpr std::size_t kMaxSignature = 4096;
  ASSAY_ASSIGN(Bytes signature, decoded(member_at(json, "sig"), kMaxSignature, where + "/sig"));
  return EnvelopeSignature{.keyid_hint = {}, .signature = std::move(signature)};
}

Result<Envelope> read_envelope(const Json& json) {
  const std::string where = "/dsseEnvelope";
  ASSAY_TRY(check_only(json, {"payload", "payloadType", "signatures"}, where));
  Envelope envelope;
  envelope.payload_type = text_at(json, "payloadType");
  if (envelope.payload_type != kStatementPayloadType) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "OMS signs payloads of the type " + std::string(kStatementPayloadType),
                where + "/payloadType");
  }
  ASSAY_ASSIGN(envelope.payload,
               decoded(member_at(json, "payload"), kMaxBundleBytes, where + "/payload"));
  const Json& list = member_at(json, "signatures");
  const std::string place = where + "/signatures";
  if (!list.is_array()) {
    return malformed("a list of signatures is needed", place);
  }
  if (list.empty()) {
    return fail(ErrorCode::kSignatureMissing, "the bundle has no signature", place);
  }
  if (list.size() > 1) {
    return malformed("a bundle has one signature", place);
  }
  ASSAY_ASSIGN(EnvelopeSignature signature, read_signature(list.front(), place + "/0"));
  envelope.signatures.push_back(std::move(signature));
  return envelope;
}

Result<Json> material_json(const Material& material) {
  Json json = {{"tlogEntries", Json::array()}};
  if (const auto* key = std::get_if<KeyMaterial>(&material)) {
    json["publicKey"] = {{"hint", key->hint}};
    return json;
  }
  const auto* certificates = std::get_if<CertificateMaterial>(&material);
  if (certificates == nullptr) {
    return fail(ErrorCode::kInvalidParameter, "bundles of sigstore are not made here");
  }
  Json list = Json::array();
  for (const Bytes& der : certificates->chain) {
    list.push_back({{"rawBytes", base64_encode(der)}});
  }
  json["x509CertificateChain"] = {{"certificates", std::move(list)}};
  return json;
}

}  // namespace

std::string_view method_of(const Material& material) {
  constexpr std::array<std::string_view, 3> kMethodNames = {"key", "certificate", "sigstore"};
  return kMethodNames[material.index()];
}

Result<Bundle> parse_bundle(ByteView bytes) {
  ASSAY_ASSIGN(const Json json, parse_json(bytes, kBundleLimits));
  if (text_at(json, "mediaType") != kMediaType) {
    return malformed("not a sigstore bundle of the type " + std::string(kMediaType), "/mediaType");
  }
  ASSAY_TRY(check_only(json, {"mediaType", "verificationMaterial", "dsseEnvelope"}, ""));
  ASSAY_ASSIGN(Material material, read_material(member_at(json, "verificationMaterial")));
  ASSAY_ASSIGN(Envelope envelope, read_envelope(member_at(json, "dsseEnvelope")));
  return Bundle{std::move(material), std::move(envelope)};
}

Result<std::string> encode_bundle(const Bundle& bundle) {
  ASSAY_ASSIGN(Json material, material_json(bundle.material));
  Json signatures = Json::array();
  for (const EnvelopeSignature& signature : bundle.envelope.signatures) {
    // Released verifiers want the member.
    signatures.push_back({{"sig", base64_encode(signature.signature)}, {"keyid", ""}});
  }
  return canonical_json({{"mediaType", kMediaType},
                         {"verificationMaterial", std::move(material)},
                         {"dsseEnvelope",
                          {{"payload", base64_encode(bundle.envelope.payload)},
                           {"payloadType", bundle.envelope.payload_type},
                           {"signatures", std::move(signatures)}}}});
}

}  // namespace assay::attestation::oms
