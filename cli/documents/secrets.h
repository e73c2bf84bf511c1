// SPDX-License-Identifier: Apache-2.0
// Passphrases from a terminal or a file, and new access tokens.
#pragma once

#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"

namespace assay::cli {

// Asks on the terminal without echo; twice when `confirm`. usage when there is no terminal (then a
// passphrase file is the way), or the two differ.
[[nodiscard]] Result<SecretBytes> ask_passphrase(const std::string& prompt, bool confirm);

// A new access token: "assay_" and 32 random bytes, which scanners for leaked secrets can
// recognise.
[[nodiscard]] Result<std::string> make_token(Random& random);

// From `file`, or from the terminal when it is empty.
[[nodiscard]] Result<SecretBytes> read_passphrase(const std::string& file,
                                                  const std::string& prompt, bool confirm);

}  // namespace assay::cli
