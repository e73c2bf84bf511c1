// SPDX-License-Identifier: Apache-2.0
// Collateral that the service keeps.

#include "server/service/nodes/collateral.h"

#include <algorithm>

#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/service/nodes/endorsements.h"

namespace assay::server {
namespace {

constexpr std::size_t kFamilyDigits = 12;

bool is_hex(const std::string& text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Json view_of(const std::vector<ImportedPart>& imported) {
  Json parts = Json::array();
  for (const ImportedPart& part : imported) {
    parts.push_back({{"name", part.name}, {"outcome", part.outcome}});
  }
  return parts;
}

Json view_of(const CollateralImported& imported) {
  return {{"collateral", imported.collateral.text()},
          {"moved", imported.moved},
          {"parts", view_of(imported.parts)},
          {"log", imported.receipt}};
}

}  // namespace

Result<Response> put_collateral(Api& api, const Call& call) {
  ASSAY_ASSIGN(const CollateralImported imported,
               import_collateral(api.services, call.request.body, call.principal));
  return json_response(imported.moved ? 201 : 200, view_of(imported));
}

Result<Response> post_endorsements(Api& api, const Call& call) {
  ASSAY_ASSIGN(const EndorsementsAccepted accepted,
               accept_endorsements(api.services, call.request.body, call.principal));
  return json_response(accepted.created ? 201 : 200, {{"id", accepted.id.text()},
                                                      {"number", accepted.number},
                                                      {"parts", view_of(accepted.parts)},
                                                      {"log", accepted.receipt}});
}

Result<Response> get_endorsements(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const Json newest, endorsements_view(*snapshot));
  return with_etag(call, json_response(200, newest), kRevalidate);
}

Result<Response> list_collateral(Api& api, const Call& call) {
  ASSAY_ASSIGN(const std::size_t limit, limit_parameter(call));
  ASSAY_ASSIGN(const std::string after, filter(call, "after", Form::kPart));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(Json items, collateral_view(*snapshot, after, limit));
  std::optional<std::string> next;
  if (items.size() == limit) {
    next = items.back().at("name").get<std::string>();
  }
  return keyed_list_response(*snapshot, call, std::move(items), limit, next);
}

Result<Response> get_collateral_set(Api& api, const Call& call) {
  const std::string family = call.parameter("fmspc").value_or("");
  const std::string ca = call.parameter("ca").value_or("");
  if (family.size() != kFamilyDigits || !is_hex(family)) {
    return fail(ErrorCode::kInvalidParameter, "fmspc has twelve lowercase hex digits", "fmspc");
  }
  if (ca != "platform" && ca != "processor") {
    return fail(ErrorCode::kInvalidParameter, "ca is platform or processor", "ca");
  }
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const Json set,
               export_collateral(*snapshot, family, ca, call.parameter("anchor").value_or("")));
  return with_etag(call, json_response(200, set), kRevalidate);
}

}  // namespace assay::server
