// SPDX-License-Identifier: Apache-2.0
// `assayd init`: creates the keys, the certificate, the database and the first entries of the trust
// store, once.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/core/signer.h"
#include "server/config.h"
#include "storage/store.h"

namespace assay::server {

// What init found and made.
struct InitReport {
  std::string log_verifier_key;  // key with which clients verify checkpoints
  std::string service_key_id;
  std::string ear_key_id;            // key that signs attestation results; empty: none
  std::string certificate_pin;       // SHA-256 of the certificate's public key
  std::vector<std::string> created;  // files that were written
};
[[nodiscard]] Json to_json(const InitReport& report);

// Makes the keys, the self-signed certificate, the database and their folders where they are
// missing. Existing keys and certificates are kept. If the log's private key is in FILE, writes its
// verifier key to FILE.vkey, for people who check the log. Stores `document` (the bootstrap: the
// first trusted keys and principals) in the empty store. Errors: conflict when the trust store has
// entries already; invalid-config when only one of certificate and TLS key exists.
[[nodiscard]] Result<InitReport> initialise(const Config& config, ByteView document,
                                            const Clock& clock, Random& random);

// Loads the key in the file at `path`. If the file does not exist, makes the key and the file
// first, and adds `path` to `created`.
[[nodiscard]] Result<std::unique_ptr<Signer>> key_at(const std::string& path,
                                                     SignatureAlgorithm algorithm,
                                                     const SecretBytes& passphrase,
                                                     std::vector<std::string>& created);

// Returns the options for opening the store of `config`.
[[nodiscard]] storage::SqliteOptions store_options(const Config& config);

}  // namespace assay::server
