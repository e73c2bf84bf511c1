// SPDX-License-Identifier: Apache-2.0
// Collateral as state: the newest authentic collateral (attestation/collateral_set.h) that the
// service knows for each family of platforms, part by part. A part moves forward only, whoever
// brings it: an operator, or a node whose evidence was accepted. Each part is a document of its own
// that a high-water mark (storage/node_store.h) names; the value of the mark changes only when
// evidence has to be appraised again, because the part says something else than before.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/collateral_set.h"
#include "schemas/roles.h"
#include "server/service/services.h"

namespace assay::server {

// Collateral that came with evidence replaces a part which says the same only when it was issued
// this much later. A fleet whose nodes fetch their own collateral else writes all day long.
inline constexpr std::chrono::hours kCollateralStep{1};

// A part as it is stored.
struct KeptPart {
  std::string name;
  std::string kind;
  std::string evidence_type;
  std::uint64_t number = 0;
  Timestamp issued;
  Timestamp next_update;
  Digest substance;
  Digest anchor;
  bool anchor_is_vendor = false;
  std::string brought_by;  // principal
  std::string way;         // kByImport, kWithEvidence or kByBundle
  Timestamp brought_at;
  Json members;                   // of the bundle: object of texts
  std::vector<std::string> asks;  // CollateralPart::asks
};
// Returns the part that is kept under a name. Returns nullopt when there is none. Errors:
// data-loss when it cannot be read.
[[nodiscard]] Result<std::optional<KeptPart>> kept_part(storage::Snapshot& snapshot,
                                                        const std::string& name);

// The collateral with which evidence is to be appraised.
struct ChosenCollateral {
  // Null when the evidence has to be appraised as it came: the service keeps nothing for it, and
  // what it brought is not authentic.
  attestation::CollateralSetPtr set;
  // High-water marks of the parts that the evidence asks for, as they were read.
  Json seen = Json::object();
  // Ids of the parts of `set` that were kept already, by name.
  std::map<std::string, DocumentId> kept;
};
// Takes of each part the newer one: that of the evidence, or that which is kept. Errors:
// collateral-refused when the newer parts do not go together; data-loss.
[[nodiscard]] Result<ChosenCollateral> choose_collateral(Services& services,
                                                         storage::Snapshot& snapshot,
                                                         const Evidence& evidence,
                                                         const Appraisal& appraisal);
// Appraises `evidence` under the chosen collateral.
[[nodiscard]] Result<attestation::AppraisedEvidence> appraise_chosen(
    const Services& services, const ChosenCollateral& chosen, const Evidence& evidence,
    const Appraisal& appraisal, attestation::Purpose purpose, const ReportDataBytes& expected,
    Timestamp now);

// Ways on which collateral arrives: an operator gave it, accepted evidence brought it, or it is in
// a bundle that two people signed.
inline constexpr std::string_view kByImport = "import";
inline constexpr std::string_view kWithEvidence = "evidence";
inline constexpr std::string_view kByBundle = "bundle";

// Who moves collateral forward.
struct Bringer {
  std::string actor;  // principal
  std::string_view way;
  std::string bundle{};  // id of the bundle; empty on other ways
};
// Keeps the parts of `chosen` that are newer than what is kept, logs them, and stores the whole
// bundle as the document that appraisals name. Returns the marks for the row of the evidence.
// Errors: collateral-rollback when a part is older than its mark and nothing is kept for it;
// unavailable when a newer part that says something else was kept since `chosen` was read.
[[nodiscard]] Result<Json> advance_collateral(storage::Transaction& transaction,
                                              const ChosenCollateral& chosen,
                                              const Bringer& bringer);

// What came of one part of an import.
struct ImportedPart {
  std::string name;
  // "moved"; "same"; "kept": what is kept is not older; "unvouched": no bundle has it any more
  std::string_view outcome;
};
struct CollateralImported {
  Digest collateral;
  std::vector<ImportedPart> parts;
  bool moved = false;
  Json receipt;  // of the log record; null when nothing moved
};
// Takes {"type","collateral"} from an operator. Errors: those of the JSON; evidence-type-unknown;
// collateral-refused when it is not authentic under an anchor of the trust store, or not valid now;
// collateral-rollback when no part is newer and one is older than what is kept.
[[nodiscard]] Result<CollateralImported> import_collateral(Services& services, ByteView body,
                                                           const Principal& actor);

// The steps of an import, for bundles of several sets (endorsements.h).

// Authenticates collateral under the vendor's anchor or one of the trust store. All of it must be
// valid now; in a bundle, OCSP answers may have ended. Errors: as of import_collateral().
[[nodiscard]] Result<attestation::CollateralSetPtr> open_collateral(Services& services,
                                                                    const std::string& type,
                                                                    const Json& collateral,
                                                                    std::string_view way);
// Keeps the parts that are newer than what is kept, and logs them. Returns what came of each part;
// `index` is that of the record, when something moved.
struct KeptParts {
  std::vector<ImportedPart> parts;
  std::optional<LeafIndex> index;
};
[[nodiscard]] Result<KeptParts> keep_collateral(storage::Transaction& transaction,
                                                const attestation::CollateralSet& set,
                                                const Bringer& bringer);
// RIMs that an earlier bundle vouched for, and that are not among `names`, count from now on as if
// an operator had imported them. Logs this. Returns them.
[[nodiscard]] Result<KeptParts> end_vouching(storage::Transaction& transaction,
                                             const std::set<std::string>& names,
                                             const Bringer& bringer);

// Returns the parts with names after `after`, without their texts. Parts that cannot be read are
// listed with "damaged": true.
[[nodiscard]] Result<Json> collateral_view(storage::Snapshot& snapshot, const std::string& after,
                                           std::size_t limit);

// Returns {"type","collateral","parts"} of one family, as it is kept. Errors: not-found when a part
// is missing; evidence-type-unknown; invalid-parameter; data-loss.
[[nodiscard]] Result<Json> export_collateral(storage::Snapshot& snapshot, const std::string& family,
                                             const std::string& ca, const std::string& anchor);

// The parts of each kind, by their earliest next update. Parts that ended over kForgotten ago are
// left out: nobody asks for their platforms any more. So are RIMs that a bundle vouches for.
inline constexpr std::chrono::days kCollateralForgotten{30};
struct CollateralEnd {
  std::string kind;
  std::string name;
  Timestamp next_update;
};
[[nodiscard]] Result<std::vector<CollateralEnd>> collateral_ends(storage::Snapshot& snapshot,
                                                                 Timestamp now);

}  // namespace assay::server
