// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file: either refused with the one code, or a list of tensors that is
// ordered, unique and covers the data exactly. Nothing outside the file is ever read.

#include "gpu_hash/safetensors.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <span>
#include <utility>

#include "schemas/core/bytes.h"

namespace {

using namespace assay;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check(gpu_hash::Safetensors parsed, std::uint64_t file_size) {
  auto& tensors = parsed.tensors;
  // Strictly: no two tensors share a name.
  require(std::ranges::is_sorted(tensors, std::less_equal{}, &gpu_hash::Tensor::name));
  std::ranges::sort(tensors, {}, [](const auto& t) { return std::pair(t.offset, t.size); });
  std::uint64_t position = parsed.data_start;
  for (const gpu_hash::Tensor& tensor : tensors) {
    require(tensor.offset == position && is_utf8(tensor.name));
    position += tensor.size;
  }
  require(position == file_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> file(data, size);
  auto parsed = gpu_hash::read_safetensors(size, [&](std::uint64_t offset, auto out) -> Status {
    require(offset <= size && out.size() <= size - offset);
    std::ranges::copy(file.subspan(offset, out.size()), out.begin());
    return {};
  });
  if (parsed) {
    check(std::move(*parsed), size);
  } else {
    require(parsed.error().code == ErrorCode::kMalformedSafetensors);
  }
  return 0;
}
