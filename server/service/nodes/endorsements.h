// SPDX-License-Identifier: Apache-2.0
// Bundles of endorsements (schemas/endorsements.h): collateral that operators carry to a service
// without a network. The vendors' signatures decide about the collateral, as with any import. The
// operators' signatures add two things: the number, which goes up only, and that a RIM of the
// newest bundle counts beyond its end. A bundle changes no trust.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "schemas/core/ids.h"
#include "server/service/nodes/collateral.h"

namespace assay::server {

// High-water mark with the number of the newest bundle, and its envelope.
inline constexpr std::string_view kEndorsementsMark = "endorsements";

struct EndorsementsAccepted {
  StatementId id;
  std::uint64_t number = 0;
  bool created = false;             // false: this very bundle is the newest one already
  std::vector<ImportedPart> parts;  // empty unless created
  Json receipt;                     // of the bundle's log record; null unless created
};
// Takes a DSSE envelope over a bundle, signed by at least kTrustChangeThreshold operator
// identities. All of it is kept or nothing. Errors: those of the envelope and its signatures;
// threshold-not-met; those of parse_endorsements(); collateral-refused; collateral-rollback when
// the newest bundle has a higher number, or this number and other content.
[[nodiscard]] Result<EndorsementsAccepted> accept_endorsements(Services& services,
                                                               ByteView envelope,
                                                               const Principal& actor);

// Returns {"number","envelope"} of the newest bundle: 0 and null before the first.
[[nodiscard]] Result<Json> endorsements_view(storage::Snapshot& snapshot);

}  // namespace assay::server
