// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/set_apart.h"

#include <algorithm>
#include <limits>

#include "storage/sqlite/uuid.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::string_view kMarks("\x01\x02\x03", 3);
constexpr std::string_view kSignatureBegins = R"("sig":")";
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kUuidFirst = 8;  // digits before the first dash of a UUID
constexpr std::size_t kMaxSignature = std::numeric_limits<std::uint8_t>::max();

bool is_hex(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
}

// How many of the first characters are digits of lowercase hex.
std::size_t hex_run(std::string_view text) {
  const auto* const end = std::ranges::find_if_not(text, is_hex);
  return static_cast<std::size_t>(end - text.begin());
}

void append(Bytes& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

// Reads a text from its front to its end.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : rest_(text) { out_.text.reserve(text.size()); }

  SetApart split() {
    while (!rest_.empty()) {
      if (rest_.starts_with(kSignatureBegins)) {
        signature();
      } else {
        digits_or_other();
      }
    }
    return std::move(out_);
  }

 private:
  void keep(std::size_t length) {
    out_.text += rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  void mark(char letter, ByteView value, std::size_t length) {
    out_.text += letter;
    append(out_.values, value);
    rest_.remove_prefix(length);
  }

  void signature() {
    keep(kSignatureBegins.size());
    const std::string_view text = rest_.substr(0, rest_.find('"'));
    const auto bytes = base64_decode(text);
    if (bytes && !bytes->empty() && bytes->size() <= kMaxSignature) {
      out_.values.push_back(static_cast<std::uint8_t>(bytes->size()));
      mark(kSignatureMark, *bytes, text.size());
    }
  }

  void digits_or_other() {
    const std::size_t run = hex_run(rest_);
    if (run >= kDigestDigits) {
      const auto digest = hex_decode(rest_.substr(0, kDigestDigits));
      mark(kDigestMark, digest.value(), kDigestDigits);
    } else if (const auto uuid =
                   run == kUuidFirst ? uuid_bytes(rest_.substr(0, kUuidLength)) : std::nullopt) {
      mark(kUuidMark, *uuid, kUuidLength);
    } else {
      keep(std::max<std::size_t>(run, 1));
    }
  }

  std::string_view rest_;
  SetApart out_;
};

// Takes values off the front, in the order of their marks.
class Values {
 public:
  explicit Values(ByteView values) : rest_(values) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }

  // The text that a mark stands for, or nothing when there is no value for it.
  std::optional<std::string> next(char mark) {
    if (mark == kSignatureMark) {
      const auto length = take(1);
      const auto bytes = length ? take(length->front()) : std::nullopt;
      return bytes ? std::optional(base64_encode(*bytes)) : std::nullopt;
    }
    if (mark == kUuidMark) {
      const auto bytes = take(kUuidBytes);
      return bytes ? std::optional(uuid_text(*bytes)) : std::nullopt;
    }
    const auto bytes = take(kDigestDigits / 2);
    return bytes ? std::optional(hex_encode(*bytes)) : std::nullopt;
  }

 private:
  std::optional<ByteView> take(std::size_t length) {
    if (rest_.size() < length) {
      return std::nullopt;
    }
    const ByteView taken = rest_.first(length);
    rest_ = rest_.subspan(length);
    return taken;
  }

  ByteView rest_;
};

}  // namespace

std::optional<SetApart> set_apart(std::string_view text) {
  return text.find_first_of(kMarks) == std::string_view::npos
             ? std::optional(Splitter(text).split())
             : std::nullopt;
}

std::optional<std::string> put_back(std::string_view text, ByteView values) {
  Values left(values);
  std::string out;
  out.reserve(text.size() + 2 * values.size());
  for (std::size_t mark = text.find_first_of(kMarks); mark != std::string_view::npos;
       mark = text.find_first_of(kMarks)) {
    const auto value = left.next(text[mark]);
    if (!value) {
      return std::nullopt;
    }
    out += text.substr(0, mark);
    out += *value;
    text.remove_prefix(mark + 1);
  }
  out += text;
  return left.empty() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace assay::storage::sqlite
