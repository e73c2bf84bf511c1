// SPDX-License-Identifier: Apache-2.0
// Decides whose statements count when a name or a mounted place is resolved to an artifact.
#pragma once

#include <span>
#include <vector>

#include "policy/evaluate.h"
#include "policy/reference.h"
#include "storage/store.h"

namespace assay::server {

// How far a manifest or a placement counts.
struct Word {
  bool trusted = false;    // it has a publisher's signature that counts
  bool believed = false;   // trusted, and an asked policy, if any, accepts its signers
  bool within = false;     // believed, and such a policy lets pods mount inside its locations
  std::vector<bool> by{};  // for each asked policy: accepts its signers; same order for all
};

// The policies that are asked whom they believe. These are the policies in mode enforce that select
// the workload; if there are none, those in mode warn. A policy without a manifest condition
// believes no location, so it is not asked. If no policy is left to ask, every publisher whose
// signature counts is believed. Borrows the policies.
class Publishers {
 public:
  Publishers() = default;
  Publishers(std::span<const policy::ActivePolicy> policies, const policy::Workload& workload,
             DecisionPoint point);

  // Returns true when a signature by `key` could make a statement believed. The key must be a
  // publisher's and not revoked at `now`. Its identity must be one that an asked policy lists; a
  // policy without a list accepts any. This check only selects statements worth reading; hear()
  // decides.
  [[nodiscard]] bool may_believe(const TrustedKey& key, Timestamp now) const;
  // Returns true when `key` is a publisher's key that is not revoked at `now`.
  [[nodiscard]] static bool may_count(const TrustedKey& key, Timestamp now);

  // Reads the signers of a statement and returns how far the statement counts.
  [[nodiscard]] Result<Word> hear(storage::Snapshot& snapshot, const storage::StatementRow& row,
                                  Timestamp now) const;

 private:
  struct Asked {
    policy::PublisherDemands demands;
    bool within;
  };
  std::vector<Asked> asked_;
};

}  // namespace assay::server
