// SPDX-License-Identifier: Apache-2.0
// Licence expressions of SPDX (https://spdx.github.io/spdx-spec/v2.3/SPDX-license-expressions/):
// identifiers joined by AND, OR and WITH, with parentheses.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"

namespace assay {

// Limits on one expression: its bytes, and how deep its parentheses nest.
inline constexpr std::size_t kMaxSpdxBytes = 1024;
inline constexpr std::size_t kMaxSpdxDepth = 16;

// A licence expression. A licence is an identifier such as "Apache-2.0", "GPL-2.0+" or
// "LicenseRef-acme", or an identifier WITH an exception: "GPL-2.0 WITH Classpath-exception-2.0".
class SpdxExpression {
 public:
  // Parses an expression. AND binds stronger than OR, and WITH stronger than both. The operators
  // are written in capitals or in small letters. NONE and NOASSERTION are no licence. Errors:
  // schema-violation, with the position in the text, for anything else than one expression;
  // limit-exceeded beyond the limits above.
  [[nodiscard]] static Result<SpdxExpression> parse(std::string_view text);

  // Returns whether somebody who may use only licences for which `accepts` is true may use what has
  // this expression: each side of an AND, and one side of an OR, must be accepted.
  [[nodiscard]] bool satisfied_by(
      const std::function<bool(const std::string& licence)>& accepts) const;

  // Returns the expression in a normal form: operators in capitals, parentheses only where an OR
  // stands below an AND. parse() reads it as the same expression.
  [[nodiscard]] std::string text() const;

 private:
  friend class SpdxParser;
  enum class Kind : std::uint8_t { kLicence, kAnd, kOr };
  Kind kind_ = Kind::kLicence;
  std::string licence_;                // of a licence
  std::vector<SpdxExpression> parts_;  // at least two, of AND and OR
};

// Returns whether `text` is exactly one licence: an identifier, perhaps WITH an exception.
[[nodiscard]] bool is_spdx_id(std::string_view text);

// Returns whether two licences are the same: SPDX compares without regard to case.
[[nodiscard]] bool same_spdx_id(std::string_view a, std::string_view b);

}  // namespace assay
