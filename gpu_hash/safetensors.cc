// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/safetensors.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "schemas/core/artifact.h"
#include "schemas/core/dtype.h"
#include "schemas/core/json.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint64_t kPrefix = 8;  // bytes of the header length
constexpr auto kMaxNumber = static_cast<std::uint64_t>(kMaxSafeInteger);
// The header, a tensor, its shape: nothing in a valid header is nested deeper.
constexpr std::size_t kMaxDepth = 3;
constexpr std::string_view kMetadata = "__metadata__";

std::unexpected<Error> refuse(std::string_view word, std::string_view why, std::string where = {}) {
  return fail(ErrorCode::kMalformedSafetensors, std::string(word) + ": " + std::string(why),
              std::move(where));
}

// The words of section 6.3 for what the JSON reader refuses.
std::unexpected<Error> refuse_json(const Error& error) {
  switch (error.code) {
    case ErrorCode::kDuplicateKey:
      return refuse("duplicate-key", error.detail, error.where);
    case ErrorCode::kLimitExceeded:
      return refuse("number-range", error.detail);
    default:
      return refuse("header-json", error.detail);
  }
}

std::optional<std::uint64_t> natural(const Json& value) {
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>();
  }
  if (value.is_number_integer() && value.get<std::int64_t>() >= 0) {  // -0
    return static_cast<std::uint64_t>(value.get<std::int64_t>());
  }
  return std::nullopt;
}

Result<Json> parse_header(ByteView header) {
  if (header.empty() || header.front() != '{') {
    return refuse("header-start", "the header must start with '{'");
  }
  std::string_view text = as_text(header);
  text.remove_suffix(text.size() - (text.find_last_not_of(' ') + 1));
  if (text.back() != '}') {
    return refuse("header-padding", "only spaces may follow the header's closing brace");
  }
  if (!is_utf8(text)) {
    return refuse("header-utf8", "the header must be UTF-8");
  }
  auto json = parse_json(text, {.max_bytes = kMaxSafetensorsHeader, .max_depth = kMaxDepth});
  if (!json) {
    return refuse_json(json.error());
  }
  return json;
}

Status check_metadata(const Json& metadata) {
  const auto is_string = [](const Json& value) { return value.is_string(); };
  if (!metadata.is_object() || !std::all_of(metadata.begin(), metadata.end(), is_string)) {
    return refuse("metadata", "__metadata__ must be an object of strings");
  }
  return {};
}

// Elements of the shape; every dimension is appended to `shape`.
Result<std::uint64_t> read_shape(const Json& json, std::vector<std::uint64_t>& shape,
                                 const std::string& name) {
  if (!json.is_array()) {
    return refuse("shape", "the shape must be an array", name);
  }
  shape.reserve(json.size());
  for (const Json& value : json) {
    const auto dimension = natural(value);
    if (!dimension) {
      return refuse("shape", "a dimension must be a whole number from 0", name);
    }
    shape.push_back(*dimension);
  }
  const auto elements = element_count(shape);
  if (!elements) {
    return refuse("shape-overflow", "the shape has too many elements", name);
  }
  return *elements;
}

// One tensor for itself. Its offset still counts from the start of the data.
Result<Tensor> read_tensor(const std::string& name, const Json& json, std::uint64_t data_size) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    return refuse("tensor-fields", "a tensor has exactly dtype, shape and data_offsets", name);
  }
  const Json& dtype = json["dtype"];
  const auto bits =
      dtype.is_string() ? dtype_bits(dtype.get_ref<const std::string&>()) : std::nullopt;
  if (!bits) {
    return refuse("dtype", "the dtype is not known", name);
  }
  Tensor tensor{name, dtype.get<std::string>(), {}, 0, 0};
  ASSAY_ASSIGN(const std::uint64_t elements, read_shape(json["shape"], tensor.shape, name));
  const Json& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !natural(offsets[0]) || !natural(offsets[1])) {
    return refuse("offsets", "data_offsets must be two whole numbers from 0", name);
  }
  const std::uint64_t begin = *natural(offsets[0]);
  const std::uint64_t end = *natural(offsets[1]);
  if (begin > end) {
    return refuse("offsets-order", "data_offsets must not run backwards", name);
  }
  if (end > data_size) {
    return refuse("beyond-data", "the tensor ends behind the end of the file", name);
  }
  // Below 2^53 elements of at most 64 bits: the product needs up to 59 bits.
  if (elements * *bits != (end - begin) * 8) {
    return refuse("size-mismatch", "dtype and shape do not give the tensor's size", name);
  }
  tensor.offset = begin;
  tensor.size = end - begin;
  return tensor;
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
      return refuse("overlap", "two tensors share bytes", tensor->name);
    }
    if (tensor->offset > position) {
      return refuse("gap", "bytes in front of the tensor belong to none", tensor->name);
    }
    position += tensor->size;
  }
  return position == data_size ? Status{} : refuse("trailing-data", "bytes behind the last tensor");
}

Result<Safetensors> read_tensors(const Json& header, std::uint64_t data_start,
                                 std::uint64_t data_size) {
  if (header.size() > kMaxEntries) {
    return refuse("too-many-tensors", "an artifact has at most 1048576 entries");
  }
  if (const auto metadata = header.find(kMetadata); metadata != header.end()) {
    ASSAY_TRY(check_metadata(*metadata));
  }
  Safetensors result{{}, data_start};
  result.tensors.reserve(header.size());
  // Members come out ordered by name as bytes: nlohmann's object is a std::map of std::string.
  for (const auto& [name, json] : header.items()) {
    if (name != kMetadata) {
      ASSAY_ASSIGN(Tensor tensor, read_tensor(name, json, data_size));
      result.tensors.push_back(std::move(tensor));
    }
  }
  ASSAY_TRY(check_cover(result.tensors, data_size));
  for (Tensor& tensor : result.tensors) {
    tensor.offset += data_start;
  }
  return result;
}

}  // namespace

Result<Safetensors> read_safetensors(std::uint64_t file_size, const ReadAt& read) {
  if (file_size < kPrefix) {
    return refuse("file-too-short", "the file has no room for a header length");
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
  if (length > kMaxSafetensorsHeader) {
    return refuse("header-too-large", "the header must not be longer than 100,000,000 bytes");
  }
  if (length > file_size - kPrefix) {
    return refuse("header-beyond-file", "the header is longer than the file");
  }
  Bytes header(length);
  ASSAY_TRY(read(kPrefix, header));
  ASSAY_ASSIGN(const Json json, parse_header(header));
  return read_tensors(json, kPrefix + length, file_size - kPrefix - length);
}

Result<Safetensors> read_safetensors(const SourceFile& file) {
  ASSAY_ASSIGN(const std::shared_ptr<const OpenFile> opened, file.open());
  auto result = read_safetensors(
      file.size(),
      [&](std::uint64_t offset, std::span<std::uint8_t> out) { return opened->read(offset, out); });
  if (!result && result.error().code == ErrorCode::kMalformedSafetensors) {
    Error error = std::move(result).error();
    error.where = error.where.empty() ? file.label() : file.label() + "#" + error.where;
    return std::unexpected(std::move(error));
  }
  return result;
}

bool is_safetensors_path(std::string_view path) { return path.ends_with(".safetensors"); }

}  // namespace assay::gpu_hash
