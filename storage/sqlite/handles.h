// SPDX-License-Identifier: Apache-2.0
// Owning pointers to SQLite objects.
#pragma once

#include <sqlite3.h>

#include "schemas/core/handle.h"

namespace assay::storage::sqlite {

using DatabaseHandle = Handle<sqlite3, sqlite3_close_v2>;
using StatementHandle = Handle<sqlite3_stmt, sqlite3_finalize>;

}  // namespace assay::storage::sqlite
