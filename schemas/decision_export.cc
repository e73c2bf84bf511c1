// SPDX-License-Identifier: Apache-2.0
#include "schemas/decision_export.h"

#include "schemas/core/json_at.h"
#include "schemas/core/sha.h"

namespace assay {
namespace {

// An estimate of the memory of the parsed file; its texts are most of it.
constexpr std::size_t kMaxMemory = 4 * kMaxDecisionExportBytes;
// The member that comes first in a file, because members are sorted.
constexpr std::string_view kStart = R"({"decision":")";

std::unexpected<Error> no_export(const char* why, std::string where = {}) {
  return fail(ErrorCode::kSchemaViolation, why, std::move(where));
}

Result<std::vector<ExportedEntry>> entries_in(const Json& json) {
  std::vector<ExportedEntry> entries;
  for (const Json& item : json) {
    const Json& record = member_at(item, "record");
    const Json& proof = member_at(item, "proof");
    if (!record.is_string() || !proof.is_string() || item.size() != 2) {
      return no_export("an entry has exactly the texts record and proof",
                       "/entries/" + std::to_string(entries.size()));
    }
    entries.push_back({record.get<std::string>(), proof.get<std::string>()});
  }
  return entries;
}

}  // namespace

bool looks_like_decision_export(std::string_view text) { return text.starts_with(kStart); }

Json to_json(const DecisionExport& file) {
  Json json = {{"format", kDecisionExportFormat},
               {"decision", file.decision},
               {"entries", Json::array()},
               {"documents", Json::object()}};
  for (const ExportedEntry& entry : file.entries) {
    json["entries"].push_back({{"record", entry.record}, {"proof", entry.proof}});
  }
  for (const auto& [id, bytes] : file.documents) {
    json["documents"][id.text()] = bytes;
  }
  return json;
}

Result<DecisionExport> parse_decision_export(ByteView bytes) {
  ASSAY_ASSIGN(const Json json,
               parse_json(bytes, {.max_bytes = kMaxDecisionExportBytes, .max_memory = kMaxMemory}));
  if (text_at(json, "format") != kDecisionExportFormat) {
    return no_export("this is no exported decision");
  }
  if (json.size() != 4 || !member_at(json, "decision").is_string() ||
      !member_at(json, "entries").is_array() || !member_at(json, "documents").is_object()) {
    return no_export("an exported decision has exactly decision, documents, entries and format");
  }
  DecisionExport file{text_at(json, "decision"), {}, {}};
  ASSAY_ASSIGN(file.entries, entries_in(json["entries"]));
  for (const auto& [name, text] : json["documents"].items()) {
    ASSAY_ASSIGN(DocumentId id, DocumentId::parse(name));
    if (!text.is_string()) {
      return no_export("a document is a text", "/documents/" + name);
    }
    const auto& document = text.get_ref<const std::string&>();
    if (sha256(as_bytes(document)) != id.digest()) {
      return fail(ErrorCode::kExportInconsistent, "a document has another digest than its name",
                  name);
    }
    file.documents.emplace(std::move(id), document);
  }
  return file;
}

}  // namespace assay
