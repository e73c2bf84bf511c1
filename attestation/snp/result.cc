// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/result.h"

#include <array>
#include <span>

namespace assay::attestation::snp {
namespace {

struct NamedBit {
  const char* name;
  std::uint64_t bit;
};
constexpr std::array<NamedBit, 9> kGuestBits = {{
    {"smt", guest_policy::kSmt},
    {"migrate_ma", guest_policy::kMigrateMa},
    {"debug", guest_policy::kDebug},
    {"single_socket", guest_policy::kSingleSocket},
    {"cxl_allow", guest_policy::kCxlAllow},
    {"mem_aes_256_xts", guest_policy::kMemAes256Xts},
    {"rapl_disabled", guest_policy::kRaplDisabled},
    {"ciphertext_hiding", guest_policy::kCiphertextHiding},
    {"page_swap_disabled", guest_policy::kPageSwapDisabled},
}};
constexpr std::array<NamedBit, 7> kMachineBits = {{
    {"smt", platform_info::kSmt},
    {"tsme", platform_info::kTsme},
    {"ecc", platform_info::kEcc},
    {"rapl_disabled", platform_info::kRaplDisabled},
    {"ciphertext_hiding", platform_info::kCiphertextHiding},
    {"alias_check", platform_info::kAliasCheck},
    {"trusted_io", platform_info::kTrustedIo},
}};

Json digest_or_null(const std::optional<Digest>& digest) {
  return digest ? Json(digest->text()) : Json(nullptr);
}
Json instant_or_null(const std::optional<Timestamp>& time) {
  return time ? Json(to_rfc3339(*time)) : Json(nullptr);
}
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string hex_bits(std::uint64_t bits) {
  std::array<std::uint8_t, 8> bytes{};
  for (std::size_t i = bytes.size(); i-- > 0;) {
    bytes[i] = static_cast<std::uint8_t>(bits);
    bits >>= 8;
  }
  return hex_encode(bytes);
}

Json bits_json(std::span<const NamedBit> names, std::uint64_t bits) {
  Json json = {{"bits", hex_bits(bits)}};
  for (const NamedBit& one : names) {
    json[one.name] = (bits & one.bit) != 0;
  }
  return json;
}

std::string version_text(const Firmware& firmware) {
  return std::to_string(firmware.major) + "." + std::to_string(firmware.minor) + "." +
         std::to_string(firmware.build);
}

Json level_json(const AppraisalResult& result) {
  Json json = {{"status", result.tcb_status ? Json(name(*result.tcb_status)) : Json(nullptr)},
               {"current", nullptr},
               {"reported", nullptr},
               {"committed", nullptr},
               {"launch", nullptr}};
  if (result.tcbs) {
    json["current"] = to_json(result.tcbs->current, *result.generation);
    json["reported"] = to_json(result.tcbs->reported, *result.generation);
    json["committed"] = to_json(result.tcbs->committed, *result.generation);
    json["launch"] = to_json(result.tcbs->launch, *result.generation);
  }
  return json;
}

Json mitigations(const std::optional<std::uint64_t>& bits) {
  return bits ? Json(hex_bits(*bits)) : Json(nullptr);
}

Json guest_json(const std::optional<Report>& report) {
  if (!report) {
    return Json::object();
  }
  return {{"measurement", hex_encode(report->measurement)},
          {"host_data", hex_encode(report->host_data)},
          {"id_key_digest", hex_encode(report->id_key_digest)},
          {"author_key_digest",
           report->has_author_key ? Json(hex_encode(report->author_key_digest)) : Json(nullptr)},
          {"family_id", hex_encode(report->family_id)},
          {"image_id", hex_encode(report->image_id)},
          {"report_id", hex_encode(report->report_id)},
          {"report_id_ma", hex_encode(report->report_id_ma)},
          {"report_data", hex_encode(report->report_data)},
          {"guest_svn", report->guest_svn},
          {"vmpl", report->vmpl},
          {"policy", bits_json(kGuestBits, report->policy)}};
}

Json machine_json(const AppraisalResult& result) {
  if (!result.report || !result.leaf) {
    return nullptr;
  }
  const Report& report = *result.report;
  return {{"id", hex_encode(platform_of(report))},
          {"chip_id_hidden", report.chip_id == ChipId{}},
          {"signing_key", name(report.signing_key)},
          {"certificate", digest_or_null(result.leaf_certificate)},
          {"product", text_or_null(result.leaf->product)},
          {"provider", text_or_null(result.leaf->provider)},
          {"cpu", report.cpu ? Json{{"family", report.cpu->family},
                                    {"model", report.cpu->model},
                                    {"stepping", report.cpu->stepping}}
                             : Json(nullptr)},
          {"firmware", version_text(report.current)},
          {"committed_firmware", version_text(report.committed)},
          {"launch_mitigations", mitigations(report.launch_mitigations)},
          {"current_mitigations", mitigations(report.current_mitigations)},
          {"info", bits_json(kMachineBits, report.platform_info)}};
}

}  // namespace

std::string_view name(TcbStatus status) {
  switch (status) {
    case TcbStatus::kUpToDate:
      return "UpToDate";
    case TcbStatus::kOutOfDate:
      return "OutOfDate";
    case TcbStatus::kUnrated:
      break;
  }
  return "Unrated";
}

std::optional<std::string> error_code(const AppraisalResult& result) {
  return result.failure ? std::optional(code(*result.failure)) : std::nullopt;
}

ByteView platform_of(const Report& report) {
  return report.chip_id == ChipId{} ? ByteView(report.report_id) : ByteView(report.chip_id);
}

Json to_json(const AppraisalResult& result) {
  const auto error = error_code(result);
  return {{"type", "sev-snp"},
          {"verdict", result.accepted ? "accepted" : "rejected"},
          {"error", error ? Json(*error) : Json(nullptr)},
          {"report_data_bound", result.report_data_bound},
          {"report_version", result.report_version ? Json(*result.report_version) : Json(nullptr)},
          {"generation", result.generation ? Json(name(*result.generation)) : Json(nullptr)},
          {"tcb", level_json(result)},
          {"measurements", guest_json(result.report)},
          {"reference_values", appraisal::matched_json(result.matched)},
          {"platform", machine_json(result)},
          {"valid_from", instant_or_null(result.valid_from)},
          {"valid_until", instant_or_null(result.valid_until)},
          {"anchor", digest_or_null(result.anchor)},
          {"anchor_is_amd", result.anchor_is_amd},
          {"collateral", digest_or_null(result.collateral)},
          {"not_constrained", result.not_constrained},
          {"checks", appraisal::checks_json(result.checks)}};
}

}  // namespace assay::attestation::snp
