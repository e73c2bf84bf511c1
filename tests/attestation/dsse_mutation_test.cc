// SPDX-License-Identifier: Apache-2.0
// A signed envelope, cut at every byte and with every bit flipped: what still verifies says what
// was signed.
#include <gtest/gtest.h>

#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

using test::signer;
using test::trust;

constexpr std::string_view kType = "application/vnd.in-toto+json";
constexpr std::string_view kPayload = "{\"deep\":[1,2]}";

class DsseMutation : public testing::TestWithParam<SignatureAlgorithm> {
 protected:
  void SetUp() override {
    const Signer* signers[] = {&signer(GetParam())};
    text_ = encode_envelope(std::move(sign_envelope(kType, as_bytes(kPayload), signers)).value());
    keys_ = {trust(signer(GetParam()), "a")};
  }

  // True when the key still counts as a signer of the text.
  [[nodiscard]] bool counts(const std::string& text) const {
    const auto envelope = parse_envelope(as_bytes(text));
    if (!envelope) {
      return false;
    }
    const auto verified = verify_signatures(*envelope, keys_);
    if (!verified || verified->empty()) {
      return false;
    }
    EXPECT_EQ(envelope->payload_type, kType) << text;
    EXPECT_EQ(as_text(envelope->payload), kPayload) << text;
    return true;
  }

  // Every bit where that is cheap, at least one of every byte elsewhere.
  [[nodiscard]] static std::size_t step() {
    return GetParam() == SignatureAlgorithm::kEd25519 ? 1 : 7;
  }

  std::string text_;
  std::vector<TrustedKey> keys_;
};

TEST_P(DsseMutation, Truncated_NeverCounts) {
  ASSERT_TRUE(counts(text_));
  for (std::size_t size = 0; size < text_.size(); ++size) {
    EXPECT_FALSE(counts(text_.substr(0, size))) << size;
  }
}

TEST_P(DsseMutation, FlippedBit_NeverCountsForAnythingElse) {
  const std::size_t hint_begin = text_.find("\"keyid\":\"") + 1;
  const std::size_t hint_end = text_.find('"', hint_begin + 8);
  for (std::size_t bit = 0; bit < text_.size() * 8; bit += step()) {
    std::string changed = text_;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const bool in_hint = bit / 8 >= hint_begin && bit / 8 < hint_end;
    // Only the hint is not signed: with another one, or none, the key is found by trying.
    EXPECT_TRUE(!counts(changed) || in_hint) << changed;
  }
}

TEST_P(DsseMutation, FlippedBitOfPayloadOrSignature_NeverVerifies) {
  const Envelope envelope = *parse_envelope(as_bytes(text_));
  for (std::size_t bit = 0; bit < envelope.payload.size() * 8; bit += step()) {
    Envelope changed = envelope;
    changed.payload = test::flip(changed.payload, bit);
    EXPECT_FALSE(verify_signatures(changed, keys_)) << bit;
  }
  for (std::size_t bit = 0; bit < envelope.signatures[0].signature.size() * 8; bit += step()) {
    Envelope changed = envelope;
    changed.signatures[0].signature = test::flip(changed.signatures[0].signature, bit);
    EXPECT_FALSE(verify_signatures(changed, keys_)) << bit;
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, DsseMutation, testing::ValuesIn(test::kAlgorithms),
                         [](const auto& row) {
                           std::string text(name(row.param));
                           std::erase(text, '-');
                           return text;
                         });

}  // namespace
}  // namespace assay::attestation
