// SPDX-License-Identifier: Apache-2.0
// Signatures of Project Wycheproof: each is taken or refused as it is flagged. "acceptable" is
// refused. tests/vectors/wycheproof has a part of them; whole files are read where they are.
#include <string>

#include <gtest/gtest.h>

#include "attestation/crypto/ecdsa_signature.h"
#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

using test::from_hex;

struct File {
  const char* name;
  std::size_t carried;  // tests in the part that is here
};

void PrintTo(const File& file, std::ostream* out) { *out << file.name; }

std::optional<SignatureHash> hash_named(const std::string& name) {
  if (name == "SHA-256") {
    return SignatureHash::kSha256;
  }
  if (name == "SHA-384") {
    return SignatureHash::kSha384;
  }
  return name == "SHA-512" ? std::optional(SignatureHash::kSha512) : std::nullopt;
}

std::string text_at(const Json& json, const char* name) { return json.value(name, std::string()); }

// The scheme of a group. Nothing for hashes that are not used here.
std::optional<SignatureScheme> scheme_of(const Json& group) {
  const std::string type = text_at(group, "type");
  const auto hash = hash_named(text_at(group, "sha"));
  const SignatureAlgorithm algorithm = type == "RsassaPssVerify" ? SignatureAlgorithm::kRsaPss
                                       : type == "RsassaPkcs1Verify"
                                           ? SignatureAlgorithm::kRsaPkcs1
                                           : SignatureAlgorithm::kEcdsaP521;
  return hash ? std::optional(SignatureScheme{algorithm, *hash}) : std::nullopt;
}

// RSASSA-PSS with another mask, or a salt of another length, is another scheme, which no signature
// here is valid for.
bool has_our_parameters(const Json& group, const SignatureScheme& scheme) {
  return scheme.algorithm != SignatureAlgorithm::kRsaPss ||
         (text_at(group, "sha") == text_at(group, "mgfSha") &&
          group.value("sLen", 0) == static_cast<int>(size_of(scheme.hash)));
}

std::string verdict(const PublicKey& key, const SignatureScheme& scheme, const Json& group,
                    const Json& test) {
  constexpr std::size_t kP521Scalar = 66;
  Bytes signature = from_hex(text_at(test, "sig"));
  if (text_at(group, "type") == "EcdsaP1363Verify") {
    signature = assay::attestation::der_signature(signature, kP521Scalar);
  }
  return test::code_of(key.verify_as(scheme, from_hex(text_at(test, "msg")), signature));
}

// Returns how many tests were looked at.
std::size_t check(const Json& file) {
  std::size_t count = 0;
  for (const Json& group : file.at("testGroups")) {
    const auto scheme = scheme_of(group);
    if (!scheme) {
      continue;
    }
    const auto key =
        PublicKey::from_der(from_hex(text_at(group, "publicKeyDer")), scheme->algorithm);
    EXPECT_TRUE(key) << key.error().detail;
    for (const Json& test : group.at("tests")) {
      const bool valid = text_at(test, "result") == "valid" && has_our_parameters(group, *scheme);
      EXPECT_EQ(verdict(*key, *scheme, group, test), valid ? "ok" : "signature-invalid")
          << test.at("tcId") << " " << text_at(test, "comment");
      ++count;
    }
  }
  return count;
}

class Wycheproof : public testing::TestWithParam<File> {};

TEST_P(Wycheproof, CarriedPart_IsJudgedAsFlagged) {
  EXPECT_EQ(check(test::load_vectors(std::string("wycheproof/") + GetParam().name)),
            GetParam().carried);
}

TEST_P(Wycheproof, WholeFile_IsJudgedAsFlagged) {
  ASSAY_SHARED_VECTORS_OR_SKIP(folder, "wycheproof");
  const Json file = Json::parse(test::read_file(folder / GetParam().name), nullptr, false);
  ASSERT_FALSE(file.is_discarded());
  EXPECT_GT(check(file), GetParam().carried);
}

INSTANTIATE_TEST_SUITE_P(Files, Wycheproof,
                         testing::Values(File{"ecdsa_secp521r1_sha512_p1363_test.json", 17},
                                         File{"ecdsa_secp521r1_sha512_test.json", 19},
                                         File{"rsa_pss_2048_sha256_mgf1_32_test.json", 5},
                                         File{"rsa_pss_3072_sha256_mgf1_32_test.json", 5},
                                         File{"rsa_pss_4096_sha384_mgf1_48_test.json", 5},
                                         File{"rsa_pss_misc_test.json", 12},
                                         File{"rsa_signature_2048_sha256_test.json", 14},
                                         File{"rsa_signature_3072_sha256_test.json", 13},
                                         File{"rsa_signature_3072_sha384_test.json", 12},
                                         File{"rsa_signature_4096_sha256_test.json", 12},
                                         File{"rsa_signature_4096_sha512_test.json", 12}),
                         [](const auto& row) {
                           const std::string name = row.param.name;
                           return name.substr(0, name.rfind("_test"));
                         });

}  // namespace
}  // namespace assay::attestation
