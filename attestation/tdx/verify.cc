// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/verify.h"

#include <algorithm>
#include <utility>

#include "attestation/tdx/collateral_parts.h"
#include "attestation/tdx/ecdsa.h"
#include "attestation/tdx/event_log.h"
#include "attestation/tdx/pck_chain.h"
#include "attestation/tdx/reference_values.h"
#include "attestation/tdx/td_policy.h"
#include "schemas/core/sha.h"

namespace assay::attestation::tdx {
namespace {

using appraisal::Compared;
using appraisal::plain;
using appraisal::record;
using StepResult = Checked<Compared>;

template <typename Value>
StepResult equal(TdxError error, const Value& expected, const Value& actual) {
  if (!std::ranges::equal(expected, actual)) {
    return reject(error, hex_encode(expected), hex_encode(actual));
  }
  return Compared{hex_encode(expected), hex_encode(actual)};
}

// One verification: the steps in order, each citing where it is specified. A step is reached only
// when all before it have passed.
class Verification {
 public:
  Verification(const QuoteView& quote, const AuthenticatedCollateral& collateral,
               const VerifyContext& context, AppraisalResult& result)
      : quote_(quote),
        collateral_(collateral),
        parts_(collateral.parts()),
        context_(context),
        result_(result) {}

  void run() {
    result_.tcb_info_fmspc = collateral_.tcb_info().fmspc;
    result_.tcb_evaluation_number = collateral_.tcb_info().evaluation_number;
    result_.qe_evaluation_number = collateral_.qe_identity().evaluation_number;
    result_.accepted = verify_chain() && verify_collateral_fits() && verify_signatures() &&
                       verify_tcb() && appraise();
  }

 private:
  bool verify_chain();
  bool verify_collateral_fits();
  bool verify_signatures();
  bool verify_tcb();
  bool appraise();
  bool appraise_references();

  StepResult open_pck();
  StepResult check_pck_crl_chain_time();
  StepResult check_pck_crl();
  StepResult check_revocation();
  StepResult check_document_time(Timestamp issued, Timestamp next_update, const Chain& chain,
                                 const ChainErrors& errors, TdxError not_yet, TdxError expired);
  StepResult check_evaluation_numbers();
  StepResult check_qe_report_data();
  StepResult check_quote_signature();
  StepResult find_module();
  StepResult evaluate();
  StepResult check_revoked();
  StepResult check_allow_list();
  StepResult check_report_data();
  StepResult replay_event_log();
  StepResult check_status();

  bool step(std::string_view id, std::string_view spec, StepResult outcome) {
    return record(result_, id, spec, std::move(outcome));
  }

  const QuoteView& quote_;
  const AuthenticatedCollateral& collateral_;
  const AuthenticatedCollateral::Parts& parts_;
  const VerifyContext& context_;
  AppraisalResult& result_;
  PckCache::ChainPtr pck_;
  const ModuleIdentity* module_ = nullptr;
};

// Whose platform this is: the PCK chain, and that nothing of it is revoked.
bool Verification::verify_chain() {
  return step("root-crl-time", "RFC 5280 6.3.3 (c)",
              plain(check_crl_time(parts_.root_crl, context_.now, kRootCrlErrors))) &&
         step("pck-chain", "QVL 4.1.2.4.5", open_pck()) &&
         step("pck-chain-time", "QVL 4.1.2.4.5",
              plain(check_chain_time(pck_->certificates, context_.now, kPckErrors))) &&
         step("pck-crl-chain-time", "QVL 4.1.2.4.6", check_pck_crl_chain_time()) &&
         step("pck-crl", "QVL 4.1.2.4.6", check_pck_crl()) &&
         step("pck-crl-time", "RFC 5280 6.3.3 (c)",
              plain(check_crl_time(parts_.pck_crl, context_.now, kPckCrlErrors))) &&
         step("pck-revocation", "QVL 4.1.2.4.6", check_revocation());
}

StepResult Verification::check_pck_crl_chain_time() {
  if (auto outcome = check_chain_time(parts_.pck_crl_chain, context_.now, kPckErrors); !outcome) {
    Failure& why = outcome.error();
    return reject(TdxError::kPckCrlChain, std::move(why.expected), std::move(why.actual),
                  std::string(name(why.error)));
  }
  return Compared{};
}

StepResult Verification::open_pck() {
  const Digest text = sha256(quote_.pck_chain);
  pck_ = parts_.known_leaves->find(text);
  if (pck_ == nullptr) {
    const std::array<CertificatePtr, 1> known = {parts_.pck_ca};
    auto chain = open_pck_chain(as_text(quote_.pck_chain), parts_.anchor.certificate(),
                                std::span(known).first(parts_.pck_ca != nullptr ? 1 : 0));
    if (!chain) {
      return std::unexpected(std::move(chain).error());
    }
    pck_ = std::make_shared<const PckChain>(std::move(*chain));
    parts_.known_leaves->keep(text, pck_);
  }
  const PckExtension& extension = pck_->extension;
  result_.platform = PlatformIdentity{extension.fmspc,         extension.pceid,
                                      extension.ppid,          extension.platform_instance_id,
                                      pck_->ca()->common_name, sha256(pck_->leaf().der)};
  for (const CertificatePtr& certificate : pck_->certificates) {
    result_.valid_from = std::max(*result_.valid_from, certificate->not_before);
    result_.valid_until = std::min(*result_.valid_until, certificate->not_after);
  }
  return Compared{parts_.anchor.digest().text(), pck_->ca()->common_name};
}

// The CRL is that of this chain's CA. One that came with its own chain was verified then.
StepResult Verification::check_pck_crl() {
  if (pck_->ca() == parts_.pck_ca) {
    return Compared{};
  }
  if (is_revoked(parts_.root_crl, *pck_->ca())) {
    return reject(TdxError::kPckCertRevoked, "not revoked", pck_->ca()->common_name);
  }
  return plain(check_crl_issuer(parts_.pck_crl, *pck_->ca(), kPckCrlErrors));
}

StepResult Verification::check_revocation() {
  if (is_revoked(parts_.root_crl, *pck_->ca()) || is_revoked(parts_.pck_crl, pck_->leaf())) {
    return reject(TdxError::kPckCertRevoked, "not revoked", hex_encode(pck_->leaf().serial));
  }
  return Compared{};
}

// The collateral is valid now, new enough, and about this platform.
bool Verification::verify_collateral_fits() {
  const TcbInfo& tcb = parts_.tcb_info;
  const QeIdentity& qe = parts_.qe_identity;
  return step(
             "tcb-info-time", "QVL 4.1.2.4.8",
             check_document_time(tcb.issued, tcb.next_update, parts_.tcb_info_chain, kTcbInfoErrors,
                                 TdxError::kTcbInfoNotYetValid, TdxError::kTcbInfoExpired)) &&
         step("qe-identity-time", "QVL 4.1.2.4.14",
              check_document_time(qe.issued, qe.next_update, parts_.qe_identity_chain,
                                  kQeIdentityErrors, TdxError::kQeIdentityNotYetValid,
                                  TdxError::kQeIdentityExpired)) &&
         step("evaluation-numbers", "policy min_tcb_evaluation_data_number",
              check_evaluation_numbers()) &&
         step("fmspc", "QVL 4.1.2.4.9",
              equal(TdxError::kFmspcMismatch, tcb.fmspc, pck_->extension.fmspc)) &&
         step("pceid", "QVL 4.1.2.4.9",
              equal(TdxError::kPceidMismatch, tcb.pceid, pck_->extension.pceid));
}

StepResult Verification::check_document_time(Timestamp issued, Timestamp next_update,
                                             const Chain& chain, const ChainErrors& errors,
                                             TdxError not_yet, TdxError expired) {
  if (auto outcome = check_chain_time(chain, context_.now, errors); !outcome) {
    return std::unexpected(outcome.error());
  }
  if (context_.now < issued) {
    return reject(not_yet, "from " + to_rfc3339(issued), to_rfc3339(context_.now));
  }
  if (context_.now > next_update) {
    return reject(expired, "until " + to_rfc3339(next_update), to_rfc3339(context_.now));
  }
  return Compared{to_rfc3339(issued) + " to " + to_rfc3339(next_update), to_rfc3339(context_.now)};
}

StepResult Verification::check_evaluation_numbers() {
  const AppraisalPolicy& policy = context_.policy;
  const std::uint32_t tcb = parts_.tcb_info.evaluation_number;
  const std::uint32_t qe = parts_.qe_identity.evaluation_number;
  const std::string minimum = "at least " + std::to_string(policy.min_tcb_evaluation_data_number);
  if (tcb < policy.min_tcb_evaluation_data_number) {
    return reject(TdxError::kTcbInfoEvalNumberTooLow, minimum, std::to_string(tcb));
  }
  if (qe < policy.min_tcb_evaluation_data_number) {
    return reject(TdxError::kQeIdentityEvalNumberTooLow, minimum, std::to_string(qe));
  }
  if (tcb != qe && !policy.allow_evaluation_number_mismatch) {
    return reject(TdxError::kEvalNumberMismatch, std::to_string(tcb), std::to_string(qe));
  }
  return Compared{minimum, std::to_string(tcb) + " and " + std::to_string(qe)};
}

// The platform's key vouches for the quoting enclave, and that for the quote.
bool Verification::verify_signatures() {
  const bool genuine =
      step("qe-report-signature", "QVL 4.1.2.4.11",
           verify_raw(pck_->leaf().key(), quote_.qe_report_bytes, quote_.qe_report_signature)
               ? StepResult(Compared{})
               : reject(TdxError::kQeReportSignature, "signed by the PCK")) &&
      step("qe-report-data", "QVL 4.1.2.4.12", check_qe_report_data()) &&
      step("qe-identity", "QVL 4.1.2.4.15",
           plain(check_qe(parts_.qe_identity, quote_.qe_report))) &&
      step("quote-signature", "QVL 4.1.2.4.13", check_quote_signature());
  if (genuine) {
    result_.report = quote_.report;
  }
  return genuine;
}

// SHA-256(attestation key || QE authentication data) and 32 zero bytes.
StepResult Verification::check_qe_report_data() {
  const Digest digest = sha(HashAlgorithm::kSha256, {quote_.attestation_key, quote_.qe_auth_data});
  ReportData expected{};
  std::ranges::copy(digest.bytes(), expected.begin());
  return equal(TdxError::kQeReportDataMismatch, expected, quote_.qe_report.report_data);
}

StepResult Verification::check_quote_signature() {
  const PkeyHandle key = import_p256(quote_.attestation_key);
  if (key == nullptr) {
    return reject(TdxError::kAttKeyNotOnCurve, "a point of P-256",
                  hex_encode(quote_.attestation_key));
  }
  if (!verify_raw(key.get(), quote_.signed_part, quote_.signature)) {
    return reject(TdxError::kQuoteSignature, "signed by the attestation key");
  }
  return Compared{};
}

// TDX module, and the TCB levels of everything.
bool Verification::verify_tcb() {
  return step("tdx-module", "QVL 4.1.2.4.16", find_module()) &&
         step("tcb-level", "QVL 4.1.2.4.17", evaluate()) &&
         step("tcb-revoked", "QVL 4.1.2.5.2", check_revoked());
}

StepResult Verification::find_module() {
  const auto module = check_module(parts_.tcb_info, quote_.report);
  if (!module) {
    return std::unexpected(module.error());
  }
  module_ = *module;
  return Compared{hex_encode(module_->mrsigner), hex_encode(quote_.report.mrsignerseam)};
}

StepResult Verification::evaluate() {
  const auto& levels = parts_.qe_identity.levels;
  result_.shortfalls = shortfalls(parts_.tcb_info, levels, pck_->extension, quote_);
  auto evaluation = evaluate_tcb(parts_.tcb_info, levels, pck_->extension, quote_, *module_);
  if (!evaluation) {
    return std::unexpected(std::move(evaluation).error());
  }
  result_.tcb = std::move(*evaluation);
  return Compared{"a TCB level", std::string(name(result_.tcb->status))};
}

StepResult Verification::check_revoked() {
  if (result_.tcb->status == TcbStatus::kRevoked) {
    return reject(TdxError::kTcbRevoked, "not revoked", std::string(name(result_.tcb->status)));
  }
  return Compared{};
}

// The policy's say about genuine evidence.
bool Verification::appraise() {
  const AppraisalPolicy& policy = context_.policy;
  const TdReport& report = quote_.report;
  return step("td-attributes", "policy allow_debug, require_sept_ve_disable",
              plain(check_attributes(report, policy))) &&
         step("service-td", "policy allow_service_td", plain(check_service_td(report, policy))) &&
         appraise_references() &&
         step("platform", "policy platform_allow_list", check_allow_list()) &&
         step("report-data", "caller's expected report data", check_report_data()) &&
         step("event-log", "TCG PFP 10, policy require_event_log", replay_event_log()) &&
         step("tcb-status", "policy accept_tcb_status", check_status());
}

bool Verification::appraise_references() {
  const ReferenceMatch match(quote_.report, context_.policy, context_.now);
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    const auto reference = static_cast<Reference>(i);
    auto outcome = plain(match.check(reference));
    if (outcome) {
      outcome->actual = hex_encode(value_of(quote_.report, reference));
      if (!context_.policy.constrains(reference)) {
        outcome->outcome = CheckOutcome::kNotConstrained;
      }
    }
    if (!step(name(reference), "policy reference_values", std::move(outcome))) {
      return false;
    }
  }
  result_.matched = match.matched();
  if (const auto until = match.valid_until(); until) {
    result_.valid_until = std::min(*result_.valid_until, *until);
  }
  return true;
}

StepResult Verification::check_allow_list() {
  auto outcome = plain(check_platform(*result_.platform, context_.policy));
  if (outcome) {
    outcome->actual = hex_encode(result_.platform->ppid);
    if (context_.policy.platform_allow_list.empty()) {
      outcome->outcome = CheckOutcome::kNotConstrained;
    }
  }
  return outcome;
}

StepResult Verification::check_report_data() {
  const std::string actual = hex_encode(quote_.report.report_data);
  const auto& expected = context_.report_data.value();
  if (!expected) {
    return Compared{{}, actual, CheckOutcome::kNotConstrained};
  }
  if (!constant_time_equal(*expected, quote_.report.report_data)) {
    return reject(TdxError::kReportDataMismatch, hex_encode(*expected), actual);
  }
  result_.report_data_bound = true;
  return Compared{actual, actual};
}

StepResult Verification::replay_event_log() {
  const AppraisalPolicy& policy = context_.policy;
  const bool with_rtmr3 = policy.require_event_log_rtmr3;
  if (context_.event_log.empty()) {
    if (policy.require_event_log || with_rtmr3) {
      return reject(TdxError::kEventlogMissing, "an event log", "none");
    }
    return Compared{{}, {}, CheckOutcome::kNotConstrained};
  }
  auto log = check_event_log(context_.event_log, quote_.report, with_rtmr3);
  if (!log) {
    return std::unexpected(std::move(log).error());
  }
  const std::string registers = log->explains_rtmr3 ? "rtmr0 to rtmr3" : "rtmr0 to rtmr2";
  const std::string events = std::to_string(log->events) + " events";
  result_.event_log = std::move(*log);
  return Compared{registers, events};
}

StepResult Verification::check_status() {
  auto outcome = plain(check_tcb_accepted(*result_.tcb, context_.policy, context_.now));
  if (outcome) {
    outcome->actual = name(result_.tcb->status);
  }
  return outcome;
}

void name_collateral(const AuthenticatedCollateral& collateral, AppraisalResult& result) {
  result.anchor = collateral.anchor().digest();
  result.anchor_is_intel = collateral.anchor().is_intel();
  result.collateral = collateral.digest();
  result.valid_from = collateral.valid_from();
  result.valid_until = collateral.valid_until();
  result.checks.insert(result.checks.end(), collateral.checks().begin(), collateral.checks().end());
}

// The structure of the quote; nothing, and the failure recorded, when it has none.
std::optional<QuoteView> parse(ByteView bytes, AppraisalResult& result) {
  auto quote = parse_quote(bytes);
  const bool parsed =
      record(result, "quote-structure", "TDX DCAP A.3, A.4",
             quote ? StepResult(Compared{"version 4 or 5", std::to_string(quote->version)})
                   : StepResult(std::unexpected(quote.error())));
  if (!parsed) {
    return std::nullopt;
  }
  result.quote_version = quote->version;
  result.body_type = quote->body_type;
  return *quote;
}

// The anchor at which the quote says its chain ends. The choice decides only what the chain is
// verified against.
const TrustAnchor& choose_anchor(const QuoteView& quote, std::span<const TrustAnchor> anchors) {
  const auto chain = split_pem_chain(as_text(quote.pck_chain));
  if (chain && !chain->empty()) {
    for (const TrustAnchor& anchor : anchors) {
      if (anchor.certificate()->der == chain->back()) {
        return anchor;
      }
    }
  }
  return anchors.front();
}

}  // namespace

AppraisalResult verify(ByteView quote, const AuthenticatedCollateral& collateral,
                       const VerifyContext& context) {
  AppraisalResult result;
  result.not_constrained = not_constrained(context.policy);
  if (const auto parsed = parse(quote, result)) {
    name_collateral(collateral, result);
    Verification(*parsed, collateral, context, result).run();
  }
  return result;
}

AppraisalResult verify(ByteView quote, const Collateral& collateral,
                       std::span<const TrustAnchor> anchors, const VerifyContext& context) {
  AppraisalResult result;
  result.not_constrained = not_constrained(context.policy);
  const auto parsed = parse(quote, result);
  if (!parsed) {
    return result;
  }
  if (anchors.empty()) {
    record(result, "trust-anchor", "configuration",
           reject(TdxError::kPckRootUntrusted, "a configured trust anchor", "none"));
    return result;
  }
  const TrustAnchor& anchor = choose_anchor(*parsed, anchors);
  result.anchor = anchor.digest();
  result.anchor_is_intel = anchor.is_intel();
  result.collateral = digest_of(collateral);
  std::vector<Check> checks;
  const auto authenticated = authenticate_collateral(collateral, anchor, checks);
  if (!authenticated) {
    result.checks.insert(result.checks.end(), checks.begin(), checks.end());
    result.failure = authenticated.error();
    return result;
  }
  name_collateral(*authenticated, result);
  Verification(*parsed, *authenticated, context, result).run();
  return result;
}

}  // namespace assay::attestation::tdx
