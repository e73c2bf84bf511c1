// SPDX-License-Identifier: Apache-2.0
// Takes from a signed bundle of endorsements what one piece of evidence is verified with.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"
#include "schemas/trust.h"

namespace assay::cli {

struct EndorsedFlags {
  std::string file;       // --endorsements
  std::string operators;  // --operators
};
void add_endorsed_options(const Command& verb, EndorsedFlags& flags);

struct Endorsed {
  Json collateral;           // null: no bundle was given
  std::vector<Bytes> roots;  // certificates in DER, besides the vendor's
  std::set<Digest> vouched;  // RIMs that count beyond their end
  // Of the type, with the reference values of the bundle and the policy that `policy` holds.
  Appraisal appraisal;
};
// Reads the bundle, if the flags name one: the operators' signatures are judged at `at` (empty:
// now). `collateral` is the file of --collateral, `policy` that of --policy; either may be empty.
// Errors: usage for both a bundle and collateral, and for operators without a bundle;
// collateral-missing when the bundle has nothing for this evidence; those of load_endorsements().
[[nodiscard]] Result<Endorsed> read_endorsed(const Context& context, const EndorsedFlags& flags,
                                             std::string_view type, ByteView evidence,
                                             const std::string& collateral,
                                             const std::string& policy, const std::string& at);

}  // namespace assay::cli
