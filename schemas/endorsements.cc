// SPDX-License-Identifier: Apache-2.0
// Bundles of endorsements: shape by endorsements.schema.json.
#include "schemas/endorsements.h"

#include "schemas/document.h"

namespace assay {
namespace {

constexpr JsonLimits kBundleLimits{
    .max_bytes = kMaxEndorsementsBytes, .max_depth = 8, .max_memory = 2 * kMaxEndorsementsBytes};

}  // namespace

static auto members_of(json::As<EndorsedCollateral>) {
  using T = EndorsedCollateral;
  return std::tuple(json::always("type", &T::type), json::always("collateral", &T::collateral));
}
static Json to_json(const EndorsedCollateral& one) { return json::write(one); }
static Result<EndorsedCollateral> read_json(json::As<EndorsedCollateral> /*type*/,
                                            const Json& json) {
  return json::read<EndorsedCollateral>(json);
}

static auto members_of(json::As<EndorsedBytes>) {
  using T = EndorsedBytes;
  return std::tuple(json::always("type", &T::type), json::always("bytes", &T::bytes));
}
static Json to_json(const EndorsedBytes& one) { return json::write(one); }
static Result<EndorsedBytes> read_json(json::As<EndorsedBytes> /*type*/, const Json& json) {
  return json::read<EndorsedBytes>(json);
}

static auto members_of(json::As<Endorsements>) {
  using T = Endorsements;
  return std::tuple(json::always("number", &T::number), json::always("made_at", &T::made_at),
                    json::always("collateral", &T::collateral),
                    json::unless_default("roots", &T::roots),
                    json::unless_default("reference_values", &T::reference_values));
}
Json to_json(const Endorsements& endorsements) { return json::write(endorsements); }
Result<Endorsements> read_json(json::As<Endorsements> /*type*/, const Json& json) {
  return json::read<Endorsements>(json);
}
Result<Endorsements> parse_endorsements(ByteView payload) {
  return document::parse<Endorsements>(payload, "endorsements", kBundleLimits);
}

}  // namespace assay
