// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/trust_anchor.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "attestation/snp/certificate_rules.h"
#include "embedded/amd_certificates.h"

namespace assay::attestation::snp {
namespace {

// Pins of AMD's roots, and the certificates of each generation, in the order of the enumeration.
struct Published {
  std::string_view root_digest;
  std::string_view pem;  // root, then issuers
};
constexpr auto published = [](Generation generation) -> Published {
  switch (generation) {
    case Generation::kMilan:
      return {"sha256:69d063b45344d26a2e94e1f4210de49ef555308287d4c174445c95639a540bcd",
              embedded::kMilanPem};
    case Generation::kGenoa:
      return {"sha256:4c6598d19c18719c5dfd4a7d335f674e5bfe1d8f800cea2cf270c10d103db2f1",
              embedded::kGenoaPem};
    case Generation::kTurin:
      break;
  }
  return {"sha256:1f084161a44bb6d93778a904877d4819cafa5d05ef4193b2ded9dd9c73dd3f6a",
          embedded::kTurinPem};
};

std::optional<Generation> generation_of_root(const x509::Certificate& certificate) {
  const std::string name = subject_name(certificate);
  for (const Generation generation : kGenerations) {
    if (name == "ARK-" + std::string(product(generation))) {
      return generation;
    }
  }
  return std::nullopt;
}

struct Built {
  TrustAnchor root;
  std::vector<x509::Certificate> issuers;
};

Built build(Generation generation) {
  auto certificates = x509::parse_certificates(as_bytes(published(generation).pem));
  if (!certificates || certificates->empty()) {
    std::abort();  // the text of the program is damaged: nothing could be trusted
  }
  auto root = TrustAnchor::from_bytes(certificates->front().der());
  if (!root || !root->is_amd() || root->generation() != generation) {
    std::abort();
  }
  certificates->erase(certificates->begin());
  return {std::move(*root), std::move(*certificates)};
}

const Built& built(Generation generation) {
  static const std::array<Built, kGenerations.size()> all = {
      build(Generation::kMilan), build(Generation::kGenoa), build(Generation::kTurin)};
  return all[std::to_underlying(generation)];
}

}  // namespace

Result<TrustAnchor> TrustAnchor::from_bytes(ByteView bytes) {
  ASSAY_ASSIGN(std::vector<x509::Certificate> certificates, x509::parse_certificates(bytes));
  if (certificates.size() != 1) {
    return fail(ErrorCode::kInvalidEncoding, "a trust anchor is one certificate");
  }
  x509::Certificate certificate = std::move(certificates.front());
  const auto generation = generation_of_root(certificate);
  if (!generation || !certificate.is_ca() || !has_rsa_4096_key(certificate) ||
      !is_signed_with_pss(certificate) || !is_self_signed(certificate)) {
    return fail(ErrorCode::kUnsupportedKey,
                "a trust anchor is a self-signed CA certificate with the name ARK-Milan, ARK-Genoa "
                "or ARK-Turin, and an RSA-4096 key with RSASSA-PSS and SHA-384");
  }
  return TrustAnchor(std::move(certificate), *generation);
}

bool TrustAnchor::is_amd() const { return digest().text() == published(generation_).root_digest; }

const TrustAnchor& amd_root(Generation generation) { return built(generation).root; }

const std::vector<x509::Certificate>& amd_issuers(Generation generation) {
  return built(generation).issuers;
}

}  // namespace assay::attestation::snp
