// SPDX-License-Identifier: Apache-2.0
// Decides which manifests, placements and releases are used to find the artifact for a model name
// or a mounted location (resolve.h). A placement is a signed statement that adds locations to an
// artifact. A release is one that says which artifact a version of a name is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/evaluate.h"
#include "policy/locations.h"
#include "storage/store.h"

namespace assay::server {

// How much a manifest or a placement is trusted. Asked policies are those whose manifest conditions
// decide (see Publishers below). Such a policy accepts a statement when its manifest condition
// accepts the signers.
struct Word {
  bool trusted = false;    // has a publisher's signature that counts (policy/evaluate.h)
  bool believed = false;   // trusted; and an asked policy accepts it, or no policy is asked
  bool within = false;     // believed, also for mounts of subdirectories (MountRule::kWithin)
  std::vector<bool> by{};  // for each asked policy, in a fixed order: accepts it
};

// The asked policies: those whose manifest conditions decide which publishers are believed. The
// asked policies are those in mode enforce that select the workload, or, if there are none, those
// in mode warn that select it. A policy without a manifest condition names no publishers, so it is
// not asked. If no policy is asked, every publisher whose signature counts is believed. The
// policies must outlive this object.
class Publishers {
 public:
  Publishers() = default;
  Publishers(std::span<const policy::ActivePolicy> policies, const policy::Workload& workload,
             DecisionPoint point);

  // Returns false when a signature by `key` cannot make a statement believed, so the statement need
  // not be read. Returns true for a publisher's key that is not revoked at `now`, if an asked
  // policy lists the key's identity or accepts any identity, or if no policy is asked. For the
  // statements that are read, hear() decides.
  [[nodiscard]] bool may_believe(const TrustedKey& key, Timestamp now) const;
  // Returns true when `key` is a publisher's key that is not revoked at `now`.
  [[nodiscard]] static bool may_count(const TrustedKey& key, Timestamp now);

  // How a policy that decides names models, when it has a rule of its own (PolicyDocument::names).
  struct Naming {
    const NamePolicy* names;
    std::string policy;                // name of the policy
    std::optional<std::size_t> asked;  // position in Word::by; nullopt: it believes no publisher
  };
  // Returns the rules of the policies among which the asked ones are, in the order of the policies.
  [[nodiscard]] std::span<const Naming> naming() const { return naming_; }

  // Returns true when both find the same artifacts for every name and place, because they believe
  // the same signers and name models by the same rules.
  [[nodiscard]] bool resolves_like(const Publishers& other) const;

  // Reads the signers of a statement and returns how much the statement is trusted at `now`.
  [[nodiscard]] Result<Word> hear(storage::Snapshot& snapshot, const storage::StatementRow& row,
                                  Timestamp now) const;

 private:
  struct Asked {
    policy::PublisherDemands demands;
    bool within;
  };
  std::vector<Asked> asked_;
  std::vector<Naming> naming_;
};

}  // namespace assay::server
