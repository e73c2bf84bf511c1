// SPDX-License-Identifier: Apache-2.0
// The documents of an exported decision, and which of them were needed.
#pragma once

#include <set>

#include "attestation/dsse.h"
#include "policy/case_documents.h"
#include "schemas/decision_export.h"

namespace assay::cli {

// Not thread-safe.
class ExportedDocuments {
 public:
  // `file` must outlive this object.
  explicit ExportedDocuments(const DecisionExport& file) : file_(file) {}

  // Return a document, and note that it is needed. Errors: export-inconsistent when the file lacks
  // it; those of parsing it; limit-exceeded when documents that name each other again and again
  // would be read without end.
  [[nodiscard]] Result<ByteView> bytes(const DocumentId& id);
  [[nodiscard]] Result<Json> json(const DocumentId& id);
  [[nodiscard]] Result<attestation::Envelope> envelope(const DocumentId& id);
  // Returns json() of this object, which must outlive the result.
  [[nodiscard]] policy::ReadPart reader();

  // Errors: export-inconsistent when a document was not needed.
  [[nodiscard]] Status check_all_used() const;

 private:
  const DecisionExport& file_;
  std::set<DocumentId> used_{};
  std::size_t read_ = 0;  // bytes
};

}  // namespace assay::cli
