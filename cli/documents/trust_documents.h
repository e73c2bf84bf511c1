// SPDX-License-Identifier: Apache-2.0
// Parts of trust documents from what people type: roles, times, keys, principals.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/trust.h"

namespace assay::cli {

// RFC 3339, a date ("2027-01-31": its start), or a span from `now` ("90d", "12h"). usage otherwise.
[[nodiscard]] Result<Timestamp> read_time(const std::string& text, Timestamp now);

// "stage:predicate type:namespace". The predicate type may hold ':' itself; "lifecycle" and
// "manifest" stand for assay's own. usage otherwise.
[[nodiscard]] Result<SignerRole> read_signer_role(const std::string& text);

// A TrustedKey, Principal, Appraisal or Registration in a JSON file.
[[nodiscard]] Result<TrustedKey> read_trusted_key(const std::string& path);
[[nodiscard]] Result<Principal> read_principal(const std::string& path);
[[nodiscard]] Result<Appraisal> read_appraisal(const std::string& path);
[[nodiscard]] Result<Registration> read_registration_file(const std::string& path);

// The public key in a PEM file: a public key, or the public half of a private key file beside which
// FILE.pub lies.
struct PublicHalf {
  KeyId id;
  SignatureAlgorithm algorithm;
  Bytes der;
  std::string pem;
};
[[nodiscard]] Result<PublicHalf> read_public_key(const std::string& path);

// SHA-256 of the SubjectPublicKeyInfo of an X.509 certificate in PEM: the credential that client
// certificates are known by.
[[nodiscard]] Result<Credential> certificate_credential(const std::string& path);

}  // namespace assay::cli
