// SPDX-License-Identifier: Apache-2.0
// Trusted roots of sigstore: each authority that is read has an anchor that is a CA, each entry a
// range of time that ends after it starts.
#include <algorithm>
#include <cstdlib>

#include "attestation/sigstore/trusted_root.h"

namespace {

using namespace assay::attestation::sigstore;

bool is_range(const TimeRange& range) { return !range.end || *range.end >= range.start; }

bool is_sound(const Authority& authority) {
  return is_range(authority.valid_for) && !authority.anchors.empty() &&
         std::ranges::all_of(authority.anchors, [](const auto& one) { return one.is_ca(); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto root = parse_trusted_root(assay::ByteView(data, size));
  if (!root) {
    return 0;
  }
  const auto is_sound_log = [](const Log& log) { return is_range(log.valid_for); };
  if (!std::ranges::all_of(root->tlogs, is_sound_log) ||
      !std::ranges::all_of(root->ctlogs, is_sound_log) ||
      !std::ranges::all_of(root->certificate_authorities, is_sound) ||
      !std::ranges::all_of(root->timestamp_authorities, is_sound)) {
    std::abort();
  }
  return 0;
}
