// SPDX-License-Identifier: Apache-2.0
// Any bytes as an extension of a device's certificate that names its firmware: a digest that is
// read stands in these bytes, and two extensions at once name nothing.
//
// Input: 0 for the extension of Hopper, 1 for TcbInfo; then its value.
#include <algorithm>
#include <cstdlib>

#include "attestation/nvidia/fwid.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  namespace nvidia = attestation::nvidia;
  if (size == 0) {
    return 0;
  }
  const Bytes value(data + 1, data + size);
  const bool is_tcb_info = (data[0] & 1U) != 0;
  const auto read =
      nvidia::read_extensions(is_tcb_info ? nvidia::FirmwareExtensions{std::nullopt, value}
                                          : nvidia::FirmwareExtensions{value, std::nullopt});
  const bool sound = !read || (read->fwid && read->fwid->size() == 48 &&
                               !std::ranges::search(value, *read->fwid).empty() &&
                               (is_tcb_info || !read->is_debuggable));
  if (!sound || nvidia::read_extensions({value, value})) {
    std::abort();
  }
  return 0;
}
