// SPDX-License-Identifier: Apache-2.0
// Bundles of endorsements: collateral of several vendors in one document, which two operators sign.
// With a bundle a service without a network appraises evidence, and others verify the same evidence
// offline. Schema: endorsements.schema.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/json.h"

namespace assay {

inline constexpr std::string_view kEndorsementsPayloadType =
    "application/vnd.assay.endorsements+json";

// Bytes of the payload: some fifty RIMs of 300 KiB, or all of a fleet's TDX families.
inline constexpr std::size_t kMaxEndorsementsBytes = std::size_t{16} << 20;
// Bytes of the envelope: the payload in base64, and signatures.
inline constexpr std::size_t kMaxEndorsementsEnvelopeBytes = std::size_t{22} << 20;
static_assert(kMaxEndorsementsEnvelopeBytes >=
              (kMaxEndorsementsBytes + 2) / 3 * 4 + (std::size_t{256} << 10));

// Signed documents of one vendor, as collateral.schema.json describes them.
struct EndorsedCollateral {
  std::string type;  // of the evidence
  Json collateral = Json::object();
  bool operator==(const EndorsedCollateral&) const = default;
};

// Bytes for offline verification. A service takes none of them: trust is changed by changes of
// trust.
struct EndorsedBytes {
  std::string type;  // of the evidence
  Bytes bytes;
  bool operator==(const EndorsedBytes&) const = default;
};

struct Endorsements {
  std::uint64_t number = 0;  // a service takes higher ones only
  Timestamp made_at;
  std::vector<EndorsedCollateral> collateral;
  std::vector<EndorsedBytes> roots{};             // certificates in DER, besides the vendors'
  std::vector<EndorsedBytes> reference_values{};  // documents, as in a change of trust
  bool operator==(const Endorsements&) const = default;
};

[[nodiscard]] Json to_json(const Endorsements& endorsements);
// Errors: invalid-time; invalid-encoding; schema-violation.
[[nodiscard]] Result<Endorsements> read_json(json::As<Endorsements> type, const Json& json);
// Parses the payload of a bundle. The collateral is not authenticated. Errors: limit-exceeded
// beyond kMaxEndorsementsBytes; those of parse_json(), validate() and read_json().
[[nodiscard]] Result<Endorsements> parse_endorsements(ByteView payload);

}  // namespace assay
