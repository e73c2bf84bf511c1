// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/alone.h"

#include <utility>

#include "storage/sqlite/file_age.h"
#include "storage/sqlite/log_tables.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/start_checks.h"

namespace assay::storage::sqlite {

Result<Opened> open_alone(const SqliteOptions& options, const Signer& signer) {
  ASSAY_TRY(require_rules(options));
  ASSAY_ASSIGN(FileLock lock, FileLock::acquire(options.path));
  ASSAY_TRY(prepare_file(options.path, false));
  ASSAY_ASSIGN(auto connection, Connection::open(options.path, Connection::Mode::kReadWrite));
  ASSAY_TRY(check_file_age(*connection));
  ASSAY_ASSIGN(SecretBytes key, seal_key_of(*connection, signer));
  connection->set_seal_key(std::make_shared<const SecretBytes>(std::move(key)));
  connection->set_rules(*options.rules);
  ASSAY_TRY(connection->make_durable());
  ASSAY_ASSIGN(auto state, load_checkpoint(*connection));
  if (!state) {
    return fail(ErrorCode::kDataLoss, "the newest checkpoint is missing");
  }
  return Opened{std::move(lock), std::move(connection), std::move(*state)};
}

}  // namespace assay::storage::sqlite
