// SPDX-License-Identifier: Apache-2.0
// Signed statements of SCITT (RFC 9943 section 6): a COSE_Sign1 with the claims of its issuer (RFC
// 9597), verified by a key or by its certificate chain (RFC 9360).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attestation/cose/sign1.h"
#include "attestation/keys.h"
#include "attestation/x509/certificate.h"
#include "attestation/x509/path.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::scitt {

inline constexpr std::size_t kMaxStatement = 256U << 10;
inline constexpr std::size_t kMaxClaim = 1024;  // bytes of a text
inline constexpr std::size_t kMaxChain = 8;     // certificates
inline constexpr std::size_t kMaxReceipts = 32;

// Header parameters beyond those of cose/sign1.h.
inline constexpr std::int64_t kClaims = 15;           // RFC 9597
inline constexpr std::int64_t kChain = 33;            // x5chain, RFC 9360
inline constexpr std::int64_t kCertificateHash = 34;  // x5t
inline constexpr std::int64_t kPayloadHash = 258;     // of a hash envelope: algorithm of the hash
inline constexpr std::int64_t kPreimageType = 259;
inline constexpr std::int64_t kPayloadLocation = 260;
inline constexpr std::int64_t kReceipts = 394;  // RFC 9942; in the unprotected header

// A statement whose form was checked, and nothing else. Everything but `receipts` and, where it is
// not in the protected header, the key id, is covered by the signature.
struct SignedStatement {
  cose::Sign1 message;
  std::string issuer;                     // claim iss: what the statement says, not who signed it
  std::string subject;                    // claim sub
  std::optional<std::int64_t> issued_at;  // claim iat, in seconds
  std::vector<x509::Certificate> chain;   // leaf first; empty: none
  std::optional<std::int64_t> payload_hash;  // set: the payload is a hash, by this COSE algorithm
  std::string preimage_type;                 // of what was hashed; empty: not said
  std::string payload_location;              // empty: not said
  std::vector<Bytes> receipts;
};

// Parses a signed statement. Claims and chain are taken from the protected header alone; both
// claims must be there. An x5t must name the leaf. Errors: those of cose::parse_sign1() and of
// Certificate::from_der(); malformed-cose.
[[nodiscard]] Result<SignedStatement> parse_statement(ByteView bytes);

// Verifies that `key` signed the statement. Errors: signature-invalid.
[[nodiscard]] Status verify_by_key(const SignedStatement& statement, const PublicKey& key);

// Verifies the path from the statement's chain to one of `anchors`, and the signature by the leaf's
// key. Errors: those of x509::verify_path(); signature-missing without a chain; unsupported-key;
// signature-invalid.
[[nodiscard]] Result<x509::VerifiedPath> verify_by_chain(const SignedStatement& statement,
                                                         std::span<const x509::Certificate> anchors,
                                                         const x509::PathOptions& options);

}  // namespace assay::attestation::scitt
