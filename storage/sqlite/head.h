// SPDX-License-Identifier: Apache-2.0
// What is known of the newest write, under one seal: its times, its number, the record map that it
// left, and the log that it left.
#pragma once

#include <cstdint>

#include "storage/last_write.h"
#include "storage/record_map.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/file_age.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

struct Head {
  // Without a seal, a forged later time would stay in force: no write gets an earlier one.
  LastWrite last;
  std::uint64_t number = 0;  // FileAge::number
  MapHash map{};
};

// Stores the head of a write that leaves the log as `log` says; `copied` is as in FileAge. The
// caller must be in a transaction.
[[nodiscard]] Status store_head(Connection& connection, const Head& head, const LogState& log,
                                std::uint64_t copied);
// `log` is the newest checkpoint in the database. The caller must have set the connection's seal
// key. Errors: data-loss when the head does not fit its seal, or is that of another log.
[[nodiscard]] Result<Head> load_head(Connection& connection, const LogState& log);

}  // namespace assay::storage::sqlite
