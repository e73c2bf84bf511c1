// SPDX-License-Identifier: Apache-2.0
// Any bytes as what the node agent and a process that reads memory say to each other: what is read
// is written as the same bytes.
#include <algorithm>
#include <cstdlib>

#include "worker/reader/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace wire = assay::worker::wire;
  const assay::ByteView bytes(data, size);
  const auto from = wire::parse_from_reader(bytes);
  if (from && !std::ranges::equal(wire::write(*from), bytes)) {
    std::abort();
  }
  const auto to = wire::parse_to_reader(bytes);
  if (to && !std::ranges::equal(wire::write(*to), bytes)) {
    std::abort();
  }
  return 0;
}
