// SPDX-License-Identifier: Apache-2.0
#include "schemas/spdx.h"

#include <algorithm>
#include <iterator>

namespace assay {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_id_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.';
}

bool is_operator(std::string_view word) {
  return same_spdx_id(word, "and") || same_spdx_id(word, "or") || same_spdx_id(word, "with");
}

// Written in one case, as the specification has it: "And" is no operator.
bool is_word(std::string_view word, std::string_view capitals, std::string_view small) {
  return word == capitals || word == small;
}

// An identifier, with "DocumentRef-...:" before it and '+' behind it where that is allowed.
bool is_id(std::string_view word) {
  std::string_view rest = word;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    constexpr std::string_view kDocument = "DocumentRef-";
    constexpr std::string_view kLicence = "LicenseRef-";
    const std::string_view document = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
    if (!document.starts_with(kDocument) || document.size() == kDocument.size() ||
        !std::all_of(document.begin(), document.end(), is_id_char) || !rest.starts_with(kLicence) ||
        rest.size() == kLicence.size()) {
      return false;
    }
  } else if (rest.ends_with('+')) {
    rest.remove_suffix(1);
  }
  return !rest.empty() && std::all_of(rest.begin(), rest.end(), is_id_char) && !is_operator(rest) &&
         !same_spdx_id(rest, "none") && !same_spdx_id(rest, "noassertion");
}

bool is_exception(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is_id_char) && !is_operator(word);
}

}  // namespace

// Recursive descent: or-expression, and-expression, licence or parentheses.
class SpdxParser {
 public:
  explicit SpdxParser(std::string_view text) : text_(text) { advance(); }

  Result<SpdxExpression> whole() {
    ASSAY_ASSIGN(SpdxExpression expression, either(0));
    return word_.empty() ? Result<SpdxExpression>(std::move(expression)) : unexpected_word();
  }

 private:
  using Kind = SpdxExpression::Kind;

  std::unexpected<Error> unexpected_word() const {
    return fail(ErrorCode::kSchemaViolation, "this is no SPDX licence expression",
                "byte " + std::to_string(begin_));
  }

  // The next word: a parenthesis, or what stands up to a space or parenthesis.
  void advance() {
    const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (end_ < text_.size() && is_space(text_[end_])) {
      ++end_;
    }
    begin_ = end_;
    while (end_ < text_.size() && !is_space(text_[end_]) &&
           (end_ == begin_ || (text_[end_] != '(' && text_[end_] != ')'))) {
      const char c = text_[end_++];
      if (c == '(' || c == ')') {
        break;
      }
    }
    word_ = text_.substr(begin_, end_ - begin_);
  }

  static SpdxExpression join(Kind kind, std::vector<SpdxExpression> parts) {
    if (parts.size() == 1) {
      return std::move(parts.front());
    }
    SpdxExpression joined;
    joined.kind_ = kind;
    for (SpdxExpression& part : parts) {  // a AND (b AND c) is a AND b AND c
      if (part.kind_ == kind) {
        std::move(part.parts_.begin(), part.parts_.end(), std::back_inserter(joined.parts_));
      } else {
        joined.parts_.push_back(std::move(part));
      }
    }
    return joined;
  }

  Result<SpdxExpression> either(std::size_t depth) {
    std::vector<SpdxExpression> parts;
    do {
      if (!parts.empty()) {
        advance();
      }
      ASSAY_ASSIGN(SpdxExpression part, both(depth));
      parts.push_back(std::move(part));
    } while (is_word(word_, "OR", "or"));
    return join(Kind::kOr, std::move(parts));
  }

  Result<SpdxExpression> both(std::size_t depth) {
    std::vector<SpdxExpression> parts;
    do {
      if (!parts.empty()) {
        advance();
      }
      ASSAY_ASSIGN(SpdxExpression part, simple(depth));
      parts.push_back(std::move(part));
    } while (is_word(word_, "AND", "and"));
    return join(Kind::kAnd, std::move(parts));
  }

  Result<SpdxExpression> simple(std::size_t depth) {
    if (word_ == "(") {
      if (depth >= kMaxSpdxDepth) {
        return fail(ErrorCode::kLimitExceeded, "the parentheses nest too deep",
                    "byte " + std::to_string(begin_));
      }
      advance();
      ASSAY_ASSIGN(SpdxExpression inner, either(depth + 1));
      if (word_ != ")") {
        return unexpected_word();
      }
      advance();
      return inner;
    }
    if (!is_id(word_)) {
      return unexpected_word();
    }
    SpdxExpression licence;
    licence.licence_ = word_;
    advance();
    if (is_word(word_, "WITH", "with")) {
      advance();
      if (!is_exception(word_)) {
        return unexpected_word();
      }
      licence.licence_ += " WITH " + std::string(word_);
      advance();
    }
    return licence;
  }

  std::string_view text_;
  std::string_view word_;  // empty at the end
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

Result<SpdxExpression> SpdxExpression::parse(std::string_view text) {
  if (text.size() > kMaxSpdxBytes) {
    return fail(ErrorCode::kLimitExceeded, "a licence expression has at most 1024 bytes");
  }
  return SpdxParser(text).whole();
}

bool SpdxExpression::satisfied_by(
    const std::function<bool(const std::string& licence)>& accepts) const {
  const auto satisfied = [&](const SpdxExpression& part) { return part.satisfied_by(accepts); };
  switch (kind_) {
    case Kind::kAnd:
      return std::all_of(parts_.begin(), parts_.end(), satisfied);
    case Kind::kOr:
      return std::any_of(parts_.begin(), parts_.end(), satisfied);
    case Kind::kLicence:
      break;
  }
  return accepts(licence_);
}

std::string SpdxExpression::text() const {
  if (kind_ == Kind::kLicence) {
    return licence_;
  }
  std::string text;
  for (const SpdxExpression& part : parts_) {
    const bool inside = kind_ == Kind::kAnd && part.kind_ == Kind::kOr;
    text += text.empty() ? "" : (kind_ == Kind::kAnd ? " AND " : " OR ");
    text += inside ? "(" + part.text() + ")" : part.text();
  }
  return text;
}

bool is_spdx_id(std::string_view text) {
  const auto parsed = SpdxExpression::parse(text);
  bool one = true;
  return parsed && parsed->satisfied_by([&](const std::string& licence) {
    one = one && same_spdx_id(licence, text);
    return one;
  }) && one;
}

bool same_spdx_id(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace assay
