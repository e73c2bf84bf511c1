// SPDX-License-Identifier: Apache-2.0
// Faults of the root CRL, of the PCK chain, and of its CRL.
#include <array>

#include "attestation/simulate/fault_tables.h"

namespace assay::attestation::tdx {
namespace {

void put_chain(const SimulationSpec& spec, Simulation& all, std::string_view chain) {
  all.quote = make_quote(spec.quote, spec.seed, chain);
}

constexpr auto kChainFaults = std::to_array<Fault>({
    // The list of what the root revoked.
    {.name = "root-crl-format",
     .error = "ROOT_CRL_FORMAT",
     .collateral = [](Collateral& all) { all.root_ca_crl += "00"; }},
    {.name = "root-crl-signature",
     .error = "ROOT_CRL_SIGNATURE",
     .collateral = [](Collateral& all) { change_last_byte(all.root_ca_crl); }},
    {.name = "root-crl-expired",
     .error = "ROOT_CRL_EXPIRED",
     .spec = [](SimulationSpec& spec) { spec.root_crl.next_update = spec.root_crl.this_update; }},
    {.name = "root-crl-not-yet-valid",
     .error = "ROOT_CRL_NOT_YET_VALID",
     .spec = [](SimulationSpec& spec) { spec.root_crl.this_update = *spec.root_crl.next_update; }},
    // The platform's certificate.
    {.name = "pck-chain-format",
     .error = "PCK_CHAIN_FORMAT",
     .made = [](const SimulationSpec& spec,
                Simulation& all) { put_chain(spec, all, make_pck_chain(spec) + "x"); }},
    {.name = "pck-chain-length",
     .error = "PCK_CHAIN_LENGTH",
     .made =
         [](const SimulationSpec& spec, Simulation& all) {
           put_chain(spec, all, make_pck_chain(spec) + to_pem(all.root));
         }},
    {.name = "pck-name",
     .error = "PCK_CHAIN_NAMES",
     .spec = [](SimulationSpec& spec) { spec.pck.subject = kUnknownName; }},
    {.name = "pck-signer",
     .error = "PCK_CHAIN_SIGNATURE",
     .spec = [](SimulationSpec& spec) { spec.pck.signer = kUnknownKey; }},
    {.name = "pck-root",
     .error = "PCK_ROOT_UNTRUSTED",
     .made = [](const SimulationSpec& spec,
                Simulation& all) { put_chain(spec, all, make_pck_chain(foreign(spec))); }},
    {.name = "pck-is-ca",
     .error = "PCK_BASIC_CONSTRAINTS",
     .spec = [](SimulationSpec& spec) { spec.pck.is_ca = true; }},
    {.name = "pck-expired",
     .error = "PCK_CERT_EXPIRED",
     .spec = [](SimulationSpec& spec) { spec.pck.not_after = spec.pck.not_before; }},
    {.name = "pck-not-yet-valid",
     .error = "PCK_CERT_NOT_YET_VALID",
     .spec = [](SimulationSpec& spec) { spec.pck.not_before = spec.pck.not_after; }},
    {.name = "pck-key-type",
     .error = "PCK_CERT_KEY_TYPE",
     .spec = [](SimulationSpec& spec) { spec.pck.other_spki = p384_spki(); }},
    {.name = "pck-extension",
     .error = "PCK_EXTENSION_FORMAT",
     .spec = [](SimulationSpec& spec) { spec.pck.sgx_extension = {0x30, 0x00}; }},
    // The list of what its CA revoked.
    {.name = "pck-crl-format",
     .error = "PCK_CRL_FORMAT",
     .spec = [](SimulationSpec& spec) { spec.pck_crl.is_partial = true; }},
    {.name = "pck-crl-issuer",
     .error = "PCK_CRL_ISSUER_MISMATCH",
     .spec = [](SimulationSpec& spec) { spec.pck_crl.issuer = kUnknownName; }},
    {.name = "pck-crl-signature",
     .error = "PCK_CRL_SIGNATURE",
     .collateral = [](Collateral& all) { change_last_byte(all.pck_crl); }},
    {.name = "pck-crl-expired",
     .error = "PCK_CRL_EXPIRED",
     .spec = [](SimulationSpec& spec) { spec.pck_crl.next_update = spec.pck_crl.this_update; }},
    {.name = "pck-crl-not-yet-valid",
     .error = "PCK_CRL_NOT_YET_VALID",
     .spec = [](SimulationSpec& spec) { spec.pck_crl.this_update = *spec.pck_crl.next_update; }},
    {.name = "pck-crl-chain",
     .error = "PCK_CRL_CHAIN:PCK_CHAIN_NAMES",
     .collateral = [](Collateral& all) { all.pck_crl_issuer_chain = all.tcb_info_issuer_chain; }},
    {.name = "pck-revoked",
     .error = "PCK_CERT_REVOKED",
     .spec = [](SimulationSpec& spec) { spec.pck_crl.revoked.push_back(spec.pck.serial); }},
    {.name = "pck-ca-revoked",
     .error = "PCK_CERT_REVOKED",
     .spec = [](SimulationSpec& spec) { spec.root_crl.revoked.push_back(spec.pck_ca.serial); }},
});

}  // namespace

std::span<const Fault> chain_faults() { return kChainFaults; }

}  // namespace assay::attestation::tdx
