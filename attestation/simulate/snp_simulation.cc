// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/snp_simulation.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "attestation/simulate/der_writer.h"
#include "attestation/simulate/snp_key.h"
#include "attestation/snp/certificate_table.h"
#include "schemas/core/sha.h"

namespace assay::attestation::snp {
namespace {

namespace der = tdx::der;

constexpr std::string_view kArc = "1.3.6.1.4.1.3704.1.";
constexpr std::uint8_t kUsageRoot = 0x06;  // keyCertSign, cRLSign
constexpr std::uint8_t kUsageIssuer = 0x04;
constexpr std::uint64_t kSimulatedPolicy = guest_policy::kAlwaysSet | guest_policy::kSmt | 0x1f;
constexpr std::uint64_t kSimulatedMachine =
    platform_info::kSmt | platform_info::kEcc | platform_info::kRaplDisabled |
    platform_info::kCiphertextHiding | platform_info::kAliasCheck;

// --- certificates

Bytes pss(HashAlgorithm hash) {
  const bool long_hash = hash == HashAlgorithm::kSha384;
  const Bytes algorithm =
      der::sequence({der::oid(long_hash ? "2.16.840.1.101.3.4.2.2" : "2.16.840.1.101.3.4.2.1"),
                     der::value(0x05, {})});
  const Bytes mgf = der::sequence({der::oid("1.2.840.113549.1.1.8"), algorithm});
  const std::uint64_t salt = long_hash ? 48 : 32;
  return der::sequence({der::oid("1.2.840.113549.1.1.10"),
                        der::sequence({der::context(0, algorithm), der::context(1, mgf),
                                       der::context(2, der::integer(salt))})});
}

Bytes part_of_name(std::string_view type, std::string_view text) {
  return der::set({der::sequence({der::oid(type), der::utf8(text)})});
}

Bytes amd_name(std::string_view common_name) {
  return der::sequence({part_of_name("2.5.4.11", "Engineering"), part_of_name("2.5.4.6", "US"),
                        part_of_name("2.5.4.7", "Santa Clara"), part_of_name("2.5.4.8", "CA"),
                        part_of_name("2.5.4.10", "Advanced Micro Devices"),
                        part_of_name("2.5.4.3", common_name)});
}

Bytes extension_of(std::string_view type, bool critical, ByteView content) {
  return critical ? der::sequence({der::oid(type), der::boolean_true(), der::octets(content)})
                  : der::sequence({der::oid(type), der::octets(content)});
}

Bytes usage_bits(std::uint8_t bits) {
  return der::bits(ByteView(&bits, 1), static_cast<std::uint8_t>(std::countr_zero(bits)));
}

Bytes signed_by(const std::string& signer, ByteView seed, HashAlgorithm hash, Bytes body) {
  const Bytes signature = SimulatedRsaKey(seed, signer).sign(body, hash);
  return der::sequence({std::move(body), pss(hash), der::bits(signature)});
}

Bytes make_amd_certificate(const SimulatedCertificate& spec, ByteView seed) {
  std::vector<Bytes> extensions;
  if (spec.key_usage != 0) {
    extensions.push_back(extension_of("2.5.29.15", true, usage_bits(spec.key_usage)));
    const Bytes constraints = spec.is_ca ? der::sequence({der::boolean_true()}) : der::sequence({});
    extensions.push_back(extension_of("2.5.29.19", true, constraints));
  }
  for (const auto& [oid, content] : spec.extensions) {
    extensions.push_back(extension_of(oid, false, content));
  }
  const Bytes spki = spec.key_usage != 0 ? SimulatedRsaKey(seed, spec.key).spki()
                                         : SimulatedP384Key(seed, spec.key).spki();
  return signed_by(
      spec.signer, seed, spec.hash,
      der::sequence({der::context(0, der::integer(2)), der::integer(spec.serial), pss(spec.hash),
                     amd_name(spec.issuer),
                     der::sequence({der::time(spec.not_before), der::time(spec.not_after)}),
                     amd_name(spec.subject), spki, der::context(3, der::sequence(extensions))}));
}

Bytes make_amd_crl(const SimulatedCrl& spec, ByteView seed) {
  std::vector<Bytes> entries;
  for (const std::uint64_t serial : spec.revoked) {
    entries.push_back(der::sequence({der::integer(serial), der::time(spec.this_update)}));
  }
  std::vector<Bytes> parts = {der::integer(1), pss(HashAlgorithm::kSha384), amd_name(spec.issuer),
                              der::time(spec.this_update), der::time(spec.next_update)};
  if (!entries.empty()) {
    parts.push_back(der::sequence(entries));
  }
  const Bytes number = extension_of("2.5.29.20", false, der::integer(1));
  parts.push_back(der::context(0, der::sequence({number})));
  return signed_by(spec.signer, seed, HashAlgorithm::kSha384, der::sequence(parts));
}

std::vector<std::pair<std::string, Bytes>> amd_extensions(const SnpSimulationSpec& spec) {
  const std::string arc(kArc);
  const Bytes zero = der::integer(0);
  std::vector<std::pair<std::string, Bytes>> list = {
      {arc + "1", zero},
      {arc + "2", der::value(0x16, as_bytes(product(spec.generation)))},
      {arc + "3.1", der::integer(spec.leaf_tcb.boot_loader)},
      {arc + "3.2", der::integer(spec.leaf_tcb.tee)},
      {arc + "3.3", der::integer(spec.leaf_tcb.snp)},
      {arc + "3.4", zero},
      {arc + "3.5", zero},
      {arc + "3.6", zero},
      {arc + "3.7", zero},
      {arc + "3.8", der::integer(spec.leaf_tcb.microcode)}};
  if (spec.generation == Generation::kTurin) {
    list.emplace_back(arc + "3.9", der::integer(spec.leaf_tcb.fmc));
  }
  if (!spec.leaf_chip_id.empty()) {
    list.emplace_back(arc + "4", spec.leaf_chip_id);
  }
  if (!spec.leaf_provider.empty()) {
    list.emplace_back(arc + "5", der::value(0x16, as_bytes(spec.leaf_provider)));
  }
  return list;
}

// --- the report

class Writer {
 public:
  void number(std::size_t offset, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      bytes_[offset + i] = static_cast<std::uint8_t>(value >> (8 * i));
    }
  }
  void bytes(std::size_t offset, ByteView value) {
    std::ranges::copy(value, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void reversed(std::size_t offset, ByteView value) {
    std::ranges::reverse_copy(value, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void firmware(std::size_t offset, const Firmware& value) {
    bytes_[offset] = value.build;
    bytes_[offset + 1] = value.minor;
    bytes_[offset + 2] = value.major;
  }
  [[nodiscard]] Bytes& all() { return bytes_; }

 private:
  Bytes bytes_ = Bytes(kReportBytes);
};

void write_guest(const Report& report, Writer& out) {
  out.number(0x00, report.version, 4);
  out.number(0x04, report.guest_svn, 4);
  out.number(0x08, report.policy, 8);
  out.bytes(0x10, report.family_id);
  out.bytes(0x20, report.image_id);
  out.number(0x30, report.vmpl, 4);
  out.number(0x34, 1, 4);
  out.bytes(0x50, report.report_data);
  out.bytes(0x90, report.measurement);
  out.bytes(0xc0, report.host_data);
  out.bytes(0xe0, report.id_key_digest);
  out.bytes(0x110, report.author_key_digest);
  out.bytes(0x140, report.report_id);
  out.bytes(0x160, report.report_id_ma);
}

void write_machine(const Report& report, Writer& out) {
  out.bytes(0x38, report.current_tcb);
  out.number(0x40, report.platform_info, 8);
  const std::uint64_t flags = (report.has_author_key ? 1U : 0U) |
                              (report.masks_chip_key ? 2U : 0U) |
                              (report.signing_key == SigningKey::kVlek ? 4U : 0U);
  out.number(0x48, flags, 4);
  out.bytes(0x180, report.reported_tcb);
  if (report.cpu) {
    out.number(0x188, report.cpu->family, 1);
    out.number(0x189, report.cpu->model, 1);
    out.number(0x18a, report.cpu->stepping, 1);
  }
  out.bytes(0x1a0, report.chip_id);
  out.bytes(0x1e0, report.committed_tcb);
  out.firmware(0x1e8, report.current);
  out.firmware(0x1ec, report.committed);
  out.bytes(0x1f0, report.launch_tcb);
  out.number(0x1f8, report.launch_mitigations.value_or(0), 8);
  out.number(0x200, report.current_mitigations.value_or(0), 8);
}

// --- a valid machine

template <std::size_t N>
std::array<std::uint8_t, N> follow(ByteView seed, std::string_view label) {
  const Digest first =
      sha(HashAlgorithm::kSha384, {as_bytes("assay simulated SNP value"), seed, as_bytes(label)});
  const Digest second = sha(HashAlgorithm::kSha384, first.bytes());
  std::array<std::uint8_t, N> value{};
  for (std::size_t i = 0; i < N; ++i) {
    value[i] = i < 48 ? first.bytes()[i] : second.bytes()[i - 48];
  }
  return value;
}

Timestamp start_of(int year) {
  return std::chrono::sys_days(std::chrono::year(year) / std::chrono::January / 1);
}

Cpu cpu_of(Generation generation) {
  switch (generation) {
    case Generation::kMilan:
      return {0x19, 0x01, 0x01};
    case Generation::kGenoa:
      return {0x19, 0x11, 0x01};
    case Generation::kTurin:
      break;
  }
  return {0x1a, 0x02, 0x01};
}

Report valid_report(ByteView seed, Generation generation, SigningKey kind, const Tcb& tcb) {
  Report report;
  report.version = 5;
  report.guest_svn = 3;
  report.policy = kSimulatedPolicy;
  report.platform_info = kSimulatedMachine;
  report.signing_key = kind;
  report.measurement = follow<48>(seed, "measurement");
  report.host_data = follow<32>(seed, "host data");
  report.family_id = follow<16>(seed, "family id");
  report.image_id = follow<16>(seed, "image id");
  report.id_key_digest = follow<48>(seed, "id key");
  report.has_author_key = true;
  report.author_key_digest = follow<48>(seed, "author key");
  report.report_id = follow<32>(seed, "report id");
  report.report_id_ma.fill(0xff);
  report.cpu = cpu_of(generation);
  report.current = report.committed = {1, 58, 2};
  report.launch_mitigations = report.current_mitigations = 0;
  report.current_tcb = report.reported_tcb = report.committed_tcb = report.launch_tcb =
      encode(tcb, generation);
  if (kind == SigningKey::kVcek) {
    report.chip_id = follow<64>(seed, "chip id");
    if (generation == Generation::kTurin) {
      std::fill(report.chip_id.begin() + 8, report.chip_id.end(), std::uint8_t{0});
    }
  }
  return report;
}

SimulatedCertificate authority(std::string subject, std::string issuer, std::uint64_t serial,
                               std::uint8_t usage, std::string key) {
  return {.subject = std::move(subject),
          .issuer = std::move(issuer),
          .serial = serial,
          .not_before = start_of(2020),
          .not_after = start_of(2049),
          .is_ca = true,
          .key_usage = usage,
          .key = std::move(key),
          .signer = "root",
          .extensions = {}};
}

}  // namespace

Bytes make_report(const Report& report, ByteView seed, std::string_view signer) {
  Writer out;
  write_guest(report, out);
  write_machine(report, out);
  const auto signature =
      SimulatedP384Key(seed, signer).sign(ByteView(out.all()).first(kSignedBytes));
  out.reversed(kSignedBytes, ByteView(signature).first(48));
  out.reversed(kSignedBytes + 72, ByteView(signature).last(48));
  return std::move(out.all());
}

SnpSimulationSpec valid_snp_simulation(ByteView seed, Timestamp now, Generation generation,
                                       SigningKey kind) {
  const std::string made(product(generation));
  const std::string root_name = "ARK-" + made;
  const bool vcek = kind == SigningKey::kVcek;
  SnpSimulationSpec spec;
  spec.seed = Bytes(seed.begin(), seed.end());
  spec.seed.push_back(static_cast<std::uint8_t>(generation));
  spec.generation = generation;
  spec.leaf_tcb =
      Tcb{generation == Generation::kTurin ? std::uint8_t{1} : std::uint8_t{0}, 4, 0, 24, 219};
  spec.report = valid_report(seed, generation, kind, spec.leaf_tcb);
  spec.report_signer = vcek ? "vcek" : "vlek";
  spec.root = authority(root_name, root_name, 0x10000, kUsageRoot, "root");
  spec.ca = authority((vcek ? "SEV-" : "SEV-VLEK-") + made, root_name, vcek ? 0x10001 : 0x10101,
                      kUsageIssuer, vcek ? "ask" : "asvk");
  spec.leaf = {.subject = vcek ? "SEV-VCEK" : "SEV-VLEK",
               .issuer = spec.ca.subject,
               .not_before = start_of(2024),
               .not_after = start_of(2031),
               .key = spec.report_signer,
               .signer = spec.ca.key,
               .extensions = {}};
  if (vcek) {
    const std::size_t size = generation == Generation::kTurin ? 8 : 64;
    spec.leaf_chip_id.assign(spec.report.chip_id.begin(),
                             spec.report.chip_id.begin() + static_cast<std::ptrdiff_t>(size));
  } else {
    spec.leaf_provider = "CN=simulated.example";
  }
  const Timestamp second = std::chrono::floor<std::chrono::seconds>(now);
  spec.crl = {root_name, second - std::chrono::days(1), second + std::chrono::days(29), {}, "root"};
  return spec;
}

SnpSimulation simulate(const SnpSimulationSpec& spec) {
  SimulatedCertificate leaf_spec = spec.leaf;
  const auto own = amd_extensions(spec);
  leaf_spec.extensions.insert(leaf_spec.extensions.begin(), own.begin(), own.end());
  const Bytes leaf = make_amd_certificate(leaf_spec, spec.seed);
  const Bytes ca = make_amd_certificate(spec.ca, spec.seed);
  SnpSimulation made;
  made.root = make_amd_certificate(spec.root, spec.seed);
  CertificateTable table;
  (spec.report.signing_key == SigningKey::kVcek ? table.vcek : table.vlek) = leaf;
  table.ask = ca;
  table.ark = made.root;
  made.evidence = make_report(spec.report, spec.seed, spec.report_signer);
  const Bytes certificates = make_certificate_table(table);
  made.evidence.insert(made.evidence.end(), certificates.begin(), certificates.end());
  made.collateral.crl = make_amd_crl(spec.crl, spec.seed);
  return made;
}

}  // namespace assay::attestation::snp
