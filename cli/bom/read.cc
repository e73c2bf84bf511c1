// SPDX-License-Identifier: Apache-2.0
#include "cli/bom/read.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "schemas/core/json_at.h"

namespace assay::bom {
namespace {

constexpr std::array<std::string_view, 3> kVersions = {"1.5", "1.6", "1.7"};
constexpr std::string_view kModelType = "machine-learning-model";
constexpr std::array<std::string_view, 13> kTypes = {"application",
                                                     "framework",
                                                     "library",
                                                     "container",
                                                     "platform",
                                                     "operating-system",
                                                     "device",
                                                     "device-driver",
                                                     "firmware",
                                                     "file",
                                                     kModelType,
                                                     "data",
                                                     "cryptographic-asset"};

std::unexpected<Error> violates(const std::string& what, const std::string& where) {
  return fail(ErrorCode::kSchemaViolation, what, where);
}

Error at(Error error, const std::string& where) {
  error.where = where;
  return error;
}

// A member that is a text of bounded length, or absent.
Result<std::string> text_in(const Json& object, const char* member, const std::string& where) {
  const Json& value = member_at(object, member);
  if (value.is_null() && !object.contains(member)) {
    return std::string();
  }
  if (!value.is_string()) {
    return violates("this is a text", where + "/" + member);
  }
  if (value.get_ref<const std::string&>().size() > kMaxBomText) {
    return fail(ErrorCode::kLimitExceeded,
                "a name is at most " + std::to_string(kMaxBomText) + " bytes",
                where + "/" + member);
  }
  return value.get<std::string>();
}

// A member that is a list, or absent: then an empty one.
Result<const Json*> list_in(const Json& object, const char* member, const std::string& where) {
  static const Json none = Json::array();
  const auto found = object.find(member);
  if (found == object.end()) {
    return &none;
  }
  return found->is_array() ? Result<const Json*>(&*found)
                           : violates("this is a list", where + "/" + member);
}

// Every bom-ref of the document, wherever it is, is there once; every list of hashes can be read.
class Walk {
 public:
  Status visit(const Json& value, const std::string& where) {
    if (value.is_array()) {
      std::size_t i = 0;
      for (const Json& item : value) {
        ASSAY_TRY(visit(item, where + "/" + std::to_string(i++)));
      }
      return {};
    }
    if (!value.is_object()) {
      return {};
    }
    ASSAY_ASSIGN(const std::string ref, text_in(value, "bom-ref", where));
    if (value.contains("bom-ref") && (ref.empty() || !refs.insert(ref).second)) {
      return violates(ref.empty() ? "a bom-ref is not empty" : "this bom-ref is there twice",
                      where + "/bom-ref");
    }
    if (const auto hashes = value.find("hashes"); hashes != value.end()) {
      if (const auto read = read_hashes(*hashes); !read) {
        return std::unexpected(at(read.error(), where + "/hashes"));
      }
    }
    for (const auto& [member, part] : value.items()) {
      ASSAY_TRY(visit(part, where + "/" + member));
    }
    return {};
  }

  std::set<std::string> refs;
};

Result<std::vector<std::string>> read_licences(const Json& component, const std::string& where) {
  std::vector<std::string> licences;
  ASSAY_ASSIGN(const Json* list, list_in(component, "licenses", where));
  for (const Json& choice : *list) {
    const Json& licence = object_at(choice, "license");
    for (std::string text :
         {text_at(choice, "expression"), text_at(licence, "id"), text_at(licence, "name")}) {
      if (!text.empty()) {
        licences.push_back(std::move(text));
      }
    }
  }
  return licences;
}

// The artifact that a component says it is, by a property of ours.
Result<std::optional<ArtifactId>> read_artifact(const Json& component, const std::string& where) {
  std::optional<ArtifactId> artifact;
  ASSAY_ASSIGN(const Json* list, list_in(component, "properties", where));
  for (const Json& property : *list) {
    if (text_at(property, "name") != "assay:artifact") {
      continue;
    }
    Result<ArtifactId> read = ArtifactId::parse(text_at(property, "value"));
    if (!read || artifact) {
      return read ? violates("a component is one artifact", where + "/properties")
                  : std::unexpected(at(read.error(), where + "/properties"));
    }
    artifact = *std::move(read);
  }
  return artifact;
}

Status read_component(const Json& json, const std::string& where,
                      std::vector<BomComponent>& components) {
  if (!json.is_object()) {
    return violates("a component is an object", where);
  }
  if (components.size() == kMaxBomComponents) {
    return fail(ErrorCode::kLimitExceeded,
                "more than " + std::to_string(kMaxBomComponents) + " components", where);
  }
  BomComponent component;
  ASSAY_ASSIGN(component.type, text_in(json, "type", where));
  ASSAY_ASSIGN(component.ref, text_in(json, "bom-ref", where));
  ASSAY_ASSIGN(component.group, text_in(json, "group", where));
  ASSAY_ASSIGN(component.name, text_in(json, "name", where));
  ASSAY_ASSIGN(component.version, text_in(json, "version", where));
  if (std::ranges::find(kTypes, component.type) == kTypes.end()) {
    return violates("CycloneDX has no such type of component", where + "/type");
  }
  if (component.name.empty()) {
    return violates("a component has a name", where + "/name");
  }
  if (const auto hashes = json.find("hashes"); hashes != json.end()) {
    ASSAY_ASSIGN(component.digests, read_hashes(*hashes));
  }
  ASSAY_ASSIGN(component.artifact, read_artifact(json, where));
  ASSAY_ASSIGN(component.licences, read_licences(json, where));
  components.push_back(std::move(component));
  ASSAY_ASSIGN(const Json* nested, list_in(json, "components", where));
  std::size_t i = 0;
  for (const Json& one : *nested) {
    ASSAY_TRY(read_component(one, where + "/components/" + std::to_string(i++), components));
  }
  return {};
}

bool known_ref(const Json& ref, const std::set<std::string>& refs) {
  return ref.is_string() && (refs.contains(ref.get_ref<const std::string&>()) ||
                             ref.get_ref<const std::string&>().starts_with("urn:cdx:"));
}

Status check_dependencies(const Json& document, const std::set<std::string>& refs) {
  ASSAY_ASSIGN(const Json* list, list_in(document, "dependencies", ""));
  std::set<std::string> seen;
  std::size_t i = 0;
  for (const Json& dependency : *list) {
    const std::string where = "/dependencies/" + std::to_string(i++);
    if (!dependency.is_object() || !known_ref(member_at(dependency, "ref"), refs)) {
      return violates("a dependency is of something in the document", where + "/ref");
    }
    if (!seen.insert(text_at(dependency, "ref")).second) {
      return violates("the dependencies of one thing are there twice", where + "/ref");
    }
    ASSAY_ASSIGN(const Json* on, list_in(dependency, "dependsOn", where));
    if (!std::ranges::all_of(*on, [&refs](const Json& ref) { return known_ref(ref, refs); })) {
      return violates("a dependency is on something in the document", where + "/dependsOn");
    }
  }
  return {};
}

Status check_head(const Json& document) {
  if (!document.is_object() || text_at(document, "bomFormat") != "CycloneDX") {
    return violates("this is not a CycloneDX document in JSON: its bomFormat is CycloneDX",
                    "/bomFormat");
  }
  if (std::ranges::find(kVersions, text_at(document, "specVersion")) == kVersions.end()) {
    return violates("versions 1.5, 1.6 and 1.7 of CycloneDX are read", "/specVersion");
  }
  if (document.contains("metadata") && !document["metadata"].is_object()) {
    return violates("this is an object", "/metadata");
  }
  return {};
}

}  // namespace

Result<ReadBom> read_bom(ByteView bytes) {
  JsonLimits limits;
  limits.max_bytes = kMaxBomBytes;
  limits.max_depth = kMaxBomDepth;
  limits.max_memory = kMaxBomBytes * 8;
  ASSAY_ASSIGN(Json document, parse_json(bytes, limits));
  return read_bom(std::move(document));
}

Result<ReadBom> read_bom(Json document) {
  ASSAY_TRY(check_head(document));
  ReadBom bom;
  bom.spec_version = text_at(document, "specVersion");
  ASSAY_ASSIGN(bom.serial, text_in(document, "serialNumber", ""));
  Walk walk;
  ASSAY_TRY(walk.visit(document, ""));
  if (const Json& metadata = object_at(document, "metadata"); metadata.contains("component")) {
    ASSAY_TRY(read_component(metadata["component"], "/metadata/component", bom.components));
    bom.has_subject = true;
  }
  ASSAY_ASSIGN(const Json* list, list_in(document, "components", ""));
  std::size_t i = 0;
  for (const Json& one : *list) {
    ASSAY_TRY(read_component(one, "/components/" + std::to_string(i++), bom.components));
  }
  ASSAY_TRY(check_dependencies(document, walk.refs));
  bom.document = std::move(document);
  return bom;
}

Result<BomComponent> model_in(const ReadBom& bom, const std::string& ref) {
  if (ref.empty() && bom.has_subject && bom.components.front().type == kModelType) {
    return bom.components.front();
  }
  const BomComponent* found = nullptr;
  for (const BomComponent& component : bom.components) {
    if (ref.empty() ? component.type != kModelType : component.ref != ref) {
      continue;
    }
    if (found != nullptr) {
      return fail(ErrorCode::kModelReferenceAmbiguous,
                  "Several components are models; name one of them by its bom-ref: --component",
                  found->full_name() + ", " + component.full_name());
    }
    found = &component;
  }
  if (found == nullptr) {
    return fail(ErrorCode::kNotFound,
                ref.empty() ? "No component of the document is a machine-learning-model; name "
                              "one by its bom-ref: --component"
                            : "No component of the document has this bom-ref",
                ref);
  }
  return *found;
}

Statement to_statement(const ReadBom& bom, std::vector<Subject> subjects) {
  return {std::move(subjects), std::string(kCycloneDxPredicateType), bom.document};
}

}  // namespace assay::bom
