// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/versions.h"

#include <utility>

namespace assay::storage::sqlite {

Result<std::uint64_t> load_version(Connection& connection, Versioned what,
                                   const std::string& name) {
  Query query = connection.query(Sql::kVersionGet);
  ASSAY_ASSIGN(const bool found, query.bind(std::to_underlying(what)).bind(name).next());
  return found ? query.count(0) : 0;
}

Status raise_version(Connection& connection, Versioned what, const std::string& name) {
  return connection.query(Sql::kVersionRaise).bind(std::to_underlying(what)).bind(name).run();
}

}  // namespace assay::storage::sqlite
