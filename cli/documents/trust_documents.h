// SPDX-License-Identifier: Apache-2.0
// Makes parts of trust documents from what people type: roles, times, keys, principals.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/trust.h"

namespace assay::cli {

// Parses "stage:predicate type:namespace". The predicate type may contain ':'. "lifecycle" and
// "manifest" are short for assay's own predicate types. Errors: usage.
[[nodiscard]] Result<SignerRole> read_signer_role(const std::string& text);

// Read a TrustedKey, Principal, Appraisal or Registration from a JSON file.
[[nodiscard]] Result<TrustedKey> read_trusted_key(const std::string& path);
[[nodiscard]] Result<Principal> read_principal(const std::string& path);
[[nodiscard]] Result<Appraisal> read_appraisal(const std::string& path);
[[nodiscard]] Result<Registration> read_registration_file(const std::string& path);
// Reads "NAME=FILE", where the file is a trusted_root.json. Errors: usage.
[[nodiscard]] Result<PutTrustedRoot> read_trusted_root(const std::string& text);
// Returns the DER of each certificate in a file of PEM blocks, or of DER.
[[nodiscard]] Result<std::vector<Bytes>> read_certificates(const std::string& path);

// The public key of a PEM file. When the file holds a private key, the public key comes from
// FILE.pub next to it.
struct PublicHalf {
  KeyId id;
  SignatureAlgorithm algorithm;
  Bytes der;
  std::string pem;
};
[[nodiscard]] Result<PublicHalf> read_public_key(const std::string& path);

// Returns the credential of a client certificate: the SHA-256 of the SubjectPublicKeyInfo of an
// X.509 certificate in PEM.
[[nodiscard]] Result<Credential> certificate_credential(const std::string& path);

}  // namespace assay::cli
