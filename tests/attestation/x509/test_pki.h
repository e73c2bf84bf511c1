// SPDX-License-Identifier: Apache-2.0
// Certificates that tests make: any key, extensions in OpenSSL's configuration syntax, and faults.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "attestation/x509/certificate.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::test {

using KeyPtr = std::shared_ptr<EVP_PKEY>;

// A new key: "P-256", "P-384", "P-521", "P-224", "ED25519", "RSA-1024", "RSA-2048".
[[nodiscard]] KeyPtr make_key(const std::string& kind);
// The key of (kind, number), made once for the test program.
[[nodiscard]] KeyPtr key_of(const std::string& kind, int number = 0);
[[nodiscard]] Bytes public_der(const KeyPtr& key);
// Signs as `hash` says ("" for Ed25519).
[[nodiscard]] Bytes sign_with(const KeyPtr& key, ByteView message, const char* hash = "SHA256");

// An extension: name and value as openssl.cnf has them, such as {"basicConstraints",
// "critical,CA:TRUE"}; or, with an OID as the name, "DER:..." in hex, "critical,DER:...".
using Extension = std::pair<std::string, std::string>;

struct CertificateSpec {
  std::string subject = "leaf";  // common name
  std::string issuer = "root";
  KeyPtr key;
  KeyPtr issuer_key;
  std::string not_before = "2026-01-01T00:00:00Z";
  std::string not_after = "2026-12-31T23:59:59Z";
  std::vector<Extension> extensions;
  const char* hash = "SHA256";
  long version = 2;
  int serial = 1;
  std::string serial_hex;  // instead of `serial`, when not empty
};

// The DER of a certificate as `spec` says.
[[nodiscard]] Bytes make_certificate(const CertificateSpec& spec);
// The same, parsed; fails the test when it cannot be.
[[nodiscard]] attestation::x509::Certificate certificate(const CertificateSpec& spec);

// Adds an extension to `x509`, for tests that make certificates in more than one step.
void add_extension(X509* x509, const Extension& extension);

// Specs of a root, of a CA below it, and of a leaf that signs code.
[[nodiscard]] CertificateSpec root_spec(const std::string& name = "root", int key = 0);
[[nodiscard]] CertificateSpec ca_spec();
[[nodiscard]] CertificateSpec leaf_spec();

// Replaces the extension `name` of a spec (adds it when it is absent, drops it for an empty value).
[[nodiscard]] CertificateSpec with(CertificateSpec spec, const std::string& name,
                                   const std::string& value);

}  // namespace assay::test
