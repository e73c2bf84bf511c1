// SPDX-License-Identifier: Apache-2.0
// DSSE 1.0: encoding, reading and writing envelopes, signatures and who made them.
#include "attestation/dsse.h"

#include <algorithm>
#include <optional>
#include <set>

#include "schemas/core/json.h"
#include "schemas/core/sha.h"
#include "schemas/document_size.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay::attestation {
namespace {

// The payload is one string. Without a limit on memory, members of a hostile envelope could take
// thirty times their length.
constexpr JsonLimits kEnvelopeLimits{.max_bytes = kMaxEnvelopeBytes,
                                     .max_memory = kMaxEnvelopeBytes + (std::size_t{8} << 20)};
// Bytes of an envelope beyond twice what it carries.
constexpr std::size_t kMaxEnvelopePadding = 256U << 10;
constexpr std::size_t kMaxPayloadType = 255;
constexpr std::string_view kBundleMediaTypePrefix = "application/vnd.dev.sigstore.bundle";
// Keys are tried on the signatures of one envelope for as long as hashing so many bytes takes.
// Signatures with a keyid take one try each.
constexpr std::size_t kMaxTriedBytes = 512U << 20;
constexpr std::uint8_t kDerSequence = 0x30;

Result<Bytes> decode_at(const Json& value, std::string where) {
  auto bytes = base64_decode_any(value.get_ref<const std::string&>());
  if (!bytes) {
    return fail(ErrorCode::kInvalidEncoding, bytes.error().detail, std::move(where));
  }
  return bytes;
}

// True when the hint is the key's id, with or without the name of the hash.
bool names(const std::string& hint, const KeyId& id) {
  return !hint.empty() && (hint == id.digest().hex() || hint == id.text());
}

// False when the bytes cannot be a signature of this algorithm whatever the message.
bool has_shape_of(const Bytes& signature, SignatureAlgorithm algorithm) {
  const AlgorithmRow& row = row_of(algorithm);
  return signature.size() >= row.min_signature && signature.size() <= row.max_signature &&
         (row.kind != KeyKind::kEc || signature.front() == kDerSequence);
}

// What the signatures of an envelope are about, hashed once for each algorithm that signs a hash.
class SignedMessage {
 public:
  explicit SignedMessage(const Envelope& envelope)
      : bytes_(pre_authentication_encoding(envelope.payload_type, envelope.payload)) {}

  // What a try of a key of this algorithm takes, in bytes hashed. Unless digests of its hash exist,
  // a key hashes the whole message with each signature.
  [[nodiscard]] std::size_t cost(SignatureAlgorithm algorithm) const {
    const AlgorithmRow& row = row_of(algorithm);
    return row.try_bytes + (digest_algorithm(row.hash) ? 0 : bytes_.size());
  }
  [[nodiscard]] Status verify(const PublicKey& key, ByteView signature) {
    const std::optional<HashAlgorithm> hash = key.signs_hash();
    if (!hash) {
      return key.verify(bytes_, signature);
    }
    std::optional<Digest>& digest = *hash == HashAlgorithm::kSha256 ? sha256_ : sha384_;
    if (!digest) {
      digest = sha(*hash, bytes_);
    }
    return key.verify_digest(*digest, signature);
  }
  [[nodiscard]] ByteView bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  std::optional<Digest> sha256_;
  std::optional<Digest> sha384_;
};

// The trusted keys, parsed when first needed. A stored key that does not parse, or is not of the
// algorithm and id it is stored under, verifies nothing.
class KeyRing {
 public:
  KeyRing(std::span<const TrustedKey> keys, const Envelope& envelope)
      : keys_(keys), message_(envelope), parsed_(keys.size()) {}

  // Index of the key that made `signature`: hinted keys are tried first. Nothing when none did.
  Result<std::optional<std::size_t>> find(const EnvelopeSignature& signature) {
    for (const bool hinted : {true, false}) {
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        const std::optional<SignatureAlgorithm>& algorithm = keys_[i].algorithm;
        if (!algorithm || names(signature.keyid_hint, keys_[i].id) != hinted ||
            !has_shape_of(signature.signature, *algorithm)) {
          continue;
        }
        tried_bytes_ += message_.cost(*algorithm);
        if (tried_bytes_ > kMaxTriedBytes) {
          return fail(ErrorCode::kLimitExceeded,
                      "too many keys to try; give each signature its keyid", "/signatures");
        }
        const PublicKey* key = parsed(i);
        if (key != nullptr && message_.verify(*key, signature.signature)) {
          return std::optional<std::size_t>(i);
        }
      }
    }
    return std::optional<std::size_t>();
  }

  [[nodiscard]] bool knows(const std::string& hint) const {
    return std::any_of(keys_.begin(), keys_.end(),
                       [&](const TrustedKey& key) { return key.algorithm && names(hint, key.id); });
  }

 private:
  const PublicKey* parsed(std::size_t i) {
    std::optional<Result<PublicKey>>& slot = parsed_[i];
    if (!slot.has_value()) {
      slot.emplace(PublicKey::from_der(keys_[i].public_key, *keys_[i].algorithm));
    }
    const Result<PublicKey>& key = *slot;
    return key && key->id() == keys_[i].id ? &*key : nullptr;
  }

  std::span<const TrustedKey> keys_;
  SignedMessage message_;
  std::vector<std::optional<Result<PublicKey>>> parsed_;
  std::size_t tried_bytes_ = 0;
};

Status check_payload_type(std::string_view payload_type) {
  if (payload_type.empty() || payload_type.size() > kMaxPayloadType || !is_utf8(payload_type)) {
    return fail(ErrorCode::kInvalidParameter, "a payload type is 1 to 255 bytes of UTF-8");
  }
  return {};
}

// Whitespace is not signed, but it is stored with the envelope. Without a limit, anybody could make
// every envelope as long as a body may be. Indented JSON and PEM certificates beside a signature
// fit.
Status check_padding(ByteView json, const Envelope& envelope) {
  const auto base64_size = [](const Bytes& bytes) { return (bytes.size() + 2) / 3 * 4; };
  std::size_t content = envelope.payload_type.size() + base64_size(envelope.payload);
  for (const EnvelopeSignature& signature : envelope.signatures) {
    content += signature.keyid_hint.size() + base64_size(signature.signature);
  }
  if (json.size() > 2 * content + kMaxEnvelopePadding) {
    return fail(ErrorCode::kLimitExceeded,
                "the envelope is more than twice as long as what it carries: remove the spaces");
  }
  return {};
}

// Returns the DSSE envelope in a bundle. attestation/sigstore reads the rest of it.
Result<Json> envelope_in_bundle(Json bundle) {
  const auto type = bundle.find("mediaType");
  if (type == bundle.end() || !type->is_string() ||
      !type->get_ref<const std::string&>().starts_with(kBundleMediaTypePrefix)) {
    return fail(ErrorCode::kSchemaViolation, "the media type of the bundle is not known",
                "/mediaType");
  }
  return std::move(bundle["dsseEnvelope"]);
}

}  // namespace

Bytes pre_authentication_encoding(std::string_view payload_type, ByteView payload) {
  const std::string head = "DSSEv1 " + std::to_string(payload_type.size()) + " " +
                           std::string(payload_type) + " " + std::to_string(payload.size()) + " ";
  Bytes out = to_bytes(head);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

StatementId statement_id(std::string_view payload_type, ByteView payload) {
  return StatementId(sha256(pre_authentication_encoding(payload_type, payload)));
}

Result<Envelope> parse_envelope(ByteView json) {
  ASSAY_ASSIGN(Json parsed, parse_json(json, kEnvelopeLimits));
  const bool bundle = parsed.is_object() && parsed.contains("dsseEnvelope");
  if (bundle) {
    ASSAY_ASSIGN(parsed, envelope_in_bundle(std::move(parsed)));
  }
  const auto listed = parsed.find("signatures");
  if (listed != parsed.end() && listed->is_array()) {
    if (listed->empty()) {
      return fail(ErrorCode::kSignatureMissing, "the envelope has no signature", "/signatures");
    }
    if (listed->size() > kMaxSignatures) {
      return fail(ErrorCode::kLimitExceeded, "an envelope has at most 32 signatures",
                  "/signatures");
    }
  }
  ASSAY_TRY(validate("envelope", parsed));
  ASSAY_ASSIGN(Bytes payload, decode_at(parsed["payload"], "/payload"));
  Envelope envelope{parsed["payloadType"].get<std::string>(), std::move(payload), {}};
  for (const Json& item : parsed["signatures"]) {
    const std::string where = "/signatures/" + std::to_string(envelope.signatures.size());
    ASSAY_ASSIGN(Bytes signature, decode_at(item["sig"], where + "/sig"));
    Json extra = item;
    extra.erase("keyid");
    extra.erase("sig");
    envelope.signatures.push_back(
        {members::text(item, "keyid"), std::move(signature), std::move(extra)});
  }
  ASSAY_TRY(check_padding(json, envelope));
  if (bundle) {
    envelope.bundle.assign(json.begin(), json.end());
  }
  return envelope;
}

std::string encode_envelope(const Envelope& envelope) {
  Json signatures = Json::array();
  for (const EnvelopeSignature& signature : envelope.signatures) {
    Json item = signature.extra;
    item["sig"] = base64_encode(signature.signature);
    item["keyid"] = signature.keyid_hint;
    signatures.push_back(std::move(item));
  }
  // Fails only for a payload type or keyid that is not UTF-8, which no parser or signer here makes.
  return canonical_json({{"payload", base64_encode(envelope.payload)},
                         {"payloadType", envelope.payload_type},
                         {"signatures", std::move(signatures)}})
      .value_or(std::string());
}

Result<Envelope> sign_envelope(std::string_view payload_type, ByteView payload,
                               std::span<const Signer* const> signers, std::string_view keyid) {
  ASSAY_TRY(check_payload_type(payload_type));
  if (signers.empty()) {
    return fail(ErrorCode::kSignatureMissing, "an envelope needs a signer");
  }
  Envelope envelope{std::string(payload_type), Bytes(payload.begin(), payload.end()), {}};
  for (const Signer* signer : signers) {
    ASSAY_TRY(add_signature(envelope, *signer, keyid));
  }
  return envelope;
}

namespace {

// Parsing a key costs twice what signing with it does, so that the usual form does without.
Result<std::string> hint_of(std::string_view form, const Signer& signer) {
  if (form == kKeyidSha256) {
    return signer.key_id().digest().hex();
  }
  ASSAY_ASSIGN(const PublicKey key, PublicKey::from_der(signer.public_key()));
  return keyid_of(form, key);
}

// A key may sign once, which only an envelope with signatures has to show.
Status require_unsigned(const Envelope& envelope, const Signer& signer, SignedMessage& message) {
  if (!envelope.bundle.empty()) {
    return fail(ErrorCode::kConflict, "a sigstore bundle has one signature: sign its payload anew");
  }
  if (envelope.signatures.empty()) {
    return {};
  }
  ASSAY_ASSIGN(const PublicKey key, PublicKey::from_der(signer.public_key()));
  for (const EnvelopeSignature& signature : envelope.signatures) {
    if (message.verify(key, signature.signature)) {
      return fail(ErrorCode::kConflict, "this key has signed the envelope already");
    }
  }
  return {};
}

}  // namespace

Status add_signature(Envelope& envelope, const Signer& signer, std::string_view keyid) {
  if (envelope.signatures.size() >= kMaxSignatures) {
    return fail(ErrorCode::kLimitExceeded, "an envelope has at most 32 signatures");
  }
  SignedMessage message(envelope);
  ASSAY_TRY(require_unsigned(envelope, signer, message));
  ASSAY_ASSIGN(std::string hint, hint_of(keyid, signer));
  ASSAY_ASSIGN(Bytes signature, signer.sign(message.bytes()));
  envelope.signatures.push_back({std::move(hint), std::move(signature), Json::object()});
  return {};
}

Result<std::vector<VerifiedSignature>> verify_signatures(const Envelope& envelope,
                                                         std::span<const TrustedKey> keys) {
  KeyRing ring(keys, envelope);
  std::vector<VerifiedSignature> verified;
  std::set<KeyId> seen;
  for (std::size_t i = 0; i < envelope.signatures.size(); ++i) {
    const EnvelopeSignature& signature = envelope.signatures[i];
    ASSAY_ASSIGN(const std::optional<std::size_t> found, ring.find(signature));
    if (found) {
      if (seen.insert(keys[*found].id).second) {
        verified.push_back({keys[*found]});
      }
    } else if (ring.knows(signature.keyid_hint)) {
      return fail(ErrorCode::kSignatureInvalid,
                  "the signature names a trusted key and does not verify with it",
                  "/signatures/" + std::to_string(i));
    }
  }
  return verified;
}

Result<std::vector<VerifiedSignature>> require_signers(
    std::span<const VerifiedSignature> signatures, const SigningContext& context,
    std::size_t threshold, Timestamp now) {
  return require_signers(signatures, context, threshold, now, now);
}

Result<std::vector<VerifiedSignature>> require_signers(
    std::span<const VerifiedSignature> signatures, const SigningContext& context,
    std::size_t threshold, Timestamp signed_at, Timestamp now) {
  std::vector<VerifiedSignature> counted;
  std::set<std::string> identities;
  std::optional<Error> refusal;
  for (const VerifiedSignature& signature : signatures) {
    if (auto granted = check_grant(signature.key, context, signed_at, now); granted) {
      identities.insert(signature.key.identity);
      counted.push_back(signature);
    } else if (!refusal) {
      refusal = std::move(granted).error();
    }
  }
  if (counted.empty()) {
    return std::unexpected(std::move(refusal).value_or(
        Error{ErrorCode::kUntrustedSigner, "no signature comes from a trusted key", ""}));
  }
  // A threshold of 0 would accept what nobody signed.
  const std::size_t needed = std::max<std::size_t>(threshold, 1);
  if (identities.size() < needed) {
    return fail(ErrorCode::kThresholdNotMet, std::to_string(identities.size()) + " of " +
                                                 std::to_string(needed) +
                                                 " needed identities signed");
  }
  return counted;
}

}  // namespace assay::attestation
