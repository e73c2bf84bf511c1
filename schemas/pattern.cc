// SPDX-License-Identifier: Apache-2.0
#include "schemas/pattern.h"

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

 private:
  RE2 re2_;
};

}  // namespace

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
