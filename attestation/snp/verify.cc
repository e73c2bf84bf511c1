// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/verify.h"

#include <algorithm>
#include <utility>

#include "attestation/crypto/ecdsa_signature.h"
#include "attestation/snp/certificate_table.h"
#include "attestation/snp/chain.h"
#include "schemas/core/sha.h"

namespace assay::attestation::snp {
namespace {

using appraisal::Compared;
using appraisal::plain;
using appraisal::record;
using StepResult = Checked<Compared>;

// A check that passed although the policy asks for nothing.
StepResult free_of(Outcome outcome, bool is_free) {
  auto step = plain(std::move(outcome));
  if (step && is_free) {
    step->outcome = CheckOutcome::kNotConstrained;
  }
  return step;
}

// Evidence in parts, borrowed.
struct Parts {
  ByteView report_bytes;
  ByteView table_bytes;
  Report report;
  CertificateTable table;
};

Checked<Parts> split(ByteView evidence) {
  if (evidence.size() > kMaxEvidenceBytes) {
    return reject(SnpError::kInputTooLarge,
                  "at most " + std::to_string(kMaxEvidenceBytes) + " bytes",
                  std::to_string(evidence.size()) + " bytes");
  }
  Parts parts;
  parts.report_bytes = evidence.first(std::min(evidence.size(), kReportBytes));
  parts.table_bytes = evidence.subspan(parts.report_bytes.size());
  auto report = parse_report(parts.report_bytes);
  if (!report) {
    return std::unexpected(std::move(report).error());
  }
  parts.report = *std::move(report);
  auto table = parse_certificate_table(parts.table_bytes);
  if (!table) {
    return std::unexpected(std::move(table).error());
  }
  parts.table = *table;
  return parts;
}

std::optional<Generation> generation_in(const Report& report) {
  return report.cpu ? generation_of_cpu(report.cpu->family, report.cpu->model) : std::nullopt;
}

Checked<Generation> generation_of(const Report& report, const AppraisalPolicy& policy) {
  const auto generation = report.cpu ? generation_in(report) : policy.version_2_generation;
  if (generation) {
    return *generation;
  }
  return report.cpu
             ? reject(SnpError::kGenerationUnknown, "a family and model of Milan to Turin",
                      std::to_string(report.cpu->family) + ", " + std::to_string(report.cpu->model))
             : reject(SnpError::kGenerationUnknown, "policy version_2_generation", "none");
}

// One verification: the steps in order. A step is reached only when all before it have passed.
class Verification {
 public:
  Verification(const Parts& parts, const AuthenticatedCollateral& collateral,
               const VerifyContext& context, AppraisalResult& result)
      : parts_(parts),
        collateral_(collateral),
        context_(context),
        policy_(context.policy),
        generation_(*result.generation),
        result_(result) {}

  void run() {
    result_.accepted = verify_chain() && verify_report() && appraise_machine() &&
                       appraise_guest() && appraise_references() && appraise_binding();
  }

 private:
  bool verify_chain();
  bool verify_report();
  bool appraise_machine();
  bool appraise_guest();
  bool appraise_references();
  bool appraise_binding();

  StepResult check_crl();
  StepResult open_leaf();
  StepResult check_revocation();
  StepResult check_leaf_tcb();
  StepResult check_chip_id();
  StepResult check_signature();
  StepResult rate_tcb();
  StepResult check_report_data();

  bool step(std::string_view id, std::string_view spec, StepResult outcome) {
    return record(result_, id, spec, std::move(outcome));
  }
  void bound_validity(Timestamp from, Timestamp until) {
    result_.valid_from = std::max(result_.valid_from.value_or(from), from);
    result_.valid_until = std::min(result_.valid_until.value_or(until), until);
  }

  const Parts& parts_;
  const AuthenticatedCollateral& collateral_;
  const VerifyContext& context_;
  const AppraisalPolicy& policy_;
  const Generation generation_;
  AppraisalResult& result_;
  KeyChainPtr chain_;
};

// Whose key this is, and that no CA on the way is revoked.
bool Verification::verify_chain() {
  return step("crl", "RFC 5280 6.3.3, policy dangerous_allow_missing_crl", check_crl()) &&
         step("leaf-chain", "AMD 57230 2.2, 3", open_leaf()) &&
         step("leaf-chain-time", "RFC 5280 6.1.3",
              plain(check_chain_time(*chain_, context_.now))) &&
         step("revocation", "RFC 5280 6.3.3", check_revocation());
}

StepResult Verification::check_crl() {
  const auto& crl = collateral_.crl();
  if (!crl) {
    return policy_.dangerous_allow_missing_crl
               ? StepResult(Compared{{}, "none", CheckOutcome::kNotConstrained})
               : reject(SnpError::kCrlMissing, "the CRL of the root", "none");
  }
  bound_validity(crl->this_update, crl->next_update);
  return plain(check_crl_time(*crl, context_.now));
}

StepResult Verification::open_leaf() {
  const auto key = static_cast<std::uint8_t>(parts_.report.signing_key);
  const Digest leaf = sha256(parts_.table.leaf(parts_.report.signing_key));
  const Digest text =
      sha(HashAlgorithm::kSha256, {ByteView(&key, 1), leaf.bytes(), parts_.table.ask});
  chain_ = collateral_.known().find(text);
  if (chain_ == nullptr) {
    auto chain =
        open_chain(parts_.table, parts_.report.signing_key, collateral_.anchor(), context_.now);
    if (!chain) {
      return std::unexpected(std::move(chain).error());
    }
    chain_ = *std::move(chain);
    collateral_.known().keep(text, chain_);
  }
  result_.leaf = chain_->extensions;
  result_.leaf_certificate = chain_->path.leaf().digest();
  for (const x509::Certificate& certificate : chain_->path.certificates) {
    bound_validity(certificate.not_before(), certificate.not_after());
  }
  return Compared{collateral_.anchor().digest().text(), chain_->issuer};
}

// The root issues its list, which is about itself and the CA below it.
StepResult Verification::check_revocation() {
  if (!collateral_.crl()) {
    return Compared{{}, {}, CheckOutcome::kNotConstrained};
  }
  for (const x509::Certificate* ca : {&chain_->path.leaf_issuer(), &chain_->path.anchor()}) {
    if (is_revoked(*collateral_.crl(), *ca)) {
      return reject(SnpError::kCertRevoked, "not revoked", ca->subject());
    }
  }
  return Compared{};
}

// The certificate is for this TCB and chip, and its key signed the report.
bool Verification::verify_report() {
  const bool genuine =
      step("leaf-tcb", "AMD 57230 3.1", check_leaf_tcb()) &&
      step("leaf-chip-id", "AMD 57230 3.1", check_chip_id()) &&
      step("report-signature", "AMD 56860, ECDSA P-384 with SHA-384", check_signature());
  if (genuine) {
    result_.report = parts_.report;
  }
  return genuine;
}

StepResult Verification::check_leaf_tcb() {
  auto tcbs = decode_tcbs(parts_.report, generation_);
  if (!tcbs) {
    return std::unexpected(std::move(tcbs).error());
  }
  if (chain_->extensions.tcb != tcbs->reported) {
    return reject(SnpError::kLeafTcbMismatch, to_json(chain_->extensions.tcb, generation_).dump(),
                  to_json(tcbs->reported, generation_).dump());
  }
  result_.tcbs = *tcbs;
  const std::string same = hex_encode(parts_.report.reported_tcb);
  return Compared{same, same};
}

// A VLEK is of a cloud provider and of no chip.
StepResult Verification::check_chip_id() {
  if (parts_.report.signing_key == SigningKey::kVlek) {
    return Compared{{}, {}, CheckOutcome::kNotConstrained};
  }
  const Bytes& expected = chain_->extensions.chip_id;
  const ByteView actual = ByteView(parts_.report.chip_id).first(expected.size());
  if (parts_.report.chip_id == ChipId{} || !std::ranges::equal(expected, actual)) {
    return reject(SnpError::kLeafChipIdMismatch, hex_encode(expected), hex_encode(actual));
  }
  return Compared{hex_encode(expected), hex_encode(actual)};
}

StepResult Verification::check_signature() {
  constexpr std::size_t kScalarBytes = 48;
  const auto verified = chain_->key.verify(parts_.report_bytes.first(kSignedBytes),
                                           der_signature(parts_.report.signature, kScalarBytes));
  return verified ? StepResult(Compared{})
                  : reject(SnpError::kReportSignature, "signed by the key of the certificate");
}

bool Verification::appraise_machine() {
  return step("signer", "policy accept_generations, accept_signing_keys, provider_allow_list",
              plain(check_signer(parts_.report, chain_->extensions, generation_, policy_))) &&
         step("min-tcb", "policy min_tcb", rate_tcb()) &&
         step("platform-info", "policy require_ciphertext_hiding, allow_smt and others",
              plain(check_platform_info(parts_.report, policy_)));
}

StepResult Verification::rate_tcb() {
  const bool rated = require_min_tcb(policy_, generation_).has_value();
  auto outcome = check_floors(*result_.tcbs, generation_, policy_);
  if (rated) {
    result_.tcb_status = outcome ? TcbStatus::kUpToDate : TcbStatus::kOutOfDate;
  } else {
    result_.tcb_status = TcbStatus::kUnrated;
  }
  return free_of(std::move(outcome), !rated);
}

bool Verification::appraise_guest() {
  return step("guest-policy", "policy allow_debug, allow_migration and others",
              plain(check_guest_policy(parts_.report, policy_))) &&
         step("guest", "policy max_vmpl, min_guest_svn",
              plain(check_guest(parts_.report, policy_)));
}

bool Verification::appraise_references() {
  const ReferenceMatch match(parts_.report, policy_, context_.now);
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    const auto reference = static_cast<Reference>(i);
    auto outcome = free_of(match.check(reference), !policy_.constrains(reference));
    if (outcome) {
      outcome->actual = hex_encode(value_of(parts_.report, reference));
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

bool Verification::appraise_binding() {
  return step("platform", "policy platform_allow_list",
              free_of(check_chip(parts_.report, policy_), policy_.platform_allow_list.empty())) &&
         step("report-data", "caller's expected report data", check_report_data());
}

StepResult Verification::check_report_data() {
  const std::string actual = hex_encode(parts_.report.report_data);
  const auto& expected = context_.report_data.value();
  if (!expected) {
    return Compared{{}, actual, CheckOutcome::kNotConstrained};
  }
  if (!constant_time_equal(*expected, parts_.report.report_data)) {
    return reject(SnpError::kReportDataMismatch, hex_encode(*expected), actual);
  }
  result_.report_data_bound = true;
  return Compared{actual, actual};
}

// Parts and generation; nothing, and the failure recorded, when they cannot be told.
std::optional<Parts> begin(ByteView evidence, const AppraisalPolicy& policy,
                           AppraisalResult& result) {
  result.not_constrained = not_constrained(policy);
  auto parts = split(evidence);
  const bool parsed =
      record(result, "report-structure", "AMD 56860, ATTESTATION_REPORT",
             parts ? StepResult(Compared{"version 2 to 5", std::to_string(parts->report.version)})
                   : StepResult(std::unexpected(parts.error())));
  if (!parsed) {
    return std::nullopt;
  }
  result.report_version = parts->report.version;
  const auto generation = generation_of(parts->report, policy);
  const bool known =
      record(result, "generation", "AMD 56860 CPUID_FAM_ID; policy version_2_generation",
             generation ? StepResult(Compared{{}, std::string(name(*generation))})
                        : StepResult(std::unexpected(generation.error())));
  if (!known) {
    return std::nullopt;
  }
  result.generation = *generation;
  return *std::move(parts);
}

void name_anchor(const TrustAnchor& anchor, AppraisalResult& result) {
  result.anchor = anchor.digest();
  result.anchor_is_amd = anchor.is_amd();
}

void finish(const Parts& parts, const AuthenticatedCollateral& collateral,
            const VerifyContext& context, AppraisalResult& result) {
  name_anchor(collateral.anchor(), result);
  result.collateral = collateral.digest();
  Verification(parts, collateral, context, result).run();
}

// The root that the evidence brings if it is a configured one, else the first of the generation.
// The choice decides only what the chain is verified against.
const TrustAnchor* choose_anchor(const Parts& parts, Generation generation,
                                 std::span<const TrustAnchor> anchors) {
  const TrustAnchor* first = nullptr;
  for (const TrustAnchor& anchor : anchors) {
    if (anchor.generation() != generation) {
      continue;
    }
    if (std::ranges::equal(anchor.certificate().der(), parts.table.ark)) {
      return &anchor;
    }
    first = first == nullptr ? &anchor : first;
  }
  return first;
}

}  // namespace

AppraisalResult verify(ByteView evidence, const AuthenticatedCollateral& collateral,
                       const VerifyContext& context) {
  AppraisalResult result;
  const auto parts = begin(evidence, context.policy, result);
  if (!parts) {
    return result;
  }
  const Generation of_root = collateral.anchor().generation();
  if (record(result, "root", "configuration",
             of_root == *result.generation
                 ? StepResult(Compared{})
                 : reject(SnpError::kRootUntrusted, std::string(name(*result.generation)),
                          std::string(name(of_root))))) {
    finish(*parts, collateral, context, result);
  }
  return result;
}

AppraisalResult verify(ByteView evidence, const Collateral& collateral,
                       std::span<const TrustAnchor> anchors, const VerifyContext& context) {
  AppraisalResult result;
  const auto parts = begin(evidence, context.policy, result);
  if (!parts) {
    return result;
  }
  const TrustAnchor* const anchor = choose_anchor(*parts, *result.generation, anchors);
  if (!record(result, "root", "configuration",
              anchor != nullptr
                  ? StepResult(Compared{{}, anchor->digest().text()})
                  : reject(SnpError::kRootUntrusted,
                           "a root of " + std::string(name(*result.generation)), "none"))) {
    return result;
  }
  name_anchor(*anchor, result);
  const auto authenticated = authenticate_collateral(collateral, *anchor);
  if (!authenticated) {
    record(result, "crl", "RFC 5280 6.3.3", std::unexpected(authenticated.error()));
    return result;
  }
  finish(*parts, *authenticated, context, result);
  return result;
}

std::optional<Claimed> claimed(ByteView evidence) {
  const auto parts = split(evidence);
  if (!parts) {
    return std::nullopt;
  }
  return Claimed{parts->report, generation_in(parts->report),
                 Bytes(parts->table.ark.begin(), parts->table.ark.end())};
}

}  // namespace assay::attestation::snp
