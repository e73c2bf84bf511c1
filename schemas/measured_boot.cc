// SPDX-License-Identifier: Apache-2.0
#include "schemas/measured_boot.h"

#include <algorithm>
#include <string_view>

namespace assay {
namespace {

constexpr std::size_t kDigestDigits = 96;

std::unexpected<Error> violation(const char* why, const char* where) {
  return fail(ErrorCode::kSchemaViolation, why, where);
}

Json list_json(const std::optional<std::vector<std::string>>& list) {
  return list ? Json(*list) : Json(nullptr);
}

bool is_digest(const Json& value) {
  if (!value.is_string()) {
    return false;
  }
  const auto& text = value.get_ref<const std::string&>();
  return text.size() == kDigestDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Status read_list(const Json& value, const char* where,
                 std::optional<std::vector<std::string>>& list) {
  if (value.is_null()) {
    return {};
  }
  if (!value.is_array() || value.size() > kMaxMeasured ||
      !std::all_of(value.begin(), value.end(), is_digest)) {
    return violation("at most 256 SHA-384 digests in lowercase hex, or null", where);
  }
  list = value.get<std::vector<std::string>>();
  return {};
}

}  // namespace

Json to_json(const MeasuredBoot& boot) {
  return {{"secure_boot", boot.secure_boot ? Json(*boot.secure_boot) : Json(nullptr)},
          {"rtmr1", list_json(boot.rtmr1)},
          {"rtmr2", list_json(boot.rtmr2)}};
}

Result<MeasuredBoot> measured_boot_from_json(const Json& json) {
  constexpr std::size_t kMembers = 3;
  if (!json.is_object() || json.size() != kMembers || !json.contains("secure_boot") ||
      !json.contains("rtmr1") || !json.contains("rtmr2")) {
    return violation("secure_boot, rtmr1 and rtmr2 are needed", "");
  }
  MeasuredBoot boot;
  const Json& on = json["secure_boot"];
  if (!on.is_null() && !on.is_boolean()) {
    return violation("true, false or null", "/secure_boot");
  }
  if (on.is_boolean()) {
    boot.secure_boot = on.get<bool>();
  }
  ASSAY_TRY(read_list(json["rtmr1"], "/rtmr1", boot.rtmr1));
  ASSAY_TRY(read_list(json["rtmr2"], "/rtmr2", boot.rtmr2));
  return boot;
}

}  // namespace assay
