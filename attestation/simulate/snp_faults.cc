// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/snp_faults.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "attestation/snp/certificate_table.h"

namespace assay::attestation::snp {
namespace {

using Spec = SnpSimulationSpec;
using std::chrono::days;

// The first byte of a certificate in the table of `evidence`.
std::uint8_t& first_byte(Bytes& evidence, ByteView CertificateTable::* member) {
  const auto table = parse_certificate_table(ByteView(evidence).subspan(kReportBytes)).value();
  const auto offset = (table.*member).data() - evidence.data();
  return evidence[static_cast<std::size_t>(offset)];
}

// One below, in the part that `raw` has at this place.
void lower(RawTcb& raw, std::size_t place) {
  raw[place] = static_cast<std::uint8_t>(raw[place] - 1);
}

// Makes the leaf a VLEK of another provider.
void of_a_provider(Spec& spec) {
  const Spec other =
      valid_snp_simulation(ByteView(spec.seed).first(spec.seed.size() - 1),
                           spec.crl.this_update + days(1), spec.generation, SigningKey::kVlek);
  const ReportData data = spec.report.report_data;
  spec = other;
  spec.report.report_data = data;
  spec.leaf_provider = "CN=somebody.example";
}

void to_genoa(Spec& spec) {
  const ReportData data = spec.report.report_data;
  spec = valid_snp_simulation(ByteView(spec.seed).first(spec.seed.size() - 1),
                              spec.crl.this_update + days(1), Generation::kGenoa);
  spec.report.report_data = data;
}

constexpr auto kFaults = std::to_array<SnpFault>({
    {.name = "too-large", .error = "INPUT_TOO_LARGE",
     .evidence = [](Bytes& e) { e.resize(kMaxEvidenceBytes + 1); }},
    {.name = "truncated", .error = "REPORT_TRUNCATED",
     .evidence = [](Bytes& e) { e.resize(kReportBytes - 1); }},
    {.name = "report-version", .error = "REPORT_VERSION_UNSUPPORTED",
     .spec = [](Spec& s) { s.report.version = 6; }},
    {.name = "signature-algorithm", .error = "SIGNATURE_ALGO_UNSUPPORTED",
     .evidence = [](Bytes& e) { e[0x34] = 2; }},
    {.name = "signing-key", .error = "SIGNING_KEY_UNSUPPORTED",
     .evidence = [](Bytes& e) { e[0x48] |= 7U << 2; }},
    {.name = "reserved", .error = "REPORT_RESERVED_NONZERO",
     .evidence = [](Bytes& e) { e[0x4c] = 1; }},
    {.name = "reserved-tcb", .error = "REPORT_RESERVED_NONZERO",
     .spec = [](Spec& s) { s.report.launch_tcb[4] = 1; }},
    {.name = "signature-padding", .error = "SIGNATURE_FORMAT",
     .evidence = [](Bytes& e) { e[kSignedBytes + 71] = 1; }},
    {.name = "unknown-processor", .error = "GENERATION_UNKNOWN",
     .spec = [](Spec& s) { s.report.cpu->family = 0x17; }},
    {.name = "version-2", .error = "GENERATION_UNKNOWN",
     .spec =
         [](Spec& s) {
           s.report.version = 2;
           s.report.cpu.reset();
           s.report.launch_mitigations.reset();
         }},
    {.name = "table-overrun", .error = "CERT_TABLE_FORMAT",
     .evidence = [](Bytes& e) { e[kReportBytes + 19] = 0xff; }},
    {.name = "no-leaf", .error = "LEAF_MISSING",
     .evidence = [](Bytes& e) { e.resize(kReportBytes); }},
    {.name = "leaf-format", .error = "LEAF_FORMAT",
     .evidence =
         [](Bytes& e) { first_byte(e, &CertificateTable::vcek) ^= 1; }},
    {.name = "leaf-kind", .error = "LEAF_KIND_MISMATCH",
     .spec = [](Spec& s) { s.leaf.subject = "SEV-VLEK"; }},
    {.name = "leaf-extension", .error = "LEAF_EXTENSION_FORMAT",
     .spec = [](Spec& s) { s.leaf_chip_id.pop_back(); }},
    {.name = "ca-format", .error = "CA_FORMAT",
     .evidence =
         [](Bytes& e) { first_byte(e, &CertificateTable::ask) ^= 1; }},
    {.name = "ca-signer", .error = "ROOT_UNTRUSTED",
     .spec = [](Spec& s) { s.ca.signer = "somebody"; }},
    {.name = "leaf-signer", .error = "ROOT_UNTRUSTED",
     .spec = [](Spec& s) { s.leaf.signer = "somebody"; }},
    {.name = "leaf-issuer", .error = "CHAIN_NAMES",
     .spec = [](Spec& s) { s.leaf.issuer = "SEV-Somebody"; }},
    {.name = "leaf-hash", .error = "CHAIN_KEY_TYPE",
     .spec = [](Spec& s) { s.leaf.hash = HashAlgorithm::kSha256; }},
    {.name = "ca-is-no-ca", .error = "CHAIN_CONSTRAINTS",
     .spec = [](Spec& s) { s.ca.is_ca = false; }},
    {.name = "leaf-expired", .error = "CERT_EXPIRED",
     .spec = [](Spec& s) { s.leaf.not_after = s.crl.this_update; }},
    {.name = "leaf-from-the-future", .error = "CERT_NOT_YET_VALID",
     .spec = [](Spec& s) { s.leaf.not_before = s.crl.next_update; }},
    {.name = "no-crl", .error = "CRL_MISSING", .collateral = [](Collateral& c) { c.crl.clear(); }},
    {.name = "crl-format", .error = "CRL_FORMAT",
     .collateral = [](Collateral& c) { c.crl.push_back(0); }},
    {.name = "crl-issuer", .error = "CRL_ISSUER_MISMATCH",
     .spec = [](Spec& s) { s.crl.issuer = "ARK-Somebody"; }},
    {.name = "crl-signer", .error = "CRL_SIGNATURE",
     .spec = [](Spec& s) { s.crl.signer = "somebody"; }},
    {.name = "crl-expired", .error = "CRL_EXPIRED",
     .spec = [](Spec& s) { s.crl.next_update = s.crl.this_update + std::chrono::hours(1); }},
    {.name = "crl-from-the-future", .error = "CRL_NOT_YET_VALID",
     .spec = [](Spec& s) { s.crl.this_update += days(2); }},
    {.name = "ca-revoked", .error = "CERT_REVOKED",
     .spec = [](Spec& s) { s.crl.revoked = {7, s.ca.serial}; }},
    {.name = "leaf-tcb", .error = "LEAF_TCB_MISMATCH",
     .spec = [](Spec& s) { s.leaf_tcb.microcode -= 1; }},
    {.name = "other-chip", .error = "LEAF_CHIP_ID_MISMATCH",
     .spec = [](Spec& s) { s.leaf_chip_id.back() ^= 1; }},
    {.name = "hidden-chip", .error = "LEAF_CHIP_ID_MISMATCH",
     .spec =
         [](Spec& s) {
           s.report.chip_id = ChipId{};
           s.leaf_chip_id.assign(s.leaf_chip_id.size(), 0);
         }},
    {.name = "report-signer", .error = "REPORT_SIGNATURE",
     .spec = [](Spec& s) { s.report_signer = "somebody"; }},
    {.name = "other-generation", .error = "GENERATION_NOT_ALLOWED", .needs = "accept_generations",
     .spec = to_genoa},
    {.name = "other-kind-of-key", .error = "SIGNING_KEY_NOT_ALLOWED",
     .needs = "accept_signing_keys", .spec = of_a_provider},
    {.name = "other-provider", .error = "CSP_NOT_ALLOWED", .needs = "provider_allow_list",
     .spec = of_a_provider},
    {.name = "no-floor", .error = "TCB_FLOOR_MISSING", .needs = "min_tcb", .spec = to_genoa},
    {.name = "reported-tcb", .error = "TCB_REPORTED_TOO_LOW:microcode", .needs = "min_tcb",
     .spec =
         [](Spec& s) {
           s.leaf_tcb.microcode -= 1;
           lower(s.report.reported_tcb, 7);
         }},
    {.name = "committed-tcb", .error = "TCB_COMMITTED_TOO_LOW:snp", .needs = "min_tcb",
     .spec = [](Spec& s) { lower(s.report.committed_tcb, 6); }},
    {.name = "launch-tcb", .error = "TCB_LAUNCH_TOO_LOW:boot_loader", .needs = "min_tcb",
     .spec = [](Spec& s) { lower(s.report.launch_tcb, 0); }},
    {.name = "ciphertext-visible", .error = "CIPHERTEXT_HIDING_OFF",
     .needs = "require_ciphertext_hiding",
     .spec = [](Spec& s) { s.report.platform_info &= ~platform_info::kCiphertextHiding; }},
    {.name = "aliases-unchecked", .error = "ALIAS_CHECK_MISSING", .needs = "require_alias_check",
     .spec = [](Spec& s) { s.report.platform_info &= ~platform_info::kAliasCheck; }},
    {.name = "rapl", .error = "RAPL_ENABLED", .needs = "require_rapl_disabled",
     .spec = [](Spec& s) { s.report.platform_info &= ~platform_info::kRaplDisabled; }},
    {.name = "undefined-policy-bit", .error = "GUEST_POLICY_RESERVED",
     .spec = [](Spec& s) { s.report.policy |= 1ULL << 26; }},
    {.name = "policy-without-bit-17", .error = "GUEST_POLICY_RESERVED",
     .spec = [](Spec& s) { s.report.policy &= ~guest_policy::kAlwaysSet; }},
    {.name = "debug", .error = "GUEST_DEBUG",
     .spec = [](Spec& s) { s.report.policy |= guest_policy::kDebug; }},
    {.name = "migratable", .error = "GUEST_MIGRATABLE",
     .spec = [](Spec& s) { s.report.policy |= guest_policy::kMigrateMa; }},
    {.name = "smt", .error = "GUEST_SMT", .needs = "allow_smt",
     .spec = [](Spec& s) { s.report.policy |= guest_policy::kSmt; }},
    {.name = "many-sockets", .error = "GUEST_MANY_SOCKETS", .needs = "require_single_socket",
     .spec = [](Spec& s) { s.report.policy &= ~guest_policy::kSingleSocket; }},
    {.name = "cxl", .error = "GUEST_CXL",
     .spec = [](Spec& s) { s.report.policy |= guest_policy::kCxlAllow; }},
    {.name = "vmpl", .error = "VMPL_TOO_HIGH", .spec = [](Spec& s) { s.report.vmpl = 1; }},
    {.name = "guest-svn", .error = "GUEST_SVN_TOO_LOW", .needs = "min_guest_svn",
     .spec = [](Spec& s) { s.report.guest_svn = 0; }},
    {.name = "other-measurement", .error = "MEASUREMENT_MISMATCH", .needs = "reference_values",
     .spec = [](Spec& s) { s.report.measurement[0] ^= 1; }},
    {.name = "other-host-data", .error = "HOST_DATA_MISMATCH", .needs = "reference_values",
     .spec = [](Spec& s) { s.report.host_data[0] ^= 1; }},
    {.name = "other-id-key", .error = "ID_KEY_DIGEST_MISMATCH", .needs = "reference_values",
     .spec = [](Spec& s) { s.report.id_key_digest[0] ^= 1; }},
    {.name = "other-author-key", .error = "AUTHOR_KEY_DIGEST_MISMATCH",
     .needs = "reference_values", .spec = [](Spec& s) { s.report.author_key_digest[0] ^= 1; }},
    {.name = "other-family", .error = "FAMILY_ID_MISMATCH", .needs = "reference_values",
     .spec = [](Spec& s) { s.report.family_id[0] ^= 1; }},
    {.name = "other-image", .error = "IMAGE_ID_MISMATCH", .needs = "reference_values",
     .spec = [](Spec& s) { s.report.image_id[0] ^= 1; }},
    {.name = "other-platform", .error = "PLATFORM_NOT_ALLOWED", .needs = "platform_allow_list",
     .spec =
         [](Spec& s) {
           s.report.chip_id[0] ^= 1;
           s.leaf_chip_id[0] ^= 1;
         }},
    {.name = "other-report-data", .error = "REPORT_DATA_MISMATCH", .needs = "report data",
     .spec = [](Spec& s) { s.report.report_data[0] ^= 1; }},
});

constexpr std::array<SnpErrorWithoutFault, 1> kWithoutFault = {{
    {SnpError::kReferenceValuesMissing, "the appraisal policy alone decides it"},
}};

}  // namespace

std::span<const SnpFault> snp_faults() { return kFaults; }

const SnpFault* find_snp_fault(std::string_view name) {
  const auto found = std::ranges::find(kFaults, name, &SnpFault::name);
  return found == kFaults.end() ? nullptr : &*found;
}

std::span<const SnpErrorWithoutFault> snp_errors_without_fault() { return kWithoutFault; }

SnpSimulation simulate(SnpSimulationSpec spec, const SnpFault& fault) {
  if (fault.spec != nullptr) {
    fault.spec(spec);
  }
  SnpSimulation made = simulate(spec);
  if (fault.evidence != nullptr) {
    fault.evidence(made.evidence);
  }
  if (fault.collateral != nullptr) {
    fault.collateral(made.collateral);
  }
  return made;
}

}  // namespace assay::attestation::snp
