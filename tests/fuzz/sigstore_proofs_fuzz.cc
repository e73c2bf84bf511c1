// SPDX-License-Identifier: Apache-2.0
// What OpenSSL parses of a bundle, and checkpoints: the first byte of the input says what the rest
// is. Nothing of it counts: the root has an authority and a log whose keys nobody has here.
#include <cstdlib>
#include <string>

#include "attestation/sigstore/identity.h"
#include "attestation/sigstore/log_checkpoint.h"
#include "attestation/sigstore/rfc3161.h"
#include "attestation/sigstore/sct.h"
#include "attestation/x509/extensions.h"
#include "attestation/x509/path.h"

namespace {

using namespace assay;
using namespace assay::attestation;

// A CA that signed nothing (P-256, valid 2026 to 2036).
constexpr const char* kAnchor =
    "MIIBhjCCAS2gAwIBAgIUC5TJ0myFHGIxLv746QUUHNQk5kIwCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGbm9ib2R5MB4X"
    "DTI2MTEyOTE4MDYyOVoXDTM2MTEyNjE4MDYyOVowETEPMA0GA1UEAwwGbm9ib2R5MFkwEwYHKoZIzj0CAQYIKoZIzj0D"
    "AQcDQgAEQCdjd+qsXlVV16V0aq6Fp1IzWh5bUWEwXvSqV6WlHJrQAhf9pP2fgjueic7MrkgGrguGD5nsY2RRc3NK7tbt"
    "kaNjMGEwHQYDVR0OBBYEFMf5DxKuKAAW3c1fDcoJiO8UfSM0MB8GA1UdIwQYMBaAFMf5DxKuKAAW3c1fDcoJiO8UfSM0"
    "MA4GA1UdDwEB/wQEAwICBDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIFA4SYA8SmqDI7xyDrGQOWfx"
    "vnjrBLqzfR3jYn2b/Cw0AiBVwvdZASQ9z+I3jvgyv9t84Y0Xk7T5X03/YQr+YLdbJQ==";

const x509::Certificate& anchor() {
  static const x509::Certificate parsed =
      x509::Certificate::from_der(base64_decode(kAnchor).value()).value();
  return parsed;
}

const sigstore::Log& log() {
  static const sigstore::Log made{"https://log.example",
                                  Bytes(32, 1),
                                  std::make_shared<const PublicKey>(anchor().public_key().value()),
                                  {parse_rfc3339("2020-01-01T00:00:00Z").value(), std::nullopt}};
  return made;
}

// Returns whether something verified.
bool try_timestamp(ByteView input) {
  const sigstore::Authority authority{"https://tsa.example", {anchor()}, {}, {}, log().valid_for};
  // The imprint is checked before the signature: the bytes are those of the corpus.
  return sigstore::verify_timestamp(input, as_bytes("signature"), std::span(&authority, 1))
      .has_value();
}

bool try_certificate(ByteView input) {
  const auto certificate = x509::Certificate::from_der(input);
  if (!certificate) {
    return false;
  }
  static_cast<void>(sigstore::identity_of(*certificate));
  const x509::PathOptions options{.time = certificate->not_before(), .purpose = x509::kCodeSigning};
  return x509::verify_path(*certificate, {}, std::span(&anchor(), 1), options).has_value() ||
         sigstore::verify_scts(*certificate, anchor(), std::span(&log(), 1)).has_value();
}

bool try_checkpoint(ByteView input) {
  const auto checkpoint = sigstore::parse_log_checkpoint(as_text(input));
  return checkpoint && sigstore::verify_log_checkpoint(*checkpoint, log());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const ByteView rest(data + 1, size - 1);
  const bool verified = data[0] == 't'   ? try_timestamp(rest)
                        : data[0] == 'c' ? try_certificate(rest)
                                         : try_checkpoint(rest);
  if (verified) {
    std::abort();
  }
  return 0;
}
