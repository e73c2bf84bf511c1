// SPDX-License-Identifier: Apache-2.0
// Tokens as other issuers write them, signed with any header.
#pragma once

#include <stdexcept>
#include <string>

#include "schemas/core/json.h"
#include "schemas/core/signer.h"

namespace assay::test {

// Bytes of r, s, x and y.
inline std::size_t scalar_bytes(const Signer& key) {
  return key.algorithm() == SignatureAlgorithm::kEcdsaP384 ? 48 : 32;
}

// The public key of an ECDSA signer as a JSON Web Key, without kid.
inline Json jwk_of(const Signer& key) {
  const std::size_t size = scalar_bytes(key);
  const Bytes& spki = key.public_key();
  const ByteView point = ByteView(spki).last(2 * size);
  return {{"kty", "EC"},
          {"crv", size == 48 ? "P-384" : "P-256"},
          {"x", base64url_encode(point.first(size))},
          {"y", base64url_encode(point.last(size))}};
}

// r and s behind each other, from a DER signature of less than 128 bytes.
inline Bytes raw_of(const Bytes& der, std::size_t size) {
  Bytes raw;
  std::size_t at = 2;
  for (int i = 0; i < 2; ++i) {
    std::size_t length = der.at(at + 1);
    std::size_t begin = at + 2;
    at = begin + length;
    for (; length > size; --length, ++begin) {
      if (der.at(begin) != 0) {
        throw std::runtime_error("the scalar is too long");
      }
    }
    raw.insert(raw.end(), size - length, 0);
    raw.insert(raw.end(), der.begin() + static_cast<std::ptrdiff_t>(begin),
               der.begin() + static_cast<std::ptrdiff_t>(begin + length));
  }
  return raw;
}

// A token in JWS compact serialisation, whatever the header says.
inline std::string token_of(const Json& header, const Json& claims, const Signer& key) {
  const std::string head = header.dump();
  const std::string body = claims.dump();
  const std::string text =
      base64url_encode(as_bytes(head)) + "." + base64url_encode(as_bytes(body));
  const Bytes der = key.sign(as_bytes(text)).value();
  return text + "." + base64url_encode(raw_of(der, scalar_bytes(key)));
}

}  // namespace assay::test
