// SPDX-License-Identifier: Apache-2.0
// A private key in a token, through the functions of PKCS#11 version 2.40. Not through OpenSSL's
// engine, for the reasons in docs/adr/0022-keys-in-tokens.md.
#pragma once

#include <memory>
#include <string_view>

#include "attestation/keys.h"
#include "attestation/pkcs11/uri.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::pkcs11 {

// Detail of the error when the token refuses the PIN. Whoever tries again must look for it: a few
// wrong PINs lock a token.
inline constexpr std::string_view kPinRefused = "the token refuses the PIN";

// A key in a session that is logged in while the object lives. Safe to call from several threads.
class TokenKey {
 public:
  // Loads the module, finds the one token and in it the one private key that `uri` matches, logs in
  // with `pin` where the token wants it, reads the public half, and makes one signature to see that
  // both halves belong together. A PIN is not tried when a wrong one would lock the token. Modules
  // stay loaded until the process ends. Errors: key-unusable with what to do, also for no match and
  // for several; unsupported-key for keys that are not ECDSA on P-256, P-384 or P-521, or RSA of
  // 2048 to 4096 bits; unavailable when the token fails by itself.
  [[nodiscard]] static Result<std::unique_ptr<TokenKey>> open(const Uri& uri,
                                                              const SecretBytes& pin);
  virtual ~TokenKey() = default;

  [[nodiscard]] virtual const PublicKey& public_key() const = 0;
  // Signs by public_key().scheme(). Errors: unavailable.
  [[nodiscard]] virtual Result<Bytes> sign(ByteView message) const = 0;
  // Returns whether the token still answers in this session. Errors: unavailable.
  [[nodiscard]] virtual Status check() const = 0;
};

}  // namespace assay::attestation::pkcs11
