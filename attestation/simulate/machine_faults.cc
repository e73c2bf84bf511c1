// SPDX-License-Identifier: Apache-2.0
// Faults of quoting enclave, TDX module, platform, TD and event log.
#include <algorithm>
#include <array>

#include "attestation/simulate/fault_tables.h"

namespace assay::attestation::tdx {
namespace {

// Bytes of TEE_TCB_SVN. A version 5 quote also has those of the module that is loaded now.
constexpr std::size_t kMinor = 0;
constexpr std::size_t kMajor = 1;

void set_module(SimulationSpec& spec, std::size_t part, std::uint8_t version) {
  spec.quote.report.tee_tcb_svn.at(part) = version;
  spec.quote.report.tee_tcb_svn2.at(part) = version;
}

// Extends RTMR `number` by an event more, which the log has, too.
void extend(SimulationSpec& spec, std::uint32_t number) {
  constexpr std::uint32_t kSeparator = 4;
  spec.event_log.push_back({number + 1, kSeparator, to_bytes("something else"), {}});
  spec.quote.report.rtmr = registers_of(spec.event_log);
}

// Places in the log of a simulation: within its header, and behind it in its first event.
constexpr std::size_t kLogSignature = 32;
constexpr std::size_t kLogAlgorithm = 60;
constexpr std::size_t kLogDigestSize = 62;
constexpr std::size_t kEventIndex = 65;
constexpr std::size_t kEventAlgorithm = 77;

constexpr auto kQuoting = std::to_array<Fault>({
    {.name = "qe-report-signer",
     .error = "QE_REPORT_SIGNATURE",
     .spec = [](SimulationSpec& spec) { spec.quote.qe_report_signer = kUnknownKey; }},
    {.name = "qe-report-data",
     .error = "QE_REPORT_DATA_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.qe_report_data = ReportData{}; }},
    {.name = "qe-miscselect",
     .error = "QE_MISCSELECT_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.qe.miscselect[0] = 1; }},
    {.name = "qe-debug",
     .error = "QE_ATTRIBUTES_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.qe.attributes[0] |= 2; }},
    {.name = "qe-signer",
     .error = "QE_MRSIGNER_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.qe.mrsigner[0] ^= 1; }},
    {.name = "qe-product",
     .error = "QE_ISVPRODID_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.qe.isvprodid = 1; }},
    {.name = "attestation-key",
     .error = "ATT_KEY_NOT_ON_CURVE",
     .spec = [](SimulationSpec& spec) { spec.quote.attestation_point.emplace().fill(0x11); }},
});

// What the collateral says of platform, TDX module and quoting enclave. Other statuses of a
// platform are those of SimulatorOptions::tcb_status.
constexpr auto kTcb = std::to_array<Fault>({
    {.name = "module-unknown",
     .error = "TDX_MODULE_IDENTITY_MISSING",
     .spec = [](SimulationSpec& spec) { set_module(spec, kMajor, 7); }},
    {.name = "module-signer",
     .error = "TDX_MODULE_MRSIGNER_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.report.mrsignerseam[0] = 1; }},
    {.name = "module-attributes",
     .error = "TDX_MODULE_ATTRIBUTES_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.report.seamattributes[0] = 1; }},
    {.name = "platform-below-every-level",
     .error = "TCB_LEVEL_NOT_SUPPORTED",
     .spec = [](SimulationSpec& spec) { spec.platform.components.fill(0); }},
    {.name = "module-below-every-level",
     .error = "TCB_LEVEL_NOT_SUPPORTED",
     .spec = [](SimulationSpec& spec) { set_module(spec, kMinor, 1); }},
    {.name = "qe-below-every-level",
     .error = "TCB_LEVEL_NOT_SUPPORTED",
     .spec = [](SimulationSpec& spec) { spec.quote.qe.isvsvn = 0; }},
    {.name = "platform-tcb-revoked",
     .error = "TCB_REVOKED",
     .spec = [](SimulationSpec& spec) { spec.platform.pcesvn = 5; }},
    {.name = "module-revoked",
     .error = "TCB_REVOKED",
     .spec = [](SimulationSpec& spec) { set_module(spec, kMinor, 2); }},
    {.name = "qe-revoked",
     .error = "TCB_REVOKED",
     .spec = [](SimulationSpec& spec) { spec.quote.qe.isvsvn = 1; }},
    {.name = "platform-outdated",
     .error = "TCB_STATUS_NOT_ACCEPTED:OutOfDate",
     .spec = [](SimulationSpec& spec) { spec.platform.pcesvn = 11; }},
    {.name = "module-outdated",
     .error = "TCB_STATUS_NOT_ACCEPTED:OutOfDate",
     .spec = [](SimulationSpec& spec) { set_module(spec, kMinor, 4); }},
    {.name = "qe-outdated",
     .error = "TCB_STATUS_NOT_ACCEPTED:OutOfDate",
     .spec = [](SimulationSpec& spec) { spec.quote.qe.isvsvn = 2; }},
    {.name = "advisory",
     .error = "TCB_ADVISORY_REJECTED:INTEL-SA-00001",
     .needs = "rejected_advisories",
     .spec =
         [](SimulationSpec& spec) {
           spec.tcb_info["tcbLevels"][0]["advisoryIDs"] = {"INTEL-SA-00001"};
         }},
});

constexpr auto kTd = std::to_array<Fault>({
    {.name = "debug",
     .error = "TD_DEBUG_ENABLED",
     .spec = [](SimulationSpec& spec) { spec.quote.report.tdattributes[0] |= 1; }},
    {.name = "debug-group",
     .error = "TD_ATTRIBUTES_TUD_RESERVED",
     .spec = [](SimulationSpec& spec) { spec.quote.report.tdattributes[0] |= 2; }},
    {.name = "reserved-attribute",
     .error = "TD_ATTRIBUTES_RESERVED",
     .spec = [](SimulationSpec& spec) { spec.quote.report.tdattributes[1] |= 1; }},
    {.name = "xfam",
     .error = "TD_XFAM_INVALID",
     .spec = [](SimulationSpec& spec) { spec.quote.report.xfam[0] &= 0xfe; }},
    {.name = "no-sept-ve-disable",
     .error = "TD_SEPT_VE_DISABLE_NOT_SET",
     .spec = [](SimulationSpec& spec) { spec.quote.report.tdattributes[3] = 0; }},
    // Only a version 5 quote says so.
    {.name = "service-td",
     .error = "TD_SERVICE_TD_PRESENT",
     .spec =
         [](SimulationSpec& spec) {
           spec.quote.version = 5;
           spec.quote.body_type = BodyType::kTd15;
           spec.quote.report.tee_tcb_svn2 = spec.quote.report.tee_tcb_svn;
           spec.quote.report.mrservicetd[0] = 1;
         }},
    {.name = "mrtd",
     .error = "TD_MRTD_MISMATCH",
     .needs = "reference_values.mrtd",
     .spec = [](SimulationSpec& spec) { spec.quote.report.mrtd[0] ^= 1; }},
    {.name = "mrseam",
     .error = "TD_MRSEAM_MISMATCH",
     .needs = "reference_values.mrseam",
     .spec = [](SimulationSpec& spec) { spec.quote.report.mrseam[0] ^= 1; }},
    {.name = "mrconfigid",
     .error = "TD_MRCONFIGID_MISMATCH",
     .needs = "reference_values.mrconfigid",
     .spec = [](SimulationSpec& spec) { spec.quote.report.mrconfigid[0] ^= 1; }},
    {.name = "mrowner",
     .error = "TD_MROWNER_MISMATCH",
     .needs = "reference_values.mrowner",
     .spec = [](SimulationSpec& spec) { spec.quote.report.mrowner[0] ^= 1; }},
    {.name = "mrownerconfig",
     .error = "TD_MROWNERCONFIG_MISMATCH",
     .needs = "reference_values.mrownerconfig",
     .spec = [](SimulationSpec& spec) { spec.quote.report.mrownerconfig[0] ^= 1; }},
    {.name = "rtmr0",
     .error = "TD_RTMR0_MISMATCH",
     .needs = "reference_values.rtmr0",
     .spec = [](SimulationSpec& spec) { extend(spec, 0); }},
    {.name = "rtmr1",
     .error = "TD_RTMR1_MISMATCH",
     .needs = "reference_values.rtmr1",
     .spec = [](SimulationSpec& spec) { extend(spec, 1); }},
    {.name = "rtmr2",
     .error = "TD_RTMR2_MISMATCH",
     .needs = "reference_values.rtmr2",
     .spec = [](SimulationSpec& spec) { extend(spec, 2); }},
    {.name = "rtmr3",
     .error = "TD_RTMR3_MISMATCH",
     .needs = "reference_values.rtmr3",
     .spec = [](SimulationSpec& spec) { extend(spec, 3); }},
    {.name = "another-platform",
     .error = "PLATFORM_NOT_ALLOWED",
     .needs = "platform_allow_list",
     .spec =
         [](SimulationSpec& spec) {
           spec.platform.ppid[0] ^= 1;
           spec.platform.platform_instance_id.reset();
         }},
    {.name = "report-data",
     .error = "REPORT_DATA_MISMATCH",
     .needs = "report data",
     .spec = [](SimulationSpec& spec) { spec.quote.report.report_data[0] ^= 1; }},
});

constexpr auto kEventLog = std::to_array<Fault>({
    {.name = "event-log-missing",
     .error = "EVENTLOG_MISSING",
     .needs = "require_event_log",
     .event_log = [](Bytes& log) { log.clear(); }},
    {.name = "event-log-truncated",
     .error = "EVENTLOG_TRUNCATED",
     // Without the end of the padding and a byte of the last event.
     .event_log = [](Bytes& log) { log.resize(log.size() - 9); }},
    {.name = "event-log-format",
     .error = "EVENTLOG_FORMAT",
     .event_log = [](Bytes& log) { log[kLogSignature] ^= 1U; }},
    {.name = "event-log-algorithm",
     .error = "EVENTLOG_ALG_UNKNOWN",
     .event_log = [](Bytes& log) { log[kEventAlgorithm] = 0x99; }},
    {.name = "event-log-of-sha256",
     .error = "EVENTLOG_NO_SHA384",
     .event_log =
         [](Bytes& log) {
           log[kLogAlgorithm] = 0x0b;
           log[kLogDigestSize] = 32;
         }},
    {.name = "event-log-index",
     .error = "EVENTLOG_INDEX",
     .event_log = [](Bytes& log) { log[kEventIndex] = 9; }},
    {.name = "event-log-changed",
     .error = "EVENTLOG_RTMR_MISMATCH:rtmr2",
     .spec = [](SimulationSpec& spec) { spec.event_log.back().digest = Measurement{}; }},
});

// The four above as one.
constexpr auto kMachineFaults = [] {
  std::array<Fault, kQuoting.size() + kTcb.size() + kTd.size() + kEventLog.size()> all{};
  auto next = std::ranges::copy(kQuoting, all.begin()).out;
  next = std::ranges::copy(kTcb, next).out;
  next = std::ranges::copy(kTd, next).out;
  std::ranges::copy(kEventLog, next);
  return all;
}();

}  // namespace

std::span<const Fault> machine_faults() { return kMachineFaults; }

}  // namespace assay::attestation::tdx
