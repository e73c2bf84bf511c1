// SPDX-License-Identifier: Apache-2.0
// What is known of the newest write, under one seal: its times, its number, and the record map that
// it left.
#pragma once

#include <cstdint>

#include "storage/last_write.h"
#include "storage/record_map.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/file_age.h"

namespace assay::storage::sqlite {

struct Head {
  // Without a seal, a forged later time would stay in force: no write gets an earlier one.
  LastWrite last;
  std::uint64_t number = 0;  // FileAge::number
  MapHash map{};
};

// Stores the head; `copied` is as in FileAge. The caller must be in a transaction.
[[nodiscard]] Status store_head(Connection& connection, const Head& head, std::uint64_t copied);
// The caller must have set the connection's seal key. Errors: data-loss when the head does not fit
// its seal.
[[nodiscard]] Result<Head> load_head(Connection& connection);

}  // namespace assay::storage::sqlite
