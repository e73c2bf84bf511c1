// SPDX-License-Identifier: Apache-2.0
// Which artifact the user means by MODEL, where the service may be asked.
#pragma once

#include <string>

#include "cli/client/connect.h"

namespace assay::cli {

// Returns the artifact id that `model` stands for: an artifact id, a file with a manifest, or a
// name of exactly one artifact of the service. Manifests that are withdrawn, or signed by revoked
// keys alone, name nothing. Errors: not-found; model-reference-ambiguous; those of load_document()
// and of the service.
[[nodiscard]] Result<std::string> artifact_meant(Api& api, const std::string& model);

// As artifact_meant(), but returns an empty text, a digest ALGORITHM:VALUE, and the id of a
// decision or document as they are.
[[nodiscard]] Result<std::string> subject_meant(Api& api, const std::string& subject);

}  // namespace assay::cli
