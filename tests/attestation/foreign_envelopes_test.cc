// SPDX-License-Identifier: Apache-2.0
// Envelopes that other software made: the example of the DSSE specification, and those of witness.
#include <gtest/gtest.h>

#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

using test::code_of;

// The example has raw r || s; our signatures are DER (X.690), in which each is one INTEGER.
Bytes der_from_raw(ByteView raw) {
  Bytes body;
  for (const ByteView half : {raw.first(raw.size() / 2), raw.subspan(raw.size() / 2)}) {
    std::size_t start = 0;
    while (start + 1 < half.size() && half[start] == 0) {
      ++start;
    }
    Bytes integer(half.begin() + static_cast<std::ptrdiff_t>(start), half.end());
    if ((integer.front() & 0x80U) != 0) {
      integer.insert(integer.begin(), 0);
    }
    body.push_back(0x02);
    body.push_back(static_cast<std::uint8_t>(integer.size()));
    body.insert(body.end(), integer.begin(), integer.end());
  }
  Bytes out = {0x30, static_cast<std::uint8_t>(body.size())};
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

TEST(DsseSpecification, Example_Verifies) {
  const Json example = test::load_vectors("dsse.json")["specification_example"];
  const auto envelope = parse_envelope(as_bytes(example["envelope"].get<std::string>()));
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->payload_type, "http://example.com/HelloWorld");
  EXPECT_EQ(as_text(envelope->payload), "hello world");
  Bytes spki = *hex_decode("3059301306072a8648ce3d020106082a8648ce3d03010703420004");
  for (const char* member : {"public_x", "public_y"}) {
    const Bytes half = test::from_hex(example[member]);
    spki.insert(spki.end(), half.begin(), half.end());
  }
  const auto key = PublicKey::from_der(spki);
  ASSERT_TRUE(key) << to_string(key.error());
  const Bytes message = pre_authentication_encoding(envelope->payload_type, envelope->payload);
  const Bytes& raw = envelope->signatures[0].signature;
  EXPECT_TRUE(key->verify(message, der_from_raw(raw)));
  EXPECT_EQ(code_of(key->verify(message, raw)), "signature-invalid");
}

class Witness : public testing::Test {
 protected:
  void SetUp() override { folder_ = test::shared_vectors("in-toto-dsse"); }

  [[nodiscard]] Result<Envelope> read(const char* file) const {
    return parse_envelope(as_bytes(test::read_file(*folder_ / "witness-archivista" / file)));
  }
  // The Ed25519 key that signed them is inside the signed policy.
  [[nodiscard]] TrustedKey key() const {
    const Json policy = Json::parse(as_text(read("policy-signed.json")->payload));
    const std::string id = read("policy-signed.json")->signatures[0].keyid_hint;
    const std::string pem = test::text_from_base64(policy["publickeys"][id]["key"]);
    const PublicKey parsed = std::move(PublicKey::from_pem(pem)).value();
    return {parsed.id(), parsed.algorithm(), parsed.der(), KeyPurpose::kSigner, "witness",
            {},          Timestamp(),        Timestamp(),  std::nullopt};
  }

  std::optional<std::filesystem::path> folder_;
};

TEST_F(Witness, SignedDocuments_Verify) {
  if (!folder_) {
    GTEST_SKIP() << "no shared/vectors/in-toto-dsse on this machine";
  }
  for (const char* file : {"policy-signed.json", "build.attestation.json"}) {
    const auto envelope = read(file);
    ASSERT_TRUE(envelope) << file;
    EXPECT_EQ(verify_signatures(*envelope, std::vector{key()})->size(), 1U) << file;
    Envelope changed = *envelope;
    changed.payload.push_back(' ');
    EXPECT_TRUE(verify_signatures(changed, std::vector{key()})->empty()) << file;
  }
}

TEST_F(Witness, SignaturesOfOtherAlgorithms_AreIgnored) {
  if (!folder_) {
    GTEST_SKIP() << "no shared/vectors/in-toto-dsse on this machine";
  }
  for (const char* file : {"package.attestation.json", "fail.attestation.json"}) {
    const auto envelope = read(file);
    ASSERT_TRUE(envelope) << file;
    EXPECT_TRUE(verify_signatures(*envelope, std::vector{key()})->empty()) << file;
  }
}

TEST_F(Witness, InvalidPayload_DoesNotVerify) {
  if (!folder_) {
    GTEST_SKIP() << "no shared/vectors/in-toto-dsse on this machine";
  }
  const auto envelope = read("invalid_payload.attestation.json");
  EXPECT_TRUE(!envelope || verify_signatures(*envelope, std::vector{key()})->empty());
}

}  // namespace
}  // namespace assay::attestation
