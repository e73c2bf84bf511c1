// SPDX-License-Identifier: Apache-2.0
// Checkpoints, verifier keys and log records: each has one spelling, and no note verifies under the
// key of the vectors but the one that it signed.
#include <cstdlib>

#include "attestation/signed_note.h"
#include "schemas/log_record.h"

namespace {

using namespace assay;

// tests/vectors/log.json: verifier_key and the text of checkpoints[1].
constexpr std::string_view kKey =
    "assay.example.com/log+be0dd2b1+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4";
constexpr std::string_view kSigned =
    "assay.example.com/log\n1\nQHZrIDNCkCb1PVRQJnmoOXBrR0H43K86i7pfQbX/4HU=\n";

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto verifier = attestation::parse_verifier_key(kKey).value();
  const ByteView bytes(data, size);
  const std::string_view text = as_text(bytes);
  if (const auto parsed = parse_checkpoint(text)) {
    require(checkpoint_text(parsed->checkpoint) == parsed->text && text.starts_with(parsed->text));
    require(!attestation::verify_checkpoint(text, verifier) || parsed->text == kSigned);
  }
  if (const auto key = attestation::parse_verifier_key(text)) {
    require(note_verifier_key(key->key_name, key->key.der()).value() == text);
  }
  if (const auto record = parse_log_record(bytes)) {
    require(encode(*record).value() == text);
  }
  return 0;
}
