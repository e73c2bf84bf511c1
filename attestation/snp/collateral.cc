// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/collateral.h"

#include <utility>

#include "attestation/snp/chain.h"
#include "schemas/core/sha.h"

namespace assay::attestation::snp {
namespace {

constexpr std::string_view kCrl = "crl";

}  // namespace

Result<Collateral> collateral_from_json(const Json& json) {
  if (!json.is_object()) {
    return fail(ErrorCode::kSchemaViolation, "the collateral of SEV-SNP is a JSON object");
  }
  for (const auto& [key, value] : json.items()) {
    if (key != kCrl) {
      return fail(ErrorCode::kUnknownMember, "the collateral of SEV-SNP has no such member",
                  "/" + key);
    }
  }
  const auto crl = json.find(kCrl);
  if (crl == json.end() || !crl->is_string()) {
    return fail(ErrorCode::kSchemaViolation, "write the CRL of AMD's root in hex", "/crl");
  }
  auto bytes = hex_decode(crl->get_ref<const std::string&>());
  if (!bytes || bytes->empty()) {
    return fail(ErrorCode::kSchemaViolation, "write the CRL in lowercase hex", "/crl");
  }
  return Collateral{*std::move(bytes)};
}

Result<Collateral> parse_collateral(ByteView file) {
  if (file.size() > kMaxCollateralBytes) {
    return fail(ErrorCode::kLimitExceeded, "the collateral of SEV-SNP has at most 3 MiB");
  }
  constexpr std::uint8_t kSequence = 0x30;
  if (!file.empty() && file.front() == kSequence) {
    return Collateral{Bytes(file.begin(), file.end())};
  }
  ASSAY_ASSIGN(const Json json,
               parse_json(file, JsonLimits{.max_bytes = kMaxCollateralBytes, .max_depth = 4}));
  return collateral_from_json(json);
}

Json to_json(const Collateral& collateral) {
  return {{std::string(kCrl), hex_encode(collateral.crl)}};
}

// The canonical form of one member whose text is hex.
Digest digest_of(const Collateral& collateral) {
  const std::string hex = hex_encode(collateral.crl);
  return sha(HashAlgorithm::kSha256, {as_bytes(R"({"crl":")"), as_bytes(hex), as_bytes(R"("})")});
}

AuthenticatedCollateral::AuthenticatedCollateral(TrustAnchor anchor,
                                                 std::optional<RevocationList> crl,
                                                 std::optional<Digest> digest)
    : anchor_(std::move(anchor)),
      crl_(std::move(crl)),
      digest_(digest),
      known_(std::make_shared<KnownChains>()) {}

Checked<AuthenticatedCollateral> authenticate_collateral(const Collateral& collateral,
                                                         const TrustAnchor& anchor) {
  if (collateral.crl.empty()) {
    return AuthenticatedCollateral(anchor, std::nullopt, std::nullopt);
  }
  auto crl = open_crl(collateral.crl, anchor.certificate());
  if (!crl) {
    return std::unexpected(std::move(crl).error());
  }
  return AuthenticatedCollateral(anchor, *std::move(crl), digest_of(collateral));
}

Checked<AuthenticatedCollateral> authenticate_collateral(const Collateral& collateral,
                                                         std::span<const TrustAnchor> anchors) {
  Failure why{SnpError::kCrlIssuerMismatch, "a configured root", "another issuer", {}};
  for (const TrustAnchor& anchor : anchors) {
    auto authenticated = authenticate_collateral(collateral, anchor);
    if (authenticated) {
      return authenticated;
    }
    if (authenticated.error().error != SnpError::kCrlIssuerMismatch) {
      why = std::move(authenticated).error();
    }
  }
  return std::unexpected(std::move(why));
}

}  // namespace assay::attestation::snp
