// SPDX-License-Identifier: Apache-2.0
// Names in a sentence for people: the first ones, and how many more there are. Internal to this
// folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schemas/core/printable.h"

namespace assay::gpu_hash {

class NameList {
 public:
  static constexpr std::size_t kListed = 3;

  // `name` is UTF-8; a long one is cut.
  void add(std::string_view name) {
    if (++count_ <= kListed) {
      text_ += count_ > 1 ? ", " : "";
      text_ += utf8_prefix(name, kMaxShown);
    }
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  // Counts `count` more names that are not listed; there are kListed already.
  void add_unlisted(std::size_t count) { count_ += count; }
  // Appends "WHAT: NAME, NAME and N more" to `sentences`, if there are names.
  void tell(std::string_view what, std::string& sentences) const {
    if (count_ == 0) {
      return;
    }
    sentences += sentences.empty() ? "" : "; ";
    sentences += std::string(what) + ": " + text_;
    if (count_ > kListed) {
      sentences += " and " + std::to_string(count_ - kListed) + " more";
    }
  }

 private:
  static constexpr std::size_t kMaxShown = 200;  // bytes of a name

  std::string text_;
  std::size_t count_ = 0;
};

}  // namespace assay::gpu_hash
