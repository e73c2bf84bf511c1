// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/wire.h"

#include <algorithm>
#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

namespace assay::worker::wire {
namespace {

// The members of each type, in their order on the wire. Const or not, as the object is.
template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <typename T>
concept Members = std::is_class_v<T> && !requires(T& list) { list.begin(); };

template <Members T>
auto members(T& m) {
  if constexpr (Is<T, Piece>) {
    return std::tie(m.size, m.kind);
  } else if constexpr (Is<T, Part>) {
    return std::tie(m.piece, m.offset, m.size);
  } else if constexpr (Is<T, Problem>) {
    return std::tie(m.code, m.detail, m.where);
  } else if constexpr (Is<T, Start>) {
    return std::tie(m.check, m.hash, m.chunk_size, m.slices, m.tags, m.pieces, m.tensors);
  } else if constexpr (Is<T, Look>) {
    return std::tie(m.check, m.slices, m.count);
  } else if constexpr (Is<T, Fetch> || Is<T, Draw>) {
    return std::tie(m.check, m.count);
  } else if constexpr (Is<T, Outline>) {
    return std::tie(m.check, m.span, m.tensors);
  } else if constexpr (Is<T, Exported> || Is<T, Staged> || Is<T, Failed>) {
    return std::tie(m.check, m.problem);
  } else if constexpr (Is<T, Hello>) {
    return std::tie(m.build, m.device, m.name, m.uuid, m.pci, m.driver, m.kernel);
  } else if constexpr (Is<T, Export>) {
    return std::tie(m.check, m.pieces);
  } else if constexpr (Is<T, Stage>) {
    return std::tie(m.check, m.piece, m.offset, m.size);
  } else if constexpr (Is<T, Started>) {
    return std::tie(m.check, m.roots, m.slices, m.exports, m.imports, m.hashing);
  } else if constexpr (Is<T, Looked>) {
    return std::tie(m.check, m.changed, m.drawn, m.pieces, m.replaced);
  } else if constexpr (Is<T, Drawn>) {
    return std::tie(m.check, m.drawn, m.pieces, m.changed);
  } else if constexpr (Is<T, Outlined>) {
    return std::tie(m.check, m.tensors);
  } else {
    return std::tie(m.check);
  }
}

class Writer {
 public:
  void put(std::uint64_t value) { number(value, sizeof(value)); }
  void put(std::uint32_t value) { number(value, sizeof(value)); }
  void put(std::uint8_t value) { number(value, sizeof(value)); }
  void put(bool value) { number(value ? 1 : 0, 1); }
  void put(PieceKind kind) { put(static_cast<std::uint8_t>(kind)); }
  void put(HashAlgorithm hash) { put(static_cast<std::uint8_t>(hash)); }
  // Cut at the limit; what is not UTF-8 then, such as words of a driver, is written as '?'.
  void put(const std::string& text) {
    std::string kept = text.substr(0, kMaxText);
    if (!is_utf8(kept)) {
      std::ranges::replace_if(
          kept, [](char c) { return static_cast<unsigned char>(c) > 127; }, '?');
    }
    put(static_cast<std::uint32_t>(kept.size()));
    bytes_.insert(bytes_.end(), kept.begin(), kept.end());
  }
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

  bool get(std::uint64_t& value) { return number(value, sizeof(value)); }
  bool get(std::uint32_t& value) {
    std::uint64_t wide = 0;
    const bool ok = number(wide, sizeof(value));
    value = static_cast<std::uint32_t>(wide);
    return ok;
  }
  bool get(std::uint8_t& value) {
    std::uint64_t wide = 0;
    const bool ok = number(wide, sizeof(value));
    value = static_cast<std::uint8_t>(wide);
    return ok;
  }
  bool get(bool& value) {
    std::uint8_t number = 0;
    const bool ok = get(number) && number <= 1;
    value = number == 1;
    return ok;
  }
  bool get(PieceKind& kind) {
    std::uint8_t value = 0;
    if (!get(value) || value > static_cast<std::uint8_t>(PieceKind::kStaged)) {
      return false;
    }
    kind = static_cast<PieceKind>(value);
    return true;
  }
  bool get(HashAlgorithm& hash) {
    std::uint8_t value = 0;
    if (!get(value)) {
      return false;
    }
    hash = static_cast<HashAlgorithm>(value);
    return hash == HashAlgorithm::kSha256 || hash == HashAlgorithm::kSha384;
  }
  bool get(std::string& text) {
    std::uint32_t size = 0;
    if (!get(size) || size > kMaxText || size > rest_.size()) {
      return false;
    }
    text = as_text(rest_.first(size));
    rest_ = rest_.subspan(size);
    return is_utf8(text);
  }
  bool get(Digests& list) {
    std::uint32_t count = 0;
    if (!get(count) || count > rest_.size() / (1 + digest_size(HashAlgorithm::kSha256))) {
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
  // Bytes that an item takes at least.
  template <typename T>
  static constexpr std::size_t least() {
    if constexpr (std::same_as<T, Part>) {
      return 24;
    } else if constexpr (std::same_as<T, Piece>) {
      return 9;
    } else if constexpr (std::same_as<T, std::uint64_t>) {
      return 8;
    } else {
      return 4;  // a list
    }
  }

  bool number(std::uint64_t& value, std::size_t size) {
    if (rest_.size() < size) {
      return false;
    }
    value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= std::uint64_t{rest_[i]} << (8 * i);
    }
    rest_ = rest_.subspan(size);
    return true;
  }

  ByteView rest_;
};

template <typename Message>
Bytes write_any(const Message& message) {
  Writer writer;
  writer.put(static_cast<std::uint8_t>(message.index()));
  std::visit([&writer](const auto& one) { writer.put(one); }, message);
  return writer.take();
}

template <typename Message, std::size_t Index = 0>
bool get_type(Parser& parser, std::size_t type, Message& message) {
  if constexpr (Index == std::variant_size_v<Message>) {
    return false;
  } else {
    return type == Index ? parser.get(message.template emplace<Index>())
                         : get_type<Message, Index + 1>(parser, type, message);
  }
}

template <typename Message>
Result<Message> parse_any(ByteView bytes) {
  Parser parser(bytes);
  std::uint8_t type = 0;
  Message message;
  if (!parser.get(type) || !get_type(parser, type, message) || !parser.at_end()) {
    return fail(ErrorCode::kInvalidEncoding, "this is no message of this protocol");
  }
  return message;
}

}  // namespace

Problem problem_of(const Status& status) {
  if (status) {
    return {};
  }
  const Error& error = status.error();
  return {std::string(info(error.code).code), error.detail, error.where};
}

std::optional<Error> error_of(const Problem& problem) {
  if (problem.code.empty()) {
    return std::nullopt;
  }
  const std::optional<ErrorCode> code = error_code_from(problem.code);
  return Error{code.value_or(ErrorCode::kInternal), problem.detail, problem.where};
}

Bytes write(const ToReader& message) { return write_any(message); }
Bytes write(const FromReader& message) { return write_any(message); }
Result<ToReader> parse_to_reader(ByteView bytes) { return parse_any<ToReader>(bytes); }
Result<FromReader> parse_from_reader(ByteView bytes) { return parse_any<FromReader>(bytes); }

}  // namespace assay::worker::wire
