// SPDX-License-Identifier: Apache-2.0
// Signing keys in files and in PKCS#11 tokens.
#pragma once

#include <memory>
#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/signer.h"

namespace assay::attestation::pkcs11 {

// A key that stays in its token. When the token does not sign, sign() fails with unavailable from
// then on, until look() finds the token again.
class TokenSigner : public Signer {
 public:
  // Asks whether the token can sign. Opens a new session to a token that was gone, and takes it
  // back only if it holds the same key and signs. A PIN that the token refused is not tried again,
  // so that no token is locked by this. Errors: unavailable.
  [[nodiscard]] virtual Status look() = 0;
  // Returns what sign() or look() found last, without asking the token.
  [[nodiscard]] virtual Status state() const = 0;
};

// Loads the key of a PKCS#11 URI (uri.h). The PIN is the first line of `pin-source`, or else `pin`.
// A URI without module-path uses the variable PKCS11_MODULE_PATH. Makes one signature, to see that
// both halves of the key belong together. Errors: key-unusable with what to do; unsupported-key;
// unavailable.
[[nodiscard]] Result<std::unique_ptr<TokenSigner>> load_token_key(const std::string& uri,
                                                                  const SecretBytes& pin);

// Loads the key of a PKCS#11 URI, or else of a file as load_private_key() does.
[[nodiscard]] Result<std::unique_ptr<Signer>> load_signing_key(const std::string& file_or_uri,
                                                               const SecretBytes& passphrase);

}  // namespace assay::attestation::pkcs11
