// SPDX-License-Identifier: Apache-2.0
// in-toto statements: shape by statement.schema.json, digests of artifacts here.
#include "schemas/statement.h"

#include <algorithm>

#include "schemas/core/bytes.h"
#include "schemas/core/json_foreign.h"
#include "schemas/digest_set.h"
#include "schemas/document_size.h"
#include "schemas/members.h"
#include "schemas/name_form.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr std::string_view kOwnPredicatePrefix = "https://assay.dev/";
constexpr std::string_view kArtifactDigestPrefix = "assay-tree-v1-";
constexpr std::size_t kMaxModelName = 253;
constexpr JsonLimits kStatementLimits{.max_bytes = kMaxStatementBytes,
                                      .max_memory = kMaxStatementMemory};

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

Status check_subject(const Subject& subject, const std::string& where) {
  if (has_control_character(subject.name)) {
    return fail(ErrorCode::kSchemaViolation, "a name holds no control characters", where + "/name");
  }
  return check_digests(subject, where);
}

// Predicates of others hold integers of 64 bits, such as seeds. Nothing is written anew there, so
// they are kept; in our own predicates they are refused.
Result<Json> parse_with_integers(ByteView payload) {
  Result<Json> json = parse_json(payload, kStatementLimits);
  if (json || json.error().code != ErrorCode::kLimitExceeded) {
    return json;
  }
  Result<Json> foreign = parse_exact_json(payload, kStatementLimits);
  const bool own =
      !foreign || members::text(*foreign, "predicateType").starts_with(kOwnPredicatePrefix);
  return own ? std::move(json) : std::move(foreign);
}

// What parse_statement() refuses is not written.
Status check_fits(std::size_t bytes, std::size_t memory) {
  if (bytes > kStatementLimits.max_bytes || memory > kStatementLimits.max_memory) {
    return fail(ErrorCode::kLimitExceeded,
                "a statement has at most " + std::to_string(kStatementLimits.max_bytes >> 20) +
                    " MiB, and takes at most " + std::to_string(kStatementLimits.max_memory >> 20) +
                    " MiB of memory when it is read");
  }
  return {};
}

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_name_part(std::string_view part) {
  return !part.empty() && is_alphanumeric(part.front()) && is_alphanumeric(part.back()) &&
         std::all_of(part.begin(), part.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_model_name(std::string_view name) {
  bool valid = !name.empty() && name.size() <= kMaxModelName;
  for (std::size_t start = 0; valid && start <= name.size();) {
    const std::size_t slash = std::min(name.find('/', start), name.size());
    valid = is_name_part(name.substr(start, slash - start));
    start = slash + 1;
  }
  return valid;
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
  ASSAY_ASSIGN(Json json, parse_with_integers(payload));
  ASSAY_TRY(validate("statement", json));
  Statement statement;
  statement.predicate_type = members::text(json, "predicateType");
  const auto predicate = json.find("predicate");
  // Moved: a manifest lists up to 131072 entries.
  statement.predicate = predicate == json.end() ? Json::object() : std::move(*predicate);
  for (const Json& item : json["subject"]) {
    Subject subject{members::text(item, "name"), members::text_map(item, "digest")};
    ASSAY_TRY(check_subject(subject, "/subject/" + std::to_string(statement.subjects.size())));
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
    ASSAY_TRY(check_subject(subject, "/subject/" + std::to_string(subjects.size())));
    subjects.push_back(std::move(item));
  }
  const Json json = {{"_type", kStatementType},
                     {"subject", std::move(subjects)},
                     {"predicateType", statement.predicate_type},
                     {"predicate", statement.predicate}};
  ASSAY_TRY(validate("statement", json));
  ASSAY_TRY(check_fits(0, json_memory(json)));
  ASSAY_ASSIGN(std::string payload, canonical_json(json));
  ASSAY_TRY(check_fits(payload.size(), 0));
  return payload;
}

Status check_model_name(std::string_view name) {
  if (!is_model_name(name)) {
    if (const std::string lower = lower_case(name); is_model_name(lower)) {
      return fail(ErrorCode::kSchemaViolation,
                  "a model name has no capital letters; write " + lower);
    }
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
  const std::optional<std::string> plain = normalised_name(name);
  return plain && !pattern.empty() && plain->starts_with(pattern) &&
         (plain->size() == pattern.size() || (*plain)[pattern.size()] == '/');
}

}  // namespace assay
