// SPDX-License-Identifier: Apache-2.0
// Sigstore bundles of versions 0.1, 0.2 and 0.3: one signature, and what it takes to verify it
// offline. Reading a bundle verifies nothing: verify.h does.
// Source: https://github.com/sigstore/protobuf-specs, protos/sigstore_bundle.proto;
// https://github.com/sigstore/architecture-docs/blob/main/client-spec.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attestation/x509/certificate.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::attestation::sigstore {

inline constexpr std::size_t kMaxBundleBytes = 32U << 20;
inline constexpr std::size_t kMaxPayloadBytes = 16U << 20;  // of a DSSE envelope
inline constexpr std::size_t kMaxEntryBytes = 24U << 20;    // canonicalizedBody
inline constexpr std::size_t kMaxSignatureBytes = 8192;
inline constexpr std::size_t kMaxTimestampBytes = 64U << 10;
inline constexpr std::size_t kMaxEntries = 8;     // log entries of a bundle
inline constexpr std::size_t kMaxTimestamps = 8;  // of a bundle
inline constexpr std::size_t kMaxBundleCertificates = 8;
inline constexpr std::size_t kMaxProofHashes = 64;
inline constexpr std::size_t kMaxCheckpointBytes = 16U << 10;

enum class BundleVersion : std::uint8_t { k01, k02, k03 };
// Returns "0.1", "0.2" or "0.3".
[[nodiscard]] std::string_view name(BundleVersion version);

struct InclusionProof {
  std::uint64_t log_index = 0;
  std::uint64_t tree_size = 0;
  Digest root;
  std::vector<Digest> hashes;
  std::string checkpoint;  // a signed note
};

struct LogEntry {
  std::uint64_t log_index = 0;
  Bytes log_id;
  std::string kind;
  std::string version;
  std::uint64_t integrated_time = 0;  // Unix seconds; 0: none. Proven by a promise alone
  std::optional<Bytes> promise;       // signed entry timestamp (SET)
  std::optional<InclusionProof> proof;
  Bytes body;  // canonicalizedBody
};

// Signature over the bytes of an artifact.
struct MessageSignature {
  std::optional<Digest> digest;  // what the bundle says of the artifact; signed by nobody
  Bytes signature;
};

// A DSSE envelope with its one signature.
struct DsseContent {
  std::string payload_type;
  Bytes payload;
  Bytes signature;
};

// A key that the caller knows, by a hint that is not signed.
struct KeyHint {
  std::string hint;
};
// Certificates, the signer's first. One when `is_chain` is false.
struct CertificateMaterial {
  std::vector<x509::Certificate> certificates;
  bool is_chain = false;
};

struct Bundle {
  BundleVersion version;
  std::variant<KeyHint, CertificateMaterial> material;
  std::vector<LogEntry> entries;
  std::vector<Bytes> timestamps;  // RFC 3161 TimeStampResp in DER
  std::variant<MessageSignature, DsseContent> content;

  // Returns the bytes of the signature, over which timestamps are made.
  [[nodiscard]] const Bytes& signature() const;
};

// Parses a bundle, and checks its shape: exactly one kind of material and of content, one signature
// in an envelope, a promise in each entry of version 0.1, a proof in each entry of the others, no
// entry twice. Errors: malformed-bundle; unknown-member; those of parse_json() and
// Certificate::from_der().
[[nodiscard]] Result<Bundle> parse_bundle(ByteView json);

}  // namespace assay::attestation::sigstore
