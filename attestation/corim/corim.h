// SPDX-License-Identifier: Apache-2.0
// CoRIM without its signature: draft-ietf-rats-corim-10, tag 501, with CoMID tags (506), plain or
// under Intel's profile (draft-cds-rats-intel-corim-profile). Reads identities, validity, links
// between tags, and reference triples. Everything else in a triple is kept as a name, so that
// whoever uses the values can refuse what is not compared with evidence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::attestation::corim {

// Identifiers of hash algorithms (IANA, Named Information Hash Algorithm Registry).
inline constexpr std::int64_t kSha384 = 7;

inline constexpr std::string_view kIntelProfile = "2.16.840.1.113741.1.16.1";

struct HashEntry {
  std::optional<std::int64_t> algorithm;  // absent: named by a text
  Bytes value;
};
using Digests = std::vector<HashEntry>;

// measurement-map, section 5.1.4.1.
struct Measurement {
  std::string key;     // mkey: a text, or a number in decimal; empty: none
  Digests digests;     // mval 2
  Digests tee_digest;  // mval -83: tee.mrtee of Intel's profile; several SHA-384: alternatives
  std::map<std::string, Digests> registers;  // mval 14, by the id of the register
  std::vector<std::string> others;  // what else it demands: "svn (mval 1)", "mkey", "authorized-by"
};

// environment-map, section 5.1.4.2: the members that a class of machines has.
struct Environment {
  std::string vendor;
  std::string model;
  std::string class_id;             // an OID with dots, a UUID, or bytes in hex; empty: none
  std::vector<std::string> others;  // "layer", "index", "instance", "group"
};

struct ReferenceTriple {
  Environment environment;
  std::vector<Measurement> measurements;
};

// concise-mid-tag, section 5.1.
struct Comid {
  std::string tag_id;  // a text; or a UUID in its usual form
  std::uint64_t tag_version = 0;
  std::vector<std::string> replaces;  // ids of tags that this one replaces
  std::vector<ReferenceTriple> references;
  std::vector<std::string> other_triples;  // by number, such as "3"; they say nothing of values
};

struct Validity {
  std::optional<Timestamp> not_before;
  std::optional<Timestamp> not_after;
};

struct Corim {
  std::string id;
  Validity validity;
  std::vector<Comid> tags;  // at least one
};

// Parses an unsigned CoRIM. Refuses members that it does not know, tags other than CoMID, and two
// tags of one id. A profile can give each member another meaning: any but kIntelProfile is refused
// before the tags are read. Errors: those of cbor::parse(); malformed-corim;
// reference-class-mismatch for a profile.
[[nodiscard]] Result<Corim> parse_corim(ByteView bytes);
// Parses a corim-meta-map (section 4.2.1) and returns the validity of the signature. Errors: the
// same.
[[nodiscard]] Result<Validity> parse_corim_meta(ByteView bytes);

}  // namespace assay::attestation::corim
