// SPDX-License-Identifier: Apache-2.0
// Any bytes as a GGUF file: either refused with the one code, or a list of tensors that is ordered,
// unique, and leaves only zeros between them. Nothing outside the file is ever read.

#include "gpu_hash/gguf.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <span>
#include <utility>

#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"
#include "schemas/core/dtype.h"

namespace {

using namespace assay;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void require_zeros(std::span<const std::uint8_t> file, std::uint64_t begin, std::uint64_t end,
                   std::uint32_t alignment) {
  require(begin <= end && end <= file.size() && end - begin < alignment);
  for (std::uint64_t i = begin; i < end; ++i) {
    require(file[i] == 0);
  }
}

void check(gpu_hash::Gguf parsed, std::span<const std::uint8_t> file) {
  auto& tensors = parsed.tensors;
  // Strictly: no two tensors share a name.
  require(std::ranges::is_sorted(tensors, std::less_equal{}, &gpu_hash::Tensor::name));
  std::ranges::sort(tensors, {}, [](const auto& t) { return std::pair(t.offset, t.size); });
  std::uint64_t position = parsed.header_size;
  for (const gpu_hash::Tensor& tensor : tensors) {
    require_zeros(file, position, tensor.offset, parsed.alignment);
    require(tensor.offset % parsed.alignment == 0 && is_utf8(tensor.name));
    require(tensor_size(tensor.dtype, tensor.shape) == tensor.size);
    position = tensor.offset + tensor.size;
  }
  require_zeros(file, position, file.size(), parsed.alignment);
  require(!parsed.split || parsed.split->no < parsed.split->count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> file(data, size);
  auto parsed = gpu_hash::read_gguf(size, [&](std::uint64_t offset, auto out) -> Status {
    require(offset <= size && out.size() <= size - offset);
    std::ranges::copy(file.subspan(offset, out.size()), out.begin());
    return {};
  });
  if (parsed) {
    check(std::move(*parsed), file);
  } else {
    require(parsed.error().code == ErrorCode::kMalformedGguf);
  }
  return 0;
}
