// SPDX-License-Identifier: Apache-2.0
// Reference sets: shape by reference-set.schema.json, values by their kind.
#include "schemas/reference_set.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/members.h"
#include "schemas/spdx.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr JsonLimits kSetLimits{1U << 20};
constexpr std::array<std::string_view, 6> kKinds = {"identities", "digests",  "measurements",
                                                    "licences",   "patterns", "values"};
constexpr std::size_t kMaxIdentity = 256;
constexpr std::size_t kMaxDigest = 160;
constexpr std::size_t kMeasurementHex = 96;

bool all_of(std::string_view text, std::string_view more) {
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != std::string_view::npos;
  });
}

bool is_printable(std::string_view text, char first) {
  return std::ranges::all_of(text, [&](char c) { return c >= first && c <= '~'; });
}

bool is_digest(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  return text.size() <= kMaxDigest && colon != std::string_view::npos && colon > 0 &&
         colon + 1 < text.size() && all_of(text.substr(0, colon), "_-:") &&
         all_of(text.substr(colon + 1), "+/=_-");
}

bool is_measurement(std::string_view text) {
  return text.size() == kMeasurementHex && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_of(SetKind kind, std::string_view text) {
  switch (kind) {
    case SetKind::kIdentities:
      return text.size() <= kMaxIdentity && is_printable(text, '!');
    case SetKind::kDigests:
      return is_digest(text);
    case SetKind::kMeasurements:
      return is_measurement(text);
    case SetKind::kLicences:
      return is_spdx_id(text);
    case SetKind::kPatterns:
      return is_printable(text, ' ');
    case SetKind::kValues:
      break;
  }
  return true;
}

std::unexpected<Error> invalid(std::string why, std::size_t value) {
  return fail(ErrorCode::kPolicyInvalid, std::move(why), "/values/" + std::to_string(value));
}

Status check_values(const ReferenceSet& set) {
  for (std::size_t i = 0; i < set.values.size(); ++i) {
    const Json& value = set.values[i];
    if (!value.is_string()) {
      if (set.kind != SetKind::kValues) {
        return invalid("only a set of kind values has other values than texts", i);
      }
      continue;
    }
    const std::string& text = value.get_ref<const std::string&>();
    if (named_set(text)) {
      return invalid("a set has values, not the names of sets", i);
    }
    if (set.kind != SetKind::kValues && (text.empty() || !is_of(set.kind, text))) {
      return invalid("this is none of the " + std::string(name(set.kind)), i);
    }
  }
  return {};
}

}  // namespace

std::string_view name(SetKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

std::string set_entry(std::string_view name) { return std::string(kSetPrefix).append(name); }

std::optional<std::string_view> named_set(std::string_view entry) {
  return entry.starts_with(kSetPrefix) ? std::optional(entry.substr(kSetPrefix.size()))
                                       : std::nullopt;
}

Result<ReferenceSet> parse_reference_set(ByteView payload) {
  ASSAY_ASSIGN(const Json json, parse_json(payload, kSetLimits));
  ASSAY_TRY(validate("reference-set", json));
  ReferenceSet set{members::text(json, "name"), members::number(json, "version"),
                   members::text(json, "description")};
  const auto kind = std::find(kKinds.begin(), kKinds.end(), members::text(json, "kind"));
  if (kind == kKinds.end()) {
    return fail(ErrorCode::kPolicyInvalid, "there is no such kind of set", "/kind");
  }
  set.kind = static_cast<SetKind>(kind - kKinds.begin());
  set.values = json["values"].get<std::vector<Json>>();
  ASSAY_TRY(check_values(set));
  return set;
}

Json to_json(const ReferenceSet& set) {
  Json json = {{"name", set.name},
               {"version", set.version},
               {"kind", name(set.kind)},
               {"values", set.values}};
  if (!set.description.empty()) {
    json["description"] = set.description;
  }
  return json;
}

}  // namespace assay
