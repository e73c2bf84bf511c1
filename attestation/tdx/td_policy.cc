// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/td_policy.h"

#include <algorithm>
#include <utility>

namespace assay::attestation::tdx {
namespace {

// TD attributes. Bits 0 to 7 are the debug group: any of them lets the host look into the TD.
constexpr std::uint64_t kDebug = 1ULL << 0;
constexpr std::uint64_t kDebugGroup = 0xff;
constexpr std::uint64_t kSeptVeDisable = 1ULL << 28;
// Defined bits: ICSSD 16, LASS 27, SEPT_VE_DISABLE 28, MIGRATABLE 29, PKS 30, KL 31, TPA 62,
// PERFMON 63.
constexpr std::uint64_t kDefined =
    kDebugGroup | (1ULL << 16) | (0x1fULL << 27) | (1ULL << 62) | (1ULL << 63);
// x87 and SSE state, always there.
constexpr std::uint64_t kXfamFixed = 0x3;

std::uint64_t to_number(const Bits64& bits) {
  std::uint64_t value = 0;
  for (std::size_t i = bits.size(); i-- > 0;) {
    value = (value << 8) | bits[i];
  }
  return value;
}

bool is_zero(const Measurement& measurement) { return measurement == Measurement{}; }

bool is_accepted(const AppraisalPolicy& policy, TcbStatus status) {
  return std::ranges::find(policy.accept_tcb_status, status) != policy.accept_tcb_status.end();
}

bool is_in_grace(const TcbEvaluation& tcb, const AppraisalPolicy& policy, Timestamp now) {
  const bool outdated = tcb.status == TcbStatus::kOutOfDate ||
                        (tcb.status == TcbStatus::kOutOfDateConfigurationNeeded &&
                         is_accepted(policy, TcbStatus::kConfigurationNeeded));
  return outdated && policy.tcb_grace_seconds > 0 &&
         tcb.date + std::chrono::seconds(policy.tcb_grace_seconds) >= now;
}

}  // namespace

Outcome check_attributes(const TdReport& report, const AppraisalPolicy& policy) {
  const std::uint64_t attributes = to_number(report.tdattributes);
  const auto refused = [&](TdxError error, std::string expected) {
    return reject(error, std::move(expected), hex_encode(report.tdattributes));
  };
  if ((attributes & kDebug) != 0 && !policy.allow_debug) {
    return refused(TdxError::kTdDebugEnabled, "bit 0 clear");
  }
  if ((attributes & kDebugGroup & ~kDebug) != 0) {
    return refused(TdxError::kTdAttributesTudReserved, "bits 1 to 7 clear");
  }
  if ((attributes & ~kDefined) != 0) {
    return refused(TdxError::kTdAttributesReserved, "undefined bits clear");
  }
  if ((attributes & kSeptVeDisable) == 0 && policy.require_sept_ve_disable) {
    return refused(TdxError::kTdSeptVeDisableNotSet, "bit 28 set");
  }
  if ((to_number(report.xfam) & kXfamFixed) != kXfamFixed) {
    return reject(TdxError::kTdXfamInvalid, "bits 0 and 1 set", hex_encode(report.xfam));
  }
  return {};
}

Outcome check_service_td(const TdReport& report, const AppraisalPolicy& policy) {
  if (policy.allow_service_td) {
    return {};
  }
  for (const Measurement* hash :
       {&report.mrservicetd, &report.init_servicetd_hash, &report.current_servicetd_hash}) {
    if (!is_zero(*hash)) {
      return reject(TdxError::kTdServiceTdPresent, "no service TD", hex_encode(*hash));
    }
  }
  return {};
}

Outcome check_platform(const PlatformIdentity& platform, const AppraisalPolicy& policy) {
  const auto is_listed = [&](const std::array<std::uint8_t, 16>& id) {
    return std::ranges::find(policy.platform_allow_list, id) != policy.platform_allow_list.end();
  };
  if (policy.platform_allow_list.empty() || is_listed(platform.ppid) ||
      (platform.platform_instance_id && is_listed(*platform.platform_instance_id))) {
    return {};
  }
  return reject(TdxError::kPlatformNotAllowed,
                "one of " + std::to_string(policy.platform_allow_list.size()) + " platforms",
                hex_encode(platform.ppid));
}

Outcome check_tcb_accepted(const TcbEvaluation& tcb, const AppraisalPolicy& policy, Timestamp now) {
  if (!is_accepted(policy, tcb.status) && !is_in_grace(tcb, policy, now)) {
    std::string accepted;
    for (const TcbStatus status : policy.accept_tcb_status) {
      accepted += (accepted.empty() ? "" : ", ") + std::string(name(status));
    }
    return reject(TdxError::kTcbStatusNotAccepted, std::move(accepted),
                  std::string(name(tcb.status)), std::string(name(tcb.status)));
  }
  for (const std::string& advisory : tcb.advisories) {
    if (std::ranges::find(policy.rejected_advisories, advisory) !=
        policy.rejected_advisories.end()) {
      return reject(TdxError::kTcbAdvisoryRejected, "no rejected advisory", advisory, advisory);
    }
  }
  return {};
}

}  // namespace assay::attestation::tdx
