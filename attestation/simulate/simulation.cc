// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/simulation.h"

#include <algorithm>

#include "attestation/simulate/writer.h"
#include "schemas/core/sha.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::string_view kRootName = "Intel SGX Root CA";
constexpr std::string_view kPckCaName = "Intel SGX PCK Platform CA";
constexpr std::string_view kPckName = "Intel SGX PCK Certificate";
constexpr std::string_view kTcbSigningName = "Intel SGX TCB Signing";

constexpr std::array<std::uint8_t, 16> kIntelQe = {0x93, 0x9a, 0x72, 0x33, 0xf7, 0x9c, 0x4c, 0xa9,
                                                   0x94, 0x0a, 0x0d, 0xb3, 0x95, 0x7f, 0x06, 0x07};

// The newest TCB level; the platform is exactly there.
constexpr Svns kSgxLatest = {8, 8, 2, 2, 3, 1, 0, 5};
constexpr Svns kSgxOld = {7, 7, 2, 2, 3, 1, 0, 5};
constexpr Svns kSgxRevoked = {5, 5, 2, 2, 3, 1, 0, 3};
constexpr Svns kTdxLatest = {5, 0, 6};
constexpr Svns kTdxOld = {5, 0, 5};
constexpr Svns kTdxRevoked = {3, 0, 3};
constexpr std::uint16_t kPcesvnLatest = 13;
constexpr std::uint16_t kPcesvnOld = 11;
constexpr std::uint16_t kPcesvnRevoked = 5;

Timestamp at(int year) {
  return std::chrono::sys_days(std::chrono::year(year) / std::chrono::January / 1);
}

// A value that follows from the seed and is recognisable as nothing else.
template <std::size_t N>
std::array<std::uint8_t, N> derive(ByteView seed, std::string_view label) {
  const Digest digest =
      sha(HashAlgorithm::kSha384, {as_bytes("assay simulated value"), seed, as_bytes(label)});
  std::array<std::uint8_t, N> value{};
  std::copy_n(digest.bytes().begin(), N, value.begin());
  return value;
}

std::string upper_hex(ByteView bytes) {
  std::string text = hex_encode(bytes);
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string second_of(Timestamp time) { return to_rfc3339(time).substr(0, 19) + "Z"; }

Json components(const Svns& svns) {
  Json list = Json::array();
  for (const std::uint8_t svn : svns) {
    list.push_back({{"svn", svn}});
  }
  return list;
}

Json module_identity(const std::string& id) {
  const std::string zero_signer(96, '0');
  Json json = {{"mrsigner", zero_signer},
               {"attributes", "0000000000000000"},
               {"attributesMask", "FFFFFFFFFFFFFFFF"}};
  if (!id.empty()) {
    json["id"] = id;
    json["tcbLevels"] = {make_component_level(5, "UpToDate"), make_component_level(4, "OutOfDate"),
                         make_component_level(2, "Revoked")};
  }
  return json;
}

Json make_tcb_info(const PckExtension& platform, Timestamp issued, Timestamp next_update) {
  return {{"id", "TDX"},
          {"version", 3},
          {"issueDate", second_of(issued)},
          {"nextUpdate", second_of(next_update)},
          {"fmspc", upper_hex(platform.fmspc)},
          {"pceId", upper_hex(platform.pceid)},
          {"tcbType", 0},
          {"tcbEvaluationDataNumber", 18},
          {"tdxModule", module_identity("")},
          {"tdxModuleIdentities", {module_identity("TDX_01"), module_identity("TDX_03")}},
          {"tcbLevels",
           {make_platform_level(kSgxLatest, kPcesvnLatest, kTdxLatest, "UpToDate"),
            make_platform_level(kSgxOld, kPcesvnOld, kTdxOld, "OutOfDate"),
            make_platform_level(kSgxRevoked, kPcesvnRevoked, kTdxRevoked, "Revoked")}}};
}

Json make_qe_identity(const QeReport& qe, Timestamp issued, Timestamp next_update) {
  return {{"id", "TD_QE"},
          {"version", 2},
          {"issueDate", second_of(issued)},
          {"nextUpdate", second_of(next_update)},
          {"tcbEvaluationDataNumber", 18},
          {"miscselect", "00000000"},
          {"miscselectMask", "FFFFFFFF"},
          {"attributes", "11000000000000000000000000000000"},
          {"attributesMask", "FBFFFFFFFFFFFFFF0000000000000000"},
          {"mrsigner", upper_hex(qe.mrsigner)},
          {"isvprodid", qe.isvprodid},
          {"tcbLevels",
           {make_component_level(4, "UpToDate"), make_component_level(2, "OutOfDate"),
            make_component_level(1, "Revoked")}}};
}

CertificateSpec make_ca(std::string_view subject, std::string_view key, std::uint64_t serial,
                        std::uint8_t path_length) {
  CertificateSpec spec;
  spec.subject = subject;
  spec.issuer = kRootName;
  spec.serial = serial;
  spec.not_before = at(2020);
  spec.not_after = at(2049);
  spec.is_ca = true;
  spec.path_length = path_length;
  spec.key_usage = kUsageCa;
  spec.key = key;
  spec.signer = kRootKey;
  return spec;
}

CertificateSpec make_leaf(std::string_view subject, std::string_view issuer, std::string_view key,
                          std::string_view signer, std::uint64_t serial) {
  CertificateSpec spec;
  spec.subject = subject;
  spec.issuer = issuer;
  spec.serial = serial;
  spec.not_before = at(2020);
  spec.not_after = at(2049);
  spec.key = key;
  spec.signer = signer;
  return spec;
}

PckExtension make_platform(ByteView seed) {
  PckExtension platform;
  platform.ppid = derive<16>(seed, "ppid");
  platform.components = kSgxLatest;
  platform.pcesvn = kPcesvnLatest;
  platform.fmspc = {0x5a, 0xc0, 0x6f, 0x00, 0x00, 0x00};
  platform.sgx_type = 1;
  platform.platform_instance_id = derive<16>(seed, "platform instance");
  return platform;
}

// A production TD: no debugging, SEPT_VE_DISABLE, x87, SSE and AVX state.
TdReport make_report(ByteView seed) {
  TdReport report;
  report.tee_tcb_svn = {5, 1, 6};
  report.mrseam = derive<48>(seed, "mrseam");
  report.tdattributes = {0, 0, 0, 0x10};
  report.xfam = {0xe7};
  report.mrtd = derive<48>(seed, "mrtd");
  report.rtmr = registers_of(valid_boot(seed));
  return report;
}

QeReport make_qe(ByteView seed) {
  QeReport qe;
  qe.attributes = {0x11};
  qe.mrsigner = derive<32>(seed, "qe signer");
  qe.isvprodid = 2;
  qe.isvsvn = 4;
  return qe;
}

Bytes write_report(const TdReport& report, BodyType type) {
  Writer out;
  out.bytes(report.tee_tcb_svn);
  out.bytes(report.mrseam);
  out.bytes(report.mrsignerseam);
  out.bytes(report.seamattributes);
  out.bytes(report.tdattributes);
  out.bytes(report.xfam);
  out.bytes(report.mrtd);
  out.bytes(report.mrconfigid);
  out.bytes(report.mrowner);
  out.bytes(report.mrownerconfig);
  for (const Measurement& rtmr : report.rtmr) {
    out.bytes(rtmr);
  }
  out.bytes(report.report_data);
  if (type != BodyType::kTd10) {
    out.bytes(report.tee_tcb_svn2);
    out.bytes(report.mrservicetd);
  }
  if (type == BodyType::kTd15Ex) {
    out.zeros(1 + 32 + 48);
    out.bytes(report.init_servicetd_hash);
    out.zeros(8 + 16 + 16 + 12);
    out.bytes(report.current_servicetd_hash);
    out.zeros(8);
  }
  return out.take();
}

Bytes write_qe_report(const QeReport& qe, const ReportData& report_data) {
  Writer out;
  out.zeros(16);
  out.bytes(qe.miscselect);
  out.zeros(28);
  out.bytes(qe.attributes);
  out.zeros(32 + 32);
  out.bytes(qe.mrsigner);
  out.zeros(96);
  out.number(qe.isvprodid, 2);
  out.number(qe.isvsvn, 2);
  out.zeros(60);
  out.bytes(report_data);
  return out.take();
}

// Header, descriptor, body: what the attestation key signs.
Bytes write_signed_part(const QuoteSpec& spec) {
  const Bytes body = write_report(spec.report, spec.body_type);
  Writer out;
  out.number(spec.version, 2);
  out.number(2, 2);
  out.number(0x81, 4);
  out.number(0, 4);
  out.bytes(kIntelQe);
  out.bytes(spec.user_data);
  if (spec.version == 5) {
    out.number(std::to_underlying(spec.body_type), 2);
    out.number(body.size(), 4);
  }
  out.bytes(body);
  return out.take();
}

Collateral make_collateral(const SimulationSpec& spec, const Bytes& root) {
  const auto sign = [&](const std::string& text, const std::string& signer) {
    return hex_encode(SimulatedKey(spec.seed, signer).sign(as_bytes(text)));
  };
  const std::string root_pem = to_pem(root);
  const auto chain = [&](const CertificateSpec& signing) {
    return to_pem(make_certificate(signing, spec.seed)) + root_pem;
  };
  Collateral collateral;
  collateral.pck_crl_issuer_chain = to_pem(make_certificate(spec.pck_ca, spec.seed)) + root_pem;
  collateral.root_ca_crl = hex_encode(make_crl(spec.root_crl, spec.seed));
  collateral.pck_crl = hex_encode(make_crl(spec.pck_crl, spec.seed));
  collateral.tcb_info_issuer_chain = chain(spec.tcb_signing);
  collateral.tcb_info = spec.tcb_info.dump();
  collateral.tcb_info_signature = sign(collateral.tcb_info, spec.tcb_info_signer);
  collateral.qe_identity_issuer_chain = chain(spec.qe_identity_signing.value_or(spec.tcb_signing));
  collateral.qe_identity = spec.qe_identity.dump();
  collateral.qe_identity_signature = sign(collateral.qe_identity, spec.qe_identity_signer);
  return collateral;
}

}  // namespace

Json make_platform_level(const Svns& sgx, std::uint16_t pcesvn, const Svns& tdx,
                         std::string_view status) {
  Json level = {{"tcb",
                 {{"sgxtcbcomponents", components(sgx)},
                  {"pcesvn", pcesvn},
                  {"tdxtcbcomponents", components(tdx)}}},
                {"tcbDate", status == "UpToDate" ? "2024-11-13T00:00:00Z" : "2024-03-13T00:00:00Z"},
                {"tcbStatus", status}};
  if (status != "UpToDate") {
    level["advisoryIDs"] = Json::array({"INTEL-SA-00001"});
  }
  return level;
}

Json make_component_level(std::uint16_t isvsvn, std::string_view status) {
  Json level = {{"tcb", {{"isvsvn", isvsvn}}},
                {"tcbDate", status == "UpToDate" ? "2024-11-13T00:00:00Z" : "2023-08-09T00:00:00Z"},
                {"tcbStatus", status}};
  if (status != "UpToDate") {
    level["advisoryIDs"] = Json::array({"INTEL-SA-00002"});
  }
  return level;
}

SimulationSpec valid_simulation(ByteView seed, Timestamp now) {
  using std::chrono::days;
  SimulationSpec spec;
  const Timestamp second = std::chrono::floor<std::chrono::seconds>(now);
  spec.seed.assign(seed.begin(), seed.end());
  spec.root = make_ca(kRootName, kRootKey, 1, 1);
  spec.pck_ca = make_ca(kPckCaName, kPckCaKey, 2, 0);
  spec.tcb_signing = make_leaf(kTcbSigningName, kRootName, kTcbSigningKey, kRootKey, 3);
  spec.pck = make_leaf(kPckName, kPckCaName, kPckKey, kPckCaKey, 4);
  spec.platform = make_platform(seed);
  spec.root_crl = {std::string(kRootName), second - days(1),
                   second + days(365),     {},
                   std::string(kRootKey),  false};
  spec.pck_crl = {std::string(kPckCaName), second - days(1),
                  second + days(29),       {},
                  std::string(kPckCaKey),  false};
  spec.quote.report = make_report(seed);
  spec.event_log = valid_boot(seed);
  spec.quote.qe = make_qe(seed);
  const auto auth_data = derive<32>(seed, "qe authentication data");
  spec.quote.qe_auth_data.assign(auth_data.begin(), auth_data.end());
  spec.tcb_info = make_tcb_info(spec.platform, second - days(1), second + days(29));
  spec.qe_identity = make_qe_identity(spec.quote.qe, second - days(1), second + days(29));
  return spec;
}

SimulationSpec valid_simulation_v5(ByteView seed, Timestamp now) {
  SimulationSpec spec = valid_simulation(seed, now);
  spec.quote.version = 5;
  spec.quote.body_type = BodyType::kTd15;
  spec.quote.report.tee_tcb_svn2 = spec.quote.report.tee_tcb_svn;
  return spec;
}

std::string make_pck_chain(const SimulationSpec& spec) {
  CertificateSpec pck = spec.pck;
  if (pck.sgx_extension.empty()) {
    pck.sgx_extension = make_sgx_extension(spec.platform);
  }
  return to_pem(make_certificate(pck, spec.seed)) +
         to_pem(make_certificate(spec.pck_ca, spec.seed)) +
         to_pem(make_certificate(spec.root, spec.seed));
}

Bytes make_quote(const QuoteSpec& spec, ByteView seed, std::string_view pck_chain) {
  const Bytes signed_part = write_signed_part(spec);
  const auto key =
      spec.attestation_point.value_or(SimulatedKey(seed, spec.attestation_key).point());
  ReportData bound{};
  const Digest digest = sha(HashAlgorithm::kSha256, {key, spec.qe_auth_data});
  std::ranges::copy(digest.bytes(), bound.begin());
  const Bytes qe_report = write_qe_report(spec.qe, spec.qe_report_data.value_or(bound));
  const std::size_t chain_size = pck_chain.size() + (spec.nul_behind_chain ? 1 : 0);
  const std::size_t inner_size =
      qe_report.size() + 64 + 2 + spec.qe_auth_data.size() + 6 + chain_size;
  Writer out;
  out.bytes(signed_part);
  out.number(64 + 64 + 6 + inner_size, 4);
  out.bytes(SimulatedKey(seed, spec.quote_signer).sign(signed_part));
  out.bytes(key);
  out.number(6, 2);
  out.number(inner_size, 4);
  out.bytes(qe_report);
  out.bytes(SimulatedKey(seed, spec.qe_report_signer).sign(qe_report));
  out.number(spec.qe_auth_data.size(), 2);
  out.bytes(spec.qe_auth_data);
  out.number(5, 2);
  out.number(chain_size, 4);
  out.bytes(as_bytes(pck_chain));
  out.zeros(chain_size - pck_chain.size() + spec.padding);
  return out.take();
}

Simulation simulate(const SimulationSpec& spec) {
  Bytes root = make_certificate(spec.root, spec.seed);
  Collateral collateral = make_collateral(spec, root);
  return {make_quote(spec.quote, spec.seed, make_pck_chain(spec)), make_event_log(spec.event_log),
          std::move(collateral), std::move(root)};
}

}  // namespace assay::attestation::tdx
