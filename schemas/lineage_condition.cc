// SPDX-License-Identifier: Apache-2.0
#include "schemas/lineage_condition.h"

#include "schemas/core/json_object.h"
#include "schemas/reference_set.h"
#include "schemas/spdx.h"

namespace assay {
namespace {

Status check_licences(const std::vector<std::string>& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!named_set(ids[i]) && !is_spdx_id(ids[i])) {
      return fail(ErrorCode::kPolicyInvalid,
                  "this is no SPDX identifier such as Apache-2.0, nor one WITH an exception",
                  "/" + std::to_string(i));
    }
  }
  return {};
}

}  // namespace

static auto members_of(json::As<LineageEdgeRule>) {
  using T = LineageEdgeRule;
  const auto always = [](const T&) { return true; };
  return std::tuple(json::if_set("stage", &T::stage), json::if_set("role", &T::role),
                    json::group("signers", always,
                                std::tuple(json::or_default("at_least", &T::at_least),
                                           json::if_set("identities", &T::identities))),
                    json::if_set("evidence", &T::evidence));
}

static auto members_of(json::As<LineageDeny>) {
  using T = LineageDeny;
  return std::tuple(json::if_set("digests", &T::digests), json::if_set("names", &T::names),
                    json::if_set("keys", &T::keys), json::if_set("identities", &T::identities));
}

static auto members_of(json::As<LineageLicences>) {
  using T = LineageLicences;
  return std::tuple(json::if_set("allow", &T::allow, json::checked(check_licences)),
                    json::if_set("deny", &T::deny, json::checked(check_licences)));
}

static auto members_of(json::As<LineageCondition>) {
  using T = LineageCondition;
  return std::tuple(json::if_set("roles", &T::roles), json::if_set("leaves", &T::leaves),
                    json::if_set("edges", &T::edges), json::if_set("stages", &T::stages),
                    json::if_set("deny", &T::deny), json::if_set("max_depth", &T::max_depth),
                    json::if_set("licences", &T::licences));
}
Json to_json(const LineageCondition& condition) { return json::write(condition); }
Result<LineageCondition> read_json(json::As<LineageCondition> /*type*/, const Json& json) {
  return json::read<LineageCondition>(json);
}

}  // namespace assay
