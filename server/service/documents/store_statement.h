// SPDX-License-Identifier: Apache-2.0
// Stores each signed statement exactly once, whatever its kind.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "attestation/dsse.h"
#include "server/service/documents/accept.h"

namespace assay::server {

inline constexpr std::string_view kEnvelopeMediaType = "application/vnd.dsse.envelope.v1+json";
inline constexpr std::string_view kBundleMediaType =
    "application/vnd.dev.sigstore.bundle.v0.3+json";

// Member of the detail of a statement's log record: what certificates said of its signatures
// (CertificateUse), by id of the signer. Absent without such signatures.
inline constexpr std::string_view kCertificates = "certificates";
// Member of the detail of a statement's log record: when the challenge in its member "freshness"
// was issued (RFC 3339).
inline constexpr std::string_view kChallengeIssuedAt = "challenge_issued_at";

// Limit on the statements of one identity (a signer) about one artifact, over all keys of the
// identity. Further statements of this identity are refused with signer-limit-exceeded. Without
// this limit, one signer could add so many statements that decisions about a model become
// impossible.
inline constexpr std::uint64_t kMaxStatementsPerSigner = 256;
inline constexpr std::uint64_t kMaxManifestsPerSigner = 64;  // how many of these may be manifests
// Limit on the bytes of the payloads of all these statements together. For a manifest, only the
// locations are counted.
inline constexpr std::uint64_t kMaxBytesPerSigner = 16U << 20;
// Limits on the manifests and placements together, of one identity under one model name, and of one
// identity at one location. They are needed because all of these statements are read to find the
// model for the name or the location. The limit on their bytes is kMaxBytesPerSigner.
inline constexpr std::uint64_t kMaxSignedUnderName = 1024;
inline constexpr std::uint64_t kMaxSignedAtLocation = 1024;

// A verified envelope, with its signatures and the epochs of the trust store against which they
// were verified.
struct VerifiedEnvelope {
  attestation::Envelope envelope;
  StatementId id;
  std::vector<attestation::VerifiedSignature> signatures;
  storage::Epochs epochs;
  Timestamp now;
};

// Parses `bytes` and verifies every signature against the present trust store. Errors:
// payload-type-unknown when the envelope does not have `payload_type`; those of parsing and
// verification.
[[nodiscard]] Result<VerifiedEnvelope> verify_envelope(Services& services, ByteView bytes,
                                                       std::string_view payload_type);
// Does the same with a snapshot that the caller also uses for other reads. The caller must read
// `now` from the clock before it opens the snapshot.
[[nodiscard]] Result<VerifiedEnvelope> verify_envelope(storage::Snapshot& snapshot, ByteView bytes,
                                                       std::string_view payload_type,
                                                       Timestamp now);

// Checks that the trust store has not changed since `verified` was made. After a change, the
// caller's checks would have used outdated keys. Errors: unavailable when the trust store has
// changed.
[[nodiscard]] Status require_same_trust(storage::Transaction& transaction,
                                        const VerifiedEnvelope& verified);

// The parts of a statement that depend on its kind.
struct NewStatement {
  storage::StatementRow row;  // without envelopes, signers, log index and time
  std::string_view event_type;
  Json detail;
  // Runs inside the transaction before anything is stored; may be empty.
  std::function<Status(storage::Transaction&)> precondition;
  // Runs inside the transaction before a statement is stored for the first time, and may add to its
  // detail; may be empty.
  std::function<Status(storage::Transaction&, Json& detail)> when_new{};
};

// Stores a statement and its log record. For a statement that is stored already, stores only the
// envelope if it has signatures of further keys, and nothing otherwise. Errors:
// signer-limit-exceeded when an identity with a new signature has reached one of the limits above.
[[nodiscard]] Result<Accepted> store_statement(Services& services, const VerifiedEnvelope& verified,
                                               ByteView bytes, const NewStatement& statement,
                                               const Principal& actor);

}  // namespace assay::server
