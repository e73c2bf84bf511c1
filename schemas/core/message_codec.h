// SPDX-License-Identifier: Apache-2.0
// Messages between a process and one that it started, both of the same build. Therefore the format
// has no version.
//
// Format: one byte for the type (the position in a std::variant), then the members in order.
// Numbers are little-endian; text, bytes and lists begin with their length (32 bits). Text must be
// UTF-8, because text of the other process, which may be faulty, is shown to people.
//
// A message is a class with a function members(T&), const or not, that returns std::tie() of its
// members. Enumerations have a function is_known(E). Both are found by the namespace of the type.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/messages.h"

namespace assay::messages {

template <typename T>
concept Members = std::is_class_v<T> && !std::same_as<std::remove_const_t<T>, Digest> &&
                  !requires(T& list) { list.begin(); };

template <typename T>
  requires std::same_as<std::remove_const_t<T>, Problem>
auto members(T& m) {
  return std::tie(m.code, m.detail, m.where);
}

constexpr bool is_known(HashAlgorithm hash) {
  return hash == HashAlgorithm::kSha256 || hash == HashAlgorithm::kSha384;
}

class Writer {
 public:
  void put(std::uint64_t value) { number(value, sizeof(value)); }
  void put(std::int64_t value) { put(static_cast<std::uint64_t>(value)); }
  void put(std::uint32_t value) { number(value, sizeof(value)); }
  void put(std::uint8_t value) { number(value, sizeof(value)); }
  void put(bool value) { number(value ? 1 : 0, 1); }
  template <typename E>
    requires std::is_enum_v<E>
  void put(E value) {
    static_assert(sizeof(E) == 1);
    put(static_cast<std::uint8_t>(value));
  }
  // Cut at the limit; what is not UTF-8 then, such as words of a driver, is written as '?'.
  void put(const std::string& text) {
    std::string kept = text.substr(0, kMaxText);
    if (!is_utf8(kept)) {
      std::ranges::replace_if(
          kept, [](char c) { return static_cast<unsigned char>(c) > 127; }, '?');
    }
    put(as_bytes(kept));
  }
  void put(const Bytes& bytes) { put(ByteView(bytes)); }
  void put(const Digest& digest) {
    put(digest.algorithm());
    bytes_.insert(bytes_.end(), digest.bytes().begin(), digest.bytes().end());
  }
  template <typename T>
  void put(const std::vector<T>& list) {
    put(static_cast<std::uint32_t>(list.size()));
    for (const T& item : list) {
      put(item);
    }
  }
  template <Members T>
  void put(const T& message) {
    std::apply([this](const auto&... member) { (put(member), ...); }, members(message));
  }

  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  void put(ByteView bytes) {
    put(static_cast<std::uint32_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void number(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }

  Bytes bytes_;
};

// Returns false for bytes that do not have the form.
class Parser {
 public:
  explicit Parser(ByteView bytes) : rest_(bytes) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  bool get(std::uint64_t& value) { return number(value); }
  bool get(std::int64_t& value) { return number(value); }
  bool get(std::uint32_t& value) { return number(value); }
  bool get(std::uint8_t& value) { return number(value); }
  bool get(bool& value) {
    std::uint8_t number = 0;
    const bool ok = get(number);
    value = number == 1;
    return ok && number <= 1;
  }
  template <typename E>
    requires std::is_enum_v<E>
  bool get(E& value) {
    std::uint8_t number = 0;
    const bool ok = get(number);
    value = static_cast<E>(number);
    return ok && is_known(value);
  }
  bool get(std::string& text) {
    ByteView bytes;
    if (!get(bytes)) {
      return false;
    }
    text = as_text(bytes);
    return is_utf8(text);
  }
  bool get(Bytes& out) {
    ByteView bytes;
    const bool ok = get(bytes);
    out.assign(bytes.begin(), bytes.end());
    return ok;
  }
  bool get(std::vector<Digest>& list) {
    std::uint32_t count = 0;
    if (!get(count) || count > rest_.size() / least<Digest>()) {
      return false;
    }
    list.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      HashAlgorithm hash{};
      if (!get(hash) || digest_size(hash) > rest_.size()) {
        return false;
      }
      list.push_back(Digest::wrap(hash, rest_.data()));
      rest_ = rest_.subspan(digest_size(hash));
    }
    return true;
  }
  // Every item takes some bytes, so a list is never much larger than the message.
  template <typename T>
  bool get(std::vector<T>& list) {
    std::uint32_t count = 0;
    if (!get(count) || count > rest_.size() / least<T>()) {
      return false;
    }
    list.resize(count);
    for (T& item : list) {
      if (!get(item)) {
        return false;
      }
    }
    return true;
  }
  template <Members T>
  bool get(T& message) {
    return std::apply([this](auto&... member) { return (get(member) && ...); }, members(message));
  }

 private:
  template <typename... T>
  static constexpr std::size_t least_of(const std::tuple<T&...>*) {
    return (least<T>() + ...);
  }
  // Bytes that an item takes at least.
  template <typename T>
  static constexpr std::size_t least() {
    if constexpr (std::same_as<T, Digest>) {
      return 1 + digest_size(HashAlgorithm::kSha256);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      return sizeof(T);
    } else if constexpr (Members<T>) {
      using Tie = decltype(members(std::declval<T&>()));
      return least_of(static_cast<const Tie*>(nullptr));
    } else {
      return sizeof(std::uint32_t);  // text, bytes or a list
    }
  }

  bool get(ByteView& bytes) {
    std::uint32_t size = 0;
    if (!get(size) || size > kMaxText || size > rest_.size()) {
      return false;
    }
    bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return true;
  }

  template <typename Number>
  bool number(Number& value) {
    if (rest_.size() < sizeof(Number)) {
      return false;
    }
    std::uint64_t wide = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      wide |= std::uint64_t{rest_[i]} << (8 * i);
    }
    value = static_cast<Number>(wide);
    rest_ = rest_.subspan(sizeof(Number));
    return true;
  }
  ByteView rest_;
};

template <typename Message, std::size_t Index = 0>
bool get_type(Parser& parser, std::size_t type, Message& message) {
  if constexpr (Index == std::variant_size_v<Message>) {
    return false;
  } else {
    return type == Index ? parser.get(message.template emplace<Index>())
                         : get_type<Message, Index + 1>(parser, type, message);
  }
}

// Writes one message of a std::variant.
template <typename Message>
[[nodiscard]] Bytes write(const Message& message) {
  Writer writer;
  writer.put(static_cast<std::uint8_t>(message.index()));
  std::visit([&writer](const auto& one) { writer.put(one); }, message);
  return writer.take();
}

// Parses `bytes`, which must be exactly one message. Errors: invalid-encoding for anything else.
template <typename Message>
[[nodiscard]] Result<Message> parse(ByteView bytes) {
  Parser parser(bytes);
  std::uint8_t type = 0;
  Message message;
  if (!parser.get(type) || !get_type(parser, type, message) || !parser.at_end()) {
    return fail(ErrorCode::kInvalidEncoding, "this is no message of this protocol");
  }
  return message;
}

}  // namespace assay::messages
