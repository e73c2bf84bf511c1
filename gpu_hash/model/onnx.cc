// SPDX-License-Identifier: Apache-2.0
// The messages are those of onnx.proto3 (ONNX 1.18). Their encoding is that of Protocol Buffers.
#include "gpu_hash/model/onnx.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "gpu_hash/model/header_bytes.h"
#include "gpu_hash/model/name_list.h"
#include "schemas/core/bytes.h"

namespace assay::gpu_hash {
namespace {

enum class OnnxMessage : std::uint8_t {
  kModel,
  kTraining,
  kFunction,
  kGraph,
  kNode,
  kAttribute,
  kSparseTensor,
  kTensor,
  kEntry,
};
struct Child {
  OnnxMessage parent;
  std::uint64_t field;
  OnnxMessage kind;
};
// Where messages with tensors stand.
constexpr std::array<Child, 19> kChildren = {{
    {OnnxMessage::kModel, 7, OnnxMessage::kGraph},
    {OnnxMessage::kModel, 20, OnnxMessage::kTraining},
    {OnnxMessage::kModel, 25, OnnxMessage::kFunction},
    {OnnxMessage::kTraining, 1, OnnxMessage::kGraph},
    {OnnxMessage::kTraining, 2, OnnxMessage::kGraph},
    {OnnxMessage::kFunction, 7, OnnxMessage::kNode},
    {OnnxMessage::kFunction, 11, OnnxMessage::kAttribute},
    {OnnxMessage::kGraph, 1, OnnxMessage::kNode},
    {OnnxMessage::kGraph, 5, OnnxMessage::kTensor},
    {OnnxMessage::kGraph, 15, OnnxMessage::kSparseTensor},
    {OnnxMessage::kNode, 5, OnnxMessage::kAttribute},
    {OnnxMessage::kAttribute, 5, OnnxMessage::kTensor},
    {OnnxMessage::kAttribute, 6, OnnxMessage::kGraph},
    {OnnxMessage::kAttribute, 10, OnnxMessage::kTensor},
    {OnnxMessage::kAttribute, 11, OnnxMessage::kGraph},
    {OnnxMessage::kAttribute, 22, OnnxMessage::kSparseTensor},
    {OnnxMessage::kAttribute, 23, OnnxMessage::kSparseTensor},
    {OnnxMessage::kSparseTensor, 1, OnnxMessage::kTensor},
    {OnnxMessage::kSparseTensor, 2, OnnxMessage::kTensor},
}};
constexpr std::uint64_t kExternalData = 13;  // of a tensor: entries of key and value
constexpr std::uint64_t kDataLocation = 14;  // of a tensor: 1 is external

std::optional<OnnxMessage> child_of(OnnxMessage parent, std::uint64_t field) {
  if (parent == OnnxMessage::kTensor && field == kExternalData) {
    return OnnxMessage::kEntry;
  }
  const auto* const found = std::ranges::find_if(kChildren, [&](const Child& child) {
    return child.parent == parent && child.field == field;
  });
  return found == kChildren.end() ? std::nullopt : std::optional(found->kind);
}

std::unexpected<Error> malformed(std::string_view why) {
  return fail(ErrorCode::kSchemaViolation, std::string(why));
}

class Scanner {
 public:
  Scanner(std::uint64_t file_size, const ReadAt& read)
      : file_size_(file_size), bytes_(file_size, read) {}

  Result<OnnxLocations> scan() {
    ASSAY_TRY(message(OnnxMessage::kModel, file_size_, 0));
    return std::move(locations_);
  }

 private:
  // What a tensor says of its external data.
  struct External {
    bool there = false;
    std::optional<std::string> location;
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };

  Result<std::uint64_t> varint(std::uint64_t end) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (position_ == end) {
        return malformed("a number ends behind its message");
      }
      std::uint8_t byte = 0;
      ASSAY_TRY(bytes_.copy(position_++, {&byte, 1}));
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) {
        return value;
      }
    }
    return malformed("a number is longer than 10 bytes");
  }

  Status skip(std::uint64_t size, std::uint64_t end) {
    if (size > end - position_) {
      return malformed("a field ends behind its message");
    }
    position_ += size;
    return {};
  }

  Status message(OnnxMessage kind, std::uint64_t end, int depth) {
    if (depth > kMaxOnnxDepth) {
      return fail(ErrorCode::kLimitExceeded, "there are too many messages in messages");
    }
    if (kind == OnnxMessage::kTensor) {
      external_ = {};
    }
    while (position_ < end) {
      if (++fields_ > kMaxOnnxFields) {
        return fail(ErrorCode::kLimitExceeded, "there are too many fields");
      }
      ASSAY_TRY(field(kind, end, depth));
    }
    return kind == OnnxMessage::kTensor ? finish_tensor() : Status();
  }

  Status field(OnnxMessage kind, std::uint64_t end, int depth) {
    ASSAY_ASSIGN(const std::uint64_t key, varint(end));
    const std::uint64_t number = key >> 3U;
    switch (key & 7U) {
      case 0: {
        ASSAY_ASSIGN(const std::uint64_t value, varint(end));
        if (kind == OnnxMessage::kTensor && number == kDataLocation && value != 0) {
          external_.there = true;
        }
        return {};
      }
      case 1:
        return skip(8, end);
      case 5:
        return skip(4, end);
      case 2: {
        ASSAY_ASSIGN(const std::uint64_t size, varint(end));
        return sized(kind, number, size, end, depth);
      }
      default:
        return malformed("a field has a type that ONNX does not use");
    }
  }

  // A field of `size` bytes.
  Status sized(OnnxMessage kind, std::uint64_t number, std::uint64_t size, std::uint64_t end,
               int depth) {
    const std::uint64_t begin = position_;
    ASSAY_TRY(skip(size, end));
    if (kind == OnnxMessage::kEntry && (number == 1 || number == 2)) {
      return text(begin, size, number == 1 ? entry_key_ : entry_value_);
    }
    const auto child = child_of(kind, number);
    if (!child) {
      return {};
    }
    position_ = begin;
    if (*child != OnnxMessage::kEntry) {
      return message(*child, begin + size, depth + 1);
    }
    entry_key_.clear();
    entry_value_.clear();
    ASSAY_TRY(message(*child, begin + size, depth + 1));
    return finish_entry();
  }

  Status text(std::uint64_t begin, std::uint64_t size, std::string& into) {
    if (size > kMaxOnnxText) {
      return fail(ErrorCode::kLimitExceeded, "a text about external data is too long");
    }
    Bytes raw(static_cast<std::size_t>(size));
    ASSAY_TRY(bytes_.copy(begin, raw));
    into = as_text(raw);
    return is_utf8(into) ? Status() : malformed("a text about external data is not UTF-8");
  }

  Status finish_entry() {
    external_.there = true;
    if (entry_key_ == "location") {
      external_.location = entry_value_;
      return {};
    }
    if (entry_key_ != "offset" && entry_key_ != "length") {
      return {};
    }
    std::uint64_t value = 0;
    const char* const end = entry_value_.data() + entry_value_.size();
    const auto [stop, problem] = std::from_chars(entry_value_.data(), end, value);
    if (problem != std::errc() || stop != end) {
      return malformed("offset or length of external data is no number");
    }
    (entry_key_ == "offset" ? external_.offset : external_.length) = value;
    return {};
  }

  Status finish_tensor() {
    if (!external_.there) {
      return {};
    }
    if (!external_.location) {
      return malformed("external data have no location");
    }
    const std::uint64_t needed = external_.offset + external_.length;
    if (needed < external_.offset) {
      return malformed("offset or length of external data is too large");
    }
    std::uint64_t& size = locations_[*external_.location];
    size = std::max(size, needed);
    return locations_.size() <= kMaxOnnxLocations
               ? Status()
               : fail(ErrorCode::kLimitExceeded, "external data have too many locations");
  }

  std::uint64_t file_size_;
  HeaderBytes bytes_;
  std::uint64_t position_ = 0;
  std::uint64_t fields_ = 0;
  External external_;  // of the tensor that is being read; no tensor stands in another
  std::string entry_key_, entry_value_;
  OnnxLocations locations_;
};

Result<OnnxLocations> locations_of(const SourceFile& file) {
  ASSAY_ASSIGN(const std::shared_ptr<const OpenFile> opened, file.open());
  return read_onnx_locations(file.size(), [&](std::uint64_t offset, std::span<std::uint8_t> out) {
    return opened->read(offset, out);
  });
}

// The path in the model, or nothing for a location that leads elsewhere.
std::optional<std::string> path_of(const std::string& model, const std::string& location) {
  const std::filesystem::path given(location);
  const bool leads_up = std::ranges::any_of(given, [](const auto& part) { return part == ".."; });
  if (location.empty() || given.is_absolute() || leads_up) {
    return std::nullopt;
  }
  return (std::filesystem::path(model).parent_path() / given).lexically_normal().string();
}

}  // namespace

bool is_onnx_path(std::string_view path) {
  constexpr std::string_view kEnd = ".onnx";
  return path.size() >= kEnd.size() &&
         std::ranges::equal(path.substr(path.size() - kEnd.size()), kEnd, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
         });
}

Result<OnnxLocations> read_onnx_locations(std::uint64_t file_size, const ReadAt& read) {
  if (file_size > kMaxOnnxFile) {
    return fail(ErrorCode::kLimitExceeded,
                "it is longer than " + std::to_string(kMaxOnnxFile) + " bytes");
  }
  return Scanner(file_size, read).scan();
}

std::string onnx_lack(const WalkedFile& model, const std::vector<WalkedFile>& files) {
  const auto locations = locations_of(*model.source);
  if (!locations) {
    return "this cannot be read as an ONNX model: " + locations.error().detail;
  }
  NameList outside, missing, too_short;
  for (const auto& [location, size] : *locations) {
    const auto path = path_of(model.path, location);
    if (!path) {
      outside.add(location);
      continue;
    }
    const auto found = std::ranges::lower_bound(files, *path, {}, &WalkedFile::path);
    if (found == files.end() || found->path != *path) {
      missing.add(*path);
    } else if (found->source->size() < size) {
      too_short.add(*path);
    }
  }
  std::string lack;
  outside.tell("external data are not below the model's directory", lack);
  missing.tell("files with external data are missing or ignored", lack);
  too_short.tell("files with external data are too short", lack);
  return lack;
}

}  // namespace assay::gpu_hash
