// SPDX-License-Identifier: Apache-2.0
// Faults of TCB info and QE identity.
#include <algorithm>
#include <array>

#include "attestation/simulate/fault_tables.h"

namespace assay::attestation::tdx {
namespace {

// The certificate under the QE identity: one of its own, or TCB info would be refused before.
CertificateSpec& qe_signing(SimulationSpec& spec) {
  constexpr std::uint64_t kSerial = 5;
  spec.qe_identity_signing = spec.tcb_signing;
  spec.qe_identity_signing->serial = kSerial;
  return *spec.qe_identity_signing;
}

constexpr auto kTcbInfo = std::to_array<Fault>({
    {.name = "tcb-info-chain-format",
     .error = "TCB_INFO_CHAIN_FORMAT",
     .collateral = [](Collateral& all) { all.tcb_info_issuer_chain += "x"; }},
    {.name = "tcb-info-chain-length",
     .error = "TCB_INFO_CHAIN_LENGTH",
     .collateral = [](Collateral& all) { all.tcb_info_issuer_chain.clear(); }},
    {.name = "tcb-info-signer-name",
     .error = "TCB_INFO_CHAIN_NAMES",
     .spec = [](SimulationSpec& spec) { spec.tcb_signing.subject = kUnknownName; }},
    {.name = "tcb-info-signer-signature",
     .error = "TCB_INFO_CHAIN_SIGNATURE",
     .spec = [](SimulationSpec& spec) { spec.tcb_signing.signer = kUnknownKey; }},
    {.name = "tcb-info-root",
     .error = "TCB_INFO_ROOT_UNTRUSTED",
     .made =
         [](const SimulationSpec& spec, Simulation& all) {
           const Collateral other = simulate(foreign(spec)).collateral;
           all.collateral.tcb_info_issuer_chain = other.tcb_info_issuer_chain;
         }},
    {.name = "tcb-info-signer-is-ca",
     .error = "TCB_INFO_BASIC_CONSTRAINTS",
     .spec = [](SimulationSpec& spec) { spec.tcb_signing.is_ca = true; }},
    {.name = "tcb-info-signer-key-type",
     .error = "TCB_INFO_CERT_KEY_TYPE",
     .spec = [](SimulationSpec& spec) { spec.tcb_signing.other_spki = p384_spki(); }},
    {.name = "tcb-info-signer-expired",
     .error = "TCB_INFO_CERT_EXPIRED",
     .spec =
         [](SimulationSpec& spec) { spec.tcb_signing.not_after = spec.tcb_signing.not_before; }},
    {.name = "tcb-info-signer-not-yet-valid",
     .error = "TCB_INFO_CERT_NOT_YET_VALID",
     .spec =
         [](SimulationSpec& spec) { spec.tcb_signing.not_before = spec.tcb_signing.not_after; }},
    {.name = "tcb-info-signer-revoked",
     .error = "TCB_INFO_CERT_REVOKED",
     .spec = [](SimulationSpec& spec) { spec.root_crl.revoked = {spec.tcb_signing.serial}; }},
    {.name = "tcb-info-signature-format",
     .error = "TCB_INFO_SIGNATURE_FORMAT",
     .collateral = [](Collateral& all) { all.tcb_info_signature.pop_back(); }},
    {.name = "tcb-info-changed",
     .error = "TCB_INFO_SIGNATURE",
     .collateral = [](Collateral& all) { all.tcb_info.insert(1, " "); }},
    {.name = "tcb-info-format",
     .error = "TCB_INFO_FORMAT",
     .spec = [](SimulationSpec& spec) { spec.tcb_info.erase("tcbLevels"); }},
    {.name = "tcb-info-of-sgx",
     .error = "TCB_INFO_ID_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.tcb_info["id"] = "SGX"; }},
    {.name = "tcb-info-version",
     .error = "TCB_INFO_VERSION",
     .spec = [](SimulationSpec& spec) { spec.tcb_info["version"] = 2; }},
    {.name = "tcb-info-type",
     .error = "TCB_INFO_TCB_TYPE",
     .spec = [](SimulationSpec& spec) { spec.tcb_info["tcbType"] = 1; }},
    {.name = "tcb-info-expired",
     .error = "TCB_INFO_EXPIRED",
     .spec =
         [](SimulationSpec& spec) { spec.tcb_info["nextUpdate"] = spec.tcb_info["issueDate"]; }},
    {.name = "tcb-info-not-yet-valid",
     .error = "TCB_INFO_NOT_YET_VALID",
     .spec =
         [](SimulationSpec& spec) { spec.tcb_info["issueDate"] = spec.tcb_info["nextUpdate"]; }},
    {.name = "tcb-info-number",
     .error = "TCB_INFO_EVAL_NUMBER_TOO_LOW",
     .needs = "min_tcb_evaluation_data_number",
     .spec = [](SimulationSpec& spec) { spec.tcb_info["tcbEvaluationDataNumber"] = 17; }},
    {.name = "tcb-info-of-another-platform",
     .error = "FMSPC_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.tcb_info["fmspc"] = "00906ED50000"; }},
    {.name = "tcb-info-of-another-pce",
     .error = "PCEID_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.tcb_info["pceId"] = "0001"; }},
});

constexpr auto kQeIdentity = std::to_array<Fault>({
    {.name = "qe-identity-chain-format",
     .error = "QE_IDENTITY_CHAIN_FORMAT",
     .collateral = [](Collateral& all) { all.qe_identity_issuer_chain += "x"; }},
    {.name = "qe-identity-chain-length",
     .error = "QE_IDENTITY_CHAIN_LENGTH",
     .collateral = [](Collateral& all) { all.qe_identity_issuer_chain.clear(); }},
    {.name = "qe-identity-signer-name",
     .error = "QE_IDENTITY_CHAIN_NAMES",
     .spec = [](SimulationSpec& spec) { qe_signing(spec).subject = kUnknownName; }},
    {.name = "qe-identity-signer-signature",
     .error = "QE_IDENTITY_CHAIN_SIGNATURE",
     .spec = [](SimulationSpec& spec) { qe_signing(spec).signer = kUnknownKey; }},
    {.name = "qe-identity-root",
     .error = "QE_IDENTITY_ROOT_UNTRUSTED",
     .made =
         [](const SimulationSpec& spec, Simulation& all) {
           const Collateral other = simulate(foreign(spec)).collateral;
           all.collateral.qe_identity_issuer_chain = other.qe_identity_issuer_chain;
         }},
    {.name = "qe-identity-signer-is-ca",
     .error = "QE_IDENTITY_BASIC_CONSTRAINTS",
     .spec = [](SimulationSpec& spec) { qe_signing(spec).is_ca = true; }},
    {.name = "qe-identity-signer-key-type",
     .error = "QE_IDENTITY_CERT_KEY_TYPE",
     .spec = [](SimulationSpec& spec) { qe_signing(spec).other_spki = p384_spki(); }},
    {.name = "qe-identity-signer-expired",
     .error = "QE_IDENTITY_CERT_EXPIRED",
     .spec =
         [](SimulationSpec& spec) { qe_signing(spec).not_after = spec.tcb_signing.not_before; }},
    {.name = "qe-identity-signer-not-yet-valid",
     .error = "QE_IDENTITY_CERT_NOT_YET_VALID",
     .spec =
         [](SimulationSpec& spec) { qe_signing(spec).not_before = spec.tcb_signing.not_after; }},
    {.name = "qe-identity-signer-revoked",
     .error = "QE_IDENTITY_CERT_REVOKED",
     .spec = [](SimulationSpec& spec) { spec.root_crl.revoked = {qe_signing(spec).serial}; }},
    {.name = "qe-identity-signature-format",
     .error = "QE_IDENTITY_SIGNATURE_FORMAT",
     .collateral = [](Collateral& all) { all.qe_identity_signature.pop_back(); }},
    {.name = "qe-identity-changed",
     .error = "QE_IDENTITY_SIGNATURE",
     .collateral = [](Collateral& all) { all.qe_identity.insert(1, " "); }},
    {.name = "qe-identity-format",
     .error = "QE_IDENTITY_FORMAT",
     .spec = [](SimulationSpec& spec) { spec.qe_identity.erase("tcbLevels"); }},
    {.name = "qe-identity-of-sgx",
     .error = "QE_IDENTITY_ID_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.qe_identity["id"] = "QE"; }},
    {.name = "qe-identity-version",
     .error = "QE_IDENTITY_VERSION",
     .spec = [](SimulationSpec& spec) { spec.qe_identity["version"] = 3; }},
    {.name = "qe-identity-expired",
     .error = "QE_IDENTITY_EXPIRED",
     .spec =
         [](SimulationSpec& spec) {
           spec.qe_identity["nextUpdate"] = spec.qe_identity["issueDate"];
         }},
    {.name = "qe-identity-not-yet-valid",
     .error = "QE_IDENTITY_NOT_YET_VALID",
     .spec =
         [](SimulationSpec& spec) {
           spec.qe_identity["issueDate"] = spec.qe_identity["nextUpdate"];
         }},
    {.name = "qe-identity-number",
     .error = "QE_IDENTITY_EVAL_NUMBER_TOO_LOW",
     .needs = "min_tcb_evaluation_data_number",
     .spec = [](SimulationSpec& spec) { spec.qe_identity["tcbEvaluationDataNumber"] = 17; }},
    {.name = "evaluation-numbers-differ",
     .error = "EVAL_NUMBER_MISMATCH",
     .needs = "allow_evaluation_number_mismatch",
     .spec = [](SimulationSpec& spec) { spec.qe_identity["tcbEvaluationDataNumber"] = 19; }},
});

// The two above as one.
constexpr auto kDocumentFaults = [] {
  std::array<Fault, kTcbInfo.size() + kQeIdentity.size()> all{};
  std::ranges::copy(kQeIdentity, std::ranges::copy(kTcbInfo, all.begin()).out);
  return all;
}();

}  // namespace

std::span<const Fault> collateral_faults() { return kDocumentFaults; }

}  // namespace assay::attestation::tdx
