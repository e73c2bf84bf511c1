// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a process that drives devices and the one that started it say to each other:
// what is read is written as the same bytes.
#include <algorithm>
#include <cstdlib>

#include "gpu_hash/driver_process/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace driver = assay::gpu_hash::driver;
  const assay::ByteView bytes(data, size);
  const auto from = driver::parse_from_process(bytes);
  if (from && !std::ranges::equal(driver::write(*from), bytes)) {
    std::abort();
  }
  const auto to = driver::parse_to_process(bytes);
  if (to && !std::ranges::equal(driver::write(*to), bytes)) {
    std::abort();
  }
  return 0;
}
