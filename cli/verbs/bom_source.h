// SPDX-License-Identifier: Apache-2.0
// The statements that a bill of materials is made from: those that the service has, or those in
// files.
#pragma once

#include <string>
#include <vector>

#include "cli/bom/write.h"
#include "cli/client/connect.h"
#include "cli/documents/keys.h"

namespace assay::cli {

struct BomFlags {
  std::string model;
  std::string name;
  std::vector<std::string> documents;
  TrustFlags trust;
  ConnectionFlags connection;
};

struct BomSource {
  bom::BomRequest request;  // without time, version and serial
  std::vector<bom::BomStatement> statements;
};

// Asks the service for every statement about the model, about what it was made from, and so on.
// Somebody stands behind a statement whose key is not revoked and who did not withdraw it. Errors:
// model-reference-ambiguous when the model has several names and none is given; limit-exceeded
// beyond the limits of bom::trace(); those of the service.
[[nodiscard]] Result<BomSource> bom_from_service(const Context& context, const BomFlags& flags);

// Reads the statements from files, and verifies their signatures against the keys that are given.
// Errors: usage without keys; those of check_signatures() for a file that no key may sign.
[[nodiscard]] Result<BomSource> bom_from_files(const Context& context, const BomFlags& flags);

}  // namespace assay::cli
