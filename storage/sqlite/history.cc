// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/history.h"

#include <algorithm>
#include <utility>

namespace assay::storage::sqlite {
namespace {

// A snapshot is pinned a moment before it asks.
constexpr std::size_t kKept = 64;

}  // namespace

void History::publish(Believed next) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const Believed& one) { return one.number == next.number; });
  kept_.push_back(std::move(next));
  if (kept_.size() > kKept) {
    kept_.erase(kept_.begin());
  }
}

std::optional<Believed> History::at(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(kept_, number, &Believed::number);
  return found != kept_.end() ? std::optional(*found) : std::nullopt;
}

}  // namespace assay::storage::sqlite
