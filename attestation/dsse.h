// SPDX-License-Identifier: Apache-2.0
// DSSE envelopes (https://github.com/secure-systems-lab/dsse/blob/v1.0.0/envelope.md) with one or
// more signatures. Exactly the bytes of the payload are verified and kept.
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
  std::string keyid_hint;  // unauthenticated; only used to try a key first
  Bytes signature;
  Json extra = Json::object();  // other members, such as "cert"; they are not signed
};

struct Envelope {
  std::string payload_type;
  Bytes payload;
  std::vector<EnvelopeSignature> signatures;
};

// Returns the bytes that are signed. Protocol section "PAE": "DSSEv1" SP LEN(type) SP type SP
// LEN(payload) SP payload.
[[nodiscard]] Bytes pre_authentication_encoding(std::string_view payload_type, ByteView payload);
// Returns the SHA-256 of the PAE.
[[nodiscard]] StatementId statement_id(std::string_view payload_type, ByteView payload);

// Parses an envelope from strict JSON with exactly the members payload, payloadType and
// signatures[]. A signature has sig, an optional or null keyid, and up to kMaxExtraMembers other
// members, which have no meaning here. Base64 is canonical, in either alphabet. Errors:
// signature-missing for no signature; limit-exceeded for more than kMaxSignatures.
[[nodiscard]] Result<Envelope> parse_envelope(ByteView json);
// Encodes the envelope as canonical JSON. Each signature gets a keyid, which may be empty, because
// Python's securesystemslib reads no signature without a keyid.
[[nodiscard]] std::string encode_envelope(const Envelope& envelope);

// Makes a new envelope over `payload`, signed by each of `signers` in order. `keyid` is as in
// keyid_of().
[[nodiscard]] Result<Envelope> sign_envelope(std::string_view payload_type, ByteView payload,
                                             std::span<const Signer* const> signers,
                                             std::string_view keyid = kKeyidSha256);
// Adds one signature over the same payload. Errors: conflict when this key has already signed;
// limit-exceeded for more than kMaxSignatures.
[[nodiscard]] Status add_signature(Envelope& envelope, const Signer& signer,
                                   std::string_view keyid = kKeyidSha256);

// A signature that verified, with the trusted key that made it.
struct VerifiedSignature {
  TrustedKey key;
};

// Verifies every signature against `keys` and returns the verified ones, possibly none. A signature
// by a key that is not in `keys` is ignored, because it may be meant for somebody else. A key
// counts once. Purpose, roles and validity are not checked: see check_grant and require_signers.
// Errors: signature-invalid when a signature names a known key and does not verify; limit-exceeded
// when too many keys would have to be tried.
[[nodiscard]] Result<std::vector<VerifiedSignature>> verify_signatures(
    const Envelope& envelope, std::span<const TrustedKey> keys);

// Returns the signatures that count for `context` at `now`. They must come from at least
// `threshold` distinct identities. The envelope counts as fresh: signed_at is `now`. Errors:
// untrusted-signer when no key is known; those of check_grant when known keys do not count;
// threshold-not-met when too few identities remain.
[[nodiscard]] Result<std::vector<VerifiedSignature>> require_signers(
    std::span<const VerifiedSignature> signatures, const SigningContext& context,
    std::size_t threshold, Timestamp now);
// Does the same for an envelope that need not be fresh. `signed_at` must lie within the keys'
// validity. Revocations are judged at `now`, because they count for everything that a key ever
// signed.
[[nodiscard]] Result<std::vector<VerifiedSignature>> require_signers(
    std::span<const VerifiedSignature> signatures, const SigningContext& context,
    std::size_t threshold, Timestamp signed_at, Timestamp now);

}  // namespace assay::attestation
