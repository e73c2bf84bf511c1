// SPDX-License-Identifier: Apache-2.0
// The second evaluator: reference sets. Looks at the JSON of a condition, where the product looks
// at its members.
#include <algorithm>
#include <set>

#include "tests/support/policy_reference.h"

namespace assay::policy::reference {
namespace {

// What the lists of a policy hold, by the last two members on the way to them.
SetKind kind_of(const std::string& above, const std::string& member) {
  if (member == "identities") {
    return SetKind::kIdentities;
  }
  if (member == "anchors" || member == "keys" || member == "digests") {
    return SetKind::kDigests;
  }
  if (above == "reference_values") {
    return SetKind::kMeasurements;
  }
  if (above == "licences") {
    return SetKind::kLicences;
  }
  return member == "value" ? SetKind::kValues : SetKind::kPatterns;
}

class Expansion {
 public:
  explicit Expansion(const std::map<std::string, ReferenceSet>& sets) : sets_(sets) {}

  Json expanded(const Json& json, const std::string& above, const std::string& member) {
    if (json.is_object()) {
      Json out = Json::object();
      for (const auto& [name, value] : json.items()) {
        out[name] = expanded(value, member, name);
      }
      return out;
    }
    if (!json.is_array()) {
      return json;
    }
    Json out = Json::array();
    for (const Json& item : json) {
      if (!item.is_string() || !item.get<std::string>().starts_with("set:")) {
        out.push_back(expanded(item, above, member));
        continue;
      }
      const auto found = sets_.find(item.get<std::string>().substr(4));
      const SetKind kind = kind_of(above, member);
      if (found == sets_.end()) {
        why.insert(Reason::kReferenceSetMissing);
      } else if (kind != SetKind::kValues && kind != found->second.kind) {
        why.insert(Reason::kReferenceSetMismatch);
      } else {
        for (const Json& value : found->second.values) {
          out.push_back(value);
        }
      }
    }
    return out;
  }

  std::set<Reason> why;

 private:
  const std::map<std::string, ReferenceSet>& sets_;
};

}  // namespace

Expanded expanded(const Json& condition, const std::map<std::string, ReferenceSet>& sets) {
  Expansion expansion(sets);
  Json json = expansion.expanded(condition, "", "");
  return {std::move(json), expansion.why};
}

}  // namespace assay::policy::reference
