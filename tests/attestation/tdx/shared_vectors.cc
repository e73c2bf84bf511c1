// SPDX-License-Identifier: Apache-2.0
#include "tests/attestation/tdx/shared_vectors.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace assay::attestation::tdx::testing {

std::filesystem::path vectors_folder() {
  const char* folder = std::getenv("ASSAY_SHARED_VECTORS");
  const std::filesystem::path root =
      folder != nullptr ? std::filesystem::path(folder)
                        : std::filesystem::path(ASSAY_SOURCE_DIR) / "../shared/vectors";
  return root / "tdx";
}

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw std::runtime_error("cannot read " + path.string());
  }
  std::ostringstream text;
  text << in.rdbuf();
  return to_bytes(text.str());
}

Json read_json(const std::filesystem::path& path) {
  auto json = parse_json(ByteView(read_file(path)));
  if (!json) {
    throw std::runtime_error(path.string() + ": " + to_string(json.error()));
  }
  return std::move(*json);
}

}  // namespace assay::attestation::tdx::testing
