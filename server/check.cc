// SPDX-License-Identifier: Apache-2.0
#include "server/check.h"

#include "attestation/keys.h"

namespace assay::server {

Result<std::vector<Finding>> check_installation(const Config& config, const Clock& clock) {
  ASSAY_ASSIGN(const SecretBytes passphrase, read_passphrase(config));
  ASSAY_ASSIGN(const auto log_signer,
               attestation::load_private_key(config.log_key_file, passphrase));
  storage::SqliteOptions options;
  options.path = config.store_path;
  options.origin = config.log_origin;
  options.anchor_path = config.anchor_file;
  ASSAY_ASSIGN(const auto store, storage::open_sqlite(options, *log_signer, clock));
  ASSAY_ASSIGN(const auto snapshot, store->snapshot());
  return check_store(*snapshot);
}

}  // namespace assay::server
