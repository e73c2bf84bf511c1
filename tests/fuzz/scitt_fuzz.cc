// SPDX-License-Identifier: Apache-2.0
// Signed statements and receipts of SCITT: the input is a mutation of one of those that a key
// signed. What verifies says what they say.
#include <cstdlib>
#include <utility>

#include "attestation/scitt/receipt.h"
#include "attestation/scitt/statement.h"

namespace {

using namespace assay;
using attestation::PublicKey;
namespace scitt = attestation::scitt;

// The key, and the leaf and the root of the receipt, of tests/fuzz/corpus/scitt.
const char* const kKey =
    "302a300506032b6570032100"
    "86853fc52670859c8625bb0ea9bf3a68e29522df8645b15c4485f9fc3bba2c2a";
const char* const kLeaf = "0d27e27f7827ccd745199e8eb3a6af368e1064af42ae9f83740e98121e2bc025";
const char* const kRoot = "42bfac346103c462e6887593c89105475c861ec85c114339f718a1082a166e11";

const PublicKey& key() {
  static const PublicKey parsed = std::move(PublicKey::from_der(*hex_decode(kKey))).value();
  return parsed;
}

void check_statement(ByteView bytes) {
  const auto statement = scitt::parse_statement(bytes);
  if (!statement || !scitt::verify_by_key(*statement, key())) {
    return;
  }
  if (statement->issuer != "https://issuer.example" || statement->subject != "acme/llama") {
    std::abort();
  }
}

void check_receipt(ByteView bytes) {
  const Digest leaf = Digest::from_hex(HashAlgorithm::kSha256, kLeaf).value();
  const auto receipt = scitt::verify_receipt(bytes, leaf, key());
  if (receipt && (receipt->issuer != "log.example/one" || receipt->root.hex() != kRoot)) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_statement(ByteView(data, size));
  check_receipt(ByteView(data, size));
  return 0;
}
