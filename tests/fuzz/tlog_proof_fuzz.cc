// SPDX-License-Identifier: Apache-2.0
// Proofs of the log as text: what is read is written again byte for byte.
#include "schemas/tlog_proof.h"

#include <cstdlib>

#include "schemas/core/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = assay::as_text({data, size});
  const auto proof = assay::parse_tlog_proof(text);
  if (proof && assay::encode(*proof) != text) {
    std::abort();
  }
  return 0;
}
