// SPDX-License-Identifier: Apache-2.0
// What collateral_set.h does, for TDX. Internal to this folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attestation/collateral_set.h"
#include "attestation/tdx/collateral.h"

namespace assay::attestation {

// A bundle of tdx/collateral.h with the names of its parts.
class TdxCollateralSet final : public CollateralSet {
 public:
  // `collateral` is what `texts` were authenticated to.
  TdxCollateralSet(const tdx::Collateral& texts, tdx::AuthenticatedCollateral collateral);

  [[nodiscard]] std::string_view type() const override { return kTdxEvidence; }
  [[nodiscard]] const Json& bundle() const override { return bundle_; }
  [[nodiscard]] const Digest& digest() const override { return collateral_.digest(); }
  [[nodiscard]] const Digest& anchor() const override { return collateral_.anchor().digest(); }
  [[nodiscard]] bool anchor_is_vendor() const override { return collateral_.anchor().is_intel(); }
  [[nodiscard]] Timestamp valid_from() const override { return collateral_.valid_from(); }
  [[nodiscard]] Timestamp valid_until() const override { return collateral_.valid_until(); }
  [[nodiscard]] const std::vector<CollateralPart>& parts() const override { return parts_; }
  [[nodiscard]] std::size_t memory_bytes() const override;

  [[nodiscard]] const tdx::AuthenticatedCollateral& authenticated() const { return collateral_; }

 private:
  Json bundle_;
  tdx::AuthenticatedCollateral collateral_;
  std::vector<CollateralPart> parts_;
};

[[nodiscard]] Result<CollateralSetPtr> authenticate_tdx(const Json& bundle,
                                                        std::span<const Bytes> dangerous_anchors);
[[nodiscard]] std::vector<std::string> names_for_tdx(const Evidence& evidence,
                                                     const Appraisal& appraisal);
// Defined with the other appraisals, in tdx_evidence.cc.
[[nodiscard]] Result<AppraisedEvidence> appraise_tdx_under(
    const CollateralSet& set, const Evidence& evidence, const Appraisal& appraisal, Purpose purpose,
    const ReportDataBytes& expected, Timestamp now);

}  // namespace assay::attestation
