// SPDX-License-Identifier: Apache-2.0
// Names of container images as runtimes read them: "nginx" is docker.io/library/nginx.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/error.h"

namespace assay {

struct ImageName {
  std::string repository;  // host[:port]/path, always with its host; lowercase
  std::string tag;         // empty when there is none
  std::string digest;      // "sha256:<64 digits>"; empty when there is none
};

// [host[:port]/]path[:tag][@sha256:...]. The first part is a host when it has a '.' or a ':' or is
// "localhost"; without one the image is of docker.io, in "library" when its path is a single word.
// Digests of other algorithms and paths in uppercase are refused: schema-violation.
[[nodiscard]] Result<ImageName> parse_image_name(std::string_view text);

}  // namespace assay
