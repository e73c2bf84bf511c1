// SPDX-License-Identifier: Apache-2.0
// Strict CBOR (RFC 8949): data that two parsers could read differently is refused. libcbor decodes
// one head after the other and allocates nothing. Its trees are not used: it makes room for as
// many items as the input declares, and accepts indefinite lengths, duplicate keys and long heads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::cbor {

struct Limits {
  std::size_t max_bytes = 256U << 10;
  unsigned max_depth = 16;  // of arrays, maps and tags
  std::size_t max_items = 65'536;
};

enum class Kind : std::uint8_t { kUnsigned, kNegative, kBytes, kText, kArray, kMap, kTag, kSimple };

// Simple values of RFC 8949 section 3.3; others are refused, and so are floating-point numbers.
inline constexpr std::uint64_t kFalse = 20;
inline constexpr std::uint64_t kTrue = 21;
inline constexpr std::uint64_t kNull = 22;

struct Value {
  Kind kind = Kind::kSimple;
  // The number; of a negative one -1 minus it; of a tag its number; of a simple value its code; of
  // strings, arrays and maps their length.
  std::uint64_t number = kNull;
  Bytes bytes{};  // of bytes and texts
  std::vector<Value>
      items{};  // of an array; of a map keys and values in turn; of a tag its content

  // Returns the integer; nullopt for anything else, and beyond 63 bits.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  // Borrows a text; nullopt for anything else.
  [[nodiscard]] std::optional<std::string_view> text() const;
  [[nodiscard]] bool is_null() const { return kind == Kind::kSimple && number == kNull; }
  // Returns the content of this tag; null for anything else. Borrowed.
  [[nodiscard]] const Value* tagged(std::uint64_t tag) const;
  // Returns the value of a map's key; null when there is none, and for anything but a map.
  // Borrowed.
  [[nodiscard]] const Value* find(std::int64_t key) const;
};

// Decodes one data item that fills all of `bytes`. Refuses indefinite lengths, heads that are not
// the shortest, duplicate keys of a map, texts that are not UTF-8, floating-point numbers, and
// whatever exceeds `limits`. Errors: malformed-cbor; limit-exceeded for too many bytes.
[[nodiscard]] Result<Value> parse(ByteView bytes, const Limits& limits = {});

// Writes data items in the deterministic encoding (RFC 8949 section 4.2.1), one after the other.
// The caller writes as many items as it announces, and the keys of maps in their order.
class Writer {
 public:
  Writer& integer(std::int64_t value);
  Writer& bytes(ByteView value);
  Writer& text(std::string_view value);
  Writer& array(std::size_t items);
  Writer& map(std::size_t pairs);
  Writer& tag(std::uint64_t number);
  Writer& null();
  // Appends an encoded item.
  Writer& encoded(ByteView item);
  [[nodiscard]] const Bytes& out() const { return out_; }

 private:
  Bytes out_;
};

}  // namespace assay::attestation::cbor
