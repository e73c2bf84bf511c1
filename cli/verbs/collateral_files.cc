// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/collateral_files.h"

#include <algorithm>
#include <vector>

#include "attestation/snp/trust_anchor.h"
#include "attestation/tdx/collateral.h"
#include "attestation/tdx/trust_anchor.h"
#include "attestation/x509/certificate.h"
#include "client/files.h"

namespace assay::cli {
namespace {

namespace tdx = attestation::tdx;

constexpr std::uint8_t kDerSequence = 0x30;

// The root that collateral in files must lead to, besides the vendor's.
Result<std::vector<Bytes>> read_anchors(const std::string& path, std::string_view type) {
  if (path.empty()) {
    return std::vector<Bytes>();
  }
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path, 64U << 10));
  if (type == kSnpEvidence) {
    ASSAY_ASSIGN(const auto anchor, attestation::snp::TrustAnchor::from_bytes(bytes));
    return std::vector<Bytes>{anchor.certificate().der()};
  }
  if (type == kNvidiaEvidence) {
    ASSAY_ASSIGN(const auto roots, attestation::x509::parse_certificates(bytes));
    return std::vector<Bytes>{roots.front().der()};
  }
  ASSAY_ASSIGN(const tdx::TrustAnchor anchor, tdx::TrustAnchor::from_bytes(bytes));
  return std::vector<Bytes>{anchor.der()};
}

}  // namespace

Result<EndorsedBytes> read_typed_root(const std::string& text) {
  const std::size_t end = text.find('=');
  if (end == std::string::npos || end == 0 || end + 1 == text.size()) {
    return fail(ErrorCode::kUsage, "A root is written as TYPE=FILE, such as tdx=root.pem", text);
  }
  const std::string type = text.substr(0, end);
  ASSAY_ASSIGN(std::vector<Bytes> roots, read_anchors(text.substr(end + 1), type));
  return EndorsedBytes{type, std::move(roots.front())};
}

std::string_view bundle_type(const Json& bundle) {
  // One member tells: the service says which other ones it does not know.
  const bool is_of_devices =
      bundle.is_object() && std::ranges::any_of(bundle.items(), [](const auto& member) {
        const std::string_view key = member.key();
        return key.starts_with("rim/") || key.starts_with("ocsp/") || key.starts_with("chain/");
      });
  if (is_of_devices) {
    return kNvidiaEvidence;
  }
  return bundle.contains("crl") ? kSnpEvidence : kTdxEvidence;
}

Result<Json> read_bundle(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path, tdx::kMaxCollateralBytes));
  if (!bytes.empty() && bytes.front() == kDerSequence) {
    return Json{{"crl", hex_encode(bytes)}};
  }
  ASSAY_ASSIGN(Json json, parse_json(bytes, JsonLimits{.max_bytes = tdx::kMaxCollateralBytes,
                                                       .max_depth = 16}));
  if (const auto inner = json.find("collateral"); json.is_object() && inner != json.end()) {
    return *inner;
  }
  return json;
}

Result<attestation::CollateralSetPtr> open_set(const Json& bundle, const std::string& root) {
  ASSAY_ASSIGN(const std::vector<Bytes> anchors, read_anchors(root, bundle_type(bundle)));
  return attestation::authenticate_collateral(bundle_type(bundle), bundle, anchors);
}

}  // namespace assay::cli
