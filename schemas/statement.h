// SPDX-License-Identifier: Apache-2.0
// in-toto Statement v1 (https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md): the
// common form of manifests, placements, lifecycle statements and predicates of other projects
// (foreign predicates).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

inline constexpr std::string_view kStatementPayloadType = "application/vnd.in-toto+json";
inline constexpr std::string_view kStatementType = "https://in-toto.io/Statement/v1";
inline constexpr std::size_t kMaxSubjects = 1024;

// A thing that a statement is about. Digest names and values are spelled as in the document.
struct Subject {
  std::string name;  // empty when the document has none
  std::map<std::string, std::string> digest;

  // Returns the artifact id among the digests; nullopt when there is none or it is malformed.
  [[nodiscard]] std::optional<ArtifactId> artifact() const;
};

struct Statement {
  std::vector<Subject> subjects;
  std::string predicate_type;
  Json predicate;  // unchanged; foreign: unknown members, large integers as of parse_exact_json()
};

// Parses the exact payload bytes of an envelope as a statement: strict JSON (large integers only in
// foreign predicates), at least one subject, each with a digest. Digests of assay-tree-v1-* and
// known algorithms must be well-formed. Errors: invalid-digest; limit-exceeded beyond
// kMaxStatementBytes or kMaxStatementMemory (schemas/document_size.h); of parse_json() and
// validate().
[[nodiscard]] Result<Statement> parse_statement(ByteView payload);

// Returns the payload bytes of a statement, as canonical JSON: equal statements have equal ids. Of
// a predicate with large integers there is none (malformed-json). Errors: limit-exceeded for what
// parse_statement() would refuse by its length.
[[nodiscard]] Result<std::string> encode_statement(const Statement& statement);

// Checks a model name such as "acme/demo-llm": lowercase parts of [a-z0-9._-], joined by '/', at
// most 253 characters. Each part begins and ends with a letter or digit. Errors: schema-violation.
[[nodiscard]] Status check_model_name(std::string_view name);

// Returns true when `pattern` covers `name`: "*" covers every name, "acme" covers "acme" and
// "acme/...". Subjects of foreign statements may have names of any form. Before the comparison,
// such names are normalised: letter case, percent-encoding, and empty, "." and ".." segments
// ("acme/../other" is "other"). Only "*" covers a name that can be read in more than one way.
[[nodiscard]] bool namespace_covers(std::string_view pattern, std::string_view name);

}  // namespace assay
