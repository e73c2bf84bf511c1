// SPDX-License-Identifier: Apache-2.0
// The appraisal policy for SEV-SNP evidence: which genuine evidence is accepted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/snp/error.h"
#include "attestation/snp/generation.h"
#include "attestation/snp/report.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::attestation::snp {

// The values that a policy can constrain, in the order of their names in JSON.
enum class Reference : std::uint8_t {
  kMeasurement,
  kHostData,
  kIdKeyDigest,
  kAuthorKeyDigest,
  kFamilyId,
  kImageId,
};
inline constexpr std::size_t kReferenceCount = 6;
// Returns "measurement", "host_data" and so on.
[[nodiscard]] std::string_view name(Reference reference);
[[nodiscard]] std::optional<Reference> reference_from(std::string_view name);
// Returns the number of bytes of a value; the value in `report`, borrowed.
[[nodiscard]] std::size_t size_of(Reference reference);
[[nodiscard]] ByteView value_of(const Report& report, Reference reference);

using References = std::vector<Bytes>;  // empty: not constrained

// Imported values that belong together.
struct ReferenceSet {
  std::string name;
  std::array<References, kReferenceCount> values;  // empty: the set says nothing of it
  std::optional<Timestamp> not_before{};
  std::optional<Timestamp> not_after{};
};

// Lowest accepted security versions of one generation. A part that is not named may be anything.
struct TcbFloors {
  Tcb reported;
  Tcb committed;
  Tcb launch;
  bool operator==(const TcbFloors&) const = default;
};

struct AppraisalPolicy {
  std::vector<SigningKey> accept_signing_keys = {SigningKey::kVcek, SigningKey::kVlek};
  std::vector<Generation> accept_generations = {kGenerations.begin(), kGenerations.end()};
  // Reports of version 2 do not say their generation. Absent: they are refused.
  std::optional<Generation> version_2_generation;
  // AMD signs no list of levels, so that the operator says what is new enough. Empty: anything.
  std::map<Generation, TcbFloors> min_tcb;
  std::uint32_t min_guest_svn = 0;
  std::uint32_t max_vmpl = 0;
  bool allow_debug = false;
  bool allow_migration = false;
  bool allow_smt = true;
  bool allow_cxl = false;
  bool require_single_socket = false;
  bool require_ciphertext_hiding = false;
  bool require_alias_check = false;
  bool require_rapl_disabled = false;
  std::array<References, kReferenceCount> reference_values;
  // Imported values beside them, and the values that are constrained even when none is left. No
  // JSON of a policy has these two.
  std::vector<ReferenceSet> imported;
  std::array<bool, kReferenceCount> constrained{};
  std::vector<ChipId> platform_allow_list;       // empty: not constrained
  std::vector<std::string> provider_allow_list;  // of VLEKs; empty: not constrained
  bool dangerous_allow_missing_crl = false;
  bool dangerous_allow_missing_min_tcb = false;

  [[nodiscard]] const References& references(Reference reference) const;
  // Returns true when not every value is accepted.
  [[nodiscard]] bool constrains(Reference reference) const;
};

// Parses a policy. Every member is optional. Errors: unknown-member, schema-violation.
[[nodiscard]] Result<AppraisalPolicy> parse_appraisal_policy(const Json& json);
[[nodiscard]] Json to_json(const AppraisalPolicy& policy);

// Returns the names of the members that constrain nothing.
[[nodiscard]] std::vector<std::string> not_constrained(const AppraisalPolicy& policy);

// Checks that the launch measurement is constrained, because a guest that an attacker rents is
// genuine too. Errors: REFERENCE_VALUES_MISSING.
[[nodiscard]] Outcome require_reference_values(const AppraisalPolicy& policy);
// Checks that there is a minimum for the reported TCB of this generation, because firmware with
// known holes is genuine too. Errors: TCB_FLOOR_MISSING.
[[nodiscard]] Outcome require_min_tcb(const AppraisalPolicy& policy, Generation generation);

}  // namespace assay::attestation::snp
