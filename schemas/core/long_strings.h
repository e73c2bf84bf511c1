// SPDX-License-Identifier: Apache-2.0
// JSON text without its long plain strings. The JSON library takes a string byte by byte, which for
// a body of many megabytes costs more than everything else; taken out, such a string is copied
// once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Strings of at least this many bytes are taken out. A string is plain when all its bytes are ASCII
// of 0x20 or more, and none is a backslash: it means what it says, and needs no check.
inline constexpr std::size_t kLongString = 1024;

// `text` must outlive the object. It need not be well-formed: up to the first byte at which it is
// not, the strings are those that a parser finds.
class LongStrings {
 public:
  explicit LongStrings(std::string_view text);

  // Returns the text with an empty string for each one that was taken out.
  [[nodiscard]] std::string_view rest() const { return taken_.empty() ? text_ : rest_; }
  // The caller tells of each string of rest() in order, names of members included. Returns the one
  // that was taken out there; an empty view when none was.
  [[nodiscard]] std::string_view next();
  // Returns the place in the text of the place `position` (counted from 1) in rest().
  [[nodiscard]] std::size_t place_of(std::size_t position) const;
  // Returns "line L, column C" of a place in the text. Columns count characters.
  [[nodiscard]] std::string line_and_column(std::size_t place) const;

 private:
  struct Taken {
    std::string_view string;
    std::size_t number;   // among all strings, from 0
    std::size_t in_rest;  // bytes of rest() before it
  };

  std::string_view text_;
  std::vector<Taken> taken_;
  std::string rest_;
  std::size_t told_ = 0;   // strings that next() was called for
  std::size_t given_ = 0;  // of `taken_`
};

}  // namespace assay
