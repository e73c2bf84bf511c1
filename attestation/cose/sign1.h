// SPDX-License-Identifier: Apache-2.0
// COSE_Sign1 (RFC 9052 section 4.2) with ES256, ES384, ES512 and EdDSA (RFC 9053 section 2), PS256
// to PS512 (RFC 8230), and, to verify alone, RS256 to RS512 (RFC 8812). The bytes that were signed
// are verified and kept exactly as they were received.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attestation/cose/cbor.h"
#include "attestation/keys.h"
#include "schemas/core/signer.h"

namespace assay::attestation::cose {

inline constexpr std::uint64_t kSign1Tag = 18;

// Header parameters (RFC 9052 section 3.1), and that of CoRIM (draft-ietf-rats-corim
// section 4.2.1).
inline constexpr std::int64_t kAlgorithm = 1;
inline constexpr std::int64_t kCritical = 2;
inline constexpr std::int64_t kContentType = 3;
inline constexpr std::int64_t kKeyId = 4;
inline constexpr std::int64_t kCorimMeta = 8;

// What a caller understands beyond the parameters above.
struct Sign1Options {
  std::span<const std::int64_t> understood = {};  // labels that may be critical
  // The payload is not in the message (RFC 9052 section 4.1): the caller fills Sign1::payload in.
  bool detached = false;
};

// A message whose form was checked, and nothing else.
struct Sign1 {
  Bytes protected_header;    // as it was signed: the content of the byte string
  SignatureScheme scheme;    // from the protected header
  std::string content_type;  // empty: none; "coap:NUMBER" for a CoAP Content-Format
  Bytes corim_meta;          // encoded corim-meta-map; empty: none
  Bytes key_id;              // of either header: a hint that nobody vouches for
  Bytes payload;
  Bytes signature;
  // Both headers, for callers that know more parameters. Nobody vouches for the second one.
  cbor::Value header{};
  cbor::Value unprotected{};
};

// Parses a message, with the tag or without it. Refuses a payload that is detached, or is not where
// `options` say so, an algorithm that is
// unknown or not in the protected header, a header parameter that is in both headers, and a
// critical one that is not known here. Errors: those of cbor::parse(); malformed-cose.
[[nodiscard]] Result<Sign1> parse_sign1(ByteView bytes, const Sign1Options& options = {});

// Verifies that `key` made the signature. The message names an algorithm, which must be that of the
// key; of an RSA key it names the hash, too. A key that is held for RSASSA-PSS verifies no message
// that names RSASSA-PKCS1-v1_5, and the other way round. Errors: signature-invalid.
[[nodiscard]] Status verify_sign1(const Sign1& message, const PublicKey& key,
                                  ByteView external_aad = {});

// What is signed beside the payload.
struct Sign1Content {
  std::string content_type;  // empty: none
  Bytes corim_meta{};        // empty: none
  // Further pairs of label and encoded value, whose labels are above those of the others, in the
  // order of the deterministic encoding.
  std::vector<std::pair<std::int64_t, Bytes>> more{};
  std::vector<std::pair<std::int64_t, Bytes>> unprotected{};  // the same, behind the key's id
  bool detached = false;                                      // the payload is signed and left out
};
// Signs a payload. The result has the tag, and the key's id as a hint. Errors: key-unusable;
// unsupported-key.
[[nodiscard]] Result<Bytes> sign1(ByteView payload, const Sign1Content& content,
                                  const Signer& signer, ByteView external_aad = {});

}  // namespace assay::attestation::cose
