// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/json.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "schemas/core/json_foreign.h"
#include "schemas/core/long_strings.h"

template class nlohmann::basic_json<>;

namespace assay {
namespace {

// What the library reports for 1e400 (json.exception.out_of_range.406).
constexpr int kNumberOverflow = 406;

// Estimates of what a value takes with the allocator's own bytes. A list that grows holds its
// values twice for a moment.
constexpr std::size_t kValueMemory = 2 * sizeof(Json);
constexpr std::size_t kObjectMemory = 64;
constexpr std::size_t kArrayMemory = 32;
constexpr std::size_t kStringMemory = 80;
constexpr std::size_t kMemberMemory = 112;

// Names of the members of the objects that are open, to find one that stands twice. Most objects
// have few: these are compared one by one, without an allocation for each.
class OpenObjects {
 public:
  void open() { levels_.push_back({names_.size(), {}}); }
  void close() {
    names_.resize(levels_.back().first);
    levels_.pop_back();
  }
  // False when the innermost object has this member already.
  bool add(const std::string& name) {
    Level& level = levels_.back();
    if (!level.many.empty()) {
      return level.many.insert(name).second;
    }
    const auto first = names_.begin() + static_cast<std::ptrdiff_t>(level.first);
    if (std::find(first, names_.end(), name) != names_.end()) {
      return false;
    }
    names_.push_back(name);
    if (names_.size() - level.first == kFew) {
      level.many.insert(names_.begin() + static_cast<std::ptrdiff_t>(level.first), names_.end());
      names_.resize(level.first);
    }
    return true;
  }

 private:
  static constexpr std::size_t kFew = 16;
  struct Level {
    std::size_t first;           // of its names
    std::set<std::string> many;  // instead, when there are many
  };
  std::vector<std::string> names_;
  std::vector<Level> levels_;
};

enum class LargeIntegers : std::uint8_t { kRefused, kText, kApart };

// SAX consumer: builds the value and refuses what the plain parser lets through.
class StrictBuilder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  StrictBuilder(Json& root, const JsonLimits& limits, LargeIntegers large,
                LongStrings& long_strings)
      : dom_(root, false), limits_(limits), large_(large), long_strings_(long_strings) {}

  bool null() { return take(kValueMemory) && dom_.null(); }
  bool boolean(bool value) { return take(kValueMemory) && dom_.boolean(value); }
  bool number_integer(number_integer_t value) {
    if (!take(kValueMemory)) {
      return false;
    }
    return value >= -kMaxSafeInteger ? dom_.number_integer(value)
                                     : unsafe_integer(std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) {
    if (!take(kValueMemory)) {
      return false;
    }
    return value <= static_cast<number_unsigned_t>(kMaxSafeInteger)
               ? dom_.number_unsigned(value)
               : unsafe_integer(std::to_string(value));
  }
  // A digit string too long for 64 bits arrives here as a double, and 1E20 is canonically written
  // in digits (RFC 8785 section 3.2.2.3, below 1e21): both are integers that not every reader
  // keeps.
  bool number_float(number_float_t value, const string_t& text) {
    const bool digits = text.find_first_of(".eE") == string_t::npos;
    const double size = std::fabs(value);
    const bool unsafe = size > static_cast<double>(kMaxSafeInteger) && size < 1e21;
    if (!take(kValueMemory)) {
      return false;
    }
    if (!std::isfinite(value)) {
      return unsafe_number();
    }
    return digits || unsafe ? unsafe_integer(text) : dom_.number_float(value, text);
  }
  bool string(string_t& value) {
    put_back(value);
    return take(kValueMemory + kStringMemory + value.size()) && dom_.string(value);
  }
  bool binary(binary_t& value) { return dom_.binary(value); }
  bool start_object(std::size_t size) {
    members_.open();
    return take(kValueMemory + kObjectMemory) && enter() && dom_.start_object(size);
  }
  bool key(string_t& name) {
    put_back(name);
    if (!members_.add(name)) {
      error_ = Error{ErrorCode::kDuplicateKey, "a JSON object names a member twice", name};
      return false;
    }
    return take(kMemberMemory + name.size()) && dom_.key(name);
  }
  bool end_object() {
    members_.close();
    --depth_;
    return dom_.end_object();
  }
  bool start_array(std::size_t size) {
    return take(kValueMemory + kArrayMemory) && enter() && dom_.start_array(size);
  }
  bool end_array() {
    --depth_;
    return dom_.end_array();
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& problem) {
    if (problem.id == kNumberOverflow) {
      return unsafe_number();
    }
    const std::size_t byte = long_strings_.place_of(position);
    error_ = Error{ErrorCode::kMalformedJson,
                   long_strings_.line_and_column(byte) + ": " + not_well_formed(byte, token),
                   {}};
    return false;
  }

  [[nodiscard]] const Error& error() const { return error_; }

 private:
  // What was taken out of the text before it was parsed.
  void put_back(string_t& value) {
    const std::string_view taken = long_strings_.next();
    if (!taken.empty()) {
      value = taken;
    }
  }
  bool take(std::size_t memory) {
    if (memory > limits_.max_memory - memory_) {
      error_ = Error{ErrorCode::kLimitExceeded,
                     "JSON holds more values than fit into " +
                         std::to_string(limits_.max_memory >> 20) + " MiB",
                     {}};
      return false;
    }
    memory_ += memory;
    return true;
  }
  bool enter() {
    if (++depth_ > limits_.max_depth) {
      error_ = Error{ErrorCode::kLimitExceeded,
                     "JSON is nested deeper than " + std::to_string(limits_.max_depth),
                     {}};
      return false;
    }
    return true;
  }
  bool unsafe_integer(std::string text) {
    if (large_ == LargeIntegers::kRefused) {
      return unsafe_number();
    }
    if (!take(kStringMemory + text.size())) {
      return false;
    }
    if (large_ == LargeIntegers::kText) {
      return dom_.string(text);
    }
    binary_t digits(binary_t::container_type(text.begin(), text.end()));
    return dom_.binary(digits);
  }
  bool unsafe_number() {
    error_ =
        Error{ErrorCode::kLimitExceeded, "a number is outside the range that JSON keeps exact", {}};
    return false;
  }

  nlohmann::detail::json_sax_dom_parser<Json> dom_;
  const JsonLimits& limits_;
  LargeIntegers large_;
  LongStrings& long_strings_;
  OpenObjects members_;
  std::size_t depth_ = 0;
  std::size_t memory_ = 0;  // taken so far; at most limits_.max_memory
  Error error_{ErrorCode::kMalformedJson, "not well-formed JSON", {}};
};

Result<Json> parse(std::string_view text, const JsonLimits& limits, LargeIntegers large) {
  if (text.size() > limits.max_bytes) {
    return fail(ErrorCode::kLimitExceeded,
                "JSON is longer than " + std::to_string(limits.max_bytes) + " bytes");
  }
  // The library skips a byte order mark, and takes a NUL for the end and ignores what follows.
  if (text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kMalformedJson, "JSON holds no byte order mark and no NUL");
  }
  Json root;
  LongStrings long_strings(text);
  const std::string_view rest = long_strings.rest();
  StrictBuilder builder(root, limits, large, long_strings);
  if (!Json::sax_parse(rest.begin(), rest.end(), &builder)) {
    return std::unexpected(builder.error());
  }
  return root;
}

}  // namespace

std::string not_well_formed(std::size_t byte, std::string_view token) {
  // The parser ends inside of NaN, nan (at first it could be null), Infinity and inf; what it read
  // begins before them.
  token.remove_prefix(token.find_last_of(" \t\n\r:,[-") + 1);
  const bool no_number = token == "N" || token == "na" || token == "I" || token == "i";
  return "not well-formed JSON at byte " + std::to_string(byte) +
         (no_number ? "; JSON has no NaN and no Infinity" : "");
}

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  return parse(text, limits, LargeIntegers::kRefused);
}

Result<Json> parse_json(ByteView bytes, const JsonLimits& limits) {
  return parse(as_text(bytes), limits, LargeIntegers::kRefused);
}

Result<Json> parse_foreign_json(ByteView bytes, const JsonLimits& limits) {
  return parse(as_text(bytes), limits, LargeIntegers::kText);
}

Result<Json> parse_exact_json(ByteView bytes, const JsonLimits& limits) {
  return parse(as_text(bytes), limits, LargeIntegers::kApart);
}

std::optional<std::string> large_integer(const Json& value) {
  if (!value.is_binary()) {
    return std::nullopt;
  }
  const Json::binary_t& digits = value.get_binary();
  return std::string(digits.begin(), digits.end());
}

Json large_integers_as_text(Json value) {
  if (auto digits = large_integer(value)) {
    return *std::move(digits);
  }
  if (value.is_structured()) {
    for (Json& item : value) {
      item = large_integers_as_text(std::move(item));
    }
  }
  return value;
}

std::size_t json_memory(const Json& value) {
  std::size_t memory = kValueMemory;
  if (value.is_string()) {
    memory += kStringMemory + value.get_ref<const std::string&>().size();
  } else if (value.is_binary()) {
    memory += kStringMemory + value.get_binary().size();
  } else if (value.is_array()) {
    memory += kArrayMemory;
    for (const Json& item : value) {
      memory += json_memory(item);
    }
  } else if (value.is_object()) {
    memory += kObjectMemory;
    for (const auto& [name, member] : value.items()) {
      memory += kMemberMemory + name.size() + json_memory(member);
    }
  }
  return memory;
}

}  // namespace assay
