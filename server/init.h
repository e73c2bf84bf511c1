// SPDX-License-Identifier: Apache-2.0
// `assayd init`: the one-time making of keys, certificate, database and first trust.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/core/signer.h"
#include "server/config.h"
#include "storage/store.h"

namespace assay::server {

struct InitReport {
  std::string log_verifier_key;  // what clients check checkpoints with
  std::string service_key_id;
  std::string ear_key_id;            // of the key that signs attestation results; may be empty
  std::string certificate_pin;       // SHA-256 of the certificate's public key
  std::vector<std::string> created;  // files that were not there
};
[[nodiscard]] Json to_json(const InitReport& report);

// Makes what is missing (keys, self-signed certificate, database, their folders), writes the log's
// verifier key beside its private one (FILE.vkey, for those who check the log), and puts
// `document` (a bootstrap) into the empty store. Existing keys and certificates are kept. conflict
// when the store has trust already.
[[nodiscard]] Result<InitReport> initialise(const Config& config, ByteView document,
                                            const Clock& clock, Random& random);

// The key in the file at `path`, which is made when it is not there and named in `created` then.
[[nodiscard]] Result<std::unique_ptr<Signer>> key_at(const std::string& path,
                                                     SignatureAlgorithm algorithm,
                                                     const SecretBytes& passphrase,
                                                     std::vector<std::string>& created);

// How the store of `config` is opened.
[[nodiscard]] storage::SqliteOptions store_options(const Config& config);

}  // namespace assay::server
