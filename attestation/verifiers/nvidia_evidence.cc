// SPDX-License-Identifier: Apache-2.0
// Evidence of NVIDIA devices for the registry: which policy and anchors count, and what a service
// keeps of the verdict.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attestation/ar4si.h"
#include "attestation/nvidia/accept.h"
#include "attestation/nvidia/evidence_file.h"
#include "attestation/nvidia/topology.h"
#include "attestation/verifiers/nvidia_collateral.h"
#include "attestation/verifiers/nvidia_verifier.h"
#include "schemas/core/cut.h"

namespace assay::attestation {
namespace {

using namespace ar4si;
using nvidia::NvidiaError;

constexpr std::size_t kBusDigits = 16;

// The outcome for one device.
struct DeviceVerdict {
  std::optional<nvidia::DeviceFacts> facts;
  std::vector<nvidia::Failure> failures;
};

Result<nvidia::Acceptance> read_nvidia_policy(const Appraisal& appraisal) {
  auto acceptance = nvidia::parse_acceptance(appraisal.policy);
  if (!acceptance) {
    Error error = std::move(acceptance).error();
    error.where = "/policy" + error.where;
    return std::unexpected(std::move(error));
  }
  if (!appraisal.imported.empty() || !appraisal.constrained.empty()) {
    return fail(ErrorCode::kReferenceUnmapped,
                "the reference values of a device are the RIMs of its vendor");
  }
  return acceptance;
}

// Report data of a device are its nonce and zeros.
std::optional<nvidia::Nonce> nonce_in(const ReportDataBytes& expected) {
  nvidia::Nonce nonce{};
  std::copy_n(expected.begin(), nonce.size(), nonce.begin());
  const bool has_form = std::ranges::all_of(expected.begin() + nonce.size(), expected.end(),
                                            [](std::uint8_t byte) { return byte == 0; });
  return has_form ? std::optional(nonce) : std::nullopt;
}

nvidia::Checked<nvidia::DeviceFacts> verify_device(const NvidiaCollateralSet& set,
                                                   const Evidence& evidence,
                                                   std::span<const x509::Certificate> anchors,
                                                   const nvidia::OcspWindow& window,
                                                   const ReportDataBytes& expected, Timestamp now) {
  const auto presented = nvidia::parse_device(evidence.quote);
  if (!presented) {
    return std::unexpected(presented.error());
  }
  const auto nonce = nonce_in(expected);
  if (!nonce) {
    return nvidia::reject(NvidiaError::kNonceMismatch, "report data of a device");
  }
  const auto device = set.device(presented->certificates, anchors);
  if (!device) {
    return std::unexpected(device.error());
  }
  const nvidia::DeviceChain& chain = (*device)->chain;
  if (presented->architecture && *presented->architecture != chain.architecture) {
    return nvidia::reject(NvidiaError::kArchitectureMismatch,
                          std::string(name(*presented->architecture)),
                          std::string(name(chain.architecture)));
  }
  return nvidia::verify(
      presented->report, **device,
      {now, nvidia::NonceExpectation::exactly(*nonce), set.contents().rims, window});
}

// --- facts as every vendor's devices have them

std::string measurements_of(const nvidia::DeviceFacts& facts) {
  if (!facts.mismatches.empty()) {
    return "waived";
  }
  return facts.is_measured ? "rim" : "none";
}

std::vector<std::string> waived_of(const nvidia::DeviceFacts& facts) {
  std::vector<std::string> waived;
  for (const nvidia::Mismatch& one : facts.mismatches) {
    waived.push_back(std::string(name(one.source)) + ":" + std::to_string(one.index));
  }
  return waived;
}

std::string rim_state_of(const nvidia::DeviceFacts& facts) {
  const bool ended = std::ranges::any_of(
      facts.rims, [](const nvidia::RimFact& rim) { return rim.state != nvidia::RimState::kValid; });
  return ended ? "expired" : "valid";
}

std::string revocation_of(const nvidia::DeviceFacts& facts) {
  using enum nvidia::CertificateState;
  const auto has = [&](nvidia::CertificateState state) {
    return std::ranges::find(facts.revocations, state, &nvidia::RevocationFact::state) !=
           facts.revocations.end();
  };
  return has(kHold) ? "hold" : has(kUnknown) || has(kMissing) ? "unknown" : "good";
}

DeviceState state_of_device(const nvidia::DeviceFacts& facts) {
  const bool is_gpu = facts.kind == nvidia::DeviceKind::kGpu;
  return {.vendor = "nvidia",
          .kind = std::string(name(facts.kind)),
          .identity = facts.identity,
          .architecture = lower_case(std::string(name(facts.architecture))),
          .mode = is_gpu ? std::string(name(facts.firmware.mode)) : std::string(),
          .driver = facts.firmware.driver.value_or(""),
          .firmware = facts.firmware.vbios,
          .measurements = measurements_of(facts),
          .waived = waived_of(facts),
          .rim = rim_state_of(facts),
          .revocation = revocation_of(facts),
          .debug = std::string(name(facts.debug)),
          .bus = facts.pdi.value_or(""),
          .neighbours = facts.firmware.neighbours};
}

Trustworthiness trust_in(const DeviceVerdict& verdict) {
  if (!verdict.facts) {
    return {kNoClaim, kNoClaim, kNoClaim, kCryptoFailed, kNoClaim};
  }
  const nvidia::DeviceFacts& facts = *verdict.facts;
  const bool refused = !verdict.failures.empty();
  const std::int16_t bad = refused ? kContraindicated : kUnsafe;
  const bool old = rim_state_of(facts) == "expired" || revocation_of(facts) != "good";
  return {.instance_identity = kTrusted,
          .configuration = facts.debug == nvidia::DebugState::kDisabled ? kTrusted : bad,
          .executables = facts.is_measured ? kBootApproved : bad,
          .hardware = facts.is_nvidia_root && !old ? kTrusted : bad,
          .runtime_opaque = kTrusted};
}

// Evidence that waivers let pass counts no longer than they do.
Timestamp end_of(const nvidia::DeviceFacts& facts, const nvidia::Acceptance& acceptance,
                 Timestamp now) {
  Timestamp end = facts.valid_until;
  for (const nvidia::Mismatch& one : facts.mismatches) {
    if (const auto* waiver = nvidia::waiver_of(one, acceptance, now)) {
      end = std::min(end, waiver->until);
    }
  }
  return end;
}

AppraisedEvidence summarize_nvidia(const DeviceVerdict& verdict,
                                   const nvidia::Acceptance& acceptance, Timestamp now) {
  AppraisedEvidence evidence;
  evidence.type = kNvidiaEvidence;
  evidence.accepted = verdict.failures.empty();
  evidence.error = evidence.accepted ? "" : code(verdict.failures.front());
  evidence.trustworthiness = trust_in(verdict);
  Json failures = Json::array();
  for (const nvidia::Failure& failure : verdict.failures) {
    failures.push_back(nvidia::to_json(failure));
  }
  evidence.result = {{"verdict", evidence.accepted ? "accepted" : "rejected"},
                     {"error", evidence.accepted ? Json() : Json(evidence.error)},
                     {"errors", std::move(failures)},
                     {"measurements", verdict.facts ? nvidia::to_json(*verdict.facts) : Json()}};
  if (verdict.facts) {
    const nvidia::DeviceFacts& facts = *verdict.facts;
    evidence.platform = plugin_platform(kNvidiaEvidence, facts.identity.bytes());
    evidence.anchor = Anchor::root(facts.root);
    evidence.anchor_is_vendor = facts.is_nvidia_root;
    evidence.has_reference_values = facts.is_measured;
    evidence.valid_until = end_of(facts, acceptance, now);
    if (evidence.accepted) {
      evidence.device = state_of_device(facts);
    }
  }
  return evidence;
}

// A device says nothing of the software that asked it, so alone it is no evidence of a node.
bool stands_alone(Purpose purpose) {
  return purpose == Purpose::kEnrol || purpose == Purpose::kStage;
}

Result<AppraisedEvidence> judge_device(const NvidiaCollateralSet& set, const Evidence& evidence,
                                       const Appraisal& appraisal, Purpose purpose,
                                       const ReportDataBytes& expected, Timestamp now) {
  ASSAY_ASSIGN(nvidia::Acceptance acceptance, read_nvidia_policy(appraisal));
  ASSAY_ASSIGN(const auto anchors, nvidia_device_anchors(appraisal.dangerous_anchors));
  acceptance.vouched = set.contents().vouched;
  DeviceVerdict verdict;
  if (stands_alone(purpose)) {
    verdict.failures.push_back({NvidiaError::kDeviceAlone, {}, {}, {}});
    return summarize_nvidia(verdict, acceptance, now);
  }
  auto facts = verify_device(set, evidence, anchors, acceptance.window, expected, now);
  if (facts) {
    verdict.failures = nvidia::shortcomings(*facts, acceptance, now);
    verdict.facts = *std::move(facts);
  } else {
    verdict.failures.push_back(std::move(facts).error());
  }
  return summarize_nvidia(verdict, acceptance, now);
}

Status require_bare(const Evidence& evidence) {
  if (!evidence.event_log.empty()) {
    return fail(ErrorCode::kSchemaViolation, "a device has no event log", "/event_log");
  }
  return evidence.collateral.is_null()
             ? Status()
             : fail(ErrorCode::kSchemaViolation,
                    "RIMs and OCSP answers are imported, not sent with the evidence",
                    "/collateral");
}

class NvidiaVerifier final : public EvidenceVerifier {
 public:
  [[nodiscard]] std::string_view type() const override { return kNvidiaEvidence; }
  [[nodiscard]] std::string_view media_type() const override { return kNvidiaMediaType; }
  [[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                   const Appraisal& appraisal, Purpose purpose,
                                                   const ReportDataBytes& expected,
                                                   Timestamp now) const override {
    const bool alone = purpose == Purpose::kInspect;
    ASSAY_ASSIGN(const auto set,
                 authenticate_nvidia(
                     alone && !evidence.collateral.is_null() ? evidence.collateral : Json::object(),
                     appraisal.dangerous_anchors));
    if (!alone) {
      ASSAY_TRY(require_bare(evidence));
    }
    return judge_device(dynamic_cast<const NvidiaCollateralSet&>(*set), evidence, appraisal,
                        purpose, expected, now);
  }
  [[nodiscard]] Json default_policy() const override { return to_json(nvidia::Acceptance{}); }
  [[nodiscard]] Status check(const Appraisal& appraisal) const override {
    ASSAY_TRY(read_nvidia_policy(appraisal));
    ASSAY_TRY(nvidia_device_anchors(appraisal.dangerous_anchors));
    return appraisal.stage.empty()
               ? Status()
               : fail(ErrorCode::kSchemaViolation,
                      "a device answers a challenge, and evidence of stages has none", "/stage");
  }
};

std::optional<nvidia::BoardDevice> board_device_of(const DeviceState& device) {
  if (device.vendor != "nvidia") {
    return std::nullopt;
  }
  const bool is_gpu = device.kind == name(nvidia::DeviceKind::kGpu);
  return nvidia::BoardDevice{
      .identity = device.identity,
      .kind = is_gpu ? nvidia::DeviceKind::kGpu : nvidia::DeviceKind::kSwitch,
      .is_protected = device.mode == name(nvidia::DeviceMode::kProtectedPcie),
      .pdi = device.bus.size() == kBusDigits ? std::optional(device.bus) : std::nullopt,
      .neighbours = device.neighbours};
}

}  // namespace

std::unique_ptr<const EvidenceVerifier> make_nvidia_verifier() {
  return std::make_unique<NvidiaVerifier>();
}

bool is_of_device(std::string_view type) { return type == kNvidiaEvidence; }

std::string fault_of_devices(std::span<const DeviceState> devices) {
  std::vector<nvidia::BoardDevice> all;
  for (const DeviceState& device : devices) {
    if (auto one = board_device_of(device)) {
      all.push_back(*std::move(one));
    }
  }
  const auto checked = nvidia::check_together(all);
  return checked ? std::string() : code(checked.error());
}

Result<AppraisedEvidence> appraise_nvidia_under(const CollateralSet& set, const Evidence& evidence,
                                                const Appraisal& appraisal, Purpose purpose,
                                                const ReportDataBytes& expected, Timestamp now) {
  const auto* const collateral = dynamic_cast<const NvidiaCollateralSet*>(&set);
  if (collateral == nullptr) {
    return fail(ErrorCode::kInternal, "a set of NVIDIA's collateral that is none");
  }
  ASSAY_TRY(require_bare(evidence));
  return judge_device(*collateral, evidence, appraisal, purpose, expected, now);
}

}  // namespace assay::attestation
