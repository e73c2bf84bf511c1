// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/appraisal_policy.h"

#include <algorithm>
#include <utility>

#include "attestation/tdx/json_fields.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::array<std::string_view, kReferenceCount> kReferenceNames = {
    "mrtd", "mrseam", "mrconfigid", "mrowner", "mrownerconfig", "rtmr0", "rtmr1", "rtmr2", "rtmr3"};

std::unexpected<Error> violation(std::string_view member, std::string why) {
  return fail(ErrorCode::kSchemaViolation, std::move(why), "/" + std::string(member));
}

Status refuse_unknown(const Json& object, const std::string& place,
                      std::span<const std::string_view> names) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(names, key) == names.end()) {
      return fail(ErrorCode::kUnknownMember, "the appraisal policy has no such member",
                  place + "/" + key);
    }
  }
  return {};
}

Status read_flag(const Json& json, const char* name, bool& out) {
  if (const Json* member = fields::find(json, name); member != nullptr) {
    if (!member->is_boolean()) {
      return violation(name, "write true or false");
    }
    out = member->get<bool>();
  }
  return {};
}

Status read_number(const Json& json, const char* name, std::uint32_t& out) {
  if (fields::find(json, name) != nullptr) {
    const auto number = fields::number(json, name, 0x7fffffff);
    if (!number) {
      return violation(name, "write a number of 0 to 2147483647");
    }
    out = *number;
  }
  return {};
}

template <std::size_t N>
Status read_values(const Json& json, const char* name, const std::string& place,
                   std::vector<std::array<std::uint8_t, N>>& out) {
  const auto list = fields::texts(json, name);
  for (const std::string& text : list.value_or(std::vector<std::string>{""})) {
    const auto bytes = hex_decode(text);
    if (!bytes || bytes->size() != N) {
      return violation(place, "write a list of " + std::to_string(2 * N) + " lowercase hex digits");
    }
    std::ranges::copy(*bytes, out.emplace_back().begin());
  }
  return {};
}

Status read_statuses(const Json& json, std::vector<TcbStatus>& out) {
  constexpr const char* kName = "accept_tcb_status";
  if (fields::find(json, kName) == nullptr) {
    return {};
  }
  const auto list = fields::texts(json, kName);
  out.clear();
  for (const std::string& text : list.value_or(std::vector<std::string>{})) {
    const auto status = tcb_status_from(text);
    if (!status || *status == TcbStatus::kRevoked) {
      return violation(kName, "a TCB status that can be accepted, such as UpToDate");
    }
    out.push_back(*status);
  }
  if (out.empty()) {
    return violation(kName, "write a list of at least one TCB status");
  }
  return {};
}

Status read_references(const Json& json, AppraisalPolicy& out) {
  const Json* object = fields::find(json, "reference_values");
  if (object == nullptr) {
    return {};
  }
  if (!object->is_object()) {
    return violation("reference_values", "write an object of lists");
  }
  ASSAY_TRY(refuse_unknown(*object, "/reference_values", kReferenceNames));
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    const std::string name(kReferenceNames[i]);
    ASSAY_TRY(
        read_values(*object, name.c_str(), "reference_values/" + name, out.reference_values[i]));
  }
  return {};
}

}  // namespace

std::string_view name(Reference reference) {
  return kReferenceNames[std::to_underlying(reference)];
}

std::optional<Reference> reference_from(std::string_view name) {
  const auto found = std::ranges::find(kReferenceNames, name);
  return found == kReferenceNames.end()
             ? std::nullopt
             : std::optional(static_cast<Reference>(found - kReferenceNames.begin()));
}

const Measurement& value_of(const TdReport& report, Reference reference) {
  switch (reference) {
    case Reference::kMrtd:
      return report.mrtd;
    case Reference::kMrseam:
      return report.mrseam;
    case Reference::kMrconfigid:
      return report.mrconfigid;
    case Reference::kMrowner:
      return report.mrowner;
    case Reference::kMrownerconfig:
      return report.mrownerconfig;
    case Reference::kRtmr0:
      return report.rtmr[0];
    case Reference::kRtmr1:
      return report.rtmr[1];
    case Reference::kRtmr2:
      return report.rtmr[2];
    case Reference::kRtmr3:
      break;
  }
  return report.rtmr[3];
}

const References& AppraisalPolicy::references(Reference reference) const {
  return reference_values[std::to_underlying(reference)];
}

bool AppraisalPolicy::constrains(Reference reference) const {
  const std::size_t index = std::to_underlying(reference);
  return constrained[index] || !reference_values[index].empty() ||
         std::ranges::any_of(
             imported, [index](const ReferenceSet& set) { return !set.values[index].empty(); });
}

Result<AppraisalPolicy> parse_appraisal_policy(const Json& json) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"accept_tcb_status", "min_tcb_evaluation_data_number", "allow_evaluation_number_mismatch",
       "rejected_advisories", "tcb_grace_seconds", "allow_debug", "require_sept_ve_disable",
       "allow_service_td", "reference_values", "platform_allow_list", "require_event_log",
       "require_event_log_rtmr3"});
  if (!json.is_object()) {
    return fail(ErrorCode::kSchemaViolation, "an appraisal policy is a JSON object");
  }
  ASSAY_TRY(refuse_unknown(json, "", kNames));
  AppraisalPolicy policy;
  ASSAY_TRY(read_statuses(json, policy.accept_tcb_status));
  ASSAY_TRY(
      read_number(json, "min_tcb_evaluation_data_number", policy.min_tcb_evaluation_data_number));
  ASSAY_TRY(
      read_flag(json, "allow_evaluation_number_mismatch", policy.allow_evaluation_number_mismatch));
  ASSAY_TRY(read_number(json, "tcb_grace_seconds", policy.tcb_grace_seconds));
  ASSAY_TRY(read_flag(json, "allow_debug", policy.allow_debug));
  ASSAY_TRY(read_flag(json, "require_sept_ve_disable", policy.require_sept_ve_disable));
  ASSAY_TRY(read_flag(json, "allow_service_td", policy.allow_service_td));
  ASSAY_TRY(read_flag(json, "require_event_log", policy.require_event_log));
  ASSAY_TRY(read_flag(json, "require_event_log_rtmr3", policy.require_event_log_rtmr3));
  ASSAY_TRY(read_references(json, policy));
  ASSAY_TRY(
      read_values(json, "platform_allow_list", "platform_allow_list", policy.platform_allow_list));
  auto advisories = fields::texts(json, "rejected_advisories");
  if (!advisories) {
    return violation("rejected_advisories", "write a list of advisory ids");
  }
  policy.rejected_advisories = std::move(*advisories);
  return policy;
}

Json to_json(const AppraisalPolicy& policy) {
  Json statuses = Json::array();
  for (const TcbStatus status : policy.accept_tcb_status) {
    statuses.push_back(name(status));
  }
  Json references = Json::object();
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    Json& list = references[std::string(kReferenceNames[i])] = Json::array();
    for (const Measurement& value : policy.reference_values[i]) {
      list.push_back(hex_encode(value));
    }
  }
  Json platforms = Json::array();
  for (const auto& platform : policy.platform_allow_list) {
    platforms.push_back(hex_encode(platform));
  }
  return {{"accept_tcb_status", std::move(statuses)},
          {"min_tcb_evaluation_data_number", policy.min_tcb_evaluation_data_number},
          {"allow_evaluation_number_mismatch", policy.allow_evaluation_number_mismatch},
          {"rejected_advisories", policy.rejected_advisories},
          {"tcb_grace_seconds", policy.tcb_grace_seconds},
          {"allow_debug", policy.allow_debug},
          {"require_sept_ve_disable", policy.require_sept_ve_disable},
          {"allow_service_td", policy.allow_service_td},
          {"reference_values", std::move(references)},
          {"platform_allow_list", std::move(platforms)},
          {"require_event_log", policy.require_event_log},
          {"require_event_log_rtmr3", policy.require_event_log_rtmr3}};
}

std::vector<std::string> not_constrained(const AppraisalPolicy& policy) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    if (!policy.constrains(static_cast<Reference>(i))) {
      names.emplace_back(kReferenceNames[i]);
    }
  }
  if (policy.platform_allow_list.empty()) {
    names.emplace_back("platform_allow_list");
  }
  return names;
}

Outcome require_reference_values(const AppraisalPolicy& policy) {
  for (const Reference reference :
       {Reference::kMrtd, Reference::kRtmr0, Reference::kRtmr1, Reference::kRtmr2}) {
    if (!policy.constrains(reference)) {
      return reject(TdxError::kReferenceValuesMissing, "reference values of mrtd, rtmr0-2",
                    "none of " + std::string(name(reference)));
    }
  }
  return {};
}

}  // namespace assay::attestation::tdx
