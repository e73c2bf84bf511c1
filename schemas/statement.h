// SPDX-License-Identifier: Apache-2.0
// in-toto Statement v1 (https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md):
// what manifests, lifecycle statements and foreign predicates have in common.
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

// A thing a statement is about. Digest names and values as they stand in the document.
struct Subject {
  std::string name;  // empty when the document has none
  std::map<std::string, std::string> digest;

  // The artifact id among the digests, when there is one and it is well-formed.
  [[nodiscard]] std::optional<ArtifactId> artifact() const;
};

struct Statement {
  std::vector<Subject> subjects;
  std::string predicate_type;
  Json predicate;  // as it stands; unknown members of foreign predicates are kept
};

// Reads a statement from the exact payload bytes of an envelope. Strict JSON; at least one subject,
// each with at least one digest; an assay-tree-v1-* digest must be well-formed.
[[nodiscard]] Result<Statement> parse_statement(ByteView payload);

// The payload bytes of a statement (canonical JSON, so that equal statements have equal ids).
[[nodiscard]] Result<std::string> encode_statement(const Statement& statement);

// "acme/demo-llm": lowercase parts of [a-z0-9._-] that begin and end with a letter or digit, joined
// by '/', at most 253 characters. schema-violation otherwise.
[[nodiscard]] Status check_model_name(std::string_view name);

// True when `pattern` covers `name`: "*" covers every name, "acme" covers "acme" and "acme/...".
// Subjects of foreign statements have names of any form: letter case, percent-encoding, empty, "."
// and ".." segments are undone first ("acme/../other" is "other"); a name that cannot be read in
// one way is covered by "*" alone.
[[nodiscard]] bool namespace_covers(std::string_view pattern, std::string_view name);

}  // namespace assay
