// SPDX-License-Identifier: Apache-2.0
// in-toto statements: shape by statement.schema.json, digests of artifacts here.
#include "schemas/statement.h"

#include <algorithm>
#include <array>

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr std::string_view kArtifactDigestPrefix = "assay-tree-v1-";
constexpr std::size_t kMaxModelName = 253;

// Algorithms of in-toto's DigestSet, and the length of their values in hex.
struct DigestForm {
  std::string_view name;
  std::size_t digits;
  std::size_t or_digits = 0;
};
constexpr std::array kDigestForms = {
    DigestForm{"md5", 32},         DigestForm{"sha1", 40},          DigestForm{"sha224", 56},
    DigestForm{"sha256", 64},      DigestForm{"sha384", 96},        DigestForm{"sha512", 128},
    DigestForm{"sha512_224", 56},  DigestForm{"sha512_256", 64},    DigestForm{"sha3_224", 56},
    DigestForm{"sha3_256", 64},    DigestForm{"sha3_384", 96},      DigestForm{"sha3_512", 128},
    DigestForm{"blake2s", 64},     DigestForm{"blake2b", 128},      DigestForm{"ripemd160", 40},
    DigestForm{"sm3", 64},         DigestForm{"gitCommit", 40, 64}, DigestForm{"gitTree", 40, 64},
    DigestForm{"gitBlob", 40, 64}, DigestForm{"gitTag", 40, 64}};

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// "SHA-256" and "sha256" are one for a reader and two for a program.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '-' && c != '_') {
      out += lowered(c);
    }
  }
  return out;
}

bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Status check_digest(const std::string& algorithm, const std::string& value) {
  if (algorithm.starts_with(kArtifactDigestPrefix)) {
    return ArtifactId::parse(algorithm + ":" + value)
               ? Status()
               : fail(ErrorCode::kInvalidDigest,
                      "an assay-tree-v1 digest is sha256 or sha384 in lowercase hex");
  }
  for (const DigestForm& form : kDigestForms) {
    if (algorithm == form.name) {
      const bool fits = value.size() == form.digits || value.size() == form.or_digits;
      return fits && is_lower_hex(value)
                 ? Status()
                 : fail(ErrorCode::kInvalidDigest, "a " + algorithm + " is " +
                                                       std::to_string(form.digits) +
                                                       " digits of lowercase hex");
    }
  }
  const std::string known = folded(algorithm);
  for (const DigestForm& form : kDigestForms) {
    if (known == folded(form.name)) {
      return fail(ErrorCode::kInvalidDigest, "the algorithm is spelled " + std::string(form.name));
    }
  }
  return known.starts_with(folded(kArtifactDigestPrefix))
             ? fail(ErrorCode::kInvalidDigest, "the algorithm is spelled assay-tree-v1-sha256")
             : Status();
}

// Algorithms that nobody here knows keep their form; those that are known are spelled in one way,
// so that a digest that looks right is the one that is looked up.
Status check_digests(const Subject& subject, const std::string& where) {
  for (const auto& [algorithm, value] : subject.digest) {
    if (const Status checked = check_digest(algorithm, value); !checked) {
      return fail(checked.error().code, checked.error().detail, where + "/digest/" + algorithm);
    }
  }
  return {};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char l = lowered(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// Percent-encoding undone, once. Nothing when an escape is broken, hides a control character, or
// leaves one more to undo: then nobody knows what the name means to the next reader.
std::optional<std::string> decoded(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    int c = static_cast<unsigned char>(name[i]);
    if (c == '%') {
      const int high = i + 2 < name.size() ? hex_digit(name[i + 1]) : -1;
      const int low = high >= 0 ? hex_digit(name[i + 2]) : -1;
      if (low < 0) {
        return std::nullopt;
      }
      c = high * 16 + low;
      i += 2;
    }
    if (c < 0x21 || c == 0x7F || c == '%' || c == '\\') {
      return std::nullopt;
    }
    out += lowered(static_cast<char>(c));
  }
  return out;
}

// The name that a role is looked up for: lowercase, without empty, "." and ".." segments. Nothing
// when the name leads out of itself or cannot be read.
std::optional<std::string> normalised(std::string_view name) {
  const std::optional<std::string> plain = decoded(name);
  if (!plain) {
    return std::nullopt;
  }
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= plain->size();) {
    const std::size_t slash = std::min(plain->find('/', start), plain->size());
    const std::string_view part = std::string_view(*plain).substr(start, slash - start);
    start = slash + 1;
    if (part == "..") {
      if (parts.empty()) {
        return std::nullopt;
      }
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
  }
  std::string out;
  for (const std::string_view part : parts) {
    out += out.empty() ? "" : "/";
    out += part;
  }
  return out;
}

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_name_part(std::string_view part) {
  return !part.empty() && is_alphanumeric(part.front()) && is_alphanumeric(part.back()) &&
         std::all_of(part.begin(), part.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

std::optional<ArtifactId> Subject::artifact() const {
  for (const auto& [algorithm, value] : digest) {
    if (algorithm.starts_with(kArtifactDigestPrefix)) {
      if (auto id = ArtifactId::parse(algorithm + ":" + value)) {
        return *std::move(id);
      }
    }
  }
  return std::nullopt;
}

Result<Statement> parse_statement(ByteView payload) {
  ASSAY_ASSIGN(Json json, parse_json(payload));
  ASSAY_TRY(validate("statement", json));
  Statement statement;
  statement.predicate_type = members::text(json, "predicateType");
  const auto predicate = json.find("predicate");
  // Moved: a manifest lists up to 65536 entries.
  statement.predicate = predicate == json.end() ? Json::object() : std::move(*predicate);
  for (const Json& item : json["subject"]) {
    Subject subject{members::text(item, "name"), members::text_map(item, "digest")};
    ASSAY_TRY(check_digests(subject, "/subject/" + std::to_string(statement.subjects.size())));
    statement.subjects.push_back(std::move(subject));
  }
  return statement;
}

Result<std::string> encode_statement(const Statement& statement) {
  Json subjects = Json::array();
  for (const Subject& subject : statement.subjects) {
    Json item = {{"digest", subject.digest}};
    if (!subject.name.empty()) {
      item["name"] = subject.name;
    }
    ASSAY_TRY(check_digests(subject, "/subject/" + std::to_string(subjects.size())));
    subjects.push_back(std::move(item));
  }
  const Json json = {{"_type", kStatementType},
                     {"subject", std::move(subjects)},
                     {"predicateType", statement.predicate_type},
                     {"predicate", statement.predicate}};
  ASSAY_TRY(validate("statement", json));
  return canonical_json(json);
}

Status check_model_name(std::string_view name) {
  bool valid = !name.empty() && name.size() <= kMaxModelName;
  for (std::size_t start = 0; valid && start <= name.size();) {
    const std::size_t slash = std::min(name.find('/', start), name.size());
    valid = is_name_part(name.substr(start, slash - start));
    start = slash + 1;
  }
  if (!valid) {
    return fail(ErrorCode::kSchemaViolation,
                "a model name looks like acme/demo-llm: parts of a-z, 0-9, '.', '_' and '-' that "
                "begin and end with a letter or digit, at most 253 characters");
  }
  return {};
}

bool namespace_covers(std::string_view pattern, std::string_view name) {
  if (pattern == "*") {
    return true;
  }
  const std::optional<std::string> plain = normalised(name);
  return plain && !pattern.empty() && plain->starts_with(pattern) &&
         (plain->size() == pattern.size() || (*plain)[pattern.size()] == '/');
}

}  // namespace assay
