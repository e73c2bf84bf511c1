// SPDX-License-Identifier: Apache-2.0
// Places that hold models, in one spelling: what a pod mounts and what a manifest names are the
// same place exactly when their spellings are equal. SUB is a path inside.
//   pvc://NAMESPACE/CLAIM[/SUB]           a claim
//   hostpath:///ABSOLUTE/PATH             a directory of the node
//   nfs://HOST/PATH                       an export
//   oci://NAME@sha256:<hex>[/SUB]         an image; NAME as in schemas/image_name.h
//   csi://DRIVER/<sha256 hex>[/SUB]       an inline volume; the digest of its attributes
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// Checks scheme and shape (no query, fragment or escape, no empty, "." or ".." part, no trailing
// '/', at most 2048 bytes; images by digest and without tag) and returns the one spelling.
// schema-violation otherwise.
[[nodiscard]] Result<std::string> normalise_location(std::string_view uri);

// Bytes of all locations of one statement together.
inline constexpr std::size_t kMaxLocationsBytes = 64 * 1024;

// Each location is spelled as normalise_location spells it: schema-violation otherwise, with the
// place in the predicate. limit-exceeded when they have more than kMaxLocationsBytes together.
[[nodiscard]] Status check_locations(const std::vector<std::string>& locations);

// True when `place` is `location` or a path inside of it ("pvc://a/b" covers "pvc://a/b/c"). Only
// for policies with `mounts: within`, and for directories behind locations.
[[nodiscard]] bool location_covers(std::string_view location, std::string_view place);

// The location of `image` as a pod writes it. A digest decides which bytes they are, so a tag
// beside it is left out; an image without digest has no location.
[[nodiscard]] Result<std::string> image_location(std::string_view image);

// The location of an inline CSI volume: the digest of the canonical JSON of `attributes`, an object
// of texts. No attribute is believed, whatever its name.
[[nodiscard]] Result<std::string> csi_location(std::string_view driver, const Json& attributes);

}  // namespace assay
