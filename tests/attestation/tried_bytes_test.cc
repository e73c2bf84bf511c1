// SPDX-License-Identifier: Apache-2.0
// How much is hashed to find the keys of signatures that name none. What is hashed goes through the
// functions of OpenSSL below, which count it.
#include <algorithm>
#include <dlfcn.h>
#include <iterator>

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "tests/attestation/support.h"

namespace {

std::size_t hashed = 0;
bool within = false;  // a call that was counted, which may call the other one

// The function of this name in the library, which the one below hides.
template <typename Function>
Function hidden(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
int EVP_DigestUpdate(EVP_MD_CTX* context, const void* data, std::size_t size) {
  static const auto real = hidden<decltype(&EVP_DigestUpdate)>("EVP_DigestUpdate");
  hashed += within ? 0 : size;
  return real(context, data, size);
}
int EVP_DigestVerify(EVP_MD_CTX* context, const unsigned char* signature, std::size_t length,
                     const unsigned char* data, std::size_t size) {
  static const auto real = hidden<decltype(&EVP_DigestVerify)>("EVP_DigestVerify");
  hashed += size;
  within = true;
  const int verified = real(context, signature, length, data, size);
  within = false;
  return verified;
}
}
#pragma GCC visibility pop

namespace assay::attestation {
namespace {

using test::code_of;
using test::signer;
using test::trust;

constexpr std::string_view kStatementType = "application/vnd.assay.statement+json";

// As many signatures as an envelope may have, none of which names its key, by keys of nobody.
Envelope signed_by_strangers(std::initializer_list<SignatureAlgorithm> algorithms,
                             std::size_t payload) {
  Envelope envelope{std::string(kStatementType), Bytes(payload, 'a'), {}};
  while (envelope.signatures.size() < kMaxSignatures) {
    for (const SignatureAlgorithm algorithm : algorithms) {
      const Bytes signature = signer(algorithm, 100).sign(as_bytes("another message")).value();
      envelope.signatures.push_back({"", signature, Json::object()});
    }
  }
  return envelope;
}

std::vector<TrustedKey> keys_of(SignatureAlgorithm algorithm, int count) {
  std::vector<TrustedKey> keys;
  for (int i = 0; i < count; ++i) {
    keys.push_back(trust(signer(algorithm, i), "somebody"));
  }
  return keys;
}

TEST(TriedBytes, OfCurvesThatSignAHash_AreHashedOnceForEachCurve) {
  constexpr std::size_t kBytes = 16U << 20;
  constexpr std::size_t kBeside = 64U << 10;  // ids of keys, and the type of the payload
  const Envelope envelope =
      signed_by_strangers({SignatureAlgorithm::kEcdsaP256, SignatureAlgorithm::kEcdsaP384}, kBytes);
  std::vector<TrustedKey> keys = keys_of(SignatureAlgorithm::kEcdsaP256, 8);
  hashed = 0;
  ASSERT_TRUE(verify_signatures(envelope, keys));
  EXPECT_GE(hashed, kBytes);
  EXPECT_LE(hashed, kBytes + kBeside);
  std::ranges::copy(keys_of(SignatureAlgorithm::kEcdsaP384, 8), std::back_inserter(keys));
  hashed = 0;
  ASSERT_TRUE(verify_signatures(envelope, keys));
  EXPECT_GE(hashed, 2 * kBytes);
  EXPECT_LE(hashed, 2 * kBytes + kBeside);
}

TEST(TriedBytes, OfEd25519_EndWithALimit) {
  constexpr std::size_t kBytes = 40U << 20;
  const Envelope envelope = signed_by_strangers({SignatureAlgorithm::kEd25519}, kBytes);
  const std::vector<TrustedKey> one = keys_of(SignatureAlgorithm::kEd25519, 1);
  hashed = 0;
  EXPECT_EQ(code_of(verify_signatures(envelope, one)), "limit-exceeded");
  EXPECT_GE(hashed, 12 * kBytes);
  EXPECT_LE(hashed, std::size_t{512} << 20);
}

// Arithmetic on P-384 takes ten times as long as on the others.
TEST(TriedBytes, TriesOnP384_EndSoonerThanOthers) {
  const auto tried = [](SignatureAlgorithm algorithm, std::size_t keys) {
    const std::vector<TrustedKey> list(keys, trust(signer(algorithm), "somebody"));
    Envelope envelope = signed_by_strangers({algorithm}, 0);
    envelope.signatures.resize(1);
    return code_of(verify_signatures(envelope, list));
  };
  EXPECT_EQ(tried(SignatureAlgorithm::kEcdsaP384, 512), "ok");
  EXPECT_EQ(tried(SignatureAlgorithm::kEcdsaP384, 513), "limit-exceeded");
  EXPECT_EQ(tried(SignatureAlgorithm::kEcdsaP256, 4096), "ok");
  EXPECT_EQ(tried(SignatureAlgorithm::kEcdsaP256, 4097), "limit-exceeded");
}

}  // namespace
}  // namespace assay::attestation
