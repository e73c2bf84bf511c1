// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX model: either refused, or the locations that it names. Nothing outside the
// file is ever read, and bytes are asked for from front to back.

#include "gpu_hash/model/onnx.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "schemas/core/bytes.h"

namespace {

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::span<const std::uint8_t> file(data, size);
  std::uint64_t last = 0;
  const auto found =
      gpu_hash::read_onnx_locations(size, [&](std::uint64_t offset, auto out) -> Status {
        require(offset >= last && offset <= size && out.size() <= size - offset);
        last = offset;
        std::ranges::copy(file.subspan(offset, out.size()), out.begin());
        return {};
      });
  if (found) {
    for (const auto& [location, end] : *found) {
      require(is_utf8(location) && location.size() <= gpu_hash::kMaxOnnxText);
    }
  } else {
    require(found.error().code == ErrorCode::kSchemaViolation ||
            found.error().code == ErrorCode::kLimitExceeded);
  }
  return 0;
}
