// SPDX-License-Identifier: Apache-2.0
// The statement of a fact, whether the fact is one or has one. For functions that change
// statements, manifests and what else is said about a model in one way.
#pragma once

#include <type_traits>

#include "policy/facts.h"

namespace assay::server {

// Returns `item` itself, or its member `statement`; as const as `item`.
template <typename Item>
[[nodiscard]] auto& statement_of(Item& item) {
  if constexpr (std::is_same_v<std::remove_const_t<Item>, policy::StatementFact>) {
    return item;
  } else {
    return item.statement;
  }
}

}  // namespace assay::server
