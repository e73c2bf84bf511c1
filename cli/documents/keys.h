// SPDX-License-Identifier: Apache-2.0
// Keys that verbs are given: private ones to sign with, public ones to verify against.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attestation/dsse.h"
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

// Reads a private key; asks for the passphrase of an encrypted one. Core dumps are off from here.
[[nodiscard]] Result<std::unique_ptr<Signer>> load_signer(const std::string& path,
                                                          const std::string& passphrase_file);
[[nodiscard]] Result<std::vector<std::unique_ptr<Signer>>> load_signers(const SigningFlags& flags);
[[nodiscard]] std::vector<const Signer*> borrow(
    const std::vector<std::unique_ptr<Signer>>& signers);

// Signs `statement` when keys were given and writes it to `out`; without a file, or to "-", to
// standard output. With a file it prints the id, or as JSON `about` with id, file and whether it is
// signed.
[[nodiscard]] Result<Exit> sign_and_write(const Context& context, const Statement& statement,
                                          const SigningFlags& flags, const std::string& out,
                                          Json about);

// --- verifying

struct TrustFlags {
  std::vector<std::string> keys;  // PEM files
  std::string trust;              // JSON file with "keys"
  std::string jwks;               // JSON Web Key Set, where a verb offers it
  std::uint64_t threshold = 1;
  std::string at;  // RFC 3339, when validity periods are judged; empty is now
};

void add_trust_options(const Command& verb, TrustFlags& flags);

// The keys to verify against. A PEM file stands for a key that may say what `context` asks, under
// its key id as identity: whoever names it on the command line trusts it for this. Keys of a trust
// file count for what they are granted there. usage without any key: nothing is ever verified
// against no keys.
[[nodiscard]] Result<std::vector<TrustedKey>> load_trusted_keys(const TrustFlags& flags,
                                                                const SigningContext& context);

// Reads "keys" of a trust file: what `assay trust show -o json`, a bootstrap file or `assay key
// describe` hold.
[[nodiscard]] Result<std::vector<TrustedKey>> read_trust_file(const std::string& path);

// An envelope does not say when it was signed. `signed_at` is when validity periods are judged,
// `now` when revocations are: a revocation counts for all that the key ever signed.
struct JudgedAt {
  Timestamp signed_at;
  Timestamp now;
};

// verify_signatures and require_signers in one.
[[nodiscard]] Result<std::vector<attestation::VerifiedSignature>> check_signatures(
    const attestation::Envelope& envelope, std::span<const TrustedKey> keys,
    const SigningContext& context, std::uint64_t threshold, const JudgedAt& times);

// Validity at `flags.at`, or what the clock says; revocation at the later of the two, so that no
// flag undoes a revocation.
[[nodiscard]] Result<JudgedAt> times_of(const TrustFlags& flags, const Clock& clock);

// [{"key_id","identity"}].
[[nodiscard]] Json signers_json(std::span<const attestation::VerifiedSignature> signatures);

}  // namespace assay::cli
