// SPDX-License-Identifier: Apache-2.0
// DSSE envelopes (https://github.com/secure-systems-lab/dsse/blob/v1.0.0/envelope.md) with one or
// more signatures. The exact payload bytes are what is verified and kept.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attestation/keyid.h"
#include "attestation/keys.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/trust.h"

namespace assay::attestation {

inline constexpr std::size_t kMaxSignatures = 32;
inline constexpr std::size_t kMaxExtraMembers = 8;  // of one signature

struct EnvelopeSignature {
  std::string keyid_hint;  // unauthenticated; only ever used to try a key first
  Bytes signature;
  Json extra = Json::object();  // members that others add, such as "cert"; nobody signs them
};

struct Envelope {
  std::string payload_type;
  Bytes payload;
  std::vector<EnvelopeSignature> signatures;
};

// Protocol section "PAE": "DSSEv1" SP LEN(type) SP type SP LEN(payload) SP payload.
[[nodiscard]] Bytes pre_authentication_encoding(std::string_view payload_type, ByteView payload);
// SHA-256 of the PAE.
[[nodiscard]] StatementId statement_id(std::string_view payload_type, ByteView payload);

// Strict JSON; exactly payload, payloadType, signatures[] (keyid optional or null, sig, and up to
// kMaxExtraMembers others, which mean nothing here); canonical base64 in either alphabet; 1 to
// kMaxSignatures signatures (signature-missing for none).
[[nodiscard]] Result<Envelope> parse_envelope(ByteView json);
// Canonical JSON of the envelope. Each signature has a keyid, an empty one where there is none:
// Python's securesystemslib reads no signature without.
[[nodiscard]] std::string encode_envelope(const Envelope& envelope);

// A new envelope over `payload`, signed by each of `signers` in order; `keyid` as in keyid_of().
[[nodiscard]] Result<Envelope> sign_envelope(std::string_view payload_type, ByteView payload,
                                             std::span<const Signer* const> signers,
                                             std::string_view keyid = kKeyidSha256);
// Adds one signature over the same payload. conflict when that key has signed already.
[[nodiscard]] Status add_signature(Envelope& envelope, const Signer& signer,
                                   std::string_view keyid = kKeyidSha256);

// A signature that verified: which trusted key made it.
struct VerifiedSignature {
  TrustedKey key;
};

// Verifies every signature against `keys`. A signature by a key not in `keys` is ignored (it may be
// meant for somebody else); one that names or fits a known key and does not verify is an error:
// signature-invalid. A key counts once. Returns the verified ones, possibly none. Nothing is said
// about purpose, roles or validity: see check_grant and require_signers.
[[nodiscard]] Result<std::vector<VerifiedSignature>> verify_signatures(
    const Envelope& envelope, std::span<const TrustedKey> keys);

// The signatures that count for `context` at `now` (fresh: signed_at = now), at least `threshold`
// distinct identities. Errors: untrusted-signer when no key is known, the check_grant error when
// known keys do not count, threshold-not-met when too few identities remain.
[[nodiscard]] Result<std::vector<VerifiedSignature>> require_signers(
    std::span<const VerifiedSignature> signatures, const SigningContext& context,
    std::size_t threshold, Timestamp now);
// The same for an envelope that need not be fresh: `signed_at` must lie within the keys' validity,
// and revocations, which count for everything a key ever signed, are judged at `now`.
[[nodiscard]] Result<std::vector<VerifiedSignature>> require_signers(
    std::span<const VerifiedSignature> signatures, const SigningContext& context,
    std::size_t threshold, Timestamp signed_at, Timestamp now);

}  // namespace assay::attestation
