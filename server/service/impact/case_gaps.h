// SPDX-License-Identifier: Apache-2.0
// What a stored case does not tell under a hypothesis. A case has what the policies of its time
// read, and the models that names stood for then; a hypothesis may read more, or move a name.
#pragma once

#include <map>
#include <set>
#include <string>

#include "server/service/decisions/case_file.h"
#include "server/service/impact/suppose.h"

namespace assay::server {

enum class CaseGap : std::uint8_t {
  kNone,
  kModels,  // the judged models may be others, so only a denial of these very models is sure
  kAll,     // no answer is sure
};

// Caches what the store says of names. Both arguments must outlive the object.
class CaseGaps {
 public:
  CaseGaps(storage::Snapshot& snapshot, const Hypothesis& hypothesis)
      : snapshot_(snapshot), hypothesis_(hypothesis) {}

  // Returns what `file`, a case that load_case() read, lacks. `given` are its policies, `supposed`
  // those that would be in force. Errors: those of the store.
  //
  // kAll: an activated policy reads more of the workload (policy/as_read.h); an enforced policy
  // asks for a lineage that the case has not; other signers or rules decide what a bare name stands
  // for, unless only one artifact was ever published under it. kModels: the hypothesis takes away
  // what says which artifact a bare name is.
  [[nodiscard]] Result<CaseGap> of(const CaseFile& file,
                                   std::span<const policy::ActivePolicy> given,
                                   std::span<const policy::ActivePolicy> supposed);

 private:
  // What is said under one name.
  struct Said {
    std::set<std::string> artifacts{};
    bool touched = false;  // the hypothesis takes some of it away
  };

  [[nodiscard]] Result<bool> may_rename(const CaseFile& file,
                                        std::span<const policy::ActivePolicy> given,
                                        std::span<const policy::ActivePolicy> supposed);
  [[nodiscard]] Result<const Said*> said_under(const std::string& name);
  [[nodiscard]] Result<bool> touches(const CaseFile& file);
  [[nodiscard]] Result<bool> is_touched(const storage::SignedBy& signature, Said& said);

  storage::Snapshot& snapshot_;
  const Hypothesis& hypothesis_;
  std::map<std::string, Said> said_;
};

}  // namespace assay::server
