// SPDX-License-Identifier: Apache-2.0
// Documents of reference values: what is read names measurements that evidence has, with values of
// their length, within the limits; a signed one that verifies has the seed's signed regions and so
// its sets.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "attestation/corim/measurement_mapping.h"
#include "attestation/corim/reference_document.h"
#include "schemas/core/sha.h"

namespace {

using namespace assay;
namespace corim = attestation::corim;

// The signed documents of tests/fuzz/corpus/corim were signed with this key.
const char* const kKey =
    "302a300506032b6570032100"
    "8235b3ba49e5e820ea8c229e3c5088e2f848369827100c1fe49d4f0ec2062156";
// SHA-256 of the two payloads that were signed with it: a CoRIM and a JSON form.
constexpr std::array kPayloads = {
    std::string_view("fbf265c8afb96302b8ee39a3cac1f83e3b472425ec4bf8dc5879dab53d687a41"),
    std::string_view("9ced95095c8db727312064c200e71a548149184c213aea93509b155056cb7953")};

void check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_document(const corim::ReferenceDocument& document) {
  const corim::Mapping* mapping = corim::mapping_of(document.evidence_type);
  check(mapping != nullptr && !document.tags.empty());
  std::size_t sets = 0;
  for (const corim::DocumentTag& tag : document.tags) {
    check(!tag.tag_id.empty() && tag.tag_id.size() <= 253 && !tag.sets.empty());
    sets += tag.sets.size();
    for (const ImportedSet& set : tag.sets) {
      check(!set.values.empty() && corim::check_values(*mapping, set.values).has_value());
      check(std::ranges::none_of(set.values, [](const auto& one) { return one.second.empty(); }));
    }
  }
  check(sets <= kMaxSetsOfDocument);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document = corim::read_reference_document(ByteView(data, size));
  if (!document) {
    return 0;
  }
  check_document(*document);
  if (document->envelope) {
    static const attestation::PublicKey key =
        std::move(attestation::PublicKey::from_der(*hex_decode(kKey))).value();
    if (attestation::cose::verify_sign1(*document->envelope, key)) {
      const std::string payload = sha256(document->envelope->payload).hex();
      check(std::ranges::find(kPayloads, payload) != kPayloads.end());
    }
  }
  return 0;
}
