// SPDX-License-Identifier: Apache-2.0
// Names of container images as container runtimes read them: "nginx" is docker.io/library/nginx.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/error.h"

namespace assay {

struct ImageName {
  std::string repository;  // host[:port]/path, always with the host; lowercase
  std::string tag;         // empty when there is none
  std::string digest;      // "sha256:<64 digits>"; empty when there is none
};

// Parses [host[:port]/]path[:tag][@sha256:...]. The first part is a host when it contains '.' or
// ':' or is "localhost". An image without a host gets the host docker.io; if its path has only one
// part, it also gets the prefix "library/". Errors: schema-violation, also for digests of other
// algorithms and paths in uppercase.
[[nodiscard]] Result<ImageName> parse_image_name(std::string_view text);

}  // namespace assay
