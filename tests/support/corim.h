// SPDX-License-Identifier: Apache-2.0
// Makes CoRIMs for tests: one CoMID with reference triples, every part of which a test can change.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attestation/cose/cbor.h"

namespace assay::test {

using attestation::cbor::Writer;

// One reference triple: a class, and a SHA-384 digest by mkey.
struct TripleSpec {
  std::string vendor = "Intel";
  std::string model = "TDX";
  std::map<std::string, Bytes> digests;
};

struct CorimSpec {
  std::string tag_id = "acme.example/os-image";
  std::uint64_t version = 1;
  std::vector<TripleSpec> triples;
  std::optional<std::int64_t> not_before{};  // seconds since 1970
  std::optional<std::int64_t> not_after{};
  std::string replaces{};  // id of a tag; empty: none
  // Encoded parts in place of what the members above say.
  std::optional<Bytes> environment{};
  std::optional<Bytes> measurement{};
  std::optional<Bytes> tag_identity{};
  std::optional<Bytes> other_triples{};  // key and value of a further member of the triples
  std::optional<Bytes> profile{};
};

inline Bytes encode_environment(const TripleSpec& triple) {
  Writer writer;
  writer.map(1).integer(0).map(2);
  writer.integer(1).text(triple.vendor).integer(2).text(triple.model);
  return writer.out();
}

inline Bytes encode_triple(const CorimSpec& spec, const TripleSpec& triple) {
  Writer writer;
  writer.array(2).encoded(spec.environment.value_or(encode_environment(triple)));
  if (spec.measurement) {
    return writer.array(1).encoded(*spec.measurement).out();
  }
  writer.array(triple.digests.size());
  for (const auto& [key, digest] : triple.digests) {
    writer.map(2).integer(0).text(key).integer(1).map(1).integer(2);
    writer.array(1).array(2).integer(7).bytes(digest);
  }
  return writer.out();
}

inline Bytes encode_comid(const CorimSpec& spec) {
  Writer writer;
  writer.map(spec.replaces.empty() ? 2 : 3).integer(1);
  if (spec.tag_identity) {
    writer.encoded(*spec.tag_identity);
  } else {
    writer.map(2).integer(0).text(spec.tag_id).integer(1);
    writer.integer(static_cast<std::int64_t>(spec.version));
  }
  if (!spec.replaces.empty()) {
    writer.integer(3).array(1).map(2).integer(0).text(spec.replaces).integer(1).integer(1);
  }
  writer.integer(4).map(spec.other_triples ? 2 : 1).integer(0).array(spec.triples.size());
  for (const TripleSpec& triple : spec.triples) {
    writer.encoded(encode_triple(spec, triple));
  }
  return writer.encoded(spec.other_triples.value_or(Bytes())).out();
}

// An unsigned CoRIM with these CoMIDs.
inline Bytes encode_corim(const CorimSpec& spec, const std::vector<Bytes>& comids) {
  const bool limited = spec.not_after.has_value();
  Writer writer;
  writer.tag(501).map(std::size_t{2} + (limited ? 1U : 0U) + (spec.profile ? 1U : 0U));
  writer.integer(0).text("corim-of-a-test").integer(1);
  writer.array(comids.size());
  for (const Bytes& comid : comids) {
    writer.tag(506).bytes(comid);
  }
  if (spec.profile) {
    writer.integer(3).encoded(*spec.profile);
  }
  if (limited) {
    writer.integer(4).map(spec.not_before ? 2 : 1);
    if (spec.not_before) {
      writer.integer(0).tag(1).integer(*spec.not_before);
    }
    writer.integer(1).tag(1).integer(*spec.not_after);
  }
  return writer.out();
}

inline Bytes make_corim(const CorimSpec& spec) { return encode_corim(spec, {encode_comid(spec)}); }

// A SHA-384 value of one repeated byte.
inline Bytes sha384_of(std::uint8_t byte) { return Bytes(48, byte); }

}  // namespace assay::test
