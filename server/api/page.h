// SPDX-License-Identifier: Apache-2.0
// Pages of lists whose items can be large: they end by bytes, too.
#pragma once

#include <algorithm>
#include <utility>

#include "server/api/route.h"

namespace assay::server {

// Bytes of the items of a page. One item is shown whatever it has.
inline constexpr std::size_t kMaxPageBytes = 4U << 20;
// Rows that are in memory at once.
inline constexpr std::size_t kRowsAtOnce = 64;

// Every page of the store may be short, since one call looks at a bounded number of rows.
enum class ShortPage { kEnds, kGoesOn };

// Items within `bounds` until there are enough, or kMaxPageBytes of them. `fetch(bounds)` gives a
// storage::Page (it may write to its own query), `view(row)` the item as Result<Json>,
// `index_of(row)` where a list goes on after.
template <typename Fetch, typename View, typename IndexOf>
Result<ListPage> page_of(const storage::ListBounds bounds, ShortPage on_short, const Fetch& fetch,
                         const View& view, const IndexOf& index_of) {
  Json items = Json::array();
  std::size_t bytes = 0;
  storage::ListBounds step = bounds;
  while (true) {
    step.limit = std::min(kRowsAtOnce, bounds.limit - items.size());
    ASSAY_ASSIGN(const auto rows, fetch(step));
    for (const auto& row : rows.items) {
      ASSAY_ASSIGN(Json item, view(row));
      bytes += item.dump(-1, ' ', false, Json::error_handler_t::replace).size();
      if (bytes > kMaxPageBytes && !items.empty()) {
        return ListPage{std::move(items), step.after, rows.tree_size, rows.root};
      }
      items.push_back(std::move(item));
      step.after = index_of(row);
    }
    const bool is_short = rows.items.size() < step.limit && on_short == ShortPage::kEnds;
    if (!rows.next || is_short || items.size() == bounds.limit) {
      return ListPage{std::move(items), rows.next, rows.tree_size, rows.root};
    }
    step.after = rows.next;
  }
}

}  // namespace assay::server
