// SPDX-License-Identifier: Apache-2.0
// Pages of lists whose items can be large. A page is limited in bytes as well as in number of
// items.
#pragma once

#include <algorithm>
#include <utility>

#include "server/api/route.h"

namespace assay::server {

// Limit on the bytes of all items of a page together. The first item is included even when this
// item alone is larger.
inline constexpr std::size_t kMaxPageBytes = 4U << 20;
// Limit on the rows that page_of() holds in memory at once.
inline constexpr std::size_t kRowsAtOnce = 64;

// What page_of() does when the store returns fewer rows than requested: end the page, or fetch
// more. The store may return few rows although more rows match, because one call looks at a limited
// number of rows.
enum class ShortPage { kEnds, kGoesOn };

// Collects items within `bounds` until the page has `bounds.limit` items or would exceed
// kMaxPageBytes. `fetch(bounds)` returns a storage::Page and may modify its own query. `view(row)`
// returns the item as Result<Json>. `index_of(row)` returns the index after which the next page
// continues.
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
