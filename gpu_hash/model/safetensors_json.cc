// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/safetensors_json.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "schemas/core/artifact.h"
#include "schemas/core/json.h"

namespace assay::gpu_hash {
namespace {

constexpr std::string_view kMetadataName = "__metadata__";
// What the library reports for 1e400 (json.exception.out_of_range.406).
constexpr int kNumberOverflow = 406;

// The members of a tensor, and the word for one of the wrong type.
enum Field : std::uint8_t { kDtype, kShape, kDataOffsets };
struct FieldInfo {
  std::string_view name;
  std::string_view word;
  std::string_view why;
  std::size_t most;  // numbers in its array
};
static_assert(kMaxRank == 64, "the text below says so");
constexpr std::array<FieldInfo, 3> kFields{
    {{"dtype", "dtype", "the dtype must be a string", 0},
     {"shape", "shape", "the shape must be an array of at most 64 whole numbers from 0", kMaxRank},
     {"data_offsets", "offsets", "data_offsets must be two whole numbers from 0", 2}}};

// SAX consumer. The state says what the next value is for; nothing deeper than a tensor's arrays is
// ever entered.
class HeaderReader {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  bool null() { return wrong_value(); }
  bool boolean(bool) { return wrong_value(); }
  bool binary(binary_t&) { return wrong_value(); }

  // Only negative numbers and -0 arrive here.
  bool number_integer(number_integer_t value) {
    if (value < -kMaxSafeInteger) {
      return number_range();
    }
    return value == 0 ? number(0) : wrong_value();
  }
  bool number_unsigned(number_unsigned_t value) {
    return value <= static_cast<number_unsigned_t>(kMaxSafeInteger) ? number(value)
                                                                    : number_range();
  }
  // A digit string too long for 64 bits arrives here as well.
  bool number_float(number_float_t, const string_t& text) {
    return text.find_first_of(".eE") == string_t::npos ? number_range() : wrong_value();
  }

  bool string(string_t& value) {
    if (state_ == State::kMetadata) {
      return true;
    }
    if (state_ != State::kTensor || field_ != kDtype) {
      return wrong_value();
    }
    current_.dtype = std::move(value);
    return true;
  }

  bool start_object(std::size_t) {
    switch (state_) {
      case State::kStart:
        state_ = State::kRoot;
        return true;
      case State::kRoot:
        state_ = in_metadata_ ? State::kMetadata : State::kTensor;
        return true;
      default:
        return wrong_value();
    }
  }

  bool end_object() {
    if (state_ == State::kTensor) {
      if (seen_ != 7) {
        return tensor_fields();
      }
      tensors_.push_back(std::exchange(current_, {}));
    }
    state_ = State::kRoot;
    return true;
  }

  bool start_array(std::size_t) {
    if (state_ != State::kTensor || field_ == kDtype) {
      return wrong_value();
    }
    state_ = State::kArray;
    return true;
  }
  bool end_array() {
    state_ = State::kTensor;
    return field_ == kShape || current_.data_offsets.size() == 2 ? true : wrong_value();
  }

  bool key(string_t& name) {
    switch (state_) {
      case State::kRoot:
        return open_member(name);
      case State::kMetadata:
        return metadata_key(name);
      default:
        return tensor_key(name);
    }
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& problem) {
    return problem.id == kNumberOverflow ? number_range()
                                         : refuse("header-json", not_well_formed(position, token));
  }

  [[nodiscard]] Error& error() { return error_; }
  [[nodiscard]] std::vector<HeaderTensor>& tensors() { return tensors_; }

 private:
  enum class State : std::uint8_t { kStart, kRoot, kMetadata, kTensor, kArray };

  bool refuse(std::string_view word, std::string_view why, std::string where = {}) {
    error_ = refuse_safetensors(word, why, std::move(where)).error();
    return false;
  }
  bool number_range() {
    return refuse("number-range", "a number is outside the range that JSON keeps exact",
                  current_.name);
  }
  bool tensor_fields() {
    return refuse("tensor-fields", "a tensor has exactly dtype, shape and data_offsets",
                  current_.name);
  }

  // A value of a type that does not belong where it stands.
  bool wrong_value() {
    if (state_ == State::kMetadata || (state_ == State::kRoot && in_metadata_)) {
      return refuse("metadata", "__metadata__ must be an object of strings");
    }
    if (state_ == State::kRoot || state_ == State::kStart) {
      return tensor_fields();
    }
    return refuse(kFields[field_].word, kFields[field_].why, current_.name);
  }

  bool number(std::uint64_t value) {
    if (state_ != State::kArray) {
      return wrong_value();
    }
    auto& numbers = field_ == kShape ? current_.shape : current_.data_offsets;
    if (numbers.size() == kFields[field_].most) {
      return wrong_value();
    }
    numbers.push_back(value);
    return true;
  }

  bool open_member(string_t& name) {
    in_metadata_ = name == kMetadataName;
    if (in_metadata_) {
      return !std::exchange(has_metadata_, true) || duplicate(name);
    }
    if (tensors_.size() == kMaxEntries) {
      return refuse("too-many-tensors",
                    "an artifact has at most " + std::to_string(kMaxEntries) + " entries");
    }
    current_.name = std::move(name);
    seen_ = 0;
    return true;
  }

  bool metadata_key(const string_t& name) {
    if (metadata_names_.size() == kMaxMetadataMembers) {
      return refuse("metadata", "__metadata__ has more than " +
                                    std::to_string(kMaxMetadataMembers) + " members");
    }
    return metadata_names_.insert(name).second || duplicate(name);
  }

  bool tensor_key(const string_t& name) {
    const auto* const found = std::find_if(
        kFields.begin(), kFields.end(), [&](const FieldInfo& info) { return info.name == name; });
    if (found == kFields.end()) {
      return tensor_fields();
    }
    field_ = static_cast<Field>(found - kFields.begin());
    const unsigned bit = 1U << field_;
    if ((seen_ & bit) != 0) {
      return duplicate(name);
    }
    seen_ |= bit;
    return true;
  }

  bool duplicate(const string_t& name) {
    return refuse("duplicate-key", "a JSON object names a member twice", name);
  }

  State state_ = State::kStart;
  bool in_metadata_ = false;  // the member of the root that is being read
  bool has_metadata_ = false;
  Field field_ = kDtype;  // of the tensor that is being read
  unsigned seen_ = 0;     // fields of it, as bits
  HeaderTensor current_;
  std::vector<HeaderTensor> tensors_;
  std::set<std::string> metadata_names_;
  Error error_{ErrorCode::kMalformedSafetensors, "header-json: not well-formed JSON", {}};
};

}  // namespace

std::unexpected<Error> refuse_safetensors(std::string_view word, std::string_view why,
                                          std::string where) {
  return fail(ErrorCode::kMalformedSafetensors, std::string(word) + ": " + std::string(why),
              std::move(where));
}

Result<std::vector<HeaderTensor>> read_safetensors_header(std::string_view text) {
  // The library takes a NUL for the end and ignores what follows.
  if (text.find('\0') != std::string_view::npos) {
    return refuse_safetensors("header-json", "JSON holds no NUL");
  }
  HeaderReader reader;
  if (!Json::sax_parse(text.begin(), text.end(), &reader)) {
    return std::unexpected(std::move(reader.error()));
  }
  return std::move(reader.tensors());
}

}  // namespace assay::gpu_hash
