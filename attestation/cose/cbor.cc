// SPDX-License-Identifier: Apache-2.0
#include "attestation/cose/cbor.h"

#include <array>
#include <set>
#include <string>
#include <utility>

#include <cbor.h>

namespace assay::attestation::cbor {
namespace {

constexpr std::uint64_t kMaxInteger = (1ULL << 63) - 1;

// What libcbor says of the next bytes. The items of an array, a map or a tag follow.
struct Head {
  std::optional<Kind> kind;  // none of a float, an undefined value or an indefinite length
  std::uint64_t number = 0;  // as in Value; of strings, arrays and maps their length
  ByteView content;          // of strings; borrowed from the input
};

template <Kind kind, typename Number>
void on_number(void* head, Number number) {
  *static_cast<Head*>(head) = {kind, number, {}};
}

template <Kind kind>
void on_string(void* head, cbor_data data, std::size_t size) {
  *static_cast<Head*>(head) = {kind, size, ByteView(data, size)};
}

const cbor_callbacks kCallbacks = [] {
  cbor_callbacks all = cbor_empty_callbacks;
  all.uint8 = on_number<Kind::kUnsigned>;
  all.uint16 = on_number<Kind::kUnsigned>;
  all.uint32 = on_number<Kind::kUnsigned>;
  all.uint64 = on_number<Kind::kUnsigned>;
  all.negint8 = on_number<Kind::kNegative>;
  all.negint16 = on_number<Kind::kNegative>;
  all.negint32 = on_number<Kind::kNegative>;
  all.negint64 = on_number<Kind::kNegative>;
  all.byte_string = on_string<Kind::kBytes>;
  all.string = on_string<Kind::kText>;
  all.array_start = on_number<Kind::kArray>;
  all.map_start = on_number<Kind::kMap>;
  all.tag = on_number<Kind::kTag>;
  all.null = [](void* head) { on_number<Kind::kSimple>(head, kNull); };
  all.boolean = [](void* head, bool on) { on_number<Kind::kSimple>(head, on ? kTrue : kFalse); };
  return all;
}();

// libcbor 0.8 takes the tags 6 to 20 for unassigned when the head is one byte, and reads them when
// it is two, which section 4.2.1 forbids. Returns libcbor's answer to all other bytes.
cbor_decoder_result decode_head(ByteView bytes, Head& head) {
  if (!bytes.empty() && bytes[0] >= 0xc6 && bytes[0] <= 0xd4) {
    head = {Kind::kTag, bytes[0] & 0x1fU, {}};
    return {.read = 1, .status = CBOR_DECODER_FINISHED, .required = 0};
  }
  return cbor_stream_decode(bytes.data(), bytes.size(), &kCallbacks, &head);
}

// `encode` is one of libcbor's functions that write a head.
Bytes encode_head(std::size_t (*encode)(std::uint64_t, unsigned char*, std::size_t),
                  std::uint64_t number) {
  std::array<unsigned char, 9> out{};
  return {out.data(), out.data() + encode(number, out.data(), out.size())};
}

class Reader {
 public:
  Reader(ByteView bytes, const Limits& limits) : bytes_(bytes), limits_(limits) {}

  Result<Value> whole() {
    ASSAY_ASSIGN(Value value, item(1));
    return at_ == bytes_.size() ? Result<Value>(std::move(value))
                                : refused("bytes follow the data item");
  }

 private:
  [[nodiscard]] std::unexpected<Error> refused(const char* why) const {
    return fail(ErrorCode::kMalformedCbor, "byte " + std::to_string(at_) + ": " + why);
  }

  Result<Head> next() {
    Head head;
    const cbor_decoder_result result = decode_head(bytes_.subspan(at_), head);
    if (result.status == CBOR_DECODER_NEDATA) {
      return refused("the data ends too early");
    }
    if (!head.kind) {
      return refused("a float, an undefined value, an indefinite length or a reserved head");
    }
    // Section 4.2.1: the shortest head, so that equal keys have equal bytes.
    if (result.read - head.content.size() != encode_head(cbor_encode_uint, head.number).size()) {
      return refused("this head has a shorter form");
    }
    if (head.kind == Kind::kNegative && head.number > kMaxInteger) {
      return refused("the integer is too long");
    }
    if (head.kind == Kind::kText && !is_utf8(as_text(head.content))) {
      return refused("the text is not UTF-8");
    }
    at_ += result.read;
    return head;
  }

  Result<Value> item(unsigned depth) {
    if (depth > limits_.max_depth || ++items_ > limits_.max_items) {
      return refused(depth > limits_.max_depth ? "nested too deeply" : "too many data items");
    }
    ASSAY_ASSIGN(const Head head, next());
    Value value{*head.kind, head.number, Bytes(head.content.begin(), head.content.end())};
    const bool is_map = head.kind == Kind::kMap;
    std::uint64_t parts = is_map || head.kind == Kind::kArray ? head.number : 0;
    if (parts > bytes_.size() - at_) {  // each has one byte at least
      return refused("the length is greater than what follows");
    }
    parts = head.kind == Kind::kTag ? 1 : is_map ? 2 * parts : parts;
    std::set<std::string_view> keys;
    for (std::uint64_t i = 0; i < parts; ++i) {
      const std::size_t begin = at_;
      ASSAY_ASSIGN(Value part, item(depth + 1));
      if (is_map && i % 2 == 0 &&
          !keys.insert(as_text(bytes_.subspan(begin, at_ - begin))).second) {
        return refused("the map has this key twice");
      }
      value.items.push_back(std::move(part));
    }
    return value;
  }

  ByteView bytes_;
  const Limits& limits_;
  std::size_t at_ = 0;
  std::size_t items_ = 0;
};

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
  return Reader(bytes, limits).whole();
}

Writer& Writer::integer(std::int64_t value) {
  return value >= 0
             ? encoded(encode_head(cbor_encode_uint, static_cast<std::uint64_t>(value)))
             : encoded(encode_head(cbor_encode_negint, static_cast<std::uint64_t>(-1 - value)));
}

Writer& Writer::bytes(ByteView value) {
  return encoded(encode_head(cbor_encode_bytestring_start, value.size())).encoded(value);
}

Writer& Writer::text(std::string_view value) {
  return encoded(encode_head(cbor_encode_string_start, value.size())).encoded(as_bytes(value));
}

Writer& Writer::array(std::size_t items) {
  return encoded(encode_head(cbor_encode_array_start, items));
}

Writer& Writer::map(std::size_t pairs) {
  return encoded(encode_head(cbor_encode_map_start, pairs));
}

Writer& Writer::tag(std::uint64_t number) { return encoded(encode_head(cbor_encode_tag, number)); }

Writer& Writer::null() { return encoded(Bytes{0xf6}); }

Writer& Writer::encoded(ByteView item) {
  out_.insert(out_.end(), item.begin(), item.end());
  return *this;
}

}  // namespace assay::attestation::cbor
