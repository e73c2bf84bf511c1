// SPDX-License-Identifier: Apache-2.0
// What "attest verify" checks of stage evidence (schemas/stage_evidence.h).
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/documents/documents.h"
#include "cli/documents/keys.h"

namespace assay::cli {

struct StageVerifyFlags {
  std::string statement;   // file with the signed statement; empty: none
  std::string appraisal;   // file with an appraisal; empty: the vendor's anchor and the default
  std::string collateral;  // file in place of the collateral in the evidence

  [[nodiscard]] bool given() const {
    return !statement.empty() || !appraisal.empty() || !collateral.empty();
  }
};

void add_stage_verify_options(const Command& verb, StageVerifyFlags& flags);

// Verifies stage evidence offline and prints what it shows: that the key in it signed it, that the
// quote binds this key and the statement, the result of each check of the quote, and, when a
// statement is given, that this is the statement and that the same key signed it. `document` must
// hold stage evidence. Errors: usage; those of reading the files.
[[nodiscard]] Result<Exit> verify_stage_evidence(const Context& context,
                                                 const LoadedDocument& document,
                                                 const StageVerifyFlags& flags,
                                                 const TrustFlags& trust);

}  // namespace assay::cli
