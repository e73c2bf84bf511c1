// SPDX-License-Identifier: Apache-2.0
#include "schemas/policy_names.h"

#include "schemas/core/names.h"
#include "schemas/members.h"
#include "schemas/statement.h"

namespace assay {
namespace {

constexpr Names<NameRule, 4> kRules = {{{
    {NameRule::kOnlyArtifact, "only-artifact"},
    {NameRule::kRelease, "release"},
    {NameRule::kPinned, "pinned"},
    {NameRule::kNone, "none"},
}}};

}  // namespace

std::string_view name(NameRule rule) { return kRules.of(rule); }

Result<NamePolicy> names_from_json(const Json& policy) {
  NamePolicy names;
  const auto found = policy.find("names");
  if (found == policy.end()) {
    return names;
  }
  ASSAY_ASSIGN(names.rule,
               kRules.parse(members::text(*found, "resolve"), "there is no such rule for names"));
  for (const auto& [model, id] : members::text_map(*found, "pinned")) {
    ASSAY_TRY(check_model_name(model));
    auto artifact = ArtifactId::parse(id);
    if (!artifact) {
      return members::under("/names/pinned", std::move(artifact).error());
    }
    names.pinned.emplace(model, *std::move(artifact));
  }
  return names;
}

Json to_json(const NamePolicy& names) {
  if (names.rule == NameRule::kOnlyArtifact) {
    return nullptr;
  }
  Json json = {{"resolve", name(names.rule)}};
  for (const auto& [model, artifact] : names.pinned) {
    json["pinned"][model] = artifact.text();
  }
  return json;
}

}  // namespace assay
