// SPDX-License-Identifier: Apache-2.0
// Reference values that were imported from documents of those who make the software (CoRIM,
// draft-ietf-rats-corim, or the JSON form of docs/reference-values.md). A tag is one named and
// versioned part of such a document. The trust state keeps the tags in force for each appraisal.
// What a document means is read by attestation/corim/reference_document.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

// Limits. A document is refused as a whole when it exceeds one.
inline constexpr std::size_t kMaxReferenceDocument = 256U << 10;  // bytes
inline constexpr std::size_t kMaxTagsOfDocument = 16;
inline constexpr std::size_t kMaxSetsOfDocument = 256;
// In force for one appraisal.
inline constexpr std::size_t kMaxReferenceTags = 256;
inline constexpr std::size_t kMaxReferenceSets = 1024;

// Signers of reference values are trusted keys of purpose signer, with a role for this predicate
// type, and a namespace that covers the tag id.
inline constexpr std::string_view kReferenceValuesPredicate =
    "https://assay.dev/reference-values/v1";

// Values that belong together: evidence matches a set only if each of its measurements has one of
// the values. Sets are alternatives of each other.
struct ImportedSet {
  std::string name;  // "TAG_ID@VERSION:CLASS#NUMBER"; verdicts say by it what matched
  std::map<std::string, std::vector<std::string>> values;  // by measurement; lowercase hex
  std::optional<Timestamp> not_before{};
  std::optional<Timestamp> not_after{};
  bool operator==(const ImportedSet&) const = default;
};

struct ReferenceTag {
  std::string appraisal;  // name of the appraisal that it widens: appraisal_name()
  std::string tag_id;
  std::uint64_t version = 0;
  DocumentId document;         // the exact bytes that were imported
  std::optional<KeyId> key{};  // that signed them; absent: unsigned, two operators vouched
  std::string identity{};      // of the key's holder; empty when unsigned
  Timestamp imported_at{};
  std::vector<ImportedSet> sets{};  // when removed: what counted until then
  // Measurements that this tag constrains, in ascending order: those of its sets, and those of the
  // sets of its earlier versions. They stay constrained when the tag is removed, so that an import
  // or a removal never turns "constrained" into "not constrained".
  std::vector<std::string> constrains{};
  std::string removed{};  // why the sets do not count any more; empty: they count
  bool operator==(const ReferenceTag&) const = default;
};

[[nodiscard]] Json to_json(const ImportedSet& set);
[[nodiscard]] Result<ImportedSet> read_json(json::As<ImportedSet> type, const Json& json);
[[nodiscard]] Json to_json(const ReferenceTag& tag);
// Parses what to_json() wrote. Errors: data-loss.
[[nodiscard]] Result<ReferenceTag> reference_tag_from_json(const Json& json);

// Imports the tags of a document. JSON: {"evidence_type", "stage", "document": base64, "unsigned"}.
struct PutReferenceValues {
  std::string evidence_type;
  std::string stage{};  // as in Appraisal; the appraisal of this name must be stored
  Bytes document;       // exact bytes: COSE_Sign1, or a CoRIM or JSON without a signature
  // True: the document has no signature, and the operators who sign the change vouch for it.
  bool is_unsigned = false;
  bool operator==(const PutReferenceValues&) const = default;
};
// Ends a tag. JSON: {"evidence_type", "stage", "tag_id", "reason", "dangerous_unconstrain"}.
struct RemoveReferenceValues {
  std::string evidence_type;
  std::string stage{};
  std::string tag_id;
  std::string reason;
  // True: measurements that nothing else constrains become not constrained.
  bool dangerous_unconstrain = false;
  bool operator==(const RemoveReferenceValues&) const = default;
};
// Members of operations of a change of trust, which trust-change.schema.json has checked.
[[nodiscard]] Json to_json(const PutReferenceValues& operation);
[[nodiscard]] Result<PutReferenceValues> read_json(json::As<PutReferenceValues> type,
                                                   const Json& json);
[[nodiscard]] Json to_json(const RemoveReferenceValues& operation);
[[nodiscard]] Result<RemoveReferenceValues> read_json(json::As<RemoveReferenceValues> type,
                                                      const Json& json);

}  // namespace assay
