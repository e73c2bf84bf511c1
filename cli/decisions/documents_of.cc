// SPDX-License-Identifier: Apache-2.0
#include "cli/decisions/documents_of.h"

namespace assay::cli {
namespace {

// Models of one case share parts, of which each is read once for each model.
constexpr std::size_t kMaxReadBytes = 4 * kMaxExportedBytes;

}  // namespace

Result<ByteView> ExportedDocuments::bytes(const DocumentId& id) {
  const auto found = file_.documents.find(id);
  if (found == file_.documents.end()) {
    return fail(ErrorCode::kExportInconsistent, "the file lacks a document", id.text());
  }
  read_ += found->second.size();
  if (read_ > kMaxReadBytes) {
    return fail(ErrorCode::kLimitExceeded, "the documents name each other too often", id.text());
  }
  used_.insert(id);
  return as_bytes(found->second);
}

Result<Json> ExportedDocuments::json(const DocumentId& id) {
  ASSAY_ASSIGN(const ByteView document, bytes(id));
  auto json = parse_json(document, {.max_bytes = document.size()});
  if (!json) {
    json.error().where = id.text();
  }
  return json;
}

Result<attestation::Envelope> ExportedDocuments::envelope(const DocumentId& id) {
  ASSAY_ASSIGN(const ByteView document, bytes(id));
  auto envelope = attestation::parse_envelope(document);
  if (!envelope) {
    envelope.error().where = id.text();
  }
  return envelope;
}

policy::ReadPart ExportedDocuments::reader() {
  return [this](const DocumentId& id) { return json(id); };
}

Status ExportedDocuments::check_all_used() const {
  for (const auto& [id, bytes] : file_.documents) {
    if (!used_.contains(id)) {
      return fail(ErrorCode::kExportInconsistent,
                  "the file has a document that the decision does not rest on", id.text());
    }
  }
  return {};
}

}  // namespace assay::cli
