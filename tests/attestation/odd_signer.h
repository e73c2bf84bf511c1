// SPDX-License-Identifier: Apache-2.0
// A signer that does not sign.
#pragma once

#include <utility>

#include "tests/attestation/support.h"

namespace assay::test {

// A key in a module that answers with something else than a signature, or not at all.
class OddSigner final : public Signer {
 public:
  explicit OddSigner(Result<Bytes> answer) : answer_(std::move(answer)) {}
  [[nodiscard]] const KeyId& key_id() const override { return own_.key_id(); }
  [[nodiscard]] SignatureAlgorithm algorithm() const override { return own_.algorithm(); }
  [[nodiscard]] const Bytes& public_key() const override { return own_.public_key(); }
  [[nodiscard]] Result<Bytes> sign(ByteView) const override { return answer_; }

 private:
  const Signer& own_ = signer(SignatureAlgorithm::kEcdsaP256);
  Result<Bytes> answer_;
};

}  // namespace assay::test
