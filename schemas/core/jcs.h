// SPDX-License-Identifier: Apache-2.0
// A piece of canonical JSON (RFC 8785) for code that writes large numbers of documents of one form:
// making a value for each costs far more than the text. Everything else calls canonical_json().
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace assay {

// Appends `text` between quotation marks, in the form of RFC 8785 section 3.2.2.2. The caller must
// write members in the order of section 3.2.3, and must check that the text is UTF-8.
void append_canonical(std::string& out, std::string_view text);

// An object or a list under way, which ends with the object. `out` must outlive it. Members must be
// added in the order of RFC 8785 section 3.2.3.
class JcsWriter {
 public:
  [[nodiscard]] static JcsWriter object(std::string& out) { return {out, '{', '}'}; }
  [[nodiscard]] static JcsWriter list(std::string& out) { return {out, '[', ']'}; }
  ~JcsWriter() { out_ += close_; }
  JcsWriter(const JcsWriter&) = delete;
  JcsWriter& operator=(const JcsWriter&) = delete;

  // Begin the next member, whose name is plain ASCII, and the next item. Return `out`, to which the
  // caller must append one value.
  std::string& member(std::string_view name) {
    item() += '"';
    out_ += name;
    return out_ += "\":";
  }
  std::string& item() {
    if (!std::exchange(first_, false)) {
      out_ += ',';
    }
    return out_;
  }

 private:
  JcsWriter(std::string& out, char open, char close) : out_(out), close_(close) { out_ += open; }

  std::string& out_;
  char close_;
  bool first_ = true;
};

}  // namespace assay
