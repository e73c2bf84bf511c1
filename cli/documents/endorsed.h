// SPDX-License-Identifier: Apache-2.0
// Reads bundles of endorsements (schemas/endorsements.h) without a service: whether their
// collateral is authentic, when it ends, and who signed a bundle.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/collateral_set.h"
#include "cli/documents/keys.h"
#include "schemas/endorsements.h"

namespace assay::cli {

// The collateral at one place of a bundle: `set`, or `error` when it is not authentic under the
// vendor's root or a root of the bundle.
struct OpenedCollateral {
  std::string type;
  attestation::CollateralSetPtr set;
  std::optional<Error> error;
};
[[nodiscard]] std::vector<OpenedCollateral> open_endorsed(const Endorsements& bundle);

// The first end of all parts but RIMs, which count beyond theirs in a bundle.
struct FirstEnd {
  Timestamp at;
  std::string part;
};
[[nodiscard]] std::optional<FirstEnd> first_end(const std::vector<OpenedCollateral>& opened);

// Returns the bytes of the bundle that are for evidence of this type.
[[nodiscard]] std::vector<Bytes> bytes_for(const std::vector<EndorsedBytes>& all,
                                           std::string_view type);

// Reads a bundle that enough operators signed, whom the file `operators` names: what 'assay trust
// show -o json' prints, or a bootstrap document. Errors: usage without that file;
// payload-type-unknown; signature-missing; those of check_signatures() and parse_endorsements().
struct SignedBundle {
  Endorsements content;
  std::vector<std::string> operators;  // identities that signed it
};
[[nodiscard]] Result<SignedBundle> load_endorsements(const std::string& path,
                                                     const std::string& operators,
                                                     const JudgedAt& times);

}  // namespace assay::cli
