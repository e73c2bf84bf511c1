// SPDX-License-Identifier: Apache-2.0
// Log records: shape by log-record.schema.json, bytes by RFC 8785.
#include "schemas/log_record.h"

#include <algorithm>

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr int kVersion = 1;

}  // namespace

Result<std::string> encode(const LogRecord& record) {
  std::vector<std::string> subjects = record.subjects;
  std::sort(subjects.begin(), subjects.end());  // std::string compares bytes
  subjects.erase(std::unique(subjects.begin(), subjects.end()), subjects.end());
  Json documents = Json::array();
  for (const DocumentId& document : record.documents) {
    documents.push_back(document.text());
  }
  const Json json = {{"v", kVersion},
                     {"type", record.type},
                     {"time", to_rfc3339(record.time)},
                     {"actor", record.actor},
                     {"subject", std::move(subjects)},
                     {"documents", std::move(documents)},
                     {"detail", record.detail}};
  ASSAY_TRY(validate("log-record", json));
  ASSAY_ASSIGN(std::string bytes, canonical_json(json));
  if (bytes.size() > kMaxLogRecordBytes) {
    return fail(ErrorCode::kLimitExceeded, "a log record has at most 65535 bytes");
  }
  return bytes;
}

Result<LogRecord> parse_log_record(ByteView bytes) {
  ASSAY_ASSIGN(const Json json, parse_json(bytes, JsonLimits{kMaxLogRecordBytes}));
  ASSAY_TRY(validate("log-record", json));
  ASSAY_ASSIGN(const Timestamp time, members::time(json, "time"));
  LogRecord record{members::text(json, "type"),     time, members::text(json, "actor"),
                   members::texts(json, "subject"), {},   json["detail"]};
  for (const std::string& text : members::texts(json, "documents")) {
    ASSAY_ASSIGN(DocumentId document, DocumentId::parse(text));
    record.documents.push_back(std::move(document));
  }
  ASSAY_ASSIGN(const std::string canonical, encode(record));
  if (canonical != as_text(bytes)) {
    return fail(ErrorCode::kSchemaViolation, "the record is not in its canonical form");
  }
  return record;
}

}  // namespace assay
