// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/collateral.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attestation/crypto/ecdsa_signature.h"
#include "attestation/tdx/collateral_parts.h"
#include "attestation/tdx/ecdsa.h"
#include "attestation/tdx/json_fields.h"
#include "attestation/tdx/pck_chain.h"
#include "schemas/core/sha.h"

namespace assay::attestation::tdx {
namespace {

struct Member {
  const char* name;
  std::string Collateral::* text;
};

constexpr auto kMembers = std::to_array<Member>({
    {"pck_crl_issuer_chain", &Collateral::pck_crl_issuer_chain},
    {"root_ca_crl", &Collateral::root_ca_crl},
    {"pck_crl", &Collateral::pck_crl},
    {"tcb_info_issuer_chain", &Collateral::tcb_info_issuer_chain},
    {"tcb_info", &Collateral::tcb_info},
    {"tcb_info_signature", &Collateral::tcb_info_signature},
    {"qe_identity_issuer_chain", &Collateral::qe_identity_issuer_chain},
    {"qe_identity", &Collateral::qe_identity},
    {"qe_identity_signature", &Collateral::qe_identity_signature},
});

// One of the two signed documents.
struct SignedDocument {
  const std::string& chain;
  const std::string& text;
  const std::string& signature;
  const ChainErrors& chain_errors;
  TdxError signature_format;
  TdxError signature_error;
};

// QVL 4.1.2.2, 4.1.2.3: chain to the anchor, not revoked, signature over the bytes as they are.
// Both documents are signed by one certificate as a rule: it is `known` the second time.
Checked<Chain> authenticate_document(const SignedDocument& document, const TrustAnchor& anchor,
                                     const RevocationList& root_crl,
                                     std::span<const CertificatePtr> known = {}) {
  if (document.text.size() > kMaxSignedJsonBytes) {
    return reject(TdxError::kInputTooLarge,
                  "at most " + std::to_string(kMaxSignedJsonBytes) + " bytes",
                  std::to_string(document.text.size()) + " bytes");
  }
  auto chain =
      open_signing_chain(document.chain, anchor.certificate(), document.chain_errors, known);
  if (!chain) {
    return chain;
  }
  const Certificate& signer = *chain->front();
  if (is_revoked(root_crl, signer)) {
    return reject(document.chain_errors.revoked, "not revoked", signer.common_name);
  }
  const auto signature = fields::hex_bytes(document.signature);
  if (!signature || signature->size() != kRawSignatureBytes) {
    return reject(document.signature_format, "128 hex digits",
                  std::to_string(document.signature.size()) + " characters");
  }
  if (!verify_raw(signer.key(), as_bytes(document.text), *signature)) {
    return reject(document.signature_error, "signed by " + signer.common_name);
  }
  return chain;
}

Checked<RevocationList> parse_hex_crl(const std::string& hex, const CrlErrors& errors) {
  if (hex.size() > 2 * kMaxCrlBytes) {
    return reject(TdxError::kInputTooLarge, "at most " + std::to_string(kMaxCrlBytes) + " bytes",
                  std::to_string(hex.size() / 2) + " bytes");
  }
  const auto der = fields::hex_bytes(hex);
  if (!der) {
    return reject(errors.format, "hex of DER");
  }
  return parse_crl(*der, errors);
}

// The chain of a PCK CA; empty when the bundle has none. A chain that is there must be right:
// damage that nobody minds hides that somebody changed the bundle.
Checked<Chain> authenticate_pck_ca(const std::string& pem, const TrustAnchor& anchor,
                                   const RevocationList& root_crl) {
  if (pem.empty()) {
    return Chain{};
  }
  auto chain = open_pck_ca_chain(pem, anchor.certificate());
  if (!chain) {
    Failure& why = chain.error();
    return reject(TdxError::kPckCrlChain, std::move(why.expected), std::move(why.actual),
                  std::string(name(why.error)));
  }
  if (is_revoked(root_crl, *chain->front())) {
    return reject(TdxError::kPckCertRevoked, "not revoked", chain->front()->common_name);
  }
  return chain;
}

// Adds to the record of the chain under which CA the CRL is checked. Returns the CA of the chain
// when it issued the CRL; null: each quote's own CA must have.
CertificatePtr issuer_of_pck_crl(const Chain& chain, const RevocationList& pck_crl, Check& check) {
  if (!chain.empty() && check_crl_issuer(pck_crl, *chain.front(), kPckCrlErrors)) {
    check.actual = chain.front()->common_name;
    return chain.front();
  }
  check.actual = chain.empty() ? "no chain" : "a chain of " + chain.front()->common_name;
  check.actual += "; the CRL is checked under the CA of each quote";
  check.outcome = chain.empty() ? CheckOutcome::kNotConstrained : CheckOutcome::kPass;
  return nullptr;
}

// Records one step and hands its value on.
template <typename T>
Checked<T> record(std::vector<Check>& checks, std::string_view id, std::string_view spec,
                  Checked<T> result) {
  Check check{id, spec, CheckOutcome::kPass, {}, {}};
  if (!result) {
    check.outcome = CheckOutcome::kFail;
    check.expected = result.error().expected;
    check.actual = result.error().actual;
  }
  checks.push_back(std::move(check));
  return result;
}

Checked<RevocationList> authenticate_root_crl(const Collateral& collateral,
                                              const TrustAnchor& anchor) {
  auto list = parse_hex_crl(collateral.root_ca_crl, kRootCrlErrors);
  if (list) {
    if (auto outcome = check_crl_issuer(*list, *anchor.certificate(), kRootCrlErrors); !outcome) {
      return std::unexpected(outcome.error());
    }
  }
  return list;
}

// Narrows the common validity to that of one more part.
void intersect(AuthenticatedCollateral::Parts& parts, Timestamp from, Timestamp until) {
  parts.valid_from = std::max(parts.valid_from, from);
  parts.valid_until = std::min(parts.valid_until, until);
}

void intersect_all(AuthenticatedCollateral::Parts& parts) {
  parts.valid_from = parts.root_crl.this_update;
  parts.valid_until = parts.root_crl.next_update;
  intersect(parts, parts.pck_crl.this_update, parts.pck_crl.next_update);
  intersect(parts, parts.tcb_info.issued, parts.tcb_info.next_update);
  intersect(parts, parts.qe_identity.issued, parts.qe_identity.next_update);
  for (const Chain* chain :
       {&parts.pck_crl_chain, &parts.tcb_info_chain, &parts.qe_identity_chain}) {
    for (const CertificatePtr& certificate : *chain) {
      intersect(parts, certificate->not_before, certificate->not_after);
    }
  }
}

}  // namespace

Result<Collateral> parse_collateral(ByteView json) {
  ASSAY_ASSIGN(const Json object,
               parse_json(json, JsonLimits{.max_bytes = kMaxCollateralBytes, .max_depth = 16}));
  return collateral_from_json(object);
}

Result<Collateral> collateral_from_json(const Json& object) {
  Collateral collateral;
  for (const Member& member : kMembers) {
    auto text = fields::text(object, member.name);
    if (!text) {
      return fail(ErrorCode::kSchemaViolation, "collateral lacks a text of this name",
                  "/" + std::string(member.name));
    }
    collateral.*member.text = std::move(*text);
  }
  return collateral;
}

Json to_json(const Collateral& collateral) {
  Json json = Json::object();
  for (const Member& member : kMembers) {
    json[member.name] = collateral.*member.text;
  }
  return json;
}

Digest digest_of(const Collateral& collateral) {
  // Texts that are no UTF-8 have no canonical JSON; a bundle from parse_collateral has none.
  const auto text = canonical_json(to_json(collateral));
  return sha256(as_bytes(text ? *text : std::string()));
}

// long-function: one statement for each step, in the order of the specification
Checked<AuthenticatedCollateral> authenticate_collateral(const Collateral& collateral,
                                                         const TrustAnchor& anchor,
                                                         std::vector<Check>& checks) {
  // Root CRL: QVL 4.1.2.1. The PCK CRL is completed by the quote's chain.
  auto root_crl =
      record(checks, "root-crl", "QVL 4.1.2.1", authenticate_root_crl(collateral, anchor));
  if (!root_crl) {
    return std::unexpected(root_crl.error());
  }
  auto pck_crl = record(checks, "pck-crl-format", "RFC 5280 5.1",
                        parse_hex_crl(collateral.pck_crl, kPckCrlErrors));
  if (!pck_crl) {
    return std::unexpected(pck_crl.error());
  }
  auto tcb_info_chain =
      record(checks, "tcb-info-signature", "QVL 4.1.2.2",
             authenticate_document({collateral.tcb_info_issuer_chain, collateral.tcb_info,
                                    collateral.tcb_info_signature, kTcbInfoErrors,
                                    TdxError::kTcbInfoSignatureFormat, TdxError::kTcbInfoSignature},
                                   anchor, *root_crl));
  if (!tcb_info_chain) {
    return std::unexpected(tcb_info_chain.error());
  }
  auto tcb_info =
      record(checks, "tcb-info-content", "PCS v4 TCB info", parse_tcb_info(collateral.tcb_info));
  if (!tcb_info) {
    return std::unexpected(tcb_info.error());
  }
  auto qe_chain = record(
      checks, "qe-identity-signature", "QVL 4.1.2.3",
      authenticate_document({collateral.qe_identity_issuer_chain, collateral.qe_identity,
                             collateral.qe_identity_signature, kQeIdentityErrors,
                             TdxError::kQeIdentitySignatureFormat, TdxError::kQeIdentitySignature},
                            anchor, *root_crl, std::span(*tcb_info_chain).first(1)));
  if (!qe_chain) {
    return std::unexpected(qe_chain.error());
  }
  auto qe_identity = record(checks, "qe-identity-content", "PCS v4 QE identity",
                            parse_qe_identity(collateral.qe_identity));
  if (!qe_identity) {
    return std::unexpected(qe_identity.error());
  }
  auto pck_crl_chain =
      record(checks, "pck-crl-chain", "QVL 4.1.2.4.6",
             authenticate_pck_ca(collateral.pck_crl_issuer_chain, anchor, *root_crl));
  if (!pck_crl_chain) {
    return std::unexpected(pck_crl_chain.error());
  }
  CertificatePtr pck_ca = issuer_of_pck_crl(*pck_crl_chain, *pck_crl, checks.back());
  auto parts = std::make_unique<AuthenticatedCollateral::Parts>(
      AuthenticatedCollateral::Parts{anchor,
                                     digest_of(collateral),
                                     std::move(*root_crl),
                                     std::move(*pck_crl),
                                     std::move(pck_ca),
                                     std::move(*pck_crl_chain),
                                     std::move(*tcb_info_chain),
                                     std::move(*qe_chain),
                                     std::move(*tcb_info),
                                     std::move(*qe_identity),
                                     {},
                                     {},
                                     checks,
                                     std::make_unique<PckCache>()});
  intersect_all(*parts);
  return AuthenticatedCollateral(std::move(parts));
}

AuthenticatedCollateral::AuthenticatedCollateral(std::unique_ptr<const Parts> parts)
    : parts_(std::move(parts)) {}
AuthenticatedCollateral::AuthenticatedCollateral(AuthenticatedCollateral&&) noexcept = default;
AuthenticatedCollateral& AuthenticatedCollateral::operator=(AuthenticatedCollateral&&) noexcept =
    default;
AuthenticatedCollateral::~AuthenticatedCollateral() = default;

const TcbInfo& AuthenticatedCollateral::tcb_info() const { return parts_->tcb_info; }
const QeIdentity& AuthenticatedCollateral::qe_identity() const { return parts_->qe_identity; }
const TrustAnchor& AuthenticatedCollateral::anchor() const { return parts_->anchor; }
const Digest& AuthenticatedCollateral::digest() const { return parts_->digest; }
Timestamp AuthenticatedCollateral::valid_from() const { return parts_->valid_from; }
Timestamp AuthenticatedCollateral::valid_until() const { return parts_->valid_until; }
const std::vector<Check>& AuthenticatedCollateral::checks() const { return parts_->checks; }

}  // namespace assay::attestation::tdx
