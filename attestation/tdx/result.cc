// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/result.h"

namespace assay::attestation::tdx {
namespace {

Json text_or_null(const std::optional<Digest>& digest) {
  return digest ? Json(digest->text()) : Json(nullptr);
}

Json time_or_null(const std::optional<Timestamp>& time) {
  return time ? Json(to_rfc3339(*time)) : Json(nullptr);
}

template <typename T>
Json number_or_null(const std::optional<T>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json shortfalls_json(const std::vector<Shortfall>& list) {
  Json json = Json::array();
  for (const Shortfall& entry : list) {
    json.push_back({{"component", entry.component},
                    {"have", entry.have},
                    {"need", entry.need},
                    {"words", words(entry)}});
  }
  return json;
}

Json tcb_json(const AppraisalResult& result) {
  Json json = {{"status", nullptr},
               {"platform", nullptr},
               {"module", nullptr},
               {"qe", nullptr},
               {"date", nullptr},
               {"advisories", Json::array()},
               {"evaluation_number", number_or_null(result.tcb_evaluation_number)},
               {"qe_evaluation_number", number_or_null(result.qe_evaluation_number)},
               {"shortfall", shortfalls_json(result.shortfalls)}};
  if (result.tcb) {
    json["status"] = name(result.tcb->status);
    json["platform"] = name(result.tcb->platform);
    json["module"] = result.tcb->module ? Json(name(*result.tcb->module)) : Json(nullptr);
    json["qe"] = name(result.tcb->qe);
    json["date"] = to_rfc3339(result.tcb->date);
    json["advisories"] = result.tcb->advisories;
  }
  return json;
}

std::string_view name_of(BodyType type) {
  switch (type) {
    case BodyType::kTd10:
      return "td-1.0";
    case BodyType::kTd15:
      return "td-1.5";
    case BodyType::kTd15Ex:
      break;
  }
  return "td-1.5-extended";
}

Json measurements_json(const AppraisalResult& result) {
  const auto& report = result.report;
  if (!report) {
    return Json::object();
  }
  // TD 1.0 reports do not have the later members: null, not zero.
  const bool td10 = result.body_type == BodyType::kTd10;
  return {{"mrtd", hex_encode(report->mrtd)},
          {"rtmr0", hex_encode(report->rtmr[0])},
          {"rtmr1", hex_encode(report->rtmr[1])},
          {"rtmr2", hex_encode(report->rtmr[2])},
          {"rtmr3", hex_encode(report->rtmr[3])},
          {"mrseam", hex_encode(report->mrseam)},
          {"mrsignerseam", hex_encode(report->mrsignerseam)},
          {"mrconfigid", hex_encode(report->mrconfigid)},
          {"mrowner", hex_encode(report->mrowner)},
          {"mrownerconfig", hex_encode(report->mrownerconfig)},
          {"mrservicetd", td10 ? Json(nullptr) : Json(hex_encode(report->mrservicetd))},
          {"report_data", hex_encode(report->report_data)},
          {"td_attributes", hex_encode(report->tdattributes)},
          {"xfam", hex_encode(report->xfam)},
          {"tee_tcb_svn", hex_encode(report->tee_tcb_svn)},
          {"tee_tcb_svn2", td10 ? Json(nullptr) : Json(hex_encode(report->tee_tcb_svn2))}};
}

Json platform_json(const std::optional<PlatformIdentity>& platform) {
  if (!platform) {
    return nullptr;
  }
  return {{"fmspc", hex_encode(platform->fmspc)},
          {"pceid", hex_encode(platform->pceid)},
          {"ppid", hex_encode(platform->ppid)},
          {"platform_instance_id", platform->platform_instance_id
                                       ? Json(hex_encode(*platform->platform_instance_id))
                                       : Json(nullptr)},
          {"pck_ca", platform->pck_ca},
          {"pck_certificate", text_or_null(platform->pck_certificate)}};
}

}  // namespace

std::optional<std::string> error_code(const AppraisalResult& result) {
  return result.failure ? std::optional(code(*result.failure)) : std::nullopt;
}

Json to_json(const AppraisalResult& result) {
  const auto error = error_code(result);
  return {{"type", "tdx"},
          {"verdict", result.accepted ? "accepted" : "rejected"},
          {"error", error ? Json(*error) : Json(nullptr)},
          {"report_data_bound", result.report_data_bound},
          {"quote_version", number_or_null(result.quote_version)},
          {"report", result.body_type ? Json(name_of(*result.body_type)) : Json(nullptr)},
          {"tcb", tcb_json(result)},
          {"measurements", measurements_json(result)},
          {"reference_values", appraisal::matched_json(result.matched)},
          {"platform", platform_json(result.platform)},
          {"event_log", result.event_log ? to_json(*result.event_log) : Json(nullptr)},
          {"valid_from", time_or_null(result.valid_from)},
          {"valid_until", time_or_null(result.valid_until)},
          {"anchor", text_or_null(result.anchor)},
          {"anchor_is_intel", result.anchor_is_intel},
          {"collateral", text_or_null(result.collateral)},
          {"not_constrained", result.not_constrained},
          {"checks", appraisal::checks_json(result.checks)}};
}

}  // namespace assay::attestation::tdx
