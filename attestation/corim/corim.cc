// SPDX-License-Identifier: Apache-2.0
#include "attestation/corim/corim.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "attestation/cose/cbor.h"
#include "schemas/core/json.h"
#include "schemas/reference_values.h"

namespace assay::attestation::corim {
namespace {

using cbor::Kind;
using cbor::Value;

constexpr std::uint64_t kTagEpochTime = 1;  // RFC 8949 section 3.4.2
constexpr std::uint64_t kTagUri = 32;
constexpr std::uint64_t kTagUuid = 37;
constexpr std::uint64_t kTagOid = 111;  // RFC 9090
constexpr std::uint64_t kTagCorim = 501;
constexpr std::uint64_t kTagComid = 506;
constexpr std::uint64_t kTagBytes = 560;
// Intel's profile: [operator, digests]; the operator "member" asks for one of them.
constexpr std::uint64_t kTagDigestExpression = 60'020;
constexpr std::int64_t kMember = 6;
constexpr std::int64_t kReplaces = 1;    // $tag-rel-type-choice
constexpr std::int64_t kTeeMrtee = -83;  // draft-cds-rats-intel-corim-profile
constexpr std::size_t kMaxId = 253;
constexpr std::size_t kMaxClassId = 64;  // as a text
constexpr std::size_t kUuidBytes = 16;
constexpr std::int64_t kLastSecond = 253'402'300'799;  // of the year 9999

std::unexpected<Error> malformed(std::string why) {
  return fail(ErrorCode::kMalformedCorim, std::move(why));
}

// The value is a map whose keys are all among `known`.
Status check_map(const Value& value, std::span<const std::int64_t> known, const char* what) {
  if (value.kind != Kind::kMap) {
    return malformed(std::string(what) + " is a map");
  }
  for (std::size_t i = 0; i < value.items.size(); i += 2) {
    const auto key = value.items[i].integer();
    if (!key || std::ranges::find(known, *key) == known.end()) {
      return malformed(std::string(what) + " has a member that is not read here");
    }
  }
  return {};
}

Status check_list(const Value& value, const char* what) {
  return value.kind == Kind::kArray && !value.items.empty()
             ? Status()
             : malformed(std::string(what) + " is a list that is not empty");
}

std::string uuid_text(ByteView bytes) {
  std::string text = hex_encode(bytes);
  for (const std::size_t at : {8U, 13U, 18U, 23U}) {
    text.insert(at, 1, '-');
  }
  return text;
}

// The OID with dots; nullopt for bytes that are no OID in BER, or one with a part beyond 56 bits.
std::optional<std::string> oid_text(ByteView bytes) {
  constexpr std::uint64_t kMore = 0x80;
  std::string text;
  std::uint64_t part = 0;
  bool open = false;
  for (const std::uint8_t byte : bytes) {
    if ((!open && byte == kMore) || part >> 49U != 0) {
      return std::nullopt;
    }
    part = part << 7U | (byte & (kMore - 1));
    open = (byte & kMore) != 0;
    if (!open && text.empty()) {  // the first two parts are one number
      const std::uint64_t first = std::min<std::uint64_t>(part / 40, 2);
      text = std::to_string(first) + "." + std::to_string(part - 40 * first);
    } else if (!open) {
      text += "." + std::to_string(part);
    }
    part = open ? part : 0;
  }
  return open || text.empty() ? std::nullopt : std::optional(text);
}

// Printable ASCII, with single spaces inside: two ids that look the same are the same.
bool is_printable(std::string_view text) {
  return !text.empty() && text.size() <= kMaxId && text.front() != ' ' && text.back() != ' ' &&
         !text.contains("  ") &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

// An id is shown to people and names what matched: nothing in it may look like something else.
Result<std::string> read_id(const Value* value, const char* what) {
  const Value* uuid = value == nullptr ? nullptr : value->tagged(kTagUuid);
  uuid = uuid == nullptr ? value : uuid;
  if (uuid != nullptr && uuid->kind == Kind::kBytes && uuid->bytes.size() == kUuidBytes) {
    return uuid_text(uuid->bytes);
  }
  const auto text = value == nullptr ? std::nullopt : value->text();
  if (!text || !is_printable(*text)) {
    return malformed(std::string(what) +
                     " is a UUID, or a text of 1 to 253 printable ASCII characters with single "
                     "spaces between them");
  }
  return std::string(*text);
}

// profile-type-choice, section 4.1.4: a URI or an OID.
Status check_profile(const Value* value) {
  if (value == nullptr) {
    return {};
  }
  const Value* uri = value->tagged(kTagUri);
  const auto text = (uri == nullptr ? value : uri)->text();  // some leave out the tag
  const Value* oid = value->tagged(kTagOid);
  std::optional<std::string> name = text ? std::optional(std::string(*text)) : std::nullopt;
  if (oid != nullptr && oid->kind == Kind::kBytes) {
    name = oid_text(oid->bytes);
  }
  if (!name || !is_printable(*name)) {
    return malformed("a profile is a URI or an OID");
  }
  if (*name != kIntelProfile) {
    return fail(ErrorCode::kReferenceClassMismatch,
                "the document is of the profile " + *name + ", which is not read here");
  }
  return {};
}

Result<std::optional<Timestamp>> read_time(const Value* value) {
  if (value == nullptr) {
    return std::optional<Timestamp>();
  }
  const Value* seconds = value->tagged(kTagEpochTime);
  const auto number = seconds == nullptr ? std::nullopt : seconds->integer();
  if (!number || *number < 0 || *number > kLastSecond) {
    return malformed("a time is a number of seconds since 1970 under the tag 1");
  }
  return std::optional(Timestamp(std::chrono::seconds(*number)));
}

// validity-map, section 7.3.
Result<Validity> read_validity(const Value* value) {
  Validity validity;
  if (value == nullptr) {
    return validity;
  }
  ASSAY_TRY(check_map(*value, std::array<std::int64_t, 2>{0, 1}, "a validity"));
  ASSAY_ASSIGN(validity.not_before, read_time(value->find(0)));
  ASSAY_ASSIGN(validity.not_after, read_time(value->find(1)));
  if (!validity.not_after || (validity.not_before && *validity.not_after < *validity.not_before)) {
    return malformed("a validity ends, and not before it begins");
  }
  return validity;
}

// --- measurements

bool is_hash_entry(const Value& value) {
  return value.kind == Kind::kArray && value.items.size() == 2 &&
         (value.items[0].integer() || value.items[0].text()) && value.items[1].kind == Kind::kBytes;
}

// digests-type, section 7.7: digests of one thing by different algorithms.
Result<Digests> read_digests(const Value& value) {
  ASSAY_TRY(check_list(value, "digests"));
  Digests digests;
  std::set<std::pair<std::optional<std::int64_t>, std::string_view>> algorithms;
  for (const Value& entry : value.items) {
    if (!is_hash_entry(entry)) {
      return malformed("a digest is an algorithm and a byte string");
    }
    const Value& algorithm = entry.items[0];
    if (!algorithms.emplace(algorithm.integer(), algorithm.text().value_or("")).second) {
      return malformed("digests of one thing have different algorithms");
    }
    digests.push_back({algorithm.integer(), entry.items[1].bytes});
  }
  return digests;
}

// $tee-digest-type of Intel's profile. Any other expression than "member" stays a name.
Status read_tee_digest(const Value& value, Measurement& measurement) {
  const Value* expression = value.tagged(kTagDigestExpression);
  const bool is_member = expression != nullptr && expression->kind == Kind::kArray &&
                         expression->items.size() == 2 && expression->items[0].integer() == kMember;
  if (is_member || is_hash_entry(value)) {
    const std::vector<Value> one = {value};
    for (const Value& entry : is_member ? expression->items[1].items : one) {
      if (!is_hash_entry(entry)) {
        return malformed("a set of digests has digests");
      }
      measurement.tee_digest.push_back({entry.items[0].integer(), entry.items[1].bytes});
    }
  } else if (value.kind == Kind::kArray) {
    ASSAY_ASSIGN(measurement.tee_digest, read_digests(value));
  }
  if (measurement.tee_digest.empty()) {
    measurement.others.emplace_back("tee.mrtee with another operator than member");
  }
  return {};
}

// Members of measurement-values-map that evidence is not compared with, for people.
constexpr std::array<std::pair<std::int64_t, const char*>, 19> kValueNames = {
    {{0, "version"},
     {1, "svn"},
     {3, "flags"},
     {4, "raw-value"},
     {11, "name"},
     {13, "cryptokeys"},
     {-72, "tee.tcbdate"},
     {-73, "tee.isvsvn"},
     {-77, "tee.instance-id"},
     {-80, "tee.pceid"},
     {-81, "tee.miscselect"},
     {-82, "tee.attributes"},
     {-84, "tee.mrsigner"},
     {-85, "tee.isvprodid"},
     {-86, "tee.tcb-eval-num"},
     {-88, "tee.tcbstatus"},
     {-89, "tee.advisory-ids"},
     {-91, "tee.cryptokeys"},
     {-125, "tee.tcb-comp-svn"}}};

std::string value_name(std::optional<std::int64_t> key) {
  if (!key) {
    return "mval of a text";
  }
  const auto known =
      std::ranges::find_if(kValueNames, [&](const auto& one) { return one.first == *key; });
  const std::string number = "mval " + std::to_string(*key);
  return known == kValueNames.end() ? number : std::string(known->second) + " (" + number + ")";
}

// A number or a text; nullopt for any other kind of name.
std::optional<std::string> name_of(const Value& value) {
  if (value.kind == Kind::kUnsigned) {
    return std::to_string(value.number);
  }
  const auto text = value.text();
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

Status read_registers(const Value& value, Measurement& measurement) {
  if (value.kind != Kind::kMap || value.items.empty()) {
    return malformed("integrity registers are a map that is not empty");
  }
  for (std::size_t i = 0; i < value.items.size(); i += 2) {
    const auto id = name_of(value.items[i]);
    if (!id) {
      return malformed("the id of an integrity register is a number or a text");
    }
    ASSAY_ASSIGN(Digests digests, read_digests(value.items[i + 1]));
    if (!measurement.registers.emplace(*id, std::move(digests)).second) {
      return malformed("an integrity register stands there twice");
    }
  }
  return {};
}

// measurement-values-map, section 5.1.4.5.
Status read_values(const Value& value, Measurement& measurement) {
  if (value.kind != Kind::kMap || value.items.empty()) {
    return malformed("the values of a measurement are a map that is not empty");
  }
  for (std::size_t i = 0; i < value.items.size(); i += 2) {
    const auto key = value.items[i].integer();
    const Value& content = value.items[i + 1];
    if (key == 2) {
      ASSAY_ASSIGN(measurement.digests, read_digests(content));
    } else if (key == kTeeMrtee) {
      ASSAY_TRY(read_tee_digest(content, measurement));
    } else if (key == 14) {
      ASSAY_TRY(read_registers(content, measurement));
    } else {
      measurement.others.push_back(value_name(key));
    }
  }
  return {};
}

Result<Measurement> read_measurement(const Value& value) {
  ASSAY_TRY(check_map(value, std::array<std::int64_t, 3>{0, 1, 2}, "a measurement"));
  Measurement measurement;
  if (const Value* key = value.find(0); key != nullptr) {
    const auto name = name_of(*key);
    if (name && !name->empty()) {
      measurement.key = *name;
    } else {
      measurement.others.emplace_back("mkey");
    }
  }
  if (value.find(2) != nullptr) {
    measurement.others.emplace_back("authorized-by");
  }
  const Value* values = value.find(1);
  if (values == nullptr) {
    return malformed("a measurement has values");
  }
  ASSAY_TRY(read_values(*values, measurement));
  return measurement;
}

// --- environments and triples

// class-id-type-choice, section 5.1.4.2: an OID, a UUID or bytes.
Result<std::string> read_class_id(const Value& value) {
  const Value* oid = value.tagged(kTagOid);
  const Value* uuid = value.tagged(kTagUuid);
  const Value* bytes = value.tagged(kTagBytes);
  if (oid != nullptr && oid->kind == Kind::kBytes) {
    if (auto text = oid_text(oid->bytes); text && text->size() <= kMaxClassId) {
      return *std::move(text);
    }
  }
  if (uuid != nullptr && uuid->kind == Kind::kBytes && uuid->bytes.size() == kUuidBytes) {
    return uuid_text(uuid->bytes);
  }
  if (bytes != nullptr && bytes->kind == Kind::kBytes && !bytes->bytes.empty() &&
      bytes->bytes.size() <= kMaxClassId / 2) {
    return hex_encode(bytes->bytes);
  }
  return malformed("a class-id is a short OID, a UUID, or 1 to 32 bytes");
}

Status read_class(const Value& value, Environment& environment) {
  ASSAY_TRY(check_map(value, std::array<std::int64_t, 5>{0, 1, 2, 3, 4}, "a class"));
  if (const Value* id = value.find(0); id != nullptr) {
    ASSAY_ASSIGN(environment.class_id, read_class_id(*id));
  }
  for (const auto& [key, name] : {std::pair(3, "layer"), {4, "index"}}) {
    if (value.find(key) != nullptr) {
      environment.others.emplace_back(name);
    }
  }
  for (const auto& [key, out] : {std::pair(1, &environment.vendor), {2, &environment.model}}) {
    if (const Value* member = value.find(key); member != nullptr) {
      if (!member->text()) {
        return malformed("vendor and model of a class are texts");
      }
      *out = *member->text();
    }
  }
  return {};
}

Result<Environment> read_environment(const Value& value) {
  ASSAY_TRY(check_map(value, std::array<std::int64_t, 3>{0, 1, 2}, "an environment"));
  Environment environment;
  if (const Value* one = value.find(0); one != nullptr) {
    ASSAY_TRY(read_class(*one, environment));
  }
  for (const auto& [key, name] : {std::pair(1, "instance"), {2, "group"}}) {
    if (value.find(key) != nullptr) {
      environment.others.emplace_back(name);
    }
  }
  return environment;
}

// reference-triple-record, section 5.1.5.
Result<ReferenceTriple> read_reference(const Value& value) {
  if (value.kind != Kind::kArray || value.items.size() != 2) {
    return malformed("a reference triple is an environment and its measurements");
  }
  ReferenceTriple triple;
  ASSAY_ASSIGN(triple.environment, read_environment(value.items[0]));
  ASSAY_TRY(check_list(value.items[1], "measurements"));
  for (const Value& item : value.items[1].items) {
    ASSAY_ASSIGN(Measurement measurement, read_measurement(item));
    triple.measurements.push_back(std::move(measurement));
  }
  return triple;
}

// triples-map, section 5.1.2.
Status read_triples(const Value* value, Comid& comid) {
  if (value == nullptr || value->kind != Kind::kMap || value->items.empty()) {
    return malformed("a CoMID has triples");
  }
  for (std::size_t i = 0; i < value->items.size(); i += 2) {
    const auto key = value->items[i].integer();
    if (key != 0) {
      comid.other_triples.push_back(key ? std::to_string(*key) : "of a text");
      continue;
    }
    ASSAY_TRY(check_list(value->items[i + 1], "reference triples"));
    for (const Value& item : value->items[i + 1].items) {
      ASSAY_ASSIGN(ReferenceTriple triple, read_reference(item));
      comid.references.push_back(std::move(triple));
    }
  }
  return {};
}

// linked-tag-map, section 5.1.1.3.
Status read_links(const Value* value, Comid& comid) {
  if (value == nullptr) {
    return {};
  }
  ASSAY_TRY(check_list(*value, "linked tags"));
  for (const Value& item : value->items) {
    ASSAY_TRY(check_map(item, std::array<std::int64_t, 2>{0, 1}, "a linked tag"));
    const Value* relation = item.find(1);
    if (relation == nullptr || !relation->integer()) {
      return malformed("a linked tag says how it is related");
    }
    ASSAY_ASSIGN(std::string id, read_id(item.find(0), "the id of a linked tag"));
    if (relation->integer() == kReplaces) {
      comid.replaces.push_back(std::move(id));
    }
  }
  return {};
}

Status read_tag_identity(const Value* value, Comid& comid) {
  if (value == nullptr) {
    return malformed("a CoMID has a tag identity");
  }
  ASSAY_TRY(check_map(*value, std::array<std::int64_t, 2>{0, 1}, "a tag identity"));
  ASSAY_ASSIGN(comid.tag_id, read_id(value->find(0), "a tag id"));
  const Value* version = value->find(1);
  if (version != nullptr && (version->kind != Kind::kUnsigned ||
                             version->number > static_cast<std::uint64_t>(kMaxSafeInteger))) {
    return malformed("a tag version is a number from 0 to 2^53 - 1");
  }
  comid.tag_version = version == nullptr ? 0 : version->number;
  return {};
}

Result<Comid> read_comid(const Value& value) {
  const Value* bytes = value.tagged(kTagComid);
  if (bytes == nullptr || bytes->kind != Kind::kBytes) {
    return malformed("tags of a CoRIM are CoMID: byte strings under the tag 506");
  }
  ASSAY_ASSIGN(const Value map, cbor::parse(bytes->bytes));
  ASSAY_TRY(check_map(map, std::array<std::int64_t, 5>{0, 1, 2, 3, 4}, "a CoMID"));
  Comid comid;
  ASSAY_TRY(read_tag_identity(map.find(1), comid));
  ASSAY_TRY(read_links(map.find(3), comid));
  ASSAY_TRY(read_triples(map.find(4), comid));
  return comid;
}

}  // namespace

// corim-map, section 4.1. Members 2 (dependent RIMs) and 5 (entities) add no values.
Result<Corim> parse_corim(ByteView bytes) {
  ASSAY_ASSIGN(const Value whole, cbor::parse(bytes));
  const Value* map = whole.tagged(kTagCorim);
  if (map == nullptr) {
    return malformed("a CoRIM without a signature stands under the tag 501");
  }
  ASSAY_TRY(check_map(*map, std::array<std::int64_t, 6>{0, 1, 2, 3, 4, 5}, "a CoRIM"));
  ASSAY_TRY(check_profile(map->find(3)));
  Corim corim;
  ASSAY_ASSIGN(corim.id, read_id(map->find(0), "the id of a CoRIM"));
  ASSAY_ASSIGN(corim.validity, read_validity(map->find(4)));
  const Value* tags = map->find(1);
  if (tags == nullptr) {
    return malformed("a CoRIM has tags");
  }
  ASSAY_TRY(check_list(*tags, "tags"));
  if (tags->items.size() > kMaxTagsOfDocument) {
    return malformed("a CoRIM has at most 16 tags");
  }
  std::set<std::string> ids;
  for (const Value& item : tags->items) {
    ASSAY_ASSIGN(Comid comid, read_comid(item));
    if (!ids.insert(comid.tag_id).second) {
      return malformed("two tags of the CoRIM have one id");
    }
    corim.tags.push_back(std::move(comid));
  }
  return corim;
}

Result<Validity> parse_corim_meta(ByteView bytes) {
  ASSAY_ASSIGN(const Value map, cbor::parse(bytes));
  ASSAY_TRY(check_map(map, std::array<std::int64_t, 2>{0, 1}, "a corim-meta"));
  return read_validity(map.find(1));
}

}  // namespace assay::attestation::corim
