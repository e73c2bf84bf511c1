// SPDX-License-Identifier: Apache-2.0
// Locations: places that hold models. Each place has one spelling, so a pod's mount and a manifest
// name the same place exactly when the texts are equal. SUB is a path inside the place:
//   pvc://NAMESPACE/CLAIM[/SUB]           a PersistentVolumeClaim
//   hostpath:///ABSOLUTE/PATH             a directory of the node
//   nfs://HOST/PATH                       an NFS export
//   oci://NAME@sha256:<hex>[/SUB]         an image; NAME as in schemas/image_name.h
//   csi://DRIVER/NAMESPACE/<sha256 hex>[/SUB]
//                                         an inline CSI volume of a pod in NAMESPACE; the digest is
//                                         that of the volume's attributes
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// Checks that `uri` has one of the forms above, and returns its only valid spelling. Refuses a
// query, a fragment, an escape (%XX), an empty, "." or ".." part, a trailing '/', and more than
// 2048 bytes. An image must have a digest and no tag. Errors: schema-violation.
[[nodiscard]] Result<std::string> normalise_location(std::string_view uri);

// Largest total size in bytes of the locations of one statement.
inline constexpr std::size_t kMaxLocationsBytes = 64U << 10;

// Checks that each location is spelled as normalise_location() spells it. Errors: schema-violation,
// with the place in the predicate as `where`; limit-exceeded when all locations together are longer
// than kMaxLocationsBytes.
[[nodiscard]] Status check_locations(const std::vector<std::string>& locations);

// Returns true when `place` is `location` or a path inside it ("pvc://a/b" covers "pvc://a/b/c").
// Use this function only for policies with `mounts: within` (a mount may show only a subdirectory
// of a location), and to compare directories. Everywhere else the caller must compare locations for
// equality.
[[nodiscard]] bool location_covers(std::string_view location, std::string_view place);

// Returns the location of `image`, which is written as in a pod. A tag beside a digest is left out,
// because the digest alone decides the bytes. Errors: schema-violation, also for an image without a
// digest.
[[nodiscard]] Result<std::string> image_location(std::string_view image);

// Returns the location of an inline CSI volume of a pod in the namespace `name_space`. It contains
// the digest of the canonical JSON of `attributes`, an object of strings. The digest covers all
// attributes, because no attribute is trusted to be harmless. The namespace is part of the location
// because drivers look up names in the attributes there, for example a secretProviderClass.
// Errors: schema-violation.
[[nodiscard]] Result<std::string> csi_location(std::string_view driver, std::string_view name_space,
                                               const Json& attributes);

}  // namespace assay
