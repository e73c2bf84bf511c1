// SPDX-License-Identifier: Apache-2.0
// The form of one digest in a DigestSet of in-toto
// (https://github.com/in-toto/attestation/blob/main/spec/v1/digest_set.md).
#pragma once

#include <string>

#include "schemas/core/error.h"

namespace assay {

// Checks a digest: one of an algorithm that in-toto lists, or of assay-tree-v1-*, has the right
// number of digits, in lowercase hex, and the algorithm is spelled as in the list. Digests of other
// algorithms may have any form. Errors: invalid-digest.
[[nodiscard]] Status check_digest(const std::string& algorithm, const std::string& value);

}  // namespace assay
