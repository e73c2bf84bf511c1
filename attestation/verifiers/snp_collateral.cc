// SPDX-License-Identifier: Apache-2.0
#include "attestation/verifiers/snp_collateral.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attestation/snp/appraisal_policy.h"
#include "attestation/snp/verify.h"
#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

constexpr std::size_t kBytesPerCrlByte = 4;  // hex twice over, and the serials

std::string name_of_crl(snp::Generation generation, const Digest* anchor) {
  std::string name = std::string(kSnpEvidence) + "/";
  if (anchor != nullptr) {
    name += anchor->hex() + "/";
  }
  return name + "crl/" + std::string(snp::name(generation));
}

Digest substance_of_crl(const snp::AuthenticatedCollateral& collateral) {
  Bytes serials;
  for (const Bytes& serial : collateral.crl()->serials) {
    serials.push_back(static_cast<std::uint8_t>(serial.size()));
    serials.insert(serials.end(), serial.begin(), serial.end());
  }
  return sha(HashAlgorithm::kSha256, {collateral.anchor().digest().bytes(), serials});
}

}  // namespace

SnpCollateralSet::SnpCollateralSet(const snp::Collateral& text,
                                   snp::AuthenticatedCollateral collateral)
    : bundle_(to_json(text)), collateral_(std::move(collateral)) {
  const snp::TrustAnchor& anchor = collateral_.anchor();
  const snp::RevocationList& crl = *collateral_.crl();
  parts_.push_back({name_of_crl(anchor.generation(), anchor.is_amd() ? nullptr : &anchor.digest()),
                    "amd-crl",
                    crl.number,
                    crl.this_update,
                    crl.next_update,
                    substance_of_crl(collateral_),
                    {"crl"}});
}

std::size_t SnpCollateralSet::memory_bytes() const {
  return kBytesPerCrlByte * bundle_.at("crl").get_ref<const std::string&>().size() +
         snp::kMaxKnownLeaves * snp::kBytesOfAKnownLeaf;
}

Result<std::vector<snp::TrustAnchor>> snp_anchors(std::span<const Bytes> dangerous) {
  std::vector<snp::TrustAnchor> anchors;
  for (const snp::Generation generation : snp::kGenerations) {
    anchors.push_back(snp::amd_root(generation));
  }
  for (std::size_t i = 0; i < dangerous.size(); ++i) {
    auto anchor = snp::TrustAnchor::from_bytes(dangerous[i]);
    if (!anchor) {
      return fail(anchor.error().code, anchor.error().detail,
                  "/dangerous_anchors/" + std::to_string(i));
    }
    anchors.push_back(*std::move(anchor));
  }
  return anchors;
}

Result<CollateralSetPtr> authenticate_snp(const Json& bundle,
                                          std::span<const Bytes> dangerous_anchors) {
  ASSAY_ASSIGN(const snp::Collateral text, snp::collateral_from_json(bundle));
  ASSAY_ASSIGN(const auto anchors, snp_anchors(dangerous_anchors));
  auto collateral = snp::authenticate_collateral(text, anchors);
  if (!collateral) {
    const snp::Failure& why = collateral.error();
    return fail(ErrorCode::kCollateralRefused,
                code(why) + ": " + std::string(snp::meaning(why.error)), "/collateral");
  }
  return std::make_shared<const SnpCollateralSet>(text, *std::move(collateral));
}

std::vector<std::string> names_for_snp(const Evidence& evidence, const Appraisal& appraisal) {
  const auto claimed = snp::claimed(evidence.quote);
  if (!claimed) {
    return {};
  }
  std::optional<snp::Generation> generation = claimed->generation;
  if (!claimed->report.cpu) {
    const auto policy = snp::parse_appraisal_policy(appraisal.policy);
    generation = policy ? policy->version_2_generation : std::nullopt;
  }
  if (!generation) {
    return {};
  }
  const Digest root = sha256(claimed->root);
  const bool dangerous = root != snp::amd_root(*generation).digest() &&
                         std::ranges::find(appraisal.dangerous_anchors, claimed->root) !=
                             appraisal.dangerous_anchors.end();
  return {name_of_crl(*generation, dangerous ? &root : nullptr)};
}

}  // namespace assay::attestation
