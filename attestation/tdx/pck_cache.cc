// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/pck_cache.h"

#include "attestation/tdx/collateral.h"

namespace assay::attestation::tdx {

PckCache::ChainPtr PckCache::find(const Digest& text) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_text_.find(text);
  if (found == by_text_.end()) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

void PckCache::keep(const Digest& text, ChainPtr chain) {
  const std::scoped_lock lock(mutex_);
  if (by_text_.contains(text)) {
    return;
  }
  if (entries_.size() == kMaxKnownLeaves) {
    by_text_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(text, std::move(chain));
  by_text_.emplace(text, entries_.begin());
}

}  // namespace assay::attestation::tdx
