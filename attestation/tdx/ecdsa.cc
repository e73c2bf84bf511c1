// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/ecdsa.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <openssl/core_names.h>
#include <openssl/obj_mac.h>

#include "attestation/crypto/ecdsa_signature.h"
#include "attestation/crypto/no_memory.h"

namespace assay::attestation::tdx {
PkeyHandle import_p256(ByteView point) {
  const ErrorQueueGuard guard;
  if (point.size() != kRawKeyBytes) {
    return nullptr;
  }
  std::array<std::uint8_t, 1 + kRawKeyBytes> encoded{0x04};
  std::copy(point.begin(), point.end(), encoded.begin() + 1);
  std::array<char, 11> group{"prime256v1"};
  const std::array<OSSL_PARAM, 3> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group.data(), 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, encoded.data(), encoded.size()),
      OSSL_PARAM_construct_end()};
  const PkeyContextHandle context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  if (ASSAY_NO_MEMORY(context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1)) {
    return nullptr;
  }
  EVP_PKEY* key = nullptr;
  if (EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY,
                        const_cast<OSSL_PARAM*>(parameters.data())) != 1) {
    return nullptr;
  }
  return PkeyHandle(key);
}

bool verify_raw(EVP_PKEY* key, ByteView message, ByteView signature) {
  return verify_der(key, message, der_signature(signature));
}

bool verify_der(EVP_PKEY* key, ByteView message, ByteView signature) {
  const ErrorQueueGuard guard;
  if (!is_p256(key) || signature.empty()) {
    return false;
  }
  const DigestContextHandle context(EVP_MD_CTX_new());
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return false;
  }
  const int begun =
      EVP_DigestVerifyInit_ex(context.get(), nullptr, "SHA2-256", nullptr, nullptr, key, nullptr);
  if (ASSAY_NO_MEMORY(begun != 1)) {
    return false;
  }
  return EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                          message.size()) == 1;
}

bool is_p256(EVP_PKEY* key) {
  std::array<char, 32> group{};
  std::size_t size = 0;
  return key != nullptr && EVP_PKEY_is_a(key, "EC") == 1 &&
         EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1 &&
         std::string_view(group.data(), size) == SN_X9_62_prime256v1;
}

}  // namespace assay::attestation::tdx
