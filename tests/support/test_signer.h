// SPDX-License-Identifier: Apache-2.0
// An Ed25519 signer with a published key, so that tests have the same signatures every time.
#pragma once

#include <memory>

#include "schemas/core/signer.h"

struct evp_pkey_st;

namespace assay {

class TestSigner final : public Signer {
 public:
  // The private key is 32 bytes that count up from `first`; 0 gives the key of
  // tests/vectors/log.json. Stops the test program when OpenSSL fails.
  explicit TestSigner(std::uint8_t first = 0);
  ~TestSigner() override;

  [[nodiscard]] SignatureAlgorithm algorithm() const override {
    return SignatureAlgorithm::kEd25519;
  }
  [[nodiscard]] const KeyId& key_id() const override { return key_id_; }
  [[nodiscard]] const Bytes& public_key() const override { return public_key_; }
  [[nodiscard]] Result<Bytes> sign(ByteView message) const override;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const;
  };
  std::unique_ptr<evp_pkey_st, Free> key_;
  Bytes public_key_;
  KeyId key_id_;
};

}  // namespace assay
