// SPDX-License-Identifier: Apache-2.0
// Envelopes: what is read is written, and reads back as the same; and no payload verifies under the
// keys of the vectors but those that they signed.
#include <cstdlib>
#include <set>

#include "attestation/dsse.h"

namespace {

using namespace assay;

// tests/vectors/dsse.json: public keys, and the statements in the corpus that they signed.
constexpr std::string_view kKeys[] = {
    "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
    "0bbc346a57667c380120bd9c7fd7e51d2c5fdfea37cd2f5bf405b2c6bf6f2d78"};
const std::set<std::string> kSigned = {
    "sha256:678717b2e7ecc54a41ef2b52b0bf6c00f6e960782b161120af4d766801460839",
    "sha256:e271001ef5f08e42217b4cb951a864bfe6391558fdfac42eec5a698b91a0faa0"};

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

std::vector<TrustedKey> trusted() {
  std::vector<TrustedKey> keys;
  for (const std::string_view raw : kKeys) {
    const auto key = attestation::PublicKey::from_der(
        hex_decode("302a300506032b6570032100" + std::string(raw)).value());
    require(key.has_value());
    keys.push_back({key->id(),
                    key->algorithm(),
                    key->der(),
                    KeyPurpose::kSigner,
                    "x",
                    {},
                    Timestamp(),
                    Timestamp(),
                    std::nullopt});
  }
  return keys;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<TrustedKey> keys = trusted();
  const auto envelope = attestation::parse_envelope(ByteView(data, size));
  if (!envelope) {
    return 0;
  }
  const std::string written = attestation::encode_envelope(*envelope);
  const auto again = attestation::parse_envelope(as_bytes(written));
  require(again && attestation::encode_envelope(*again) == written);
  const auto verified = attestation::verify_signatures(*envelope, keys);
  const auto id = attestation::statement_id(envelope->payload_type, envelope->payload);
  require(!verified || verified->empty() || kSigned.contains(id.text()));
  return 0;
}
