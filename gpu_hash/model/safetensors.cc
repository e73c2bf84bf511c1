// SPDX-License-Identifier: Apache-2.0
// Checks what a header says against the file that it stands in.
#include "gpu_hash/safetensors.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gpu_hash/model/header_file.h"
#include "gpu_hash/model/missing_files.h"
#include "gpu_hash/model/safetensors_json.h"
#include "schemas/core/dtype.h"
#include "schemas/core/json.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint64_t kPrefix = 8;  // bytes of the header length
constexpr auto kMaxNumber = static_cast<std::uint64_t>(kMaxSafeInteger);

// What surrounds the JSON text, and its encoding.
Result<std::string_view> header_text(ByteView header) {
  if (header.empty() || header.front() != '{') {
    return refuse_safetensors("header-start", "the header must start with '{'");
  }
  std::string_view text = as_text(header);
  text.remove_suffix(text.size() - (text.find_last_not_of(' ') + 1));
  if (text.back() != '}') {
    return refuse_safetensors("header-padding",
                              "only spaces may follow the header's closing brace");
  }
  if (!is_utf8(text)) {
    return refuse_safetensors("header-utf8", "the header must be UTF-8");
  }
  return text;
}

// One tensor for itself. Its offset still counts from the start of the data.
Result<Tensor> check_tensor(HeaderTensor& header, std::uint64_t data_size) {
  const auto bits = dtype_bits(header.dtype);
  if (!bits) {
    return refuse_safetensors("dtype", "the dtype is not known", header.name);
  }
  const auto elements = element_count(header.shape);
  if (!elements) {
    return refuse_safetensors("shape-overflow", "the shape has too many elements", header.name);
  }
  const std::uint64_t begin = header.data_offsets[0];
  const std::uint64_t end = header.data_offsets[1];
  if (begin > end) {
    return refuse_safetensors("offsets-order", "data_offsets must not run backwards", header.name);
  }
  if (end > data_size) {
    return refuse_safetensors("beyond-data", "the tensor ends behind the end of the file",
                              header.name);
  }
  // Below 2^53 elements of at most 64 bits: the product needs up to 59 bits.
  if (*elements * *bits != (end - begin) * 8) {
    return refuse_safetensors("size-mismatch", "dtype and shape do not give the tensor's size",
                              header.name);
  }
  return Tensor{std::move(header.name), std::move(header.dtype), std::move(header.shape), begin,
                end - begin};
}

// The tensors, in order of (begin, end), cover the data without gap or overlap.
Status check_cover(const std::vector<Tensor>& tensors, std::uint64_t data_size) {
  std::vector<const Tensor*> order;
  order.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    return std::pair(a->offset, a->size) < std::pair(b->offset, b->size);
  });
  std::uint64_t position = 0;
  for (const Tensor* tensor : order) {
    if (tensor->offset < position) {
      return refuse_safetensors("overlap", "two tensors share bytes", tensor->name);
    }
    if (tensor->offset > position) {
      return refuse_safetensors("gap", "bytes in front of the tensor belong to none", tensor->name);
    }
    position += tensor->size;
  }
  return position == data_size
             ? Status{}
             : refuse_safetensors("trailing-data", "bytes behind the last tensor");
}

// Bytewise by name; then equal names are neighbours.
Status sort_by_name(std::vector<Tensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(tensors.begin(), tensors.end(),
                         [](const Tensor& a, const Tensor& b) { return a.name == b.name; });
  return twice == tensors.end()
             ? Status{}
             : refuse_safetensors("duplicate-key", "two tensors have one name", twice->name);
}

Result<Safetensors> check_tensors(std::vector<HeaderTensor> header, std::uint64_t data_start,
                                  std::uint64_t data_size) {
  Safetensors result{{}, data_start};
  result.tensors.reserve(header.size());
  for (HeaderTensor& item : header) {
    ASSAY_ASSIGN(Tensor tensor, check_tensor(item, data_size));
    result.tensors.push_back(std::move(tensor));
  }
  ASSAY_TRY(sort_by_name(result.tensors));
  ASSAY_TRY(check_cover(result.tensors, data_size));
  for (Tensor& tensor : result.tensors) {
    tensor.offset += data_start;
  }
  return result;
}

// The header's bytes are gone before the tensors are checked.
Result<std::vector<HeaderTensor>> load_header(std::uint64_t length, const ReadAt& read) {
  Bytes header(length);
  ASSAY_TRY(read(kPrefix, header));
  ASSAY_ASSIGN(const std::string_view text, header_text(header));
  return read_safetensors_header(text);
}

}  // namespace

Result<Safetensors> read_safetensors(std::uint64_t file_size, const ReadAt& read) {
  if (file_size < kPrefix) {
    return refuse_safetensors("file-too-short", "the file has no room for a header length");
  }
  if (file_size > kMaxNumber) {
    return fail(ErrorCode::kLimitExceeded, "a file must stay below 2^53 bytes");
  }
  std::array<std::uint8_t, kPrefix> prefix{};
  ASSAY_TRY(read(0, prefix));
  std::uint64_t length = 0;
  for (std::size_t i = kPrefix; i-- > 0;) {
    length = (length << 8) | prefix[i];
  }
  if (as_text(prefix) == "version ") {
    return refuse_safetensors("header-too-large", kLfsPointer);
  }
  if (length > kMaxSafetensorsHeader) {
    return refuse_safetensors(
        "header-too-large",
        "the header has more than " + std::to_string(kMaxSafetensorsHeader) + " bytes");
  }
  if (length > file_size - kPrefix) {
    return refuse_safetensors("header-beyond-file", "the header is longer than the file");
  }
  ASSAY_ASSIGN(std::vector<HeaderTensor> header, load_header(length, read));
  return check_tensors(std::move(header), kPrefix + length, file_size - kPrefix - length);
}

Result<Safetensors> read_safetensors(const SourceFile& file) {
  return read_header_of<Safetensors>(file, ErrorCode::kMalformedSafetensors, &read_safetensors);
}

bool is_safetensors_path(std::string_view path) { return path.ends_with(".safetensors"); }

}  // namespace assay::gpu_hash
