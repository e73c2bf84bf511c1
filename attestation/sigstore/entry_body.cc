// SPDX-License-Identifier: Apache-2.0
// Bodies of log entries.
#include "attestation/sigstore/entry_body.h"

#include <algorithm>
#include <array>

#include "attestation/dsse.h"
#include "schemas/core/json.h"
#include "schemas/core/json_at.h"
#include "schemas/core/sha.h"

namespace assay::attestation::sigstore {
namespace {

constexpr JsonLimits kBodyLimits = {
    .max_bytes = kMaxEntryBytes, .max_depth = 32, .max_memory = 3 * kMaxEntryBytes};

std::unexpected<Error> differs(const char* why) { return fail(ErrorCode::kLogEntryMismatch, why); }

// What the entry and the bundle must agree on.
struct Expected {
  const Bundle& bundle;
  const SignerDer& signer;
  const Artifact* artifact;
};

bool is_base64_of(const Json& value, ByteView bytes) {
  return value.is_string() && value.get_ref<const std::string&>() == base64_encode(bytes);
}

// The DER in the one PEM block of a text; empty when it is anything else.
Bytes pem_content(std::string_view text, std::string_view label) {
  const std::string begin = "-----BEGIN " + std::string(label) + "-----";
  const std::string end = "-----END " + std::string(label) + "-----";
  while (text.ends_with('\n') || text.ends_with('\r') || text.ends_with(' ')) {
    text.remove_suffix(1);
  }
  if (!text.starts_with(begin) || !text.ends_with(end) || text.size() < begin.size() + end.size()) {
    return {};
  }
  std::string base64;
  for (const char c : text.substr(begin.size(), text.size() - begin.size() - end.size())) {
    if (c != '\n' && c != '\r') {
      base64 += c;
    }
  }
  return base64_decode(base64).value_or(Bytes());
}

// Rekor v1 names the signer by PEM in base64.
Status check_pem_signer(const Json& value, const SignerDer& signer) {
  const auto text = value.is_string() ? base64_decode(value.get_ref<const std::string&>())
                                      : Result<Bytes>(Bytes());
  const Bytes der =
      text ? pem_content(as_text(*text), signer.is_certificate ? "CERTIFICATE" : "PUBLIC KEY")
           : Bytes();
  if (der.empty() || !std::ranges::equal(der, signer.der)) {
    return differs("the entry names another certificate or key");
  }
  return {};
}

// Rekor v2 names the signer by one of two members.
Status check_verifier(const Json& verifier, const SignerDer& signer) {
  const bool has_certificate = verifier.is_object() && verifier.contains("x509Certificate");
  const bool has_key = verifier.is_object() && verifier.contains("publicKey");
  const char* name = signer.is_certificate ? "x509Certificate" : "publicKey";
  if (has_certificate == has_key || has_certificate != signer.is_certificate ||
      !is_base64_of(member_at(member_at(verifier, name), "rawBytes"), signer.der)) {
    return differs("the entry names another certificate or key");
  }
  return {};
}

// A hash of Rekor v1: name of the algorithm and hex.
Status check_hex_hash(const Json& hash, const std::optional<Digest>& digest) {
  if (!digest || text_at(hash, "algorithm") != name(digest->algorithm()) ||
      text_at(hash, "value") != digest->hex()) {
    return differs("the entry is about other bytes");
  }
  return {};
}

// A hash of Rekor v2: name of the algorithm and base64.
Status check_base64_hash(const Json& hash, const std::optional<Digest>& digest) {
  const std::string_view algorithm =
      digest && digest->algorithm() == HashAlgorithm::kSha384 ? "SHA2_384" : "SHA2_256";
  if (!digest || text_at(hash, "algorithm") != algorithm ||
      !is_base64_of(member_at(hash, "digest"), digest->bytes())) {
    return differs("the entry is about other bytes");
  }
  return {};
}

HashAlgorithm algorithm_named(const Json& hash, std::string_view sha384) {
  return text_at(hash, "algorithm") == sha384 ? HashAlgorithm::kSha384 : HashAlgorithm::kSha256;
}

Status check_hashedrekord1(const Json& spec, const Expected& expected) {
  if (!std::holds_alternative<MessageSignature>(expected.bundle.content) ||
      expected.artifact == nullptr) {
    return differs("an envelope is logged as dsse, intoto or hashedrekord 0.0.2");
  }
  const Json& hash = member_at(member_at(spec, "data"), "hash");
  ASSAY_TRY(check_hex_hash(hash, expected.artifact->digest(algorithm_named(hash, "sha384"))));
  const Json& signature = member_at(spec, "signature");
  if (!is_base64_of(member_at(signature, "content"), expected.bundle.signature())) {
    return differs("the entry has another signature");
  }
  return check_pem_signer(member_at(member_at(signature, "publicKey"), "content"), expected.signer);
}

Status check_hashedrekord2(const Json& spec, const Expected& expected) {
  const Json& entry = member_at(spec, "hashedRekordV002");
  const Json& data = member_at(entry, "data");
  const HashAlgorithm algorithm = algorithm_named(data, "SHA2_384");
  std::optional<Digest> digest;
  if (const auto* const envelope = std::get_if<DsseContent>(&expected.bundle.content)) {
    digest = sha(algorithm, pre_authentication_encoding(envelope->payload_type, envelope->payload));
  } else if (expected.artifact != nullptr) {
    digest = expected.artifact->digest(algorithm);
  }
  ASSAY_TRY(check_base64_hash(data, digest));
  const Json& signature = member_at(entry, "signature");
  if (!is_base64_of(member_at(signature, "content"), expected.bundle.signature())) {
    return differs("the entry has another signature");
  }
  return check_verifier(member_at(signature, "verifier"), expected.signer);
}

// The one signature of an entry about an envelope; null when there is another number.
const Json& only_signature(const Json& owner) {
  static const Json null;
  const Json& list = member_at(owner, "signatures");
  return list.is_array() && list.size() == 1 ? list.front() : null;
}

Status check_dsse1(const Json& spec, const Expected& expected) {
  const auto& envelope = std::get<DsseContent>(expected.bundle.content);
  ASSAY_TRY(check_hex_hash(member_at(spec, "payloadHash"), sha256(envelope.payload)));
  const Json& signature = only_signature(spec);
  if (!is_base64_of(member_at(signature, "signature"), envelope.signature)) {
    return differs("the entry has another signature");
  }
  return check_pem_signer(member_at(signature, "verifier"), expected.signer);
}

Status check_dsse2(const Json& spec, const Expected& expected) {
  const auto& envelope = std::get<DsseContent>(expected.bundle.content);
  const Json& entry = member_at(spec, "dsseV002");
  ASSAY_TRY(check_base64_hash(member_at(entry, "payloadHash"), sha256(envelope.payload)));
  const Json& signature = only_signature(entry);
  if (!is_base64_of(member_at(signature, "content"), envelope.signature)) {
    return differs("the entry has another signature");
  }
  return check_verifier(member_at(signature, "verifier"), expected.signer);
}

// intoto 0.0.2 has the envelope with its signature in base64 twice.
Status check_intoto2(const Json& spec, const Expected& expected) {
  const auto& envelope = std::get<DsseContent>(expected.bundle.content);
  const Json& content = member_at(spec, "content");
  ASSAY_TRY(check_hex_hash(member_at(content, "payloadHash"), sha256(envelope.payload)));
  const Json& logged = member_at(content, "envelope");
  if (text_at(logged, "payloadType") != envelope.payload_type) {
    return differs("the entry has another type of payload");
  }
  const Json& signature = only_signature(logged);
  if (!is_base64_of(member_at(signature, "sig"), as_bytes(base64_encode(envelope.signature)))) {
    return differs("the entry has another signature");
  }
  return check_pem_signer(member_at(signature, "publicKey"), expected.signer);
}

struct Kind {
  std::string_view kind;
  std::string_view version;
  bool for_envelopes_alone;
  Status (*check)(const Json& spec, const Expected& expected);
};

constexpr std::array<Kind, 5> kKinds = {{
    {"hashedrekord", "0.0.1", false, check_hashedrekord1},
    {"hashedrekord", "0.0.2", false, check_hashedrekord2},
    {"dsse", "0.0.1", true, check_dsse1},
    {"dsse", "0.0.2", true, check_dsse2},
    {"intoto", "0.0.2", true, check_intoto2},
}};

}  // namespace

Artifact Artifact::of(ByteView bytes) {
  return {sha(HashAlgorithm::kSha256, bytes), sha(HashAlgorithm::kSha384, bytes), bytes};
}

Status check_entry_body(const LogEntry& entry, const Bundle& bundle, const SignerDer& signer,
                        const Artifact* artifact) {
  const auto* const kind = std::ranges::find_if(kKinds, [&](const Kind& known) {
    return known.kind == entry.kind && known.version == entry.version;
  });
  if (kind == kKinds.end()) {
    return differs("the entry is of a kind that is not known");
  }
  if (kind->for_envelopes_alone && !std::holds_alternative<DsseContent>(bundle.content)) {
    return differs("the entry is about an envelope, and the bundle has none");
  }
  const auto body = parse_json(entry.body, kBodyLimits);
  if (!body || text_at(*body, "kind") != entry.kind ||
      text_at(*body, "apiVersion") != entry.version) {
    return differs("the body of the entry cannot be read, or is of another kind");
  }
  return kind->check(member_at(*body, "spec"), {bundle, signer, artifact});
}

}  // namespace assay::attestation::sigstore
