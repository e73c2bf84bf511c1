// SPDX-License-Identifier: Apache-2.0
// Owners of SQLite objects.
#pragma once

#include <sqlite3.h>

#include "schemas/core/owner.h"

namespace assay::storage::sqlite {

using DatabaseHandle = Owner<sqlite3, sqlite3_close_v2>;
using StatementHandle = Owner<sqlite3_stmt, sqlite3_finalize>;

}  // namespace assay::storage::sqlite
