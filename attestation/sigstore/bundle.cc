// SPDX-License-Identifier: Apache-2.0
// Reading a bundle.
#include "attestation/sigstore/bundle.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attestation/sigstore/proto_json.h"
#include "schemas/core/json.h"

namespace assay::attestation::sigstore {
namespace {

constexpr std::size_t kMaxLogId = 64;
constexpr std::size_t kMaxHint = 1024;
constexpr std::size_t kMaxKindText = 64;
constexpr JsonLimits kLimits = {
    .max_bytes = kMaxBundleBytes, .max_depth = 16, .max_memory = 2 * kMaxBundleBytes};

constexpr std::array<std::pair<std::string_view, BundleVersion>, 4> kMediaTypes = {{
    {"application/vnd.dev.sigstore.bundle+json;version=0.1", BundleVersion::k01},
    {"application/vnd.dev.sigstore.bundle+json;version=0.2", BundleVersion::k02},
    {"application/vnd.dev.sigstore.bundle+json;version=0.3", BundleVersion::k03},
    {"application/vnd.dev.sigstore.bundle.v0.3+json", BundleVersion::k03},
}};

Result<BundleVersion> read_version(const Message& bundle) {
  ASSAY_ASSIGN(const std::string media_type, bundle.text("mediaType"));
  const auto* const found = std::ranges::find(kMediaTypes, std::string_view(media_type),
                                              &std::pair<std::string_view, BundleVersion>::first);
  if (found == kMediaTypes.end()) {
    return bundle.wrong("the media type is not that of a bundle of version 0.1, 0.2 or 0.3");
  }
  return found->second;
}

Result<x509::Certificate> read_certificate(const Message& message) {
  ASSAY_TRY(message.check({"rawBytes"}));
  ASSAY_ASSIGN(const Bytes der, message.bytes("rawBytes", x509::kMaxCertificateBytes));
  return x509::Certificate::from_der(der);
}

Result<CertificateMaterial> read_chain(const Message& material) {
  ASSAY_ASSIGN(const Message chain, material.message("x509CertificateChain"));
  ASSAY_TRY(chain.check({"certificates"}));
  ASSAY_ASSIGN(const std::vector<Message> items,
               chain.list("certificates", kMaxBundleCertificates));
  CertificateMaterial result{{}, true};
  for (const Message& item : items) {
    ASSAY_ASSIGN(x509::Certificate certificate, read_certificate(item));
    result.certificates.push_back(std::move(certificate));
  }
  if (result.certificates.empty()) {
    return chain.wrong("the chain of certificates is empty");
  }
  return result;
}

Result<std::variant<KeyHint, CertificateMaterial>> read_material(const Message& material) {
  using Material = std::variant<KeyHint, CertificateMaterial>;
  const int kinds = (material.has("publicKey") ? 1 : 0) + (material.has("certificate") ? 1 : 0) +
                    (material.has("x509CertificateChain") ? 1 : 0);
  if (kinds != 1) {
    return material.wrong("one of publicKey, certificate and x509CertificateChain belongs here");
  }
  if (material.has("x509CertificateChain")) {
    ASSAY_ASSIGN(CertificateMaterial chain, read_chain(material));
    return Material(std::move(chain));
  }
  if (material.has("certificate")) {
    ASSAY_ASSIGN(const Message message, material.message("certificate"));
    ASSAY_ASSIGN(x509::Certificate certificate, read_certificate(message));
    return Material(CertificateMaterial{{std::move(certificate)}, false});
  }
  ASSAY_ASSIGN(const Message key, material.message("publicKey"));
  ASSAY_TRY(key.check({"hint"}));
  KeyHint hint;
  if (key.has("hint")) {
    ASSAY_ASSIGN(hint.hint, key.text("hint"));
    if (hint.hint.size() > kMaxHint) {
      return key.wrong("the hint is too long");
    }
  }
  return Material(std::move(hint));
}

Result<Digest> read_sha256(const Message& owner, std::string_view name) {
  ASSAY_ASSIGN(const Bytes bytes, owner.bytes(name, digest_size(HashAlgorithm::kSha256)));
  auto digest = Digest::from_bytes(HashAlgorithm::kSha256, bytes);
  return digest ? digest : owner.wrong("a SHA-256 digest has 32 bytes");
}

Result<InclusionProof> read_proof(const Message& proof) {
  ASSAY_TRY(proof.check({"logIndex", "rootHash", "treeSize", "hashes", "checkpoint"}));
  ASSAY_ASSIGN(const std::uint64_t index, proof.integer("logIndex"));
  ASSAY_ASSIGN(const std::uint64_t size, proof.integer("treeSize"));
  ASSAY_ASSIGN(const Digest root, read_sha256(proof, "rootHash"));
  ASSAY_ASSIGN(const std::vector<Message> items, proof.list("hashes", kMaxProofHashes));
  std::vector<Digest> hashes;
  for (const Message& item : items) {
    ASSAY_ASSIGN(const Bytes bytes, item.as_base64(digest_size(HashAlgorithm::kSha256)));
    const auto hash = Digest::from_bytes(HashAlgorithm::kSha256, bytes);
    if (!hash) {
      return item.wrong("a SHA-256 digest has 32 bytes");
    }
    hashes.push_back(*hash);
  }
  ASSAY_ASSIGN(const Message checkpoint, proof.message("checkpoint"));
  ASSAY_TRY(checkpoint.check({"envelope"}));
  ASSAY_ASSIGN(std::string note, checkpoint.text("envelope"));
  if (note.size() > kMaxCheckpointBytes) {
    return checkpoint.wrong("the checkpoint is too long");
  }
  return InclusionProof{index, size, root, std::move(hashes), std::move(note)};
}

Result<Bytes> read_promise(const Message& entry) {
  ASSAY_ASSIGN(const Message promise, entry.message("inclusionPromise"));
  ASSAY_TRY(promise.check({"signedEntryTimestamp"}));
  return promise.bytes("signedEntryTimestamp", kMaxSignatureBytes);
}

Status read_kind(const Message& message, LogEntry& entry) {
  ASSAY_ASSIGN(const Message kind, message.message("kindVersion"));
  ASSAY_TRY(kind.check({"kind", "version"}));
  ASSAY_ASSIGN(entry.kind, kind.text("kind"));
  ASSAY_ASSIGN(entry.version, kind.text("version"));
  if (entry.kind.size() > kMaxKindText || entry.version.size() > kMaxKindText) {
    return kind.wrong("kind or version is too long");
  }
  return {};
}

Result<LogEntry> read_entry(const Message& message, BundleVersion version) {
  ASSAY_TRY(message.check({"logIndex", "logId", "kindVersion", "integratedTime", "inclusionPromise",
                           "inclusionProof", "canonicalizedBody"}));
  LogEntry entry;
  ASSAY_ASSIGN(entry.log_index, message.integer("logIndex"));
  ASSAY_ASSIGN(const Message id, message.message("logId"));
  ASSAY_TRY(id.check({"keyId"}));
  ASSAY_ASSIGN(entry.log_id, id.bytes("keyId", kMaxLogId));
  ASSAY_TRY(read_kind(message, entry));
  ASSAY_ASSIGN(entry.integrated_time, message.integer("integratedTime"));
  if (message.has("inclusionPromise")) {
    ASSAY_ASSIGN(entry.promise, read_promise(message));
  }
  if (message.has("inclusionProof")) {
    ASSAY_ASSIGN(const Message proof, message.message("inclusionProof"));
    // Clients of version 0.1 wrote proofs without a checkpoint, which prove nothing: the promise
    // counts there.
    if (version != BundleVersion::k01 || proof.has("checkpoint")) {
      ASSAY_ASSIGN(entry.proof, read_proof(proof));
    }
  }
  ASSAY_ASSIGN(entry.body, message.bytes("canonicalizedBody", kMaxEntryBytes));
  if (version == BundleVersion::k01 ? !entry.promise : !entry.proof) {
    return message.wrong(version == BundleVersion::k01
                             ? "an entry of a bundle of version 0.1 has an inclusion promise"
                             : "an entry of a bundle has an inclusion proof");
  }
  return entry;
}

Result<std::vector<LogEntry>> read_entries(const Message& material, BundleVersion version) {
  ASSAY_ASSIGN(const std::vector<Message> items, material.list("tlogEntries", kMaxEntries));
  std::vector<LogEntry> entries;
  for (const Message& item : items) {
    ASSAY_ASSIGN(LogEntry entry, read_entry(item, version));
    const bool is_known = std::ranges::any_of(entries, [&](const LogEntry& other) {
      return other.log_id == entry.log_id && other.log_index == entry.log_index;
    });
    if (is_known) {
      return item.wrong("the bundle names one entry of a log twice");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<Bytes>> read_timestamps(const Message& material) {
  std::vector<Bytes> timestamps;
  if (!material.has("timestampVerificationData")) {
    return timestamps;
  }
  ASSAY_ASSIGN(const Message data, material.message("timestampVerificationData"));
  ASSAY_TRY(data.check({"rfc3161Timestamps"}));
  ASSAY_ASSIGN(const std::vector<Message> items, data.list("rfc3161Timestamps", kMaxTimestamps));
  for (const Message& item : items) {
    ASSAY_TRY(item.check({"signedTimestamp"}));
    ASSAY_ASSIGN(Bytes token, item.bytes("signedTimestamp", kMaxTimestampBytes));
    timestamps.push_back(std::move(token));
  }
  return timestamps;
}

Result<MessageSignature> read_message_signature(const Message& message) {
  ASSAY_TRY(message.check({"messageDigest", "signature"}));
  MessageSignature result;
  ASSAY_ASSIGN(result.signature, message.bytes("signature", kMaxSignatureBytes));
  if (message.has("messageDigest")) {
    ASSAY_ASSIGN(const Message digest, message.message("messageDigest"));
    ASSAY_TRY(digest.check({"algorithm", "digest"}));
    ASSAY_ASSIGN(const std::string algorithm, digest.text("algorithm"));
    if (algorithm != "SHA2_256" && algorithm != "SHA2_384") {
      return digest.wrong("the digest of a message is SHA2_256 or SHA2_384");
    }
    ASSAY_ASSIGN(const Bytes bytes, digest.bytes("digest", Digest::kMaxSize));
    const auto value = Digest::from_bytes(
        algorithm == "SHA2_256" ? HashAlgorithm::kSha256 : HashAlgorithm::kSha384, bytes);
    if (!value) {
      return digest.wrong("the digest of the message has another length");
    }
    result.digest = *value;
  }
  return result;
}

Result<DsseContent> read_envelope(const Message& envelope, const KeyHint* hint) {
  ASSAY_TRY(envelope.check({"payload", "payloadType", "signatures"}));
  DsseContent content;
  ASSAY_ASSIGN(content.payload, envelope.bytes("payload", kMaxPayloadBytes));
  ASSAY_ASSIGN(content.payload_type, envelope.text("payloadType"));
  constexpr std::size_t kMost = 2;  // to tell "several" from "one"
  ASSAY_ASSIGN(const std::vector<Message> signatures, envelope.list("signatures", kMost));
  if (signatures.size() != 1 || content.payload_type.empty()) {
    return envelope.wrong("the envelope of a bundle has a payload type and exactly one signature");
  }
  const Message& signature = signatures.front();
  ASSAY_TRY(signature.check({"sig", "keyid"}));
  ASSAY_ASSIGN(content.signature, signature.bytes("sig", kMaxSignatureBytes));
  if (signature.has("keyid")) {
    ASSAY_ASSIGN(const std::string keyid, signature.text("keyid"));
    // sigstore_bundle.proto: hints of material and envelope must be the same.
    if (hint != nullptr && !keyid.empty() && keyid != hint->hint) {
      return signature.wrong("keyid and the hint of the key differ");
    }
  }
  return content;
}

Result<std::variant<MessageSignature, DsseContent>> read_content(const Message& bundle,
                                                                 const KeyHint* hint) {
  using Content = std::variant<MessageSignature, DsseContent>;
  if (bundle.has("messageSignature") == bundle.has("dsseEnvelope")) {
    return bundle.wrong("one of messageSignature and dsseEnvelope belongs here");
  }
  if (bundle.has("messageSignature")) {
    ASSAY_ASSIGN(const Message message, bundle.message("messageSignature"));
    ASSAY_ASSIGN(MessageSignature signature, read_message_signature(message));
    return Content(std::move(signature));
  }
  ASSAY_ASSIGN(const Message message, bundle.message("dsseEnvelope"));
  ASSAY_ASSIGN(DsseContent content, read_envelope(message, hint));
  return Content(std::move(content));
}

}  // namespace

std::string_view name(BundleVersion version) {
  switch (version) {
    case BundleVersion::k01:
      return "0.1";
    case BundleVersion::k02:
      return "0.2";
    case BundleVersion::k03:
      break;
  }
  return "0.3";
}

const Bytes& Bundle::signature() const {
  const auto* const message = std::get_if<MessageSignature>(&content);
  return message != nullptr ? message->signature : std::get<DsseContent>(content).signature;
}

Result<Bundle> parse_bundle(ByteView json) {
  ASSAY_ASSIGN(const Json document, parse_json(json, kLimits));
  const Message message(document, ErrorCode::kMalformedBundle, "");
  ASSAY_TRY(
      message.check({"mediaType", "verificationMaterial", "messageSignature", "dsseEnvelope"}));
  ASSAY_ASSIGN(const BundleVersion version, read_version(message));
  ASSAY_ASSIGN(const Message material, message.message("verificationMaterial"));
  ASSAY_TRY(material.check({"publicKey", "x509CertificateChain", "certificate", "tlogEntries",
                            "timestampVerificationData"}));
  ASSAY_ASSIGN(auto keys, read_material(material));
  ASSAY_ASSIGN(std::vector<LogEntry> entries, read_entries(material, version));
  ASSAY_ASSIGN(std::vector<Bytes> timestamps, read_timestamps(material));
  ASSAY_ASSIGN(auto content, read_content(message, std::get_if<KeyHint>(&keys)));
  return Bundle{version, std::move(keys), std::move(entries), std::move(timestamps),
                std::move(content)};
}

}  // namespace assay::attestation::sigstore
