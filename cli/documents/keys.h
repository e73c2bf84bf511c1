// SPDX-License-Identifier: Apache-2.0
// Keys that verbs get: private keys to sign with, public keys to verify against.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/dsse.h"
#include "attestation/identities/certificate_signers.h"
#include "cli/command.h"
#include "cli/context.h"
#include "schemas/core/signer.h"
#include "schemas/statement.h"
#include "schemas/trust.h"

namespace assay::cli {

// --- signing

struct SigningFlags {
  std::vector<std::string> keys;
  std::string passphrase_file;
  std::string keyid = std::string(attestation::kKeyidNone);
};

void add_signing_options(const Command& verb, SigningFlags& flags, bool required);

// Reads a private key and asks for the passphrase of an encrypted one. Core dumps are disabled from
// this call on.
[[nodiscard]] Result<std::unique_ptr<Signer>> load_signer(const std::string& path,
                                                          const std::string& passphrase_file);
[[nodiscard]] Result<std::vector<std::unique_ptr<Signer>>> load_signers(const SigningFlags& flags);
[[nodiscard]] std::vector<const Signer*> borrow(
    const std::vector<std::unique_ptr<Signer>>& signers);

// Signs a payload after reading it as everybody else will, and returns the encoded envelope.
// Errors: those of check_payload() and check_envelope_length(), before anything is signed.
[[nodiscard]] Result<std::string> sign_payload(std::string_view payload_type, ByteView payload,
                                               std::span<const Signer* const> signers,
                                               std::string_view keyid);

// Signs `statement` when keys are given and writes it to `out`, or to standard output when `out` is
// empty or "-". After writing a file, also prints the id. With -o json prints `about` instead, with
// the id, the file and whether the statement is signed.
[[nodiscard]] Result<Exit> sign_and_write(const Context& context, const Statement& statement,
                                          const SigningFlags& flags, const std::string& out,
                                          Json about);

// Does the same for any payload.
[[nodiscard]] Result<Exit> sign_and_write(const Context& context, std::string_view payload_type,
                                          std::string document, const SigningFlags& flags,
                                          const std::string& out, Json about);

// --- verifying

struct TrustFlags {
  std::vector<std::string> keys;  // PEM files
  std::string trust;              // JSON file with "keys"
  std::string jwks;               // JSON Web Key Set, where a verb offers it
  std::uint64_t threshold = 1;
  std::string at;  // RFC 3339: time for validity periods; empty: now
};

// Returns the error of parsing `content` as a public key, with the file, and with what the content
// is and which command makes a public key of it.
[[nodiscard]] Error about_public_key(Error error, std::string_view content,
                                     const std::string& path);

void add_trust_options(const Command& verb, TrustFlags& flags);

// Whose signatures count: keys and identities by certificate, and the trusted roots that keyless
// identities name.
struct TrustedSigners {
  std::vector<TrustedKey> keys;
  attestation::TrustedRoots roots;
};

// Returns the signers to verify against. A key in a PEM file or in the key set `jwks` may make all
// signatures that `context` asks for, because the user who names the file trusts its keys for this
// purpose. The key id of such a key serves as its identity. A key of a trust file may make only the
// signatures that the file grants to it. Errors: usage without any key, because a verification
// against no keys would mean nothing.
[[nodiscard]] Result<TrustedSigners> load_trusted_signers(const TrustFlags& flags,
                                                          const SigningContext& context);

// Times for which signatures are judged; the caller chooses them, because an envelope does not say
// when it was signed. Validity periods are judged at `signed_at`. Revocations are judged at `now`,
// because a revocation applies to everything that the key ever signed.
struct JudgedAt {
  Timestamp signed_at;
  Timestamp now;
};

// Calls verify_signatures, verify_certificates and require_signers. Certificates of a private CA
// are judged at `times.signed_at`, as keys are.
[[nodiscard]] Result<std::vector<attestation::VerifiedSignature>> check_signatures(
    const attestation::Envelope& envelope, const TrustedSigners& trusted,
    const SigningContext& context, std::uint64_t threshold, const JudgedAt& times);

// Returns the times for judging signatures. Validity is judged at `flags.at`, or at the clock's
// time when `flags.at` is empty. Revocation is judged at `flags.at` or at the clock's time,
// whichever is later, so that an early --at cannot hide a revocation.
[[nodiscard]] Result<JudgedAt> times_of(const TrustFlags& flags, const Clock& clock);

// Returns [{"key_id","identity"}], with "certificate" for an identity by certificate.
[[nodiscard]] Json signers_json(std::span<const attestation::VerifiedSignature> signatures);

}  // namespace assay::cli
