// SPDX-License-Identifier: Apache-2.0
// COSE_Sign1: the input is a mutation of a signed message. What verifies has the signed regions of
// the message that the key signed: its protected header and its payload.
#include <cstdlib>
#include <memory>

#include "attestation/cose/sign1.h"

namespace {

using namespace assay;
using attestation::PublicKey;
namespace cose = attestation::cose;

// The message of tests/fuzz/corpus/cose/signed: Ed25519, which gives one signature for one message.
const char* const kKey =
    "302a300506032b6570032100"
    "8235b3ba49e5e820ea8c229e3c5088e2f848369827100c1fe49d4f0ec2062156";
const char* const kProtected = "a20127036a746578742f706c61696e";
const char* const kPayload = "546869732069732074686520636f6e74656e742e";

const PublicKey& key() {
  static const PublicKey parsed = std::move(PublicKey::from_der(*hex_decode(kKey))).value();
  return parsed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = cose::parse_sign1(ByteView(data, size));
  if (!message || !cose::verify_sign1(*message, key())) {
    return 0;
  }
  if (hex_encode(message->protected_header) != kProtected ||
      hex_encode(message->payload) != kPayload) {
    std::abort();
  }
  return 0;
}
