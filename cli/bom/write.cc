// SPDX-License-Identifier: Apache-2.0
#include "cli/bom/write.h"

#include <algorithm>
#include <utility>

#include "cli/bom/trace.h"
#include "cli/bom/write_things.h"
#include "schemas/core/sha.h"

namespace assay::bom {
namespace {

bool is_uuid(const std::string& text) {
  constexpr std::string_view kForm = "00000000-0000-0000-0000-000000000000";
  return text.size() == kForm.size() && std::ranges::equal(text, kForm, [](char c, char form) {
           const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           return form == '-' ? c == '-' : hex;
         });
}

// A UUID of version 8 (RFC 9562 section 5.8) from the content: the same document has the same.
Result<std::string> serial_of(const Json& document) {
  ASSAY_ASSIGN(const std::string text, canonical_json(document));
  const Digest digest = sha256(as_bytes(text));
  std::string hex = hex_encode(digest.bytes().first(16));
  constexpr std::string_view kVariant = "89ab";
  hex[12] = '8';
  hex[16] = kVariant[static_cast<std::size_t>(digest.bytes()[8]) & 3U];
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

Json metadata_of(const BomRequest& request, Json model) {
  Json properties = Json::array();
  for (const auto& [name, value] : request.source) {
    add_property(properties, name, value);
  }
  for (const LeftOut& one : request.left_out) {
    add_property(properties, "left-out", one.id + ": " + one.why);
  }
  Json tool = {{"type", "application"}, {"name", "assay"}, {"version", request.tool_version}};
  Json metadata = {{"timestamp", to_rfc3339(request.at)},
                   {"tools", {{"components", Json::array({std::move(tool)})}}},
                   {"component", std::move(model)}};
  if (!properties.empty()) {
    metadata["properties"] = std::move(properties);
  }
  return metadata;
}

// Base models and adapters that went in directly.
Json pedigree_of(const Trace& trace, const std::vector<std::string>& refs) {
  Json ancestors = Json::array();
  for (const std::size_t from : trace.things.front().made_from) {
    const Thing& thing = trace.things[from];
    if (thing.role == "base-model" || thing.role == "adapter") {
      Json ancestor = component_of(thing, refs[from]);
      ancestor.erase("bom-ref");  // of the component itself, below "components"
      add_property(ancestor["properties"], "ref", refs[from]);
      ancestors.push_back(std::move(ancestor));
    }
  }
  return ancestors;
}

Json model_of(const Trace& trace, const std::vector<std::string>& refs,
              const std::vector<BomStatement>& statements) {
  Json model = component_of(trace.things.front(), refs.front());
  Json parts = parts_of_model(trace.things.front(), statements);
  for (Json& property : parts["properties"]) {
    model["properties"].push_back(std::move(property));
  }
  parts.erase("properties");
  model.update(parts);
  if (Json card = model_card(trace, refs, statements); !card.empty()) {
    model["modelCard"] = std::move(card);
  }
  if (Json ancestors = pedigree_of(trace, refs); !ancestors.empty()) {
    model["pedigree"] = {{"ancestors", std::move(ancestors)}};
  }
  return model;
}

Json dependencies_of(const Trace& trace, const std::vector<std::string>& refs) {
  Json list = Json::array();
  for (std::size_t i = 0; i < trace.things.size(); ++i) {
    Json depends = Json::array();
    for (const std::size_t from : trace.things[i].made_from) {
      depends.push_back(refs[from]);
    }
    Json dependency = {{"ref", refs[i]}};
    if (!depends.empty()) {
      dependency["dependsOn"] = std::move(depends);
    }
    list.push_back(std::move(dependency));
  }
  return list;
}

// Things of which nobody who counts says how they came to be.
Json compositions_of(const Trace& trace, const std::vector<std::string>& refs) {
  Json unknown = Json::array();
  for (std::size_t i = 0; i < trace.things.size(); ++i) {
    if (!trace.things[i].known) {
      unknown.push_back(refs[i]);
    }
  }
  Json compositions = Json::array();
  if (!unknown.empty()) {
    compositions.push_back({{"aggregate", "unknown"}, {"dependencies", std::move(unknown)}});
  }
  if (!trace.unread.empty()) {
    compositions.push_back(
        {{"aggregate", "incomplete"}, {"dependencies", Json::array({refs.front()})}});
  }
  return compositions;
}

}  // namespace

Result<Json> write_bom(const BomRequest& request, std::vector<BomStatement> statements) {
  if (!request.serial.empty() && !is_uuid(request.serial)) {
    return fail(ErrorCode::kUsage, "A serial number is a UUID in small letters", request.serial);
  }
  std::ranges::sort(statements, {}, [](const BomStatement& one) {
    return std::pair<const std::string&, const std::string&>(one.accepted_at, one.id);
  });
  const auto twice = std::ranges::unique(statements, {}, &BomStatement::id);
  statements.erase(twice.begin(), twice.end());
  ASSAY_ASSIGN(const Trace traced, trace(request.name, request.artifact, statements));
  const std::vector<std::string> refs = refs_of(traced);
  Json components = Json::array();
  for (std::size_t i = 1; i < traced.things.size(); ++i) {
    components.push_back(component_of(traced.things[i], refs[i]));
  }
  Json document = {{"$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json"},
                   {"bomFormat", "CycloneDX"},
                   {"specVersion", "1.6"},
                   {"version", 1},
                   {"metadata", metadata_of(request, model_of(traced, refs, statements))},
                   {"components", std::move(components)},
                   {"dependencies", dependencies_of(traced, refs)},
                   {"declarations", declarations(traced, refs, statements)}};
  if (Json compositions = compositions_of(traced, refs); !compositions.empty()) {
    document["compositions"] = std::move(compositions);
  }
  std::string serial = request.serial;
  if (serial.empty()) {
    ASSAY_ASSIGN(serial, serial_of(document));
  }
  document["serialNumber"] = "urn:uuid:" + serial;
  return document;
}

}  // namespace assay::bom
