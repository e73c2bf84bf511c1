// SPDX-License-Identifier: Apache-2.0
#include "server/service/documents/trusted_roots.h"

namespace assay::server {

Result<attestation::TrustedRoots> trusted_roots(storage::Snapshot& snapshot) {
  ASSAY_ASSIGN(const auto rows, snapshot.trusted_roots());
  attestation::TrustedRoots roots;
  for (const storage::TrustedRootRow& row : rows) {
    ASSAY_ASSIGN(const std::string text, canonical_json(row.root.document));
    ASSAY_ASSIGN(auto parsed, attestation::sigstore::parse_trusted_root(as_bytes(text)));
    roots.emplace(row.root.name, std::move(parsed));
  }
  return roots;
}

}  // namespace assay::server
