// SPDX-License-Identifier: Apache-2.0
// Owners of SQLite objects.
#pragma once

#include <memory>

#include <sqlite3.h>

namespace assay::storage::sqlite {

// Calls `Function` on what goes; takes no space.
template <auto Function>
struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    Function(object);
  }
};

using DatabaseHandle = std::unique_ptr<sqlite3, Releaser<sqlite3_close_v2>>;
using StatementHandle = std::unique_ptr<sqlite3_stmt, Releaser<sqlite3_finalize>>;

}  // namespace assay::storage::sqlite
