// SPDX-License-Identifier: Apache-2.0
// Components, and what manifests, releases and placements say of the model.
#include "cli/bom/write_things.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "cli/bom/write.h"
#include "schemas/core/jcs.h"
#include "schemas/core/json_at.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/release.h"
#include "schemas/spdx.h"

namespace assay::bom {
namespace {

// What a role of a lifecycle input is among the types of CycloneDX components.
std::string type_of(const std::string& role) {
  if (role == "model" || role == "base-model" || role == "adapter") {
    return "machine-learning-model";
  }
  if (role == "dataset") {
    return "data";
  }
  return role == "dependency" ? "library" : "file";
}

// Several statements may name licences: what each of them says holds.
Json licences_of(const std::vector<std::string>& texts) {
  std::string all;
  Json named = Json::array();
  for (const std::string& text : texts) {
    if (const auto expression = SpdxExpression::parse(text); expression) {
      const std::string one = expression->text();
      all += (all.empty() ? "" : " AND ") + (texts.size() == 1 ? one : "(" + one + ")");
    }
    named.push_back({{"license", {{"name", text}, {"acknowledgement", "declared"}}}});
  }
  // Where one text is no expression, all of them are shown as they are.
  const bool each_is_one = std::ranges::all_of(
      texts, [](const auto& text) { return bool(SpdxExpression::parse(text)); });
  if (!each_is_one) {
    return named;
  }
  Json expression = {{"expression", all}, {"acknowledgement", "declared"}};
  return Json::array({std::move(expression)});
}

Json file_component(const FileEntry& file) {
  Json properties = Json::array();
  add_property(properties, "size", std::to_string(file.size));
  add_property(properties, "root", file.root.text());
  return {{"type", "file"}, {"name", file.path}, {"properties", std::move(properties)}};
}

void add_manifest(const Statement& statement, Json& parts) {
  const Result<Manifest> manifest = manifest_from(statement);
  if (!manifest) {
    return;  // the trace counts it as one that joins digests alone
  }
  Json files = Json::array();
  std::size_t number = 0;
  std::size_t tensors = 0;
  for (const Entry& entry : manifest->artifact.entries) {
    if (const auto* file = std::get_if<FileEntry>(&entry); file == nullptr) {
      ++tensors;
    } else if (++number <= kMaxBomFiles) {
      files.push_back(file_component(*file));
    }
  }
  Json& properties = parts["properties"];
  if (!parts.contains("components") && !files.empty()) {  // the same in each manifest of the root
    parts["components"] = std::move(files);
    add_property(properties, "files", std::to_string(number));
    add_property(properties, "tensors", std::to_string(tensors));
    add_property(properties, "tree-parameters",
                 canonical_json(to_json(manifest->artifact.parameters)).value_or(""));
  }
}

void add_locations(const Statement& statement, std::set<std::string>& locations) {
  for (const Json& location : array_at(statement.predicate, "locations")) {
    if (location.is_string()) {
      locations.insert(location.get<std::string>());
    }
  }
}

}  // namespace

void add_property(Json& properties, const std::string& name, const std::string& value) {
  properties.push_back({{"name", "assay:" + name}, {"value", value}});
}

std::vector<std::string> refs_of(const Trace& trace) {
  std::vector<std::string> refs;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < trace.things.size(); ++i) {
    std::string ref = main_digest(trace.things[i].digests);
    if (ref.empty() || !taken.insert(ref).second) {
      ref = "thing:" + std::to_string(i);
    }
    refs.push_back(std::move(ref));
  }
  return refs;
}

Json component_of(const Thing& thing, const std::string& ref) {
  const std::string name = thing.names.empty() ? ref : thing.names.front();
  const std::size_t slash = name.rfind('/');
  const bool grouped = slash != std::string::npos && slash != 0 && slash + 1 < name.size() &&
                       name.find("://") == std::string::npos;
  Json component = {{"type", type_of(thing.role)},
                    {"bom-ref", ref},
                    {"name", grouped ? name.substr(slash + 1) : name}};
  if (grouped) {
    component["group"] = name.substr(0, slash);
  }
  Json properties = Json::array();
  add_property(properties, "role", thing.role);
  for (std::size_t i = 1; i < thing.names.size(); ++i) {
    add_property(properties, "also-named", thing.names[i]);
  }
  if (Json hashes = hashes_of(thing.digests); !hashes.empty()) {
    component["hashes"] = std::move(hashes);
  }
  for (const auto& [algorithm, value] : thing.digests) {
    if (algorithm.starts_with("assay-tree-")) {
      add_property(properties, "artifact", algorithm + ":" + value);
    } else if (!has_hash_form(algorithm, value)) {
      add_property(properties, "digest", algorithm + ":" + value);
    }
  }
  if (!thing.licences.empty()) {
    component["licenses"] = licences_of(thing.licences);
  }
  if (thing.role == "dataset") {
    component["data"] = Json::array({Json{{"type", "dataset"}, {"name", name}}});
  }
  component["properties"] = std::move(properties);
  return component;
}

Json parts_of_model(const Thing& model, std::span<const BomStatement> statements) {
  Json parts = {{"properties", Json::array()}};
  std::set<std::string> locations;
  for (const std::size_t s : model.statements) {
    const Statement& statement = statements[s].statement;
    if (statement.predicate_type == kManifestPredicateType) {
      add_manifest(statement, parts);
      add_locations(statement, locations);
    } else if (statement.predicate_type == kPlacementPredicateType) {
      add_locations(statement, locations);
    } else if (statement.predicate_type == kReleasePredicateType) {
      parts["version"] = text_at(statement.predicate, "version");  // the newest is the last
    }
  }
  Json references = Json::array();
  for (const std::string& location : locations) {
    references.push_back({{"type", "distribution"}, {"url", location}});
  }
  if (!references.empty()) {
    parts["externalReferences"] = std::move(references);
  }
  return parts;
}

}  // namespace assay::bom
