// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/guest_checks.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace assay::attestation::snp {
namespace {

std::string hex_of(std::uint64_t bits) {
  std::array<std::uint8_t, 8> bytes{};
  for (std::size_t i = bytes.size(); i-- > 0;) {
    bytes[i] = static_cast<std::uint8_t>(bits);
    bits >>= 8;
  }
  return hex_encode(bytes);
}

bool has(std::uint64_t bits, std::uint64_t bit) { return (bits & bit) != 0; }

// A requirement on bits, and the error when they do not meet it.
struct Rule {
  bool broken;
  SnpError error;
  std::string_view expected;
};

Outcome check_rules(std::span<const Rule> rules, std::uint64_t bits) {
  for (const Rule& rule : rules) {
    if (rule.broken) {
      return reject(rule.error, std::string(rule.expected), hex_of(bits));
    }
  }
  return {};
}

Outcome check_floor(SnpError error, const Tcb& tcb, const Tcb& floor, Generation generation) {
  const std::string_view part = first_below(tcb, floor);
  if (part.empty()) {
    return {};
  }
  return reject(error, to_json(floor, generation).dump(), to_json(tcb, generation).dump(),
                std::string(part));
}

}  // namespace

Outcome check_signer(const Report& report, const LeafExtensions& leaf, Generation generation,
                     const AppraisalPolicy& policy) {
  if (std::ranges::find(policy.accept_generations, generation) == policy.accept_generations.end()) {
    return reject(SnpError::kGenerationNotAllowed, "an accepted generation",
                  std::string(name(generation)));
  }
  if (std::ranges::find(policy.accept_signing_keys, report.signing_key) ==
      policy.accept_signing_keys.end()) {
    return reject(SnpError::kSigningKeyNotAllowed, "an accepted kind of key",
                  std::string(name(report.signing_key)));
  }
  if (report.signing_key == SigningKey::kVlek && !policy.provider_allow_list.empty() &&
      std::ranges::find(policy.provider_allow_list, leaf.provider) ==
          policy.provider_allow_list.end()) {
    return reject(SnpError::kCspNotAllowed, "a provider of the list", leaf.provider);
  }
  return {};
}

Outcome check_guest_policy(const Report& report, const AppraisalPolicy& policy) {
  const std::uint64_t bits = report.policy;
  const std::array<Rule, 6> rules = {{
      {!has(bits, guest_policy::kAlwaysSet) || has(bits, ~guest_policy::kDefined),
       SnpError::kGuestPolicyReserved, "bit 17 set, undefined bits clear"},
      {has(bits, guest_policy::kDebug) && !policy.allow_debug, SnpError::kGuestDebug,
       "bit 19 clear"},
      {has(bits, guest_policy::kMigrateMa) && !policy.allow_migration, SnpError::kGuestMigratable,
       "bit 18 clear"},
      {has(bits, guest_policy::kSmt) && !policy.allow_smt, SnpError::kGuestSmt, "bit 16 clear"},
      {has(bits, guest_policy::kCxlAllow) && !policy.allow_cxl, SnpError::kGuestCxl,
       "bit 21 clear"},
      {!has(bits, guest_policy::kSingleSocket) && policy.require_single_socket,
       SnpError::kGuestManySockets, "bit 20 set"},
  }};
  return check_rules(rules, bits);
}

Outcome check_platform_info(const Report& report, const AppraisalPolicy& policy) {
  const std::uint64_t bits = report.platform_info;
  const std::array<Rule, 4> rules = {{
      {has(bits, platform_info::kSmt) && !policy.allow_smt, SnpError::kGuestSmt, "bit 0 clear"},
      {!has(bits, platform_info::kCiphertextHiding) && policy.require_ciphertext_hiding,
       SnpError::kCiphertextHidingOff, "bit 4 set"},
      {!has(bits, platform_info::kAliasCheck) && policy.require_alias_check,
       SnpError::kAliasCheckMissing, "bit 5 set"},
      {!has(bits, platform_info::kRaplDisabled) && policy.require_rapl_disabled,
       SnpError::kRaplEnabled, "bit 3 set"},
  }};
  return check_rules(rules, bits);
}

Outcome check_guest(const Report& report, const AppraisalPolicy& policy) {
  if (report.vmpl > policy.max_vmpl) {
    return reject(SnpError::kVmplTooHigh, "at most " + std::to_string(policy.max_vmpl),
                  std::to_string(report.vmpl));
  }
  if (report.guest_svn < policy.min_guest_svn) {
    return reject(SnpError::kGuestSvnTooLow, "at least " + std::to_string(policy.min_guest_svn),
                  std::to_string(report.guest_svn));
  }
  return {};
}

Outcome check_chip(const Report& report, const AppraisalPolicy& policy) {
  if (policy.platform_allow_list.empty() ||
      std::ranges::find(policy.platform_allow_list, report.chip_id) !=
          policy.platform_allow_list.end()) {
    return {};
  }
  return reject(SnpError::kPlatformNotAllowed,
                "one of " + std::to_string(policy.platform_allow_list.size()) + " chips",
                hex_encode(report.chip_id));
}

Checked<ReportTcbs> decode_tcbs(const Report& report, Generation generation) {
  const auto current = decode(report.current_tcb, generation);
  const auto reported = decode(report.reported_tcb, generation);
  const auto committed = decode(report.committed_tcb, generation);
  const auto launch = decode(report.launch_tcb, generation);
  if (!current || !reported || !committed || !launch) {
    return reject(SnpError::kReportReservedNonzero, "TCBs of " + std::string(name(generation)),
                  "reserved bytes set");
  }
  return ReportTcbs{*current, *reported, *committed, *launch};
}

Outcome check_floors(const ReportTcbs& tcbs, Generation generation, const AppraisalPolicy& policy) {
  if (policy.min_tcb.empty()) {
    return {};
  }
  const auto floors = policy.min_tcb.find(generation);
  if (floors == policy.min_tcb.end()) {
    return reject(SnpError::kTcbFloorMissing, "min_tcb/" + std::string(name(generation)), "none");
  }
  for (const Outcome& outcome :
       {check_floor(SnpError::kTcbReportedTooLow, tcbs.reported, floors->second.reported,
                    generation),
        check_floor(SnpError::kTcbCommittedTooLow, tcbs.committed, floors->second.committed,
                    generation),
        check_floor(SnpError::kTcbLaunchTooLow, tcbs.launch, floors->second.launch, generation)}) {
    if (!outcome) {
      return outcome;
    }
  }
  return {};
}

}  // namespace assay::attestation::snp
