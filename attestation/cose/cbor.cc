// SPDX-License-Identifier: Apache-2.0
#include "attestation/cose/cbor.h"

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <cbor.h>

namespace assay::attestation::cbor {
namespace {

// Major types of RFC 8949 section 3.1.
constexpr unsigned kMajorNegative = 1;
constexpr unsigned kMajorBytes = 2;
constexpr unsigned kMajorText = 3;
constexpr unsigned kMajorArray = 4;
constexpr unsigned kMajorMap = 5;
constexpr unsigned kMajorTag = 6;
constexpr unsigned kMajorSimple = 7;
constexpr unsigned kLargestInHead = 23;
constexpr unsigned kLargestWidth = 27;    // of additional information: eight bytes follow
constexpr unsigned kFirstUnknownTag = 6;  // of libcbor 0.8, as one byte
constexpr unsigned kLastUnknownTag = 20;
constexpr std::uint8_t kTagOfOneByte = 0xd8;  // head of a tag whose number is the next byte
constexpr std::uint64_t kMaxInteger = (1ULL << 63) - 1;

// Looks at every byte, without allocating by what it says.
class Scan {
 public:
  Scan(ByteView bytes, const Limits& limits) : bytes_(bytes), limits_(limits) {}

  Status whole() {
    ASSAY_TRY(item(1));
    return at_ == bytes_.size() ? Status() : refused("bytes follow the data item");
  }

  // libcbor 0.8 takes the tags 6 to 20 for unassigned when the head is one byte, and reads them
  // when it is two. Returns the bytes with such heads widened, for decoding alone.
  [[nodiscard]] Bytes widened() const {
    Bytes out;
    out.reserve(bytes_.size() + short_tags_.size());
    std::size_t from = 0;
    for (const std::size_t at : short_tags_) {
      const ByteView before = bytes_.subspan(from, at - from);
      out.insert(out.end(), before.begin(), before.end());
      out.push_back(kTagOfOneByte);
      out.push_back(bytes_[at] & 0x1f);
      from = at + 1;
    }
    const ByteView rest = bytes_.subspan(from);
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }

 private:
  struct Head {
    unsigned major;
    std::uint64_t argument;
  };

  [[nodiscard]] std::unexpected<Error> refused(const char* why) const {
    return fail(ErrorCode::kMalformedCbor, "byte " + std::to_string(at_) + ": " + why);
  }
  [[nodiscard]] std::size_t rest() const { return bytes_.size() - at_; }

  // RFC 8949 section 4.2.1: the shortest head, so that equal keys have equal bytes.
  Result<Head> head() {
    if (rest() == 0) {
      return refused("the data ends too early");
    }
    const unsigned major = bytes_[at_] >> 5;
    const unsigned information = bytes_[at_] & 0x1f;
    if (information > kLargestWidth) {
      return refused("indefinite lengths and reserved heads are refused");
    }
    if (major == kMajorSimple && (information < kFalse || information > kNull)) {
      return refused("of simple values and floats only false, true and null are read");
    }
    if (major == kMajorTag && information >= kFirstUnknownTag && information <= kLastUnknownTag) {
      short_tags_.push_back(at_);
    }
    ++at_;
    if (information <= kLargestInHead) {
      return Head{major, information};
    }
    const std::size_t width = std::size_t{1} << (information - kLargestInHead - 1);
    if (rest() < width) {
      return refused("the data ends too early");
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value = (value << 8) | bytes_[at_++];
    }
    const std::uint64_t least = width == 1 ? kLargestInHead + 1 : 1ULL << (4 * width);
    if (value < least) {
      return refused("this head has a shorter form");
    }
    return Head{major, value};
  }

  Status item(unsigned depth) {
    if (++items_ > limits_.max_items) {
      return refused("too many data items");
    }
    ASSAY_ASSIGN(const Head head, this->head());
    switch (head.major) {
      case kMajorNegative:
        return head.argument <= kMaxInteger ? Status() : refused("the integer is too long");
      case kMajorBytes:
      case kMajorText:
        return string(head);
      case kMajorArray:
        return array(head.argument, depth);
      case kMajorMap:
        return map(head.argument, depth);
      case kMajorTag:
        return deeper(depth);
      default:
        return {};
    }
  }

  Status deeper(unsigned depth) {
    return depth < limits_.max_depth ? item(depth + 1) : refused("nested too deeply");
  }

  Status string(const Head& head) {
    if (head.argument > rest()) {
      return refused("the length is greater than what follows");
    }
    const ByteView content = bytes_.subspan(at_, static_cast<std::size_t>(head.argument));
    if (head.major == kMajorText && !is_utf8(as_text(content))) {
      return refused("the text is not UTF-8");
    }
    at_ += content.size();
    return {};
  }

  Status array(std::uint64_t count, unsigned depth) {
    if (count > rest()) {
      return refused("the length is greater than what follows");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSAY_TRY(deeper(depth));
    }
    return {};
  }

  Status map(std::uint64_t count, unsigned depth) {
    if (count > rest() / 2) {
      return refused("the length is greater than what follows");
    }
    std::set<std::string_view> keys;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t begin = at_;
      ASSAY_TRY(deeper(depth));
      if (!keys.insert(as_text(bytes_.subspan(begin, at_ - begin))).second) {
        return refused("the map has this key twice");
      }
      ASSAY_TRY(deeper(depth));
    }
    return {};
  }

  ByteView bytes_;
  const Limits& limits_;
  std::vector<std::size_t> short_tags_;  // ascending
  std::size_t at_ = 0;
  std::size_t items_ = 0;
};

struct Release {
  void operator()(cbor_item_t* item) const { cbor_decref(&item); }
};
using Handle = std::unique_ptr<cbor_item_t, Release>;

Bytes copy(const unsigned char* data, std::size_t size) {
  return size == 0 ? Bytes() : Bytes(data, data + size);
}

// The depth was checked. The getters of arrays, maps and tags that hand out items without a new
// reference are used, so that nothing is left to release.
Value convert(const cbor_item_t* item) {
  switch (cbor_typeof(item)) {
    case CBOR_TYPE_UINT:
      return {Kind::kUnsigned, cbor_get_int(item)};
    case CBOR_TYPE_NEGINT:
      return {Kind::kNegative, cbor_get_int(item)};
    case CBOR_TYPE_BYTESTRING:
      return {Kind::kBytes, 0, copy(cbor_bytestring_handle(item), cbor_bytestring_length(item))};
    case CBOR_TYPE_STRING:
      return {Kind::kText, 0, copy(cbor_string_handle(item), cbor_string_length(item))};
    case CBOR_TYPE_ARRAY: {
      Value value{Kind::kArray, 0};
      for (std::size_t i = 0; i < cbor_array_size(item); ++i) {
        value.items.push_back(convert(cbor_array_handle(item)[i]));
      }
      return value;
    }
    case CBOR_TYPE_MAP: {
      Value value{Kind::kMap, 0};
      for (std::size_t i = 0; i < cbor_map_size(item); ++i) {
        value.items.push_back(convert(cbor_map_handle(item)[i].key));
        value.items.push_back(convert(cbor_map_handle(item)[i].value));
      }
      return value;
    }
    case CBOR_TYPE_TAG: {
      Value value{Kind::kTag, cbor_tag_value(item)};
      const Handle content(cbor_tag_item(item));
      value.items.push_back(convert(content.get()));
      return value;
    }
    default:  // CBOR_TYPE_FLOAT_CTRL: the scan lets no float through
      return {Kind::kSimple, cbor_ctrl_value(item)};
  }
}

using Head = std::array<unsigned char, 9>;

void append(Bytes& out, const Head& head, std::size_t size) {
  out.insert(out.end(), head.begin(), head.begin() + static_cast<std::ptrdiff_t>(size));
}

}  // namespace

std::optional<std::int64_t> Value::integer() const {
  const bool is_integer = kind == Kind::kUnsigned || kind == Kind::kNegative;
  if (!is_integer || number > kMaxInteger) {
    return std::nullopt;
  }
  const auto magnitude = static_cast<std::int64_t>(number);
  return kind == Kind::kUnsigned ? magnitude : -1 - magnitude;
}

std::optional<std::string_view> Value::text() const {
  return kind == Kind::kText ? std::optional(as_text(bytes)) : std::nullopt;
}

const Value* Value::tagged(std::uint64_t tag) const {
  return kind == Kind::kTag && number == tag ? items.data() : nullptr;
}

const Value* Value::find(std::int64_t key) const {
  if (kind != Kind::kMap) {
    return nullptr;
  }
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].integer() == key) {
      return &items[i + 1];
    }
  }
  return nullptr;
}

Result<Value> parse(ByteView bytes, const Limits& limits) {
  if (bytes.size() > limits.max_bytes) {
    return fail(ErrorCode::kLimitExceeded,
                "CBOR of more than " + std::to_string(limits.max_bytes) + " bytes is not read");
  }
  Scan scan(bytes, limits);
  ASSAY_TRY(scan.whole());
  const Bytes widened = scan.widened();
  cbor_load_result result{};
  const Handle item(cbor_load(widened.data(), widened.size(), &result));
  if (item == nullptr || result.read != widened.size()) {
    return fail(ErrorCode::kMalformedCbor, "the data item cannot be decoded");
  }
  return convert(item.get());
}

Writer& Writer::integer(std::int64_t value) {
  Head head{};
  const std::size_t size =
      value >= 0
          ? cbor_encode_uint(static_cast<std::uint64_t>(value), head.data(), head.size())
          : cbor_encode_negint(static_cast<std::uint64_t>(-1 - value), head.data(), head.size());
  append(out_, head, size);
  return *this;
}

Writer& Writer::bytes(ByteView value) {
  Head head{};
  const std::size_t size = cbor_encode_bytestring_start(value.size(), head.data(), head.size());
  append(out_, head, size);
  return encoded(value);
}

Writer& Writer::text(std::string_view value) {
  Head head{};
  const std::size_t size = cbor_encode_string_start(value.size(), head.data(), head.size());
  append(out_, head, size);
  return encoded(as_bytes(value));
}

Writer& Writer::array(std::size_t items) {
  Head head{};
  const std::size_t size = cbor_encode_array_start(items, head.data(), head.size());
  append(out_, head, size);
  return *this;
}

Writer& Writer::map(std::size_t pairs) {
  Head head{};
  const std::size_t size = cbor_encode_map_start(pairs, head.data(), head.size());
  append(out_, head, size);
  return *this;
}

Writer& Writer::tag(std::uint64_t number) {
  Head head{};
  const std::size_t size = cbor_encode_tag(number, head.data(), head.size());
  append(out_, head, size);
  return *this;
}

Writer& Writer::encoded(ByteView item) {
  out_.insert(out_.end(), item.begin(), item.end());
  return *this;
}

}  // namespace assay::attestation::cbor
