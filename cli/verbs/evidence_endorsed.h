// SPDX-License-Identifier: Apache-2.0
// Takes from a signed bundle of endorsements what one piece of evidence is verified with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"
#include "schemas/endorsements.h"
#include "schemas/trust.h"

namespace assay::cli {

struct EndorsedFlags {
  std::string file;       // --endorsements
  std::string operators;  // --operators
};
void add_endorsed_options(const Command& verb, EndorsedFlags& flags);

// Reads the bundle, if the flags name one, and says who signed it: the operators' signatures are
// judged at `at` (empty: now). Errors: usage for operators without a bundle; those of
// load_endorsements().
[[nodiscard]] Result<std::optional<Endorsements>> read_signed_bundle(const Context& context,
                                                                     const EndorsedFlags& flags,
                                                                     const std::string& at);

struct Endorsed {
  Json collateral;           // null: no bundle was given, or it has nothing for this evidence
  std::vector<Bytes> roots;  // certificates in DER, besides the vendor's
  std::map<std::string, Digest> vouched;  // RIMs that count beyond their end, by id
  // Of the type, with the reference values of the bundle and the policy that `policy` holds.
  Appraisal appraisal;
};
// Takes from the bundle all that is for this evidence; its appraisal has the reference values
// alone. Errors: those of corim::read_reference_document().
[[nodiscard]] Result<Endorsed> endorsed_by(const Endorsements& bundle, std::string_view type,
                                           ByteView evidence);
// Of the bundle that the flags name. `collateral` is the file of --collateral, `policy` that of
// --policy; either may be empty. Errors: usage for both a bundle and collateral; collateral-missing
// when the bundle has nothing for this evidence; those of read_signed_bundle() and endorsed_by().
[[nodiscard]] Result<Endorsed> read_endorsed(const Context& context, const EndorsedFlags& flags,
                                             std::string_view type, ByteView evidence,
                                             const std::string& collateral,
                                             const std::string& policy, const std::string& at);

}  // namespace assay::cli
