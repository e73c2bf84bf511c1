// SPDX-License-Identifier: Apache-2.0
// Storage of a signed statement exactly once, for every kind of statement.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "attestation/dsse.h"
#include "server/service/documents/accept.h"

namespace assay::server {

inline constexpr std::string_view kEnvelopeMediaType = "application/vnd.dsse.envelope.v1+json";

// Limit on the statements of one identity about one artifact, over all keys of the identity.
// Beyond, statements of this identity are refused with signer-limit-exceeded, those of others are
// not. So no signer can make a model undecidable by adding statements.
inline constexpr std::uint64_t kMaxStatementsPerSigner = 256;
inline constexpr std::uint64_t kMaxManifestsPerSigner = 64;  // of these, manifests
// Limit on the bytes of these statements. Counts payloads; of manifests, only the locations.
inline constexpr std::uint64_t kMaxBytesPerSigner = 16U << 20;
// Limits on the manifests and placements of one identity under one model name, and at one location.
// All of them are read to resolve the name or the location to a model. Their bytes have the limit
// kMaxBytesPerSigner.
inline constexpr std::uint64_t kMaxSignedUnderName = 1024;
inline constexpr std::uint64_t kMaxSignedAtLocation = 1024;

// A verified envelope, with its signatures and the epochs of the keys.
struct VerifiedEnvelope {
  attestation::Envelope envelope;
  StatementId id;
  std::vector<attestation::VerifiedSignature> signatures;
  storage::Epochs epochs;
  Timestamp now;
};

// Parses `bytes` and verifies every signature against the present trust store. Errors:
// payload-type-unknown unless the envelope has `payload_type`; those of parsing and verification.
[[nodiscard]] Result<VerifiedEnvelope> verify_envelope(Services& services, ByteView bytes,
                                                       std::string_view payload_type);

// Checks that the trust store has not changed since `verified` was made. After a change the
// caller's checks would be about outdated keys. Errors: unavailable.
[[nodiscard]] Status require_same_trust(storage::Transaction& transaction,
                                        const VerifiedEnvelope& verified);

// The parts of a statement that depend on its kind.
struct NewStatement {
  storage::StatementRow row;  // without envelopes, signers, log index and time
  std::string_view event_type;
  Json detail;
  // Runs inside the transaction before anything is stored; may be empty.
  std::function<Status(storage::Transaction&)> precondition;
};

// Stores a statement and its log record. For a known statement with signatures of further keys,
// stores only the envelope. For a known statement without new signatures, stores nothing. Errors:
// signer-limit-exceeded when an identity with a new signature has too much stored.
[[nodiscard]] Result<Accepted> store_statement(Services& services, const VerifiedEnvelope& verified,
                                               ByteView bytes, const NewStatement& statement,
                                               const Principal& actor);

}  // namespace assay::server
