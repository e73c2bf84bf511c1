// SPDX-License-Identifier: Apache-2.0
#include "attestation/corim/measurement_mapping.h"

#include <algorithm>
#include <array>
#include <span>

namespace assay::attestation::corim {
namespace {

constexpr std::array<std::string_view, 2> kIntel = {"Intel", "Intel Corporation"};
constexpr std::array<std::string_view, 2> kAmd = {"AMD", "Advanced Micro Devices"};
constexpr std::array<std::string_view, 9> kTdx = {
    "mrtd", "mrseam", "mrconfigid", "mrowner", "mrownerconfig", "rtmr0", "rtmr1", "rtmr2", "rtmr3"};
constexpr std::array<std::string_view, 1> kSeam = {"mrseam"};
constexpr std::array<std::string_view, 1> kSnp = {"measurement"};
constexpr std::size_t kSha384Bytes = 48;

constexpr std::array<Mapping, 3> kMappings = {{
    {"tdx", kIntel, "TDX", kTdx, kSha384Bytes, "mrtd"},
    {"tdx", kIntel, "TDX SEAM", kSeam, kSha384Bytes, "mrseam"},  // the TDX module
    {"sev-snp", kAmd, "SEV-SNP", kSnp, kSha384Bytes, "measurement"},
}};

// Intel's profile: the code point of tee.mrtee without its sign, as an mkey.
constexpr std::string_view kMrteeKey = "83";
constexpr std::size_t kMaxShown = 253;  // bytes of a text of the document in a message
constexpr std::size_t kMaxNames = 16;   // of members in a message
constexpr std::size_t kRegisters = 4;
constexpr std::size_t kMaxAlternatives = 64;  // as in schemas/json/reference-values.schema.json

std::unexpected<Error> unmapped(std::string why) {
  return fail(ErrorCode::kReferenceUnmapped, std::move(why));
}

bool has(const Mapping& mapping, std::string_view measurement) {
  return std::ranges::find(mapping.measurements, measurement) != mapping.measurements.end();
}

using Values = std::map<std::string, std::vector<std::string>>;

// Evidence has SHA-384 alone: what other algorithms say cannot be compared. Several SHA-384 digests
// are alternatives.
Status add(const Mapping& mapping, const std::string& measurement, const Digests& digests,
           Values& values) {
  if (!has(mapping, measurement)) {
    return unmapped("evidence of type " + std::string(mapping.evidence_type) +
                    " has no measurement " + measurement);
  }
  std::vector<std::string> list;
  for (const HashEntry& digest : digests) {
    std::string value = hex_encode(digest.value);
    if (digest.algorithm == kSha384 && std::ranges::find(list, value) == list.end()) {
      list.push_back(std::move(value));
    }
  }
  const auto is_whole = [&](const std::string& value) { return value.size() == 2 * mapping.bytes; };
  if (list.empty() || list.size() > kMaxAlternatives || !std::ranges::all_of(list, is_whole)) {
    return unmapped(measurement + " needs 1 to 64 SHA-384 digests of 48 bytes (algorithm 7)");
  }
  if (!values.emplace(measurement, std::move(list)).second) {
    return unmapped("two values of one triple are about " + measurement +
                    "; write a triple for each");
  }
  return {};
}

// Registers by their number or name: 0 to 3, "rtmr0" to "rtmr3".
std::string register_name(const std::string& id) {
  for (std::size_t i = 0; i < kRegisters; ++i) {
    if (id == std::to_string(i)) {
      return "rtmr" + id;
    }
  }
  return id;
}

Status add_measurement(const Mapping& mapping, const Measurement& measurement, Values& values) {
  if (!measurement.others.empty()) {
    std::string names;
    for (const std::string& other :
         std::span(measurement.others).first(std::min(measurement.others.size(), kMaxNames))) {
      names += (names.empty() ? "" : ", ") + other;
    }
    return unmapped("evidence is not compared with these members of a measurement: " + names);
  }
  const bool is_mrtee = measurement.key == kMrteeKey;
  if (!measurement.digests.empty()) {
    if (measurement.key.empty()) {
      return unmapped("digests need an mkey that names the measurement");
    }
    ASSAY_TRY(add(mapping, is_mrtee ? std::string(mapping.launch) : measurement.key,
                  measurement.digests, values));
  } else if (!measurement.key.empty()) {
    return unmapped("the measurement " + measurement.key + " has no digests");
  }
  if (!measurement.tee_digest.empty()) {
    ASSAY_TRY(add(mapping, std::string(mapping.launch), measurement.tee_digest, values));
  }
  for (const auto& [id, digests] : measurement.registers) {
    ASSAY_TRY(add(mapping, register_name(id), digests, values));
  }
  return {};
}

}  // namespace

const Mapping* mapping_of(std::string_view evidence_type) {
  const auto found = std::ranges::find(kMappings, evidence_type, &Mapping::evidence_type);
  return found == kMappings.end() ? nullptr : &*found;
}

// The name of a class for people. Texts of a document are shown only where they are plain.
std::string class_name(const Environment& environment) {
  std::string name;
  for (const std::string* part : {&environment.vendor, &environment.model, &environment.class_id}) {
    const bool plain = part->size() <= kMaxShown &&
                       std::ranges::all_of(*part, [](char c) { return c >= ' ' && c < 0x7f; });
    name += part->empty() ? "" : (name.empty() ? "" : " ") + (plain ? *part : std::string("?"));
  }
  return name.empty() ? "without a name" : name;
}

// A class-id beside vendor and model is another name of the same class. A layer, instance or group
// makes the environment another one, of which evidence says nothing.
Result<const Mapping*> mapping_for(const Environment& environment) {
  for (const Mapping& mapping : kMappings) {
    const bool vendor =
        std::ranges::find(mapping.vendors, environment.vendor) != mapping.vendors.end();
    if (vendor && environment.model == mapping.model && environment.others.empty()) {
      return &mapping;
    }
  }
  return fail(ErrorCode::kReferenceClassMismatch,
              environment.others.empty() ? "no evidence is of the class " + class_name(environment)
                                         : "the environment has a " + environment.others.front() +
                                               ", with which no evidence is compared");
}

Result<Values> values_of(const Mapping& mapping, const ReferenceTriple& triple) {
  Values values;
  for (const Measurement& measurement : triple.measurements) {
    ASSAY_TRY(add_measurement(mapping, measurement, values));
  }
  if (values.empty()) {
    return unmapped("a reference triple has no value");
  }
  return values;
}

Status check_values(const Mapping& mapping, const Values& values) {
  for (const auto& [measurement, list] : values) {
    if (!has(mapping, measurement)) {
      return unmapped("evidence of type " + std::string(mapping.evidence_type) +
                      " has no measurement " + measurement);
    }
    for (const std::string& value : list) {
      if (value.size() != 2 * mapping.bytes || !hex_decode(value)) {
        return fail(ErrorCode::kSchemaViolation,
                    "a value of " + measurement + " has 96 lowercase hex digits");
      }
    }
  }
  return {};
}

}  // namespace assay::attestation::corim
