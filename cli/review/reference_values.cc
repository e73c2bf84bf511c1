// SPDX-License-Identifier: Apache-2.0
#include "cli/review/reference_values.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "cli/review/text.h"
#include "schemas/trust.h"

namespace assay::cli {
namespace {

using attestation::corim::DocumentTag;
using attestation::corim::ReferenceDocument;
using Values = std::map<std::string, std::set<std::string>>;

// All values of a tag by measurement.
Values values_of(const Json& tag) {
  Values values;
  for (const Json& set : list_of(tag, "sets")) {
    const auto member = set.find("values");
    if (member == set.end() || !member->is_object()) {
      continue;
    }
    for (const auto& [measurement, list] : member->items()) {
      for (const Json& value : list) {
        values[measurement].insert(value.is_string() ? value.get<std::string>() : "");
      }
    }
  }
  return values;
}

std::vector<std::string> without(const std::set<std::string>& all,
                                 const std::set<std::string>& others) {
  std::vector<std::string> rest;
  std::ranges::set_difference(all, others, std::back_inserter(rest));
  return rest;
}

// The values of a tag that count; none of one that was removed.
Values values_in_force(const Json& in_force, const std::string& tag_id) {
  for (const Json& tag : in_force) {
    if (text_of(tag, "tag_id") == tag_id && !tag.contains("removed")) {
      return values_of(tag);
    }
  }
  return {};
}

void compare_tag(const std::string& tag_id, const Values& after, const Values& before,
                 const std::set<std::string>& constrained, std::vector<ReferenceChange>& changes) {
  std::set<std::string> measurements;
  for (const Values* values : {&after, &before}) {
    for (const auto& [measurement, list] : *values) {
      measurements.insert(measurement);
    }
  }
  const std::set<std::string> none;
  for (const std::string& measurement : measurements) {
    const auto now = after.find(measurement);
    const auto then = before.find(measurement);
    const std::set<std::string>& new_values = now == after.end() ? none : now->second;
    const std::set<std::string>& old_values = then == before.end() ? none : then->second;
    ReferenceChange change{tag_id, measurement, without(new_values, old_values),
                           without(old_values, new_values), !constrained.contains(measurement)};
    if (!change.added.empty() || !change.removed.empty()) {
      changes.push_back(std::move(change));
    }
  }
}

}  // namespace

Json tags_json(const ReferenceDocument& document, const std::string& appraisal) {
  Json tags = Json::array();
  for (const DocumentTag& tag : document.tags) {
    Json json = {{"appraisal", appraisal},
                 {"tag_id", tag.tag_id},
                 {"version", tag.version},
                 {"form", document.media_type},
                 {"sets", Json::array()}};
    for (const ImportedSet& set : tag.sets) {
      json["sets"].push_back(to_json(set));
    }
    if (!tag.replaces.empty()) {
      json["replaces"] = tag.replaces;
    }
    if (!tag.ignored.empty()) {
      json["ignored"] = tag.ignored;
    }
    tags.push_back(std::move(json));
  }
  return tags;
}

std::vector<std::string> describe_references(const ReferenceDocument& document) {
  std::vector<std::string> lines;
  lines.push_back(document.envelope
                      ? "signed with COSE_Sign1, " + quoted(Json(document.envelope->content_type))
                      : "not signed, " + quoted(Json(document.media_type)));
  for (const DocumentTag& tag : document.tags) {
    lines.push_back("tag " + quoted(Json(tag.tag_id)) + " version " + std::to_string(tag.version) +
                    " for evidence of type " + document.evidence_type);
    for (const std::string& id : tag.replaces) {
      lines.push_back("    replaces " + quoted(Json(id)));
    }
    for (const std::string& triple : tag.ignored) {
      lines.push_back("    triples of kind " + quoted(Json(triple)) + " are not read");
    }
    for (const ImportedSet& set : tag.sets) {
      lines.push_back("    " + quoted(Json(set.name)) +
                      (set.not_before ? " from " + to_rfc3339(*set.not_before) : "") +
                      (set.not_after ? " until " + to_rfc3339(*set.not_after) : ""));
      for (const auto& [measurement, values] : set.values) {
        for (const std::string& value : values) {
          lines.push_back("        " + measurement + " " + value);
        }
      }
    }
  }
  return lines;
}

std::vector<ReferenceChange> compare_references(const Json& tags, const Json& in_force,
                                                const std::vector<std::string>& constrained) {
  const std::set<std::string> known(constrained.begin(), constrained.end());
  std::vector<ReferenceChange> changes;
  for (const Json& tag : tags) {
    const std::string id = text_of(tag, "tag_id");
    compare_tag(id, values_of(tag), values_in_force(in_force, id), known, changes);
  }
  return changes;
}

std::vector<std::string> constrained_in(const Json& trust, const std::string& name) {
  std::set<std::string> names;
  for (const Json& appraisal : list_of(trust, "appraisals")) {
    if (appraisal_name(text_of(appraisal, "evidence_type"), text_of(appraisal, "stage")) != name) {
      continue;
    }
    const Json values = appraisal.value(Json::json_pointer("/policy/reference_values"), Json());
    for (const auto& [measurement, list] : values.items()) {
      if (list.is_array() && !list.empty()) {
        names.insert(measurement);
      }
    }
  }
  for (const Json& tag : list_of(trust, "reference_values")) {
    if (text_of(tag, "appraisal") == name) {
      for (const Json& measurement : list_of(tag, "constrains")) {
        names.insert(measurement.is_string() ? measurement.get<std::string>() : "");
      }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace assay::cli
