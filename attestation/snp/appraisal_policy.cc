// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/appraisal_policy.h"

#include <algorithm>
#include <utility>

namespace assay::attestation::snp {
namespace {

constexpr std::array<std::string_view, kReferenceCount> kReferenceNames = {
    "measurement", "host_data", "id_key_digest", "author_key_digest", "family_id", "image_id"};
constexpr std::array<std::size_t, kReferenceCount> kReferenceSizes = {48, 32, 48, 48, 16, 16};
constexpr std::array<std::pair<std::string_view, Tcb TcbFloors::*>, 3> kFloors = {{
    {"reported", &TcbFloors::reported},
    {"committed", &TcbFloors::committed},
    {"launch", &TcbFloors::launch},
}};
constexpr std::array<std::pair<std::string_view, bool AppraisalPolicy::*>, 10> kFlags = {{
    {"allow_debug", &AppraisalPolicy::allow_debug},
    {"allow_migration", &AppraisalPolicy::allow_migration},
    {"allow_smt", &AppraisalPolicy::allow_smt},
    {"allow_cxl", &AppraisalPolicy::allow_cxl},
    {"require_single_socket", &AppraisalPolicy::require_single_socket},
    {"require_ciphertext_hiding", &AppraisalPolicy::require_ciphertext_hiding},
    {"require_alias_check", &AppraisalPolicy::require_alias_check},
    {"require_rapl_disabled", &AppraisalPolicy::require_rapl_disabled},
    {"dangerous_allow_missing_crl", &AppraisalPolicy::dangerous_allow_missing_crl},
    {"dangerous_allow_missing_min_tcb", &AppraisalPolicy::dangerous_allow_missing_min_tcb},
}};
constexpr std::array<std::pair<std::string_view, std::uint32_t AppraisalPolicy::*>, 2> kNumbers = {{
    {"min_guest_svn", &AppraisalPolicy::min_guest_svn},
    {"max_vmpl", &AppraisalPolicy::max_vmpl},
}};
constexpr std::array<std::string_view, 7> kOthers = {
    "accept_signing_keys", "accept_generations",  "version_2_generation", "min_tcb",
    "reference_values",    "platform_allow_list", "provider_allow_list"};
constexpr std::uint64_t kMaxNumber = 0xffffffff;
constexpr std::size_t kMaxProviderBytes = 256;

std::unexpected<Error> violation(std::string where, std::string why) {
  return fail(ErrorCode::kSchemaViolation, std::move(why), "/" + std::move(where));
}

std::unexpected<Error> unknown(const std::string& where) {
  return fail(ErrorCode::kUnknownMember, "the appraisal policy has no such member", "/" + where);
}

bool has_name(const auto& rows, std::string_view name) {
  return std::ranges::any_of(rows, [&](const auto& row) { return row.first == name; });
}

// The texts of a list. Empty and no violation when the member is absent.
Result<std::vector<std::string>> read_texts(const Json& json, const std::string& name,
                                            const std::string& where) {
  std::vector<std::string> texts;
  const auto member = json.find(name);
  if (member == json.end()) {
    return texts;
  }
  if (!member->is_array()) {
    return violation(where, "write a list of texts");
  }
  for (const Json& element : *member) {
    if (!element.is_string()) {
      return violation(where, "write a list of texts");
    }
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

// A list of names, which must not be empty: it would accept nothing.
template <typename Value, typename Parse>
Status read_names(const Json& json, const std::string& name, Parse parse, std::vector<Value>& out) {
  if (!json.contains(name)) {
    return {};
  }
  ASSAY_ASSIGN(const auto texts, read_texts(json, name, name));
  out.clear();
  for (const std::string& text : texts) {
    const auto value = parse(text);
    if (!value) {
      return violation(name, "\"" + text.substr(0, 32) + "\" is no value of it");
    }
    out.push_back(*value);
  }
  return out.empty() ? Status(violation(name, "write at least one value")) : Status();
}

std::optional<SigningKey> signing_key_from(std::string_view text) {
  for (const SigningKey key : {SigningKey::kVcek, SigningKey::kVlek}) {
    if (name(key) == text) {
      return key;
    }
  }
  return std::nullopt;
}

Status read_floor(const Json& json, Generation generation, const std::string& where, Tcb& out) {
  if (!json.is_object()) {
    return violation(where, "write an object of security versions");
  }
  for (const auto& [part, value] : json.items()) {
    if (!has_part(generation, part)) {
      return unknown(where + "/" + part);
    }
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 0xff) {
      return violation(where + "/" + part, "write a number of 0 to 255");
    }
    const auto row = std::ranges::find(kTcbParts, part, [](const auto& one) { return one.first; });
    out.*row->second = static_cast<std::uint8_t>(value.get<std::uint64_t>());
  }
  return {};
}

Status read_floors(const Json& json, AppraisalPolicy& policy) {
  const auto member = json.find("min_tcb");
  if (member == json.end()) {
    return {};
  }
  if (!member->is_object()) {
    return violation("min_tcb", "write an object by generation");
  }
  for (const auto& [key, floors] : member->items()) {
    const auto generation = generation_from(key);
    const std::string where = "min_tcb/" + key;
    if (!generation) {
      return unknown(where);
    }
    if (!floors.is_object()) {
      return violation(where, "write reported, committed or launch");
    }
    TcbFloors& out = policy.min_tcb[*generation];
    for (const auto& [which, floor] : floors.items()) {
      const auto row = std::ranges::find(kFloors, which, [](const auto& one) { return one.first; });
      if (row == kFloors.end()) {
        return unknown(where + "/" + which);
      }
      ASSAY_TRY(read_floor(floor, *generation, where + "/" + which, out.*row->second));
    }
  }
  return {};
}

Status read_hex_list(const Json& json, const std::string& name, const std::string& where,
                     std::size_t size, References& out) {
  ASSAY_ASSIGN(const auto texts, read_texts(json, name, where));
  for (const std::string& text : texts) {
    auto bytes = hex_decode(text);
    if (!bytes || bytes->size() != size) {
      return violation(where,
                       "write a list of " + std::to_string(2 * size) + " lowercase hex digits");
    }
    out.push_back(*std::move(bytes));
  }
  return {};
}

Status read_references(const Json& json, AppraisalPolicy& policy) {
  const auto object = json.find("reference_values");
  if (object == json.end()) {
    return {};
  }
  if (!object->is_object()) {
    return violation("reference_values", "write an object of lists");
  }
  for (const auto& [key, value] : object->items()) {
    if (!reference_from(key)) {
      return unknown("reference_values/" + key);
    }
  }
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    const std::string key(kReferenceNames[i]);
    ASSAY_TRY(read_hex_list(*object, key, "reference_values/" + key, kReferenceSizes[i],
                            policy.reference_values[i]));
  }
  return {};
}

Status read_allow_lists(const Json& json, AppraisalPolicy& policy) {
  References chips;
  ASSAY_TRY(
      read_hex_list(json, "platform_allow_list", "platform_allow_list", sizeof(ChipId), chips));
  for (const Bytes& chip : chips) {
    std::ranges::copy(chip, policy.platform_allow_list.emplace_back().begin());
  }
  ASSAY_ASSIGN(policy.provider_allow_list,
               read_texts(json, "provider_allow_list", "provider_allow_list"));
  const auto usable = [](const std::string& text) {
    return !text.empty() && text.size() <= kMaxProviderBytes;
  };
  if (!std::ranges::all_of(policy.provider_allow_list, usable)) {
    return violation("provider_allow_list", "write ids of 1 to 256 bytes");
  }
  return {};
}

Status read_flags_and_numbers(const Json& json, AppraisalPolicy& policy) {
  for (const auto& [key, member] : kFlags) {
    if (const auto value = json.find(key); value != json.end()) {
      if (!value->is_boolean()) {
        return violation(std::string(key), "write true or false");
      }
      policy.*member = value->get<bool>();
    }
  }
  for (const auto& [key, member] : kNumbers) {
    if (const auto value = json.find(key); value != json.end()) {
      if (!value->is_number_unsigned() || value->get<std::uint64_t>() > kMaxNumber) {
        return violation(std::string(key), "write a number of 0 to 4294967295");
      }
      policy.*member = static_cast<std::uint32_t>(value->get<std::uint64_t>());
    }
  }
  return {};
}

Status read_version_2(const Json& json, AppraisalPolicy& policy) {
  const auto member = json.find("version_2_generation");
  if (member == json.end() || member->is_null()) {
    return {};
  }
  policy.version_2_generation =
      generation_from(member->is_string() ? member->get<std::string>() : std::string());
  return policy.version_2_generation
             ? Status()
             : Status(violation("version_2_generation", "write milan, genoa, turin or null"));
}

Json floors_json(const std::map<Generation, TcbFloors>& floors) {
  Json json = Json::object();
  for (const auto& [generation, one] : floors) {
    Json& place = json[std::string(name(generation))] = Json::object();
    for (const auto& [which, member] : kFloors) {
      place[std::string(which)] = to_json(one.*member, generation);
    }
  }
  return json;
}

}  // namespace

std::string_view name(Reference reference) {
  return kReferenceNames[std::to_underlying(reference)];
}

std::optional<Reference> reference_from(std::string_view text) {
  const auto found = std::ranges::find(kReferenceNames, text);
  return found == kReferenceNames.end()
             ? std::nullopt
             : std::optional(static_cast<Reference>(found - kReferenceNames.begin()));
}

std::size_t size_of(Reference reference) { return kReferenceSizes[std::to_underlying(reference)]; }

ByteView value_of(const Report& report, Reference reference) {
  switch (reference) {
    case Reference::kMeasurement:
      return report.measurement;
    case Reference::kHostData:
      return report.host_data;
    case Reference::kIdKeyDigest:
      return report.id_key_digest;
    case Reference::kAuthorKeyDigest:
      return report.author_key_digest;
    case Reference::kFamilyId:
      return report.family_id;
    case Reference::kImageId:
      break;
  }
  return report.image_id;
}

const References& AppraisalPolicy::references(Reference reference) const {
  return reference_values[std::to_underlying(reference)];
}

bool AppraisalPolicy::constrains(Reference reference) const {
  const std::size_t index = std::to_underlying(reference);
  return constrained[index] || !reference_values[index].empty() ||
         std::ranges::any_of(
             imported, [index](const ReferenceSet& set) { return !set.values[index].empty(); });
}

Result<AppraisalPolicy> parse_appraisal_policy(const Json& json) {
  if (!json.is_object()) {
    return fail(ErrorCode::kSchemaViolation, "an appraisal policy is a JSON object");
  }
  for (const auto& [key, value] : json.items()) {
    if (!has_name(kFlags, key) && !has_name(kNumbers, key) &&
        std::ranges::find(kOthers, key) == kOthers.end()) {
      return unknown(key);
    }
  }
  AppraisalPolicy policy;
  ASSAY_TRY(read_names(json, "accept_signing_keys", signing_key_from, policy.accept_signing_keys));
  ASSAY_TRY(read_names(json, "accept_generations", generation_from, policy.accept_generations));
  ASSAY_TRY(read_version_2(json, policy));
  ASSAY_TRY(read_floors(json, policy));
  ASSAY_TRY(read_flags_and_numbers(json, policy));
  ASSAY_TRY(read_references(json, policy));
  ASSAY_TRY(read_allow_lists(json, policy));
  return policy;
}

Json to_json(const AppraisalPolicy& policy) {
  Json json = {{"accept_signing_keys", Json::array()},
               {"accept_generations", Json::array()},
               {"version_2_generation", nullptr},
               {"min_tcb", floors_json(policy.min_tcb)},
               {"reference_values", Json::object()},
               {"platform_allow_list", Json::array()},
               {"provider_allow_list", policy.provider_allow_list}};
  for (const SigningKey key : policy.accept_signing_keys) {
    json["accept_signing_keys"].push_back(name(key));
  }
  for (const Generation generation : policy.accept_generations) {
    json["accept_generations"].push_back(name(generation));
  }
  if (policy.version_2_generation) {
    json["version_2_generation"] = name(*policy.version_2_generation);
  }
  for (const auto& [key, member] : kFlags) {
    json[std::string(key)] = policy.*member;
  }
  for (const auto& [key, member] : kNumbers) {
    json[std::string(key)] = policy.*member;
  }
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    Json& list = json["reference_values"][std::string(kReferenceNames[i])] = Json::array();
    for (const Bytes& value : policy.reference_values[i]) {
      list.push_back(hex_encode(value));
    }
  }
  for (const ChipId& chip : policy.platform_allow_list) {
    json["platform_allow_list"].push_back(hex_encode(chip));
  }
  return json;
}

std::vector<std::string> not_constrained(const AppraisalPolicy& policy) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    if (!policy.constrains(static_cast<Reference>(i))) {
      names.emplace_back(kReferenceNames[i]);
    }
  }
  if (policy.min_tcb.empty()) {
    names.emplace_back("min_tcb");
  }
  if (policy.platform_allow_list.empty()) {
    names.emplace_back("platform_allow_list");
  }
  if (policy.provider_allow_list.empty()) {
    names.emplace_back("provider_allow_list");
  }
  return names;
}

Outcome require_reference_values(const AppraisalPolicy& policy) {
  if (!policy.constrains(Reference::kMeasurement)) {
    return reject(SnpError::kReferenceValuesMissing, "reference values of measurement", "none");
  }
  return {};
}

Outcome require_min_tcb(const AppraisalPolicy& policy, Generation generation) {
  const auto floors = policy.min_tcb.find(generation);
  if (floors == policy.min_tcb.end() || floors->second.reported == Tcb{}) {
    return reject(SnpError::kTcbFloorMissing,
                  "min_tcb/" + std::string(name(generation)) + "/reported", "none");
  }
  return {};
}

}  // namespace assay::attestation::snp
