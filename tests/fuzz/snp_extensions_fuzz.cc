// SPDX-License-Identifier: Apache-2.0
// Any bytes as the extensions of a VCEK's or VLEK's certificate. Values that were read are within
// their bounds, and do not depend on extensions that are not asked for.
//
// Input: kind of key and generation; then for each extension a length, or 255 for none, and as many
// bytes.
#include <algorithm>
#include <cstdlib>

#include "attestation/snp/leaf.h"

namespace {

using namespace assay;
using namespace assay::attestation::snp;

std::optional<Bytes> take(ByteView& rest) {
  if (rest.empty() || rest.front() == 255) {
    rest = rest.subspan(rest.empty() ? 0 : 1);
    return std::nullopt;
  }
  const std::size_t size = std::min<std::size_t>(rest.front(), rest.size() - 1);
  Bytes content(rest.begin() + 1, rest.begin() + 1 + static_cast<std::ptrdiff_t>(size));
  rest = rest.subspan(1 + size);
  return content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const SigningKey kind = (data[0] & 1U) == 0 ? SigningKey::kVcek : SigningKey::kVlek;
  const Generation generation = kGenerations[(data[0] >> 1U) % kGenerations.size()];
  ByteView rest(data + 1, size - 1);
  RawExtensions raw;
  for (auto& level : raw.levels) {
    level = take(rest);
  }
  raw.product = take(rest);
  raw.chip_id = take(rest);
  raw.provider = take(rest);
  const auto read = parse_extensions(raw, kind, generation);
  if (!read) {
    return 0;
  }
  const bool vcek = kind == SigningKey::kVcek;
  const std::size_t id = read->chip_id.size();
  const bool sound =
      vcek ? (id == 64 || (id == 8 && generation == Generation::kTurin)) && read->provider.empty()
           : id == 0 && !read->provider.empty();
  (vcek ? raw.provider : raw.chip_id).reset();
  const auto again = parse_extensions(raw, kind, generation);
  if (!sound || (generation != Generation::kTurin && read->tcb.fmc != 0) || !again ||
      *again != *read) {
    std::abort();
  }
  return 0;
}
