// SPDX-License-Identifier: Apache-2.0
// Collateral of any type of evidence as state: a vendor's signed statements about a family of
// platforms, authenticated once and shared by all evidence about that family. A set consists of
// parts, each signed by itself, which move forward one by one. attestation/tdx/collateral.h
// verifies those for TDX.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/evidence_verifier.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"
#include "schemas/evidence.h"
#include "schemas/trust.h"

namespace assay::attestation {

// One signed document of a set.
struct CollateralPart {
  // "tdx/tcb-info/<fmspc>", "tdx/qe-identity", "tdx/root-crl", "tdx/pck-crl/<platform|processor>",
  // "sev-snp/crl/<generation>", "nvidia-gpu/rim/<id>", "nvidia-gpu/ocsp/<SHA-256 of a
  // certificate>". Under an anchor other than the vendor's the name contains the anchor, as in
  // "tdx/<anchor>/root-crl", so that collateral of a simulator cannot make the vendor's look old.
  std::string name;
  // "tcb-info", "qe-identity", "root-crl", "pck-crl", "amd-crl", "rim", "ocsp"
  std::string_view kind;
  std::uint64_t number = 0;  // evaluation number, or number of the CRL; at most 2^32 - 1
  Timestamp issued;
  Timestamp next_update;
  // Digest of what the part says besides its dates. Two parts with the same substance lead to the
  // same verdict while both are valid.
  Digest substance;
  std::vector<std::string> members;  // of the bundle, which make up this part
  std::vector<std::string> asks{};   // names of parts that say whether this one is revoked
};

// Returns a number by which parts of one name are ordered: by `number`, then by `issued`, to the
// second. It is below 2^53, so that JSON can hold it: from 2^19 on, numbers count as equal, which
// leaves the order to the dates.
[[nodiscard]] std::uint64_t collateral_order(std::uint64_t number, Timestamp issued);

// Authenticated collateral. Immutable, and safe to share between threads. It may have expired: an
// appraisal compares each period of validity with its own time.
class CollateralSet {
 public:
  virtual ~CollateralSet() = default;

  [[nodiscard]] virtual std::string_view type() const = 0;  // of the evidence
  // The whole bundle as an object of texts, and the SHA-256 of its canonical JSON.
  [[nodiscard]] virtual const Json& bundle() const = 0;
  [[nodiscard]] virtual const Digest& digest() const = 0;
  [[nodiscard]] virtual const Digest& anchor() const = 0;
  [[nodiscard]] virtual bool anchor_is_vendor() const = 0;
  // The period in which everything of the set is valid, certificates included.
  [[nodiscard]] virtual Timestamp valid_from() const = 0;
  [[nodiscard]] virtual Timestamp valid_until() const = 0;
  // Parts that are authentic by themselves. A TDX bundle without the chain of its PCK CRL has no
  // part for that CRL, which is then only verified with a quote.
  [[nodiscard]] virtual const std::vector<CollateralPart>& parts() const = 0;
  // Whether a service keeps the bundle as one document, too, beside its parts.
  [[nodiscard]] virtual bool is_kept_whole() const { return true; }
  // Memory in bytes, with all that the set may remember of evidence later. An estimate.
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
};
using CollateralSetPtr = std::shared_ptr<const CollateralSet>;

// Returns the types of evidence with collateral as state, in ascending order. Names of parts begin
// with their type and a slash.
[[nodiscard]] std::vector<std::string_view> types_with_collateral();

// Returns true when evidence of this type counts only under all parts that it asks for. Otherwise
// the verifier says what is missing.
[[nodiscard]] bool needs_all_parts(std::string_view type);

// Returns the members of the bundle that make up `part`, an object of texts.
[[nodiscard]] Json members_of(const CollateralSet& set, const CollateralPart& part);

// Verifies everything in `bundle` that depends on neither evidence nor time, under the vendor's
// anchor or one of `dangerous_anchors` (DER): the one at which the bundle's own chains end. Errors:
// evidence-type-unknown for a type without collateral; schema-violation; collateral-refused, with
// the error code of the type first in its detail.
[[nodiscard]] Result<CollateralSetPtr> authenticate_collateral(
    std::string_view evidence_type, const Json& bundle, std::span<const Bytes> dangerous_anchors);

// Returns the names of the parts that `evidence` asks for under `appraisal`. They are its own
// claim, so they only say where to look. Empty when the evidence cannot be read, or when its type
// knows no collateral.
[[nodiscard]] std::vector<std::string> collateral_names(const Evidence& evidence,
                                                        const Appraisal& appraisal);

// Returns the names of the parts of one TDX platform family under the vendor's anchor (`anchor` is
// null) or another. `family` has twelve lowercase hex digits, `ca` is "platform" or "processor".
[[nodiscard]] std::vector<std::string> tdx_collateral_names(std::string_view family,
                                                            std::string_view ca,
                                                            const Digest* anchor);

// Does what appraise() does, with `set` in place of the collateral in `evidence`. A set whose
// anchor `appraisal` does not accept leads to refused evidence. Errors: evidence-type-unknown when
// the set is for another type; the others of appraise().
[[nodiscard]] Result<AppraisedEvidence> appraise_under(const CollateralSet& set,
                                                       const Evidence& evidence,
                                                       const Appraisal& appraisal, Purpose purpose,
                                                       const ReportDataBytes& expected,
                                                       Timestamp now);

}  // namespace assay::attestation
