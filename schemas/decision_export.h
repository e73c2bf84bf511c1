// SPDX-License-Identifier: Apache-2.0
// An exported decision: one file with which somebody who trusts nobody checks a decision offline.
// schemas/log.md section 8 has the form. cli/decisions verifies it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

inline constexpr std::string_view kDecisionExportFormat = "assay-decision-export-v1";
// Most bytes of a file, and of the documents and records in it together before they are escaped.
inline constexpr std::size_t kMaxDecisionExportBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxExportedBytes = kMaxDecisionExportBytes / 2;

struct ExportedEntry {
  std::string record;  // exact bytes of the log record
  std::string proof;   // schemas/tlog_proof.h
};

struct DecisionExport {
  std::string decision;                         // its id
  std::vector<ExportedEntry> entries;           // in the order of the log
  std::map<DocumentId, std::string> documents;  // exact bytes by their SHA-256
};

// Returns whether the text claims to be an exported decision. Looks at its first bytes only.
[[nodiscard]] bool looks_like_decision_export(std::string_view text);

[[nodiscard]] Json to_json(const DecisionExport& file);
// Parses a file. Each document has the digest under which it stands; nothing else is verified.
// Errors: those of parse_json(); schema-violation for another form; export-inconsistent for a
// document with another digest.
[[nodiscard]] Result<DecisionExport> parse_decision_export(ByteView file);

}  // namespace assay
