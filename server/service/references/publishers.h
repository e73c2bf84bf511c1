// SPDX-License-Identifier: Apache-2.0
// Whose word counts when a name or a mounted place is to stand for an artifact.
#pragma once

#include <span>
#include <vector>

#include "policy/evaluate.h"
#include "policy/reference.h"
#include "storage/store.h"

namespace assay::server {

// What a manifest or a placement is worth.
struct Word {
  bool trusted = false;    // a publisher's signature on it counts
  bool believed = false;   // and a policy that is asked believes its own signers
  bool within = false;     // and lets pods mount a directory inside of what it names
  std::vector<bool> by{};  // which of the policies that are asked believe, in one order for all
};

// The policies that are asked: those in mode enforce that select the workload; without one those in
// mode warn. A policy without a manifest condition believes no location, so it is not asked. Where
// none is left to ask, every publisher whose signature counts is believed. Borrows the policies.
class Publishers {
 public:
  Publishers() = default;
  Publishers(std::span<const policy::ActivePolicy> policies, const policy::Workload& workload,
             DecisionPoint point);

  // Whether the word of a statement could be believed for the sake of this signature: the key
  // publishes, is not revoked at `now`, and belongs to somebody whom a policy that is asked lists.
  // Tells what is worth reading; hear() decides.
  [[nodiscard]] bool may_believe(const TrustedKey& key, Timestamp now) const;
  // Whether its signature may count at all.
  [[nodiscard]] static bool may_count(const TrustedKey& key, Timestamp now);

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
