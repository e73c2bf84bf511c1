// SPDX-License-Identifier: Apache-2.0
// PCK chains that were opened under one set of collateral (collateral.h): their structure, names
// and signatures are verified, and stay so, because the set names one root and one PCK CA. Validity
// times and revocation are no part of it; verify() checks them for each quote. Internal to this
// folder.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "attestation/tdx/pck_chain.h"
#include "schemas/core/digest.h"

namespace assay::attestation::tdx {

// Keeps the chains that were used last, by the SHA-256 of their text in the quote. Thread-safe.
class PckCache {
 public:
  using ChainPtr = std::shared_ptr<const PckChain>;

  // Returns null when the chain is not known.
  [[nodiscard]] ChainPtr find(const Digest& text);
  // Keeps a chain in place of the one that was not used for the longest time.
  void keep(const Digest& text, ChainPtr chain);

 private:
  using Entries = std::list<std::pair<Digest, ChainPtr>>;

  std::mutex mutex_;
  Entries entries_;  // the one used last comes first
  std::unordered_map<Digest, Entries::iterator> by_text_;
};

}  // namespace assay::attestation::tdx
