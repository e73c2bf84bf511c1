// SPDX-License-Identifier: Apache-2.0
// Which artifact the user means by MODEL, where the service may be asked.
#pragma once

#include <string>

#include "cli/client/connect.h"

namespace assay::cli {

// Returns the artifact id that `model` stands for: an artifact id, a file with a manifest, or a
// name under which the service has exactly one artifact. Errors: not-found;
// model-reference-ambiguous; those of load_document() and of the service.
[[nodiscard]] Result<std::string> artifact_meant(Api& api, const std::string& model);

}  // namespace assay::cli
