// SPDX-License-Identifier: Apache-2.0
// Checks what a header says against the file that it stands in.
#include "gpu_hash/gguf.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gpu_hash/model/gguf_header.h"
#include "gpu_hash/model/header_file.h"
#include "schemas/core/json.h"

namespace assay::gpu_hash {
namespace {

constexpr auto kMaxGgufFile = static_cast<std::uint64_t>(kMaxSafeInteger);

// Bytes from the start of the file.
struct Gap {
  std::uint64_t begin;
  std::uint64_t end;
};

// Header and tensors, in order of their place, cover the file, but for gaps that are shorter than
// the alignment. Returns the gaps.
Result<std::vector<Gap>> check_cover(const GgufHeader& header, std::uint64_t data_start,
                                     std::uint64_t file_size) {
  std::vector<const Tensor*> order;
  order.reserve(header.tensors.size());
  for (const Tensor& tensor : header.tensors) {
    order.push_back(&tensor);
  }
  std::ranges::sort(order, {},
                    [](const Tensor* tensor) { return std::pair(tensor->offset, tensor->size); });
  std::vector<Gap> gaps;
  std::uint64_t position = header.size;
  for (const Tensor* tensor : order) {
    if (tensor->offset > file_size || data_start > file_size - tensor->offset ||
        tensor->size > file_size - tensor->offset - data_start) {
      return refuse_gguf("beyond-file", "the tensor ends behind the end of the file", tensor->name);
    }
    if (tensor->offset % header.alignment != 0) {
      return refuse_gguf("unaligned", "the tensor does not begin at a multiple of the alignment",
                         tensor->name);
    }
    const std::uint64_t begin = data_start + tensor->offset;
    if (begin < position) {
      return refuse_gguf("overlap", "two tensors share bytes", tensor->name);
    }
    if (begin - position >= header.alignment) {
      return refuse_gguf("gap", "more bytes in front of the tensor than the alignment needs",
                         tensor->name);
    }
    gaps.push_back({position, begin});
    position = begin + tensor->size;
  }
  if (file_size - position >= header.alignment) {
    return refuse_gguf("trailing-data", "bytes behind the last tensor");
  }
  gaps.push_back({position, file_size});
  return gaps;
}

Status check_padding(const std::vector<Gap>& gaps, const ReadAt& read) {
  std::array<std::uint8_t, 4096> piece{};
  for (Gap gap : gaps) {
    while (gap.begin < gap.end) {
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), gap.end - gap.begin));
      const auto part = std::span(piece).first(size);
      ASSAY_TRY(read(gap.begin, part));
      if (std::ranges::any_of(part, [](std::uint8_t byte) { return byte != 0; })) {
        return refuse_gguf("padding", "bytes that belong to no tensor must be zero");
      }
      gap.begin += size;
    }
  }
  return {};
}

// Bytewise by name; then equal names are neighbours.
Status order_by_name(std::vector<Tensor>& tensors) {
  std::ranges::sort(tensors, {}, &Tensor::name);
  const auto twice = std::ranges::adjacent_find(tensors, {}, &Tensor::name);
  return twice == tensors.end()
             ? Status()
             : refuse_gguf("duplicate-name", "two tensors have one name", twice->name);
}

}  // namespace

Result<Gguf> read_gguf(std::uint64_t file_size, const ReadAt& read) {
  if (file_size > kMaxGgufFile) {
    return fail(ErrorCode::kLimitExceeded, "a file must stay below 2^53 bytes");
  }
  ASSAY_ASSIGN(GgufHeader header, read_gguf_header(file_size, read));
  ASSAY_TRY(order_by_name(header.tensors));
  const std::uint64_t mask = header.alignment - 1;
  const std::uint64_t data_start = (header.size + mask) & ~mask;
  ASSAY_ASSIGN(const std::vector<Gap> gaps, check_cover(header, data_start, file_size));
  ASSAY_TRY(check_padding(gaps, read));
  for (Tensor& tensor : header.tensors) {
    tensor.offset += data_start;
  }
  return Gguf{std::move(header.tensors), header.size, data_start, header.alignment, header.split};
}

Result<Gguf> read_gguf(const SourceFile& file) {
  return read_header_of<Gguf>(file, ErrorCode::kMalformedGguf, &read_gguf);
}

bool is_gguf_path(std::string_view path) { return path.ends_with(".gguf"); }

}  // namespace assay::gpu_hash
