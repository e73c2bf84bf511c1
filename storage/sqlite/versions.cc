// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/versions.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kVersionPage = 1000;

std::string version_name(std::int64_t kind, std::string_view name) {
  return seal_name({std::to_string(kind), name});
}

Status put_version(Connection& connection, Versioned what, const std::string& name,
                   std::uint64_t value) {
  const auto kind = std::to_underlying(what);
  ASSAY_TRY(connection.query(Sql::kVersionPut).bind(kind).bind(name).bind(value).run());
  return keep_seal(connection, Sealed::kVersion, version_name(kind, name), {value});
}

// `first` is the column of the value.
Status check_version(Connection& connection, std::int64_t kind, std::string_view name,
                     const Query& query, int first) {
  return check_seal(connection, Sealed::kVersion, version_name(kind, name), {query.count(first)});
}

// Of a row of kStatementChanges.
Status check_change(Connection& connection, const Query& query) {
  return check_seal(connection, Sealed::kChange, std::to_string(query.integer(0)),
                    {query.count(1)});
}

Status look_at_counters(Connection& connection, VersionsFound& found) {
  for (VersionRow after;;) {
    Query query = connection.query(Sql::kVersionList);
    query.bind(after.kind).bind(std::string_view(after.name)).bind(kVersionPage);
    std::size_t rows = 0;
    while (true) {
      ASSAY_ASSIGN(const bool row, query.next());
      if (!row) {
        break;
      }
      VersionRow here{query.integer(0), query.text(1)};
      if (!check_version(connection, here.kind, here.name, query, 2)) {
        found.bad_versions.push_back(here);
      }
      // Rows of a damaged page may be in no order.
      rows += std::tie(here.kind, here.name) > std::tie(after.kind, after.name) ? 1U : 0U;
      after = std::move(here);
    }
    if (rows < kVersionPage) {
      return {};
    }
  }
}

Status look_at_changes(Connection& connection, VersionsFound& found) {
  for (std::int64_t after = std::numeric_limits<std::int64_t>::min();;) {
    Query query = connection.query(Sql::kStatementChanges);
    query.bind(after).bind(kVersionPage);
    std::size_t rows = 0;
    while (true) {
      ASSAY_ASSIGN(const bool row, query.next());
      if (!row) {
        break;
      }
      const std::int64_t version = query.integer(0);
      if (!check_change(connection, query)) {
        found.bad_changes.push_back({version});
      } else {
        ++found.changes;
        found.newest_change = std::max(found.newest_change, query.count(0));
      }
      rows += version > after ? 1U : 0U;
      after = version;
    }
    if (rows < kVersionPage) {
      return {};
    }
  }
}

}  // namespace

Result<std::uint64_t> load_version(Connection& connection, Versioned what,
                                   const std::string& name) {
  Query query = connection.query(Sql::kVersionGet);
  ASSAY_ASSIGN(const bool found, query.bind(std::to_underlying(what)).bind(name).next());
  if (!found) {
    ASSAY_TRY(
        check_absent(connection, Sealed::kVersion, version_name(std::to_underlying(what), name)));
    return 0;
  }
  ASSAY_TRY(check_version(connection, std::to_underlying(what), name, query, 0));
  return query.count(0);
}

Status raise_version(Connection& connection, Versioned what, const std::string& name) {
  ASSAY_ASSIGN(const std::uint64_t before, load_version(connection, what, name));
  return put_version(connection, what, name, before + 1);
}

Result<bool> lift_version(Connection& connection, Versioned what, const std::string& name,
                          std::uint64_t least) {
  ASSAY_ASSIGN(const std::uint64_t before, load_version(connection, what, name));
  if (before >= least) {
    return false;
  }
  ASSAY_TRY(put_version(connection, what, name, least));
  return true;
}

Status put_change(Connection& connection, LeafIndex index) {
  ASSAY_ASSIGN(const std::uint64_t version,
               load_version(connection, Versioned::kAllStatements, {}));
  ASSAY_TRY(connection.query(Sql::kStatementChangeInsert).bind(version).bind(index).run());
  return keep_seal(connection, Sealed::kChange, std::to_string(version), {index});
}

Result<std::vector<LeafIndex>> load_changes(Connection& connection, std::uint64_t version,
                                            std::size_t limit) {
  std::vector<LeafIndex> changed;
  Query query = connection.query(Sql::kStatementChanges);
  query.bind(version).bind(limit);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return changed;
    }
    ASSAY_TRY(check_change(connection, query));
    changed.push_back(query.count(1));
  }
}

Result<VersionsFound> look_at_versions(Connection& connection) {
  VersionsFound found;
  ASSAY_TRY(look_at_counters(connection, found));
  ASSAY_TRY(look_at_changes(connection, found));
  return found;
}

Status drop_versions(Connection& connection, const VersionsFound& found) {
  for (const VersionRow& row : found.bad_versions) {
    ASSAY_TRY(connection.query(Sql::kVersionDelete)
                  .bind(row.kind)
                  .bind(std::string_view(row.name))
                  .run());
  }
  for (const ChangeRow& row : found.bad_changes) {
    ASSAY_TRY(connection.query(Sql::kStatementChangeDelete).bind(row.version).run());
  }
  return {};
}

}  // namespace assay::storage::sqlite
