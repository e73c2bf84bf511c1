// SPDX-License-Identifier: Apache-2.0
// What the service tells of the collateral that it keeps.
#include <algorithm>

#include "server/service/nodes/collateral.h"

namespace assay::server {
namespace {

constexpr std::size_t kPageOfParts = 1000;

// Names of parts after `after`, in order. Marks of other things, such as of the set of plug-ins,
// lie beside them; names of parts begin with their type.
Result<std::vector<std::string>> part_names(storage::Snapshot& snapshot, const std::string& after,
                                            std::size_t limit) {
  std::vector<std::string> all;
  for (const std::string_view type : attestation::types_with_collateral()) {
    const std::string begin = std::string(type) + "/";
    ASSAY_ASSIGN(auto names, snapshot.high_waters(std::max(after, begin), limit - all.size()));
    std::erase_if(names, [&](const std::string& name) { return !name.starts_with(begin); });
    all.insert(all.end(), names.begin(), names.end());
    if (all.size() == limit) {
      break;
    }
  }
  return all;
}

Json view_of(const KeptPart& part) {
  return {{"name", part.name},
          {"kind", part.kind},
          {"type", part.evidence_type},
          {"number", part.number},
          {"issued", to_rfc3339(part.issued)},
          {"next_update", to_rfc3339(part.next_update)},
          {"anchor", part.anchor.text()},
          {"anchor_is_vendor", part.anchor_is_vendor},
          {"brought_by", part.brought_by},
          {"way", part.way},
          {"brought_at", to_rfc3339(part.brought_at)},
          {"damaged", false}};
}

}  // namespace

Result<Json> collateral_view(storage::Snapshot& snapshot, const std::string& after,
                             std::size_t limit) {
  Json items = Json::array();
  ASSAY_ASSIGN(const auto names, part_names(snapshot, after, limit));
  for (const std::string& name : names) {
    auto part = kept_part(snapshot, name);
    if (part && *part) {
      items.push_back(view_of(**part));
      continue;
    }
    if (!part && part.error().code != ErrorCode::kDataLoss) {
      return std::unexpected(std::move(part).error());
    }
    items.push_back({{"name", name}, {"damaged", true}});
  }
  return items;
}

Result<Json> export_collateral(storage::Snapshot& snapshot, const std::string& family,
                               const std::string& ca, const std::string& anchor) {
  std::optional<Digest> root;
  if (!anchor.empty()) {
    ASSAY_ASSIGN(root, Digest::parse(anchor));
  }
  Json bundle = Json::object();
  Json parts = Json::array();
  for (const std::string& name :
       attestation::tdx_collateral_names(family, ca, root ? &*root : nullptr)) {
    ASSAY_ASSIGN(const auto part, kept_part(snapshot, name));
    if (!part) {
      return fail(ErrorCode::kNotFound, "the service keeps no " + name);
    }
    bundle.update(part->members);
    parts.push_back(view_of(*part));
  }
  return Json{
      {"type", kTdxEvidence}, {"collateral", std::move(bundle)}, {"parts", std::move(parts)}};
}

Result<std::vector<CollateralEnd>> collateral_ends(storage::Snapshot& snapshot, Timestamp now) {
  std::vector<CollateralEnd> ends;
  std::string after;
  while (true) {
    ASSAY_ASSIGN(const auto names, part_names(snapshot, after, kPageOfParts));
    for (const std::string& name : names) {
      const auto found = kept_part(snapshot, name);
      if (!found || !*found || now - (*found)->next_update > kCollateralForgotten) {
        continue;
      }
      const KeptPart& part = **found;
      if (part.kind == "rim" && part.way == kByBundle) {
        continue;  // it counts beyond its end
      }
      const auto end = std::ranges::find(ends, part.kind, &CollateralEnd::kind);
      if (end == ends.end()) {
        ends.push_back({part.kind, part.name, part.next_update});
      } else if (part.next_update < end->next_update) {
        *end = {part.kind, part.name, part.next_update};
      }
    }
    if (names.size() < kPageOfParts) {
      return ends;
    }
    after = names.back();
  }
}

}  // namespace assay::server
