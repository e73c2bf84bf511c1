// SPDX-License-Identifier: Apache-2.0
// DSSE envelopes (https://github.com/secure-systems-lab/dsse/blob/v1.0.0/envelope.md) with one or
// more signatures. The bytes of the payload are verified and kept exactly as they were received.
#pragma once

#include <optional>
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
inline constexpr std::size_t kMaxExtraMembers = 8;  // of one signature, besides "sig" and "keyid"

struct EnvelopeSignature {
  std::string keyid_hint;  // unauthenticated; only used to try a key first
  Bytes signature;
  Json extra = Json::object();  // other members, such as "cert"; they are not signed
};

struct Envelope {
  std::string payload_type;
  Bytes payload;
  std::vector<EnvelopeSignature> signatures;
  Bytes bundle{};  // exact bytes of the sigstore bundle that the envelope came in; empty: in none
};

// Returns the bytes that are signed: the pre-authentication encoding (PAE) of the DSSE protocol,
// "DSSEv1" SP LEN(type) SP type SP LEN(payload) SP payload.
[[nodiscard]] Bytes pre_authentication_encoding(std::string_view payload_type, ByteView payload);
// Returns the SHA-256 of pre_authentication_encoding().
[[nodiscard]] StatementId statement_id(std::string_view payload_type, ByteView payload);

// Parses an envelope from strict JSON with exactly the members payload, payloadType and
// signatures[]. A signature has sig, an optional or null keyid, and up to kMaxExtraMembers other
// members, which are kept but not interpreted. Base64 must be canonical and may use the standard or
// the URL-safe alphabet. Also takes a sigstore bundle with a DSSE envelope, of which it reads that
// envelope alone. Errors: signature-missing for no signature; limit-exceeded for more than
// kMaxSignatures, and for an envelope that is longer than 256 KiB plus twice its payload and
// signatures; those of parse_json() and validate().
[[nodiscard]] Result<Envelope> parse_envelope(ByteView json);
// Encodes the envelope as canonical JSON. Each signature gets the member keyid, even when it is
// empty, because Python's securesystemslib refuses a signature without this member.
[[nodiscard]] std::string encode_envelope(const Envelope& envelope);

// Makes a new envelope over `payload`, signed by each of `signers` in order. `keyid` is the
// parameter `form` of keyid_of() (keyid.h). Errors: invalid-parameter unless `payload_type` is 1 to
// 255 bytes of UTF-8; signature-missing without signers; those of add_signature().
[[nodiscard]] Result<Envelope> sign_envelope(std::string_view payload_type, ByteView payload,
                                             std::span<const Signer* const> signers,
                                             std::string_view keyid = kKeyidSha256);
// Adds a signature by `signer` over the payload of `envelope`. `keyid` is as in sign_envelope().
// Errors: conflict when `envelope` already has a signature by this key, or came in a bundle, which
// has one signature; limit-exceeded for more than kMaxSignatures.
[[nodiscard]] Status add_signature(Envelope& envelope, const Signer& signer,
                                   std::string_view keyid = kKeyidSha256);

// A signature that verified, with the trusted key or identity that made it.
struct VerifiedSignature {
  TrustedKey key;
  std::optional<CertificateUse> certificate{};  // set exactly for an identity by certificate
};

// Verifies every signature against the keys in `keys`, not the identities by certificate, and
// returns the verified ones, possibly none. A signature by a key that is not in `keys` is ignored,
// because other verifiers may know that key. Two
// signatures by the same key are returned as one. Purpose, roles and validity of the keys are not
// checked here: require_signers() checks them. Errors: signature-invalid when a signature names a
// known key and does not verify; limit-exceeded when too many keys would have to be tried.
[[nodiscard]] Result<std::vector<VerifiedSignature>> verify_signatures(
    const Envelope& envelope, std::span<const TrustedKey> keys);

// Returns those of `signatures` whose keys may sign for `context`, as check_grant()
// (schemas/trust.h) decides. Fails unless these signatures come from at least `threshold` distinct
// identities (a threshold of 0 is treated as 1). The envelope is judged as if it had been signed at
// `now`. Errors: untrusted-signer when no key is known; those of check_grant when no known key may
// sign; threshold-not-met when too few identities remain.
[[nodiscard]] Result<std::vector<VerifiedSignature>> require_signers(
    std::span<const VerifiedSignature> signatures, const SigningContext& context,
    std::size_t threshold, Timestamp now);
// Does the same for an envelope that was signed at `signed_at`, possibly long before `now`.
// A key is accepted only when `signed_at` lies within its validity period. Revocations are judged
// at `now`, because a revocation applies to everything that a key ever signed.
[[nodiscard]] Result<std::vector<VerifiedSignature>> require_signers(
    std::span<const VerifiedSignature> signatures, const SigningContext& context,
    std::size_t threshold, Timestamp signed_at, Timestamp now);

}  // namespace assay::attestation
