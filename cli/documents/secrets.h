// SPDX-License-Identifier: Apache-2.0
// Passphrases from a terminal or a file, and new access tokens.
#pragma once

#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"

namespace assay::cli {

// Asks for a passphrase on the terminal without echo, twice when `confirm` is true. Errors: usage
// when there is no terminal (a passphrase file is needed in that case), or when the two answers
// differ.
[[nodiscard]] Result<SecretBytes> ask_passphrase(const std::string& prompt, bool confirm);

// Makes a new access token: "assay_" and 32 random bytes. Scanners for leaked secrets can recognise
// this form.
[[nodiscard]] Result<std::string> make_token(Random& random);

// Reads a passphrase from `file`, or from the terminal when `file` is empty.
[[nodiscard]] Result<SecretBytes> read_passphrase(const std::string& file,
                                                  const std::string& prompt, bool confirm);

}  // namespace assay::cli
