// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/head.h"

#include <algorithm>

#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

// No other message begins like this.
Seal seal_of_head(const Connection& connection, const Head& head, const LogState& log) {
  std::string message = "head";
  for (const std::string& part :
       {std::to_string(head.last.time.time_since_epoch().count()),
        std::to_string(head.last.wall.time_since_epoch().count()), std::to_string(head.number),
        hex_encode(head.map), std::to_string(log.size), log.root.hex()}) {
    message += ":" + part;
  }
  return seal_of(connection, as_bytes(message));
}

}  // namespace

Status store_head(Connection& connection, const Head& head, const LogState& log,
                  std::uint64_t copied) {
  return connection.query(Sql::kHeadPut)
      .bind(head.last.time)
      .bind(head.last.wall)
      .bind(head.number)
      .bind(ByteView(head.map))
      .bind(seal_of_head(connection, head, log))
      .bind(copied)
      .run();
}

Result<Head> load_head(Connection& connection, const LogState& log) {
  Query query = connection.query(Sql::kHeadGet);
  ASSAY_ASSIGN(const bool found, query.next());
  if (found && query.view(3).size() == sizeof(MapHash)) {
    Head head{{query.time(0), query.time(1)}, query.count(2), {}};
    std::ranges::copy(query.view(3), head.map.begin());
    if (std::ranges::equal(query.view(4), seal_of_head(connection, head, log))) {
      return head;
    }
  }
  return fail(ErrorCode::kDataLoss,
              "what is stored of the last write was changed by something else than this service; "
              "see docs/recovery.md");
}

}  // namespace assay::storage::sqlite
