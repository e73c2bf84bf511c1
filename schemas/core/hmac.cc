// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/hmac.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "schemas/core/owner.h"

namespace assay {
namespace {

void require(bool good) {
  if (!good) {
    std::fputs("assay: the OpenSSL digest implementation failed; stopping\n", stderr);
    std::abort();
  }
}

}  // namespace

std::array<std::uint8_t, 64> sha512(std::initializer_list<ByteView> parts) {
  static const EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA2-512", nullptr);
  const Owner<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  require(md != nullptr && context != nullptr &&
          EVP_DigestInit_ex2(context.get(), md, nullptr) == 1);
  for (const ByteView part : parts) {
    require(EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1);
  }
  std::array<std::uint8_t, 64> out{};
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(context.get(), out.data(), &length) == 1 && length == out.size());
  return out;
}

Digest hmac_sha256(ByteView key, std::initializer_list<ByteView> parts) {
  static EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  require(mac != nullptr);
  const Owner<EVP_MAC_CTX, EVP_MAC_CTX_free> context(EVP_MAC_CTX_new(mac));
  std::string name = "SHA2-256";
  const std::array<OSSL_PARAM, 2> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.data(), 0),
      OSSL_PARAM_construct_end()};
  // No key at all would mean "as before" to OpenSSL; an empty one is a key.
  static constexpr std::uint8_t kNoKey = 0;
  require(context != nullptr && EVP_MAC_init(context.get(), key.empty() ? &kNoKey : key.data(),
                                             key.size(), parameters.data()) == 1);
  for (const ByteView part : parts) {
    require(EVP_MAC_update(context.get(), part.data(), part.size()) == 1);
  }
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> out{};
  std::size_t length = 0;
  require(EVP_MAC_final(context.get(), out.data(), &length, out.size()) == 1 &&
          length == digest_size(HashAlgorithm::kSha256));
  return Digest::wrap(HashAlgorithm::kSha256, out.data());
}

}  // namespace assay
