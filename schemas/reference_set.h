// SPDX-License-Identifier: Apache-2.0
// Reference sets: named, versioned, immutable lists of values that policies share, such as the
// people of a team or the measurements of accepted images. An author signs a set, and an approver
// puts it into force, as for a policy. A policy names a set by the entry "set:NAME" in a list; the
// entry stands for all values of the version in force. Schema: reference-set.schema.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

struct Condition;

inline constexpr std::string_view kReferenceSetPayloadType =
    "application/vnd.assay.reference-set+json";
// Limit on the values of one set.
inline constexpr std::size_t kMaxSetValues = 1024;

// What the values of a set are. A set can stand only in lists of its kind, and any set in a list
// that a predicate is compared with (SetKind::kValues).
enum class SetKind : std::uint8_t {
  kIdentities,    // who holds a key
  kDigests,       // "algorithm:value"; ids of keys and digests of root certificates, too
  kMeasurements,  // SHA-384 in lowercase hex
  kLicences,      // SPDX identifiers
  kPatterns,      // patterns with '*' over names, users, groups and the like
  kValues,        // texts, numbers, true, false and null
};
// Returns "identities", "digests", "measurements", "licences", "patterns" or "values".
[[nodiscard]] std::string_view name(SetKind kind);

struct ReferenceSet {
  std::string name;
  std::uint64_t version;  // 1, 2, ...
  std::string description{};
  SetKind kind = SetKind::kValues;
  std::vector<Json> values{};  // 1 to kMaxSetValues, distinct; texts for every kind but kValues
};

// Parses strict JSON and checks the schema. Errors: policy-invalid, with `where`, for a value that
// is not of the set's kind or looks like the name of a set; the errors of parse_json() and
// validate().
[[nodiscard]] Result<ReferenceSet> parse_reference_set(ByteView payload);
[[nodiscard]] Json to_json(const ReferenceSet& set);

// The name of a set as lists of policies, rows of policies in force and verbs have it: "set:NAME".
inline constexpr std::string_view kSetPrefix = "set:";
[[nodiscard]] std::string set_entry(std::string_view name);
// Returns the name in an entry of a list; nullopt for an entry that is itself a value.
[[nodiscard]] std::optional<std::string_view> named_set(std::string_view entry);

// A list of a condition in which sets may be named. Exactly one of the two pointers is set.
struct SetPlace {
  std::string where;  // JSON pointer below the condition
  SetKind kind;
  std::vector<std::string>* texts = nullptr;
  Json* values = nullptr;  // an array, or another value, which then names no set
};
// Calls `visit` for each such list of a condition without parts. The pointers are valid during the
// call; `visit` may change the lists.
void for_each_set_place(Condition& condition, const std::function<void(const SetPlace&)>& visit);

// Marks the conditions that name sets as open (Condition::open_set), since nobody has put values
// in the place of the names. Errors: policy-invalid, with the place below `where`, for a name that
// no set can have.
[[nodiscard]] Status mark_sets(std::vector<Condition>& conditions, const std::string& where);

}  // namespace assay
