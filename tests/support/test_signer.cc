// SPDX-License-Identifier: Apache-2.0
// Ed25519 with OpenSSL's EVP interface.
#include "tests/support/test_signer.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "schemas/core/sha.h"

namespace assay {
namespace {

EVP_PKEY* make_key(std::uint8_t first) {
  std::array<std::uint8_t, 32> seed{};
  std::iota(seed.begin(), seed.end(), first);
  EVP_PKEY* key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size());
  if (key == nullptr) {
    std::fputs("no Ed25519 key for the test\n", stderr);
    std::abort();
  }
  return key;
}

Bytes der_of(EVP_PKEY* key) {
  unsigned char* out = nullptr;
  const int size = i2d_PUBKEY(key, &out);
  if (size <= 0) {
    std::fputs("no public key for the test\n", stderr);
    std::abort();
  }
  Bytes der(out, out + size);
  OPENSSL_free(out);
  return der;
}

}  // namespace

void TestSigner::Free::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

TestSigner::TestSigner(std::uint8_t first)
    : key_(make_key(first)), public_key_(der_of(key_.get())), key_id_(sha256(public_key_)) {}

TestSigner::~TestSigner() = default;

Result<Bytes> TestSigner::sign(ByteView message) const {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  Bytes signature(64);
  std::size_t size = signature.size();
  const bool good =
      context != nullptr &&
      EVP_DigestSignInit(context, nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestSign(context, signature.data(), &size, message.data(), message.size()) == 1;
  EVP_MD_CTX_free(context);
  if (!good) {
    return fail(ErrorCode::kKeyUnusable, "OpenSSL did not sign");
  }
  return signature;
}

}  // namespace assay
