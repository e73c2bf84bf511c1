// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/gguf_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>
#include <utility>

#include "gpu_hash/model/header_bytes.h"
#include "gpu_hash/model/missing_files.h"
#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"
#include "schemas/core/dtype.h"
#include "schemas/core/json.h"

namespace assay::gpu_hash {
namespace {

constexpr auto kMaxDimension = static_cast<std::uint64_t>(kMaxSafeInteger);

// Types of values.
enum ValueType : std::uint32_t {
  kU16 = 2,
  kU32 = 4,
  kI32 = 5,
  kString = 8,
  kArray = 9,
  kTypes = 13
};
constexpr std::array<std::uint64_t, kTypes> kValueSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// The bytes of the header in order. Never reads behind the end of the file, nor behind the largest
// header.
class Input {
 public:
  Input(std::uint64_t file_size, const ReadAt& read)
      : file_size_(file_size), end_(std::min(file_size, kMaxGgufHeader)), bytes_(end_, read) {}

  [[nodiscard]] std::uint64_t position() const { return position_; }

  // `count` items of `size` bytes.
  Status skip(std::uint64_t count, std::uint64_t size = 1) {
    if (count > (end_ - position_) / size) {
      return file_size_ > kMaxGgufHeader
                 ? refuse_gguf("header-too-large", "the header has more than " +
                                                       std::to_string(kMaxGgufHeader) + " bytes")
                 : refuse_gguf("header-beyond-file", "the header is longer than the file");
    }
    position_ += count * size;
    return {};
  }

  Status bytes(std::span<std::uint8_t> out) {
    const std::uint64_t from = position_;
    ASSAY_TRY(skip(out.size()));
    return bytes_.copy(from, out);
  }

  // A little-endian number of `size` bytes, at most 8.
  Result<std::uint64_t> number(std::size_t size) {
    std::array<std::uint8_t, 8> raw{};
    ASSAY_TRY(bytes(std::span(raw).first(size)));
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) {
      value = (value << 8) | raw[i];
    }
    return value;
  }
  Result<std::uint32_t> number32() {
    ASSAY_ASSIGN(const std::uint64_t value, number(4));
    return static_cast<std::uint32_t>(value);
  }

  // Text of at most `most` bytes that every reader understands alike.
  Result<std::string> text(std::uint64_t most, std::string_view word) {
    ASSAY_ASSIGN(const std::uint64_t size, number(8));
    if (size > most) {
      return refuse_gguf(word, "it is longer than " + std::to_string(most) + " bytes");
    }
    std::string text(static_cast<std::size_t>(size), '\0');
    ASSAY_TRY(bytes({reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
    if (!is_utf8(text) || text.find('\0') != std::string::npos) {
      return refuse_gguf(word, "it must be UTF-8 without NUL");
    }
    return text;
  }

 private:
  std::uint64_t file_size_;
  std::uint64_t end_;
  HeaderBytes bytes_;
  std::uint64_t position_ = 0;
};

// The values that matter here.
struct Found {
  std::optional<std::uint64_t> alignment, no, count, tensors;
};
struct KnownKey {
  std::string_view name;
  ValueType type;
  std::string_view word;
  std::optional<std::uint64_t> Found::* value;
};
constexpr std::array<KnownKey, 4> kKnownKeys = {{
    {"general.alignment", kU32, "alignment", &Found::alignment},
    {"split.no", kU16, "split", &Found::no},
    {"split.count", kU16, "split", &Found::count},
    {"split.tensors.count", kI32, "split", &Found::tensors},
}};

Status skip_text(Input& input) {
  ASSAY_ASSIGN(const std::uint64_t size, input.number(8));
  return input.skip(size);
}

Status skip_value(Input& input, std::uint32_t type, const std::string& key, int depth = 0) {
  if (type >= kTypes) {
    return refuse_gguf("value-type", "the type of the value is not known", key);
  }
  if (type == kString) {
    return skip_text(input);
  }
  if (type != kArray) {
    return input.skip(kValueSizes[type]);
  }
  if (depth == kMaxGgufDepth) {
    return refuse_gguf("array-depth", "there are too many arrays in arrays", key);
  }
  ASSAY_ASSIGN(const std::uint32_t item, input.number32());
  ASSAY_ASSIGN(const std::uint64_t count, input.number(8));
  if (item < kTypes && kValueSizes[item] != 0) {
    return input.skip(count, kValueSizes[item]);
  }
  // Each round reads at least one length, so the header's end bounds them.
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSAY_TRY(skip_value(input, item, key, depth + 1));
  }
  return item < kTypes ? Status() : skip_value(input, item, key, depth + 1);
}

Status read_value(Input& input, std::uint32_t type, const std::string& key, Found& found) {
  const auto* const known = std::ranges::find(kKnownKeys, key, &KnownKey::name);
  if (known == kKnownKeys.end()) {
    return skip_value(input, type, key);
  }
  if (type != known->type) {
    return refuse_gguf(known->word, "the value has another type than this key has", key);
  }
  ASSAY_ASSIGN(found.*(known->value), input.number(kValueSizes[type]));
  return {};
}

Result<Found> read_keys(Input& input, std::uint64_t count) {
  Found found;
  std::set<std::string> keys;
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSAY_ASSIGN(std::string key, input.text(kMaxGgufKey, "key"));
    if (key.empty()) {
      return refuse_gguf("key", "a key must not be empty");
    }
    const auto [place, is_new] = keys.insert(std::move(key));
    if (!is_new) {
      return refuse_gguf("duplicate-key", "two keys have one name", *place);
    }
    ASSAY_ASSIGN(const std::uint32_t type, input.number32());
    ASSAY_TRY(read_value(input, type, *place, found));
  }
  return found;
}

Status take_values(const Found& found, GgufHeader& header) {
  const std::uint64_t alignment = found.alignment.value_or(kDefaultGgufAlignment);
  if (!std::has_single_bit(alignment) || alignment < kMinGgufAlignment ||
      alignment > kMaxGgufAlignment) {
    return refuse_gguf("alignment", "the alignment must be a power of two from 8 to 65536",
                       "general.alignment");
  }
  header.alignment = static_cast<std::uint32_t>(alignment);
  // A file that was merged from parts says 0.
  if (found.count.value_or(0) < 2) {
    return {};
  }
  constexpr std::uint64_t kMaxI32 = std::numeric_limits<std::int32_t>::max();
  if (!found.no || !found.tensors || *found.no >= *found.count || *found.tensors > kMaxI32) {
    return refuse_gguf("split", "a part of a model says which one it is, and of how many tensors",
                       "split.count");
  }
  header.split = GgufSplit{static_cast<std::uint32_t>(*found.no),
                           static_cast<std::uint32_t>(*found.count), *found.tensors};
  return {};
}

Result<std::vector<std::uint64_t>> read_shape(Input& input, const std::string& name) {
  ASSAY_ASSIGN(const std::uint32_t rank, input.number32());
  if (rank > kMaxGgufRank) {
    return refuse_gguf("rank", "a tensor has at most 4 dimensions", name);
  }
  std::vector<std::uint64_t> shape;
  for (std::uint32_t i = 0; i < rank; ++i) {
    ASSAY_ASSIGN(const std::uint64_t dimension, input.number(8));
    if (dimension > kMaxDimension) {
      return refuse_gguf("shape", "a dimension must stay below 2^53", name);
    }
    shape.push_back(dimension);
  }
  std::ranges::reverse(shape);
  return shape;
}

Result<Tensor> read_tensor(Input& input) {
  ASSAY_ASSIGN(std::string name, input.text(kMaxGgufName, "name"));
  ASSAY_ASSIGN(std::vector<std::uint64_t> shape, read_shape(input, name));
  ASSAY_ASSIGN(const std::uint32_t number, input.number32());
  ASSAY_ASSIGN(const std::uint64_t offset, input.number(8));
  // No entry of an artifact can have this name.
  if (name == "__metadata__") {
    return refuse_gguf("name", "no tensor can have this name", std::move(name));
  }
  const GgmlType* const type = ggml_type(number);
  if (type == nullptr) {
    return refuse_gguf("type", "the type " + std::to_string(number) + " is not known",
                       std::move(name));
  }
  if (!element_count(shape)) {
    return refuse_gguf("shape-overflow", "the shape has too many elements", std::move(name));
  }
  const auto size = tensor_size(type->name, shape);
  if (!size) {
    return refuse_gguf("block", "a row is not a whole number of blocks", std::move(name));
  }
  return Tensor{std::move(name), std::string(type->name), std::move(shape), offset, *size};
}

// Magic and version.
Status read_start(Input& input) {
  std::array<std::uint8_t, 8> start{};
  ASSAY_TRY(input.bytes(start));
  const std::string_view text = as_text(start);
  if (text == "version ") {
    return refuse_gguf("magic", kLfsPointer);
  }
  if (!text.starts_with("GGUF")) {
    return refuse_gguf("magic", "the file must start with GGUF");
  }
  if (start[4] == 0 && start[5] == 0) {
    return refuse_gguf("big-endian", "numbers must be little-endian");
  }
  const bool known = start[4] == 2 || start[4] == 3;
  return known && start[5] == 0 && start[6] == 0 && start[7] == 0
             ? Status()
             : refuse_gguf("version", "the version must be 2 or 3");
}

}  // namespace

std::unexpected<Error> refuse_gguf(std::string_view word, std::string_view why, std::string where) {
  return fail(ErrorCode::kMalformedGguf, std::string(word) + ": " + std::string(why),
              std::move(where));
}

Result<GgufHeader> read_gguf_header(std::uint64_t file_size, const ReadAt& read) {
  Input input(file_size, read);
  ASSAY_TRY(read_start(input));
  ASSAY_ASSIGN(const std::uint64_t tensors, input.number(8));
  ASSAY_ASSIGN(const std::uint64_t keys, input.number(8));
  if (tensors > kMaxEntries) {
    return refuse_gguf("too-many-tensors",
                       "an artifact has at most " + std::to_string(kMaxEntries) + " entries");
  }
  if (keys > kMaxGgufKeys) {
    return refuse_gguf("too-many-keys",
                       "a header has at most " + std::to_string(kMaxGgufKeys) + " keys");
  }
  GgufHeader header;
  ASSAY_ASSIGN(const Found found, read_keys(input, keys));
  ASSAY_TRY(take_values(found, header));
  for (std::uint64_t i = 0; i < tensors; ++i) {
    ASSAY_ASSIGN(Tensor tensor, read_tensor(input));
    header.tensors.push_back(std::move(tensor));
  }
  header.size = input.position();
  return header;
}

}  // namespace assay::gpu_hash
