// SPDX-License-Identifier: Apache-2.0
#include "schemas/pattern.h"

#include <algorithm>

#include <re2/re2.h>

namespace assay {
namespace {

RE2::Options options() {
  RE2::Options options;
  options.set_max_mem(static_cast<std::int64_t>(Pattern::kMaxMemory));
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_dot_nl(true);  // else ".*" says nothing of what follows a newline
  return options;
}

class Re2Pattern final : public Pattern {
 public:
  explicit Re2Pattern(std::string_view text)
      : re2_(re2::StringPiece(text.data(), text.size()), options()) {}

  [[nodiscard]] const RE2& re2() const { return re2_; }

  [[nodiscard]] Result<bool> matches(std::string_view text) const override {
    if (text.size() > kMaxTextBytes) {
      return fail(ErrorCode::kLimitExceeded, "the text is too long to match");
    }
    return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), re2_);
  }

  [[nodiscard]] std::size_t size() const override {
    return static_cast<std::size_t>(re2_.ProgramSize());
  }

 private:
  RE2 re2_;
};

// Costs, measured (tests/schemas/pattern_test.cc).
constexpr std::size_t kUnicodeClass = 300;  // of a class with many ranges, ignoring case
// Copies of what is repeated cost their number, and its square divided by this.
constexpr std::size_t kSquareOfCopies = 512;
constexpr std::size_t kMost = std::size_t{1} << 24;  // of each number here

// The greatest count of the repetition that `text` begins with: "{2}", "{2,}" or "{2,5}"; 0 when it
// does not begin with one.
std::size_t count_of(std::string_view text) {
  std::size_t greatest = 0;
  std::size_t count = 0;
  for (std::size_t i = 1; i < text.size() && text.front() == '{'; ++i) {
    const char letter = text[i];
    if (letter >= '0' && letter <= '9') {
      count = std::min(count * 10 + static_cast<std::size_t>(letter - '0'), kMost);
      greatest = std::max(greatest, count);
    } else if (letter == ',') {
      count = 0;
    } else {
      break;
    }
  }
  return greatest;
}

// Whether a class of Unicode begins here, such as \pL, or a range of one ends beyond ASCII.
bool is_wide(char letter, char next) {
  return (letter == '\\' && (next == 'p' || next == 'P')) ||
         (letter == '-' && (next == '\\' || static_cast<unsigned char>(next) >= 0x80));
}

}  // namespace

// Reads no syntax: what looks like an expensive form counts, wherever it stands. A count after a
// parenthesis may repeat everything before it.
std::size_t Pattern::cost_of(std::string_view text) {
  std::size_t cost = text.size();
  std::size_t copies = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    cost += is_wide(text[i], text[i + 1]) ? kUnicodeClass : 0;
    const std::size_t count = count_of(text.substr(i));
    if (count > 0 && i > 0 && text[i - 1] == ')') {
      cost *= count;
      copies = std::max<std::size_t>(copies, 1) * count;
    } else {
      cost += count;
      copies += count;
    }
    cost = std::min(cost, kMost);
    copies = std::min(copies, kMost);
  }
  return cost + copies * copies / kSquareOfCopies;
}

Result<std::shared_ptr<const Pattern>> PatternBudget::compile(std::string_view text) {
  ASSAY_TRY(take(text.size() > Pattern::kMaxBytes ? 0 : Pattern::cost_of(text)));
  ASSAY_ASSIGN(auto pattern, Pattern::compile(text));
  ASSAY_TRY(take(pattern->size()));
  return pattern;
}

Status PatternBudget::take(std::size_t units) {
  if (units > left_) {
    left_ = 0;
    return fail(ErrorCode::kLimitExceeded,
                "the patterns of the document take too long to compile; write shorter "
                "repetitions, or use fewer patterns");
  }
  left_ -= units;
  return {};
}

Result<std::shared_ptr<const Pattern>> Pattern::compile(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return fail(ErrorCode::kInvalidParameter, "a pattern has at most 1024 bytes");
  }
  auto pattern = std::make_shared<const Re2Pattern>(text);
  if (!pattern->re2().ok()) {
    return fail(ErrorCode::kInvalidParameter, "not an RE2 pattern: " + pattern->re2().error());
  }
  return pattern;
}

}  // namespace assay
