// SPDX-License-Identifier: Apache-2.0
// URIs of places that hold models, in one spelling, so that what a pod mounts and what a manifest
// names can be compared as strings:
//   pvc://<namespace>/<claim>[/<sub path>]   hostpath://<absolute path>   oci://<image reference>
//   csi://<driver>/<volume handle or model uri attribute>   and https, s3, gs, hf, nfs URIs.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/error.h"

namespace assay {

// Checks scheme and shape (no fragment, no query, no "." or ".." part, no trailing '/', at most
// 2048 bytes, lowercase scheme and host) and returns the one spelling. schema-violation otherwise.
[[nodiscard]] Result<std::string> normalise_location(std::string_view uri);

// True when `place` is `location` or lies below it ("pvc://a/b" covers "pvc://a/b/c").
[[nodiscard]] bool location_covers(std::string_view location, std::string_view place);

}  // namespace assay
