// SPDX-License-Identifier: Apache-2.0
// Storing one signed statement exactly once, whatever kind it is.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "attestation/dsse.h"
#include "server/service/documents/accept.h"

namespace assay::server {

inline constexpr std::string_view kEnvelopeMediaType = "application/vnd.dsse.envelope.v1+json";

// What one identity may have signed about one artifact, whatever number of keys it has; beyond, its
// statements are refused with signer-limit-exceeded. Nobody else's are: nothing that a signer adds
// makes a model undecidable.
inline constexpr std::uint64_t kMaxStatementsPerSigner = 256;
inline constexpr std::uint64_t kMaxManifestsPerSigner = 64;  // among those
// Of payloads; of manifests, the locations alone.
inline constexpr std::uint64_t kMaxBytesPerSigner = 16U << 20;
// Manifests and placements of one identity under one model name, and at one location: each is read
// when the name or what lies there is to stand for a model. Their bytes are limited likewise.
inline constexpr std::uint64_t kMaxSignedUnderName = 1024;
inline constexpr std::uint64_t kMaxSignedAtLocation = 1024;

// The keys an envelope was verified against, with the epochs they belong to.
struct VerifiedEnvelope {
  attestation::Envelope envelope;
  StatementId id;
  std::vector<attestation::VerifiedSignature> signatures;
  storage::Epochs epochs;
  Timestamp now;
};

// Parses `bytes`, requires `payload_type` (payload-type-unknown) and verifies every signature
// against the trust store as it is now.
[[nodiscard]] Result<VerifiedEnvelope> verify_envelope(Services& services, ByteView bytes,
                                                       std::string_view payload_type);
// The same for a caller that reads more of that snapshot; `now` is not after it.
[[nodiscard]] Result<VerifiedEnvelope> verify_envelope(storage::Snapshot& snapshot, ByteView bytes,
                                                       std::string_view payload_type,
                                                       Timestamp now);

// Fails with `unavailable` when the trust store changed since `verified` was made: the caller's
// checks would be about keys of the past.
[[nodiscard]] Status require_same_trust(storage::Transaction& transaction,
                                        const VerifiedEnvelope& verified);

// What differs between the kinds of statement.
struct NewStatement {
  storage::StatementRow row;  // without envelopes, signers, log index and time
  std::string_view event_type;
  Json detail;
  // Checked inside the transaction before anything is stored; may be empty.
  std::function<Status(storage::Transaction&)> precondition;
};

// Stores the statement and its log record, or the envelope alone when the statement is known and
// `verified` brings signatures of further keys, or nothing when there is nothing new.
// signer-limit-exceeded when one of the identities whose signatures are new has too much stored.
[[nodiscard]] Result<Accepted> store_statement(Services& services, const VerifiedEnvelope& verified,
                                               ByteView bytes, const NewStatement& statement,
                                               const Principal& actor);

}  // namespace assay::server
