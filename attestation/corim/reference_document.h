// SPDX-License-Identifier: Apache-2.0
// A document of reference values as it is imported: a CoRIM or the JSON form, each signed with
// COSE_Sign1 or not signed. Says which values it brings; whether a signer counts is not decided
// here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attestation/cose/sign1.h"
#include "schemas/reference_values.h"

namespace assay::attestation::corim {

// Media types: of payloads, by which a signed document says what it holds.
inline constexpr std::string_view kCorimType = "application/rim+cbor";
inline constexpr std::string_view kJsonType = "application/vnd.assay.reference-values+json";
inline constexpr std::string_view kSignedType = "application/cose; cose-type=\"cose-sign1\"";

struct DocumentTag {
  std::string tag_id;
  std::uint64_t version = 0;
  std::vector<std::string> replaces;  // tags that must not count beside this one
  std::vector<ImportedSet> sets;      // at least one
  std::vector<std::string> ignored;   // kinds of triples that bring no values, for people
};

struct ReferenceDocument {
  std::string evidence_type;
  std::string media_type;               // of the whole: one of the three above
  std::optional<cose::Sign1> envelope;  // absent: unsigned. Not verified.
  std::vector<DocumentTag> tags;        // at least one
};

// Reads a document. The validity of a CoRIM and that of its signature limit its sets. Errors:
// limit-exceeded beyond the limits of schemas/reference_values.h; those of parse_sign1(),
// parse_corim(), parse_json() and validate(); reference-class-mismatch also for sets of two types
// of evidence; reference-unmapped; malformed-cose for a signed document of another content type.
[[nodiscard]] Result<ReferenceDocument> read_reference_document(ByteView bytes);

// Signs a CoRIM or JSON form. `meta` is an encoded corim-meta-map; empty: none. Errors: those of
// read_reference_document() for the payload; those of cose::sign1().
[[nodiscard]] Result<Bytes> sign_reference_document(ByteView payload, const Signer& signer,
                                                    const Bytes& meta = {});

}  // namespace assay::attestation::corim
