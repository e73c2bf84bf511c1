// SPDX-License-Identifier: Apache-2.0
// Reads a CycloneDX bill of materials in JSON, versions 1.5 to 1.7, as its author wrote it. Nothing
// in it is believed: components and hashes are the claims of whoever signs it.
// Spec: https://cyclonedx.org/docs/1.6/json/
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bom/hashes.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/statement.h"

namespace assay::bom {

// Predicate type of in-toto for such a document
// (https://github.com/in-toto/attestation/blob/main/spec/predicates/cyclonedx.md).
inline constexpr std::string_view kCycloneDxPredicateType = "https://cyclonedx.org/bom";

inline constexpr std::size_t kMaxBomBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMaxBomDepth = 32;  // of JSON
inline constexpr std::size_t kMaxBomComponents = 20000;
inline constexpr std::size_t kMaxBomText = 4096;  // bytes of a name or a reference

struct BomComponent {
  std::string type;
  std::string ref{};  // bom-ref; may be empty
  std::string group{};
  std::string name;
  std::string version{};
  Digests digests{};
  std::optional<ArtifactId> artifact{};  // its property "assay:artifact", when there is one
  std::vector<std::string> licences{};   // ids, names and expressions

  // Returns "group/name", or the name alone.
  [[nodiscard]] std::string full_name() const { return group.empty() ? name : group + "/" + name; }
};

struct ReadBom {
  std::string spec_version;
  std::string serial{};  // "urn:uuid:..."; may be empty
  Json document;
  // That of `metadata` first, when there is one, then all others. Nested ones follow theirs.
  std::vector<BomComponent> components{};
  bool has_subject = false;  // the first is that of `metadata`
};

// Reads a document. Errors: those of parse_json(); limit-exceeded beyond the limits above;
// schema-violation for another format or version, a component without type or name, a bom-ref that
// is there twice, and a dependency between components that are not there; those of read_hashes().
[[nodiscard]] Result<ReadBom> read_bom(ByteView bytes);
// The same for a document that is parsed already.
[[nodiscard]] Result<ReadBom> read_bom(Json document);

// Returns the component that is the model: the one with this bom-ref; or, when `ref` is empty, that
// of `metadata` if it is a model, else the only model among the others. Errors: not-found;
// model-reference-ambiguous.
[[nodiscard]] Result<BomComponent> model_in(const ReadBom& bom, const std::string& ref);

// Returns the statement that whoever signs it says this bill of materials about the subjects.
[[nodiscard]] Statement to_statement(const ReadBom& bom, std::vector<Subject> subjects);

}  // namespace assay::bom
