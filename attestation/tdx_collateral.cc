// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx_collateral.h"

#include <algorithm>
#include <array>

#include "attestation/tdx/certificate.h"
#include "attestation/tdx/collateral_parts.h"
#include "attestation/tdx/quote_platform.h"
#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

using tdx::Collateral;
using tdx::TrustAnchor;

constexpr std::size_t kBytesPerBundleByte = 4;  // texts, certificates, levels

std::string prefix_of(const Digest* anchor) {
  return anchor == nullptr ? "tdx/" : "tdx/" + anchor->hex() + "/";
}

// What a signed document says, without its dates, and who signed it. Its text was parsed before.
Digest substance_of(const std::string& text, const std::string& chain) {
  std::string rest;
  if (auto json =
          parse_json(text, JsonLimits{.max_bytes = tdx::kMaxSignedJsonBytes, .max_depth = 16})) {
    json->erase("issueDate");
    json->erase("nextUpdate");
    rest = json->dump();
  }
  const Digest signer = sha256(as_bytes(chain));
  return sha(HashAlgorithm::kSha256, {signer.bytes(), as_bytes(rest)});
}

// What a CRL says: its serials, and who issued it. `chain` is empty for the root's.
Digest substance_of(const tdx::RevocationList& list, const std::string& chain) {
  Bytes serials;
  for (const Bytes& serial : list.serials) {
    serials.push_back(static_cast<std::uint8_t>(serial.size()));
    serials.insert(serials.end(), serial.begin(), serial.end());
  }
  const Digest issuer = sha256(as_bytes(chain));
  return sha(HashAlgorithm::kSha256, {issuer.bytes(), serials});
}

std::vector<CollateralPart> parts_of(const Collateral& texts,
                                     const tdx::AuthenticatedCollateral& collateral) {
  const auto& parts = collateral.parts();
  const std::string prefix =
      prefix_of(collateral.anchor().is_intel() ? nullptr : &collateral.anchor().digest());
  std::vector<CollateralPart> made;
  made.push_back({prefix + "root-crl",
                  "root-crl",
                  parts.root_crl.number,
                  parts.root_crl.this_update,
                  parts.root_crl.next_update,
                  substance_of(parts.root_crl, {}),
                  {"root_ca_crl"}});
  if (parts.pck_ca != nullptr) {
    made.push_back({prefix + "pck-crl/" + std::string(tdx::pck_ca_of(parts.pck_ca->common_name)),
                    "pck-crl",
                    parts.pck_crl.number,
                    parts.pck_crl.this_update,
                    parts.pck_crl.next_update,
                    substance_of(parts.pck_crl, texts.pck_crl_issuer_chain),
                    {"pck_crl", "pck_crl_issuer_chain"}});
  }
  made.push_back({prefix + "tcb-info/" + hex_encode(parts.tcb_info.fmspc),
                  "tcb-info",
                  parts.tcb_info.evaluation_number,
                  parts.tcb_info.issued,
                  parts.tcb_info.next_update,
                  substance_of(texts.tcb_info, texts.tcb_info_issuer_chain),
                  {"tcb_info", "tcb_info_signature", "tcb_info_issuer_chain"}});
  made.push_back({prefix + "qe-identity",
                  "qe-identity",
                  parts.qe_identity.evaluation_number,
                  parts.qe_identity.issued,
                  parts.qe_identity.next_update,
                  substance_of(texts.qe_identity, texts.qe_identity_issuer_chain),
                  {"qe_identity", "qe_identity_signature", "qe_identity_issuer_chain"}});
  return made;
}

// The anchor at which the chain of the TCB info ends; the vendor's when it ends at no anchor. The
// choice decides only what the bundle is verified against.
Result<TrustAnchor> choose_anchor(const Collateral& texts, std::span<const Bytes> dangerous) {
  const auto chain = tdx::split_pem_chain(texts.tcb_info_issuer_chain);
  if (chain && !chain->empty()) {
    const auto found = std::ranges::find(dangerous, chain->back());
    if (found != dangerous.end()) {
      return TrustAnchor::from_der(*found);
    }
  }
  return tdx::intel_root();
}

}  // namespace

TdxCollateralSet::TdxCollateralSet(const Collateral& texts, tdx::AuthenticatedCollateral collateral)
    : bundle_(to_json(texts)),
      collateral_(std::move(collateral)),
      parts_(parts_of(texts, collateral_)) {}

std::size_t TdxCollateralSet::memory_bytes() const {
  std::size_t text = 0;
  for (const auto& [name, value] : bundle_.items()) {
    text += value.get_ref<const std::string&>().size();
  }
  return kBytesPerBundleByte * text + tdx::kMaxKnownLeaves * tdx::kBytesOfAKnownLeaf;
}

Result<CollateralSetPtr> authenticate_tdx(const Json& bundle,
                                          std::span<const Bytes> dangerous_anchors) {
  ASSAY_ASSIGN(const Collateral texts, tdx::collateral_from_json(bundle));
  ASSAY_ASSIGN(const TrustAnchor anchor, choose_anchor(texts, dangerous_anchors));
  std::vector<tdx::Check> checks;
  auto collateral = tdx::authenticate_collateral(texts, anchor, checks);
  if (!collateral) {
    const tdx::Failure& why = collateral.error();
    return fail(ErrorCode::kCollateralRefused,
                code(why) + ": " + std::string(tdx::meaning(why.error)), "/collateral");
  }
  return std::make_shared<const TdxCollateralSet>(texts, std::move(*collateral));
}

std::vector<std::string> tdx_collateral_names(std::string_view family, std::string_view ca,
                                              const Digest* anchor) {
  const std::string prefix = prefix_of(anchor);
  return {prefix + "root-crl", prefix + "pck-crl/" + std::string(ca),
          prefix + "tcb-info/" + std::string(family), prefix + "qe-identity"};
}

std::vector<std::string> names_for_tdx(const Evidence& evidence, const Appraisal& appraisal) {
  const auto family = tdx::claimed_family(evidence.quote);
  if (!family) {
    return {};
  }
  const Digest root = sha256(family->root);
  const bool dangerous = root != tdx::intel_root().digest() &&
                         std::ranges::find(appraisal.dangerous_anchors, family->root) !=
                             appraisal.dangerous_anchors.end();
  return tdx_collateral_names(hex_encode(family->fmspc), family->ca, dangerous ? &root : nullptr);
}

}  // namespace assay::attestation
