// SPDX-License-Identifier: Apache-2.0
// The chain of records that change trust, policies or withdrawals (schemas/log.md section 2.2).
// Each names the one before, and each decision names the newest, so nobody can leave one out.
#pragma once

#include <optional>
#include <string_view>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/log_record.h"

namespace assay {

// Returns true when records of this type belong to the chain.
[[nodiscard]] bool is_chained(std::string_view record_type);

// Follows the chain through records of a log in order. Others than chained ones and decisions may
// be left out.
class LogChain {
 public:
  // `leaf` is the leaf hash of the record. Errors: log-inconsistent when a record of the chain does
  // not name the one before, or a decision not the newest.
  [[nodiscard]] Status take(LeafIndex index, const LogRecord& record, const Digest& leaf);

 private:
  struct Link {
    LeafIndex index;
    Digest leaf;
  };
  std::optional<Link> newest_;
};

}  // namespace assay
