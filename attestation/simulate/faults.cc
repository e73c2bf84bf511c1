// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/faults.h"

#include <algorithm>
#include <array>

namespace assay::attestation::tdx {
namespace {

// Places in a version 4 quote. A version 5 quote has them further on, within other signed bytes.
constexpr std::size_t kVersion = 0;
constexpr std::size_t kUserData = 28;

void flip(Bytes& bytes, std::size_t at) { bytes.at(at) ^= 1U; }

// The last byte of a hex text.
void change_last_byte(std::string& hex) {
  Bytes bytes = hex_decode(hex).value();
  flip(bytes, bytes.size() - 1);
  hex = hex_encode(bytes);
}

constexpr auto kFaults = std::to_array<Fault>({
    // The quote.
    {.name = "quote-truncated",
     .error = "SIG_DATA_LEN_OVERRUN",
     .quote = [](Bytes& quote) { quote.resize(quote.size() - 1); }},
    {.name = "quote-version",
     .error = "QUOTE_VERSION_UNSUPPORTED",
     .quote = [](Bytes& quote) { quote[kVersion] = 6; }},
    {.name = "quote-trailing",
     .error = "TRAILING_DATA_NONZERO",
     .quote = [](Bytes& quote) { quote.push_back(1); }},
    {.name = "quote-changed",
     .error = "QUOTE_SIGNATURE",
     .quote = [](Bytes& quote) { flip(quote, kUserData); }},
    {.name = "quote-signer",
     .error = "QUOTE_SIGNATURE",
     .spec = [](SimulationSpec& spec) { spec.quote.quote_signer = "somebody"; }},
    {.name = "qe-report-signer",
     .error = "QE_REPORT_SIGNATURE",
     .spec = [](SimulationSpec& spec) { spec.quote.qe_report_signer = "somebody"; }},
    {.name = "qe-report-data",
     .error = "QE_REPORT_DATA_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.qe_report_data = ReportData{}; }},
    {.name = "qe-debug",
     .error = "QE_ATTRIBUTES_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.qe.attributes[0] |= 2; }},
    {.name = "qe-outdated",
     .error = "TCB_STATUS_NOT_ACCEPTED:OutOfDate",
     .spec = [](SimulationSpec& spec) { spec.quote.qe.isvsvn = 2; }},
    // The platform.
    {.name = "pck-expired",
     .error = "PCK_CERT_EXPIRED",
     .spec = [](SimulationSpec& spec) { spec.pck.not_after = spec.pck.not_before; }},
    {.name = "pck-revoked",
     .error = "PCK_CERT_REVOKED",
     .spec = [](SimulationSpec& spec) { spec.pck_crl.revoked.push_back(spec.pck.serial); }},
    {.name = "pck-ca-revoked",
     .error = "PCK_CERT_REVOKED",
     .spec = [](SimulationSpec& spec) { spec.root_crl.revoked.push_back(spec.pck_ca.serial); }},
    {.name = "platform-below-every-level",
     .error = "TCB_LEVEL_NOT_SUPPORTED",
     .spec = [](SimulationSpec& spec) { spec.platform.components.fill(0); }},
    {.name = "module-unknown",
     .error = "TDX_MODULE_IDENTITY_MISSING",
     .spec = [](SimulationSpec& spec) { spec.quote.report.tee_tcb_svn[1] = 7; }},
    {.name = "module-signer",
     .error = "TDX_MODULE_MRSIGNER_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.quote.report.mrsignerseam[0] = 1; }},
    {.name = "module-outdated",
     .error = "TCB_STATUS_NOT_ACCEPTED:OutOfDate",
     .spec = [](SimulationSpec& spec) { spec.quote.report.tee_tcb_svn[0] = 4; }},
    // The collateral.
    {.name = "root-crl-signature",
     .error = "ROOT_CRL_SIGNATURE",
     .collateral = [](Collateral& all) { change_last_byte(all.root_ca_crl); }},
    {.name = "pck-crl-signature",
     .error = "PCK_CRL_SIGNATURE",
     .collateral = [](Collateral& all) { change_last_byte(all.pck_crl); }},
    {.name = "tcb-info-changed",
     .error = "TCB_INFO_SIGNATURE",
     .collateral = [](Collateral& all) { all.tcb_info.insert(1, " "); }},
    {.name = "tcb-info-expired",
     .error = "TCB_INFO_EXPIRED",
     .spec =
         [](SimulationSpec& spec) { spec.tcb_info["nextUpdate"] = spec.tcb_info["issueDate"]; }},
    {.name = "tcb-info-of-another-platform",
     .error = "FMSPC_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.tcb_info["fmspc"] = "00906ED50000"; }},
    {.name = "qe-identity-changed",
     .error = "QE_IDENTITY_SIGNATURE",
     .collateral = [](Collateral& all) { all.qe_identity.insert(1, " "); }},
    {.name = "qe-identity-of-sgx",
     .error = "QE_IDENTITY_ID_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.qe_identity["id"] = "QE"; }},
    // The TD.
    {.name = "debug",
     .error = "TD_DEBUG_ENABLED",
     .spec = [](SimulationSpec& spec) { spec.quote.report.tdattributes[0] |= 1; }},
    {.name = "no-sept-ve-disable",
     .error = "TD_SEPT_VE_DISABLE_NOT_SET",
     .spec = [](SimulationSpec& spec) { spec.quote.report.tdattributes[3] = 0; }},
    // Only a version 5 quote says so.
    {
        .name = "service-td",
        .error = "TD_SERVICE_TD_PRESENT",
        .spec =
            [](SimulationSpec& spec) {
              spec.quote.version = 5;
              spec.quote.body_type = BodyType::kTd15;
              spec.quote.report.tee_tcb_svn2 = spec.quote.report.tee_tcb_svn;
              spec.quote.report.mrservicetd[0] = 1;
            }},
    {.name = "event-log-changed",
     .error = "EVENTLOG_RTMR_MISMATCH:rtmr2",
     .spec = [](SimulationSpec& spec) { spec.event_log.back().digest = Measurement{}; }},
    {.name = "event-log-truncated",
     .error = "EVENTLOG_TRUNCATED",
     // Without the end of the padding and a byte of the last event.
     .event_log = [](Bytes& log) { log.resize(log.size() - 9); }},
});

}  // namespace

std::span<const Fault> faults() { return kFaults; }

const Fault* find_fault(std::string_view name) {
  const auto* found = std::ranges::find(kFaults, name, &Fault::name);
  return found == kFaults.end() ? nullptr : found;
}

Simulation simulate(SimulationSpec spec, const Fault& fault) {
  if (fault.spec != nullptr) {
    fault.spec(spec);
  }
  Simulation simulation = simulate(spec);
  if (fault.quote != nullptr) {
    fault.quote(simulation.quote);
  }
  if (fault.collateral != nullptr) {
    fault.collateral(simulation.collateral);
  }
  if (fault.event_log != nullptr) {
    fault.event_log(simulation.event_log);
  }
  return simulation;
}

}  // namespace assay::attestation::tdx
