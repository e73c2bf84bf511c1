// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/qe_identity.h"

#include "attestation/tdx/json_fields.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::string_view kId = "TD_QE";
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kMaxDepth = 16;

std::unexpected<Failure> malformed(std::string what) {
  return reject(TdxError::kQeIdentityFormat, std::move(what));
}

template <std::size_t N>
std::array<std::uint8_t, N> masked(std::array<std::uint8_t, N> value,
                                   const std::array<std::uint8_t, N>& mask) {
  for (std::size_t i = 0; i < N; ++i) {
    value[i] &= mask[i];
  }
  return value;
}

Outcome check_kind(const Json& json) {
  const auto id = fields::text(json, "id");
  const auto version = fields::number(json, "version", 0xffff);
  if (!id || !version) {
    return malformed("id and version");
  }
  if (*id != kId) {
    return reject(TdxError::kQeIdentityIdMismatch, std::string(kId), *id);
  }
  if (*version != kVersion) {
    return reject(TdxError::kQeIdentityVersion, std::to_string(kVersion), std::to_string(*version));
  }
  return {};
}

}  // namespace

Checked<QeIdentity> parse_qe_identity(std::string_view text) {
  const auto json = parse_json(text, JsonLimits{.max_depth = kMaxDepth});
  if (!json) {
    return malformed(json.error().detail);
  }
  if (auto outcome = check_kind(*json); !outcome) {
    return std::unexpected(outcome.error());
  }
  QeIdentity identity;
  const auto issued = fields::time(*json, "issueDate");
  const auto next_update = fields::time(*json, "nextUpdate");
  const auto number = fields::number(*json, "tcbEvaluationDataNumber", 0x7fffffff);
  const auto product = fields::number(*json, "isvprodid", 0xffff);
  if (!issued || !next_update || !number || !product) {
    return malformed("issueDate, nextUpdate, tcbEvaluationDataNumber and isvprodid");
  }
  if (!fields::read_hex(*json, "miscselect", identity.miscselect) ||
      !fields::read_hex(*json, "miscselectMask", identity.miscselect_mask) ||
      !fields::read_hex(*json, "attributes", identity.attributes) ||
      !fields::read_hex(*json, "attributesMask", identity.attributes_mask) ||
      !fields::read_hex(*json, "mrsigner", identity.mrsigner)) {
    return malformed("miscselect, attributes, their masks and mrsigner");
  }
  auto levels = parse_component_levels(*json);
  if (!levels) {
    return malformed("tcbLevels with isvsvn, date and a known status");
  }
  identity.issued = *issued;
  identity.next_update = *next_update;
  identity.evaluation_number = *number;
  identity.isvprodid = static_cast<std::uint16_t>(*product);
  identity.levels = std::move(*levels);
  return identity;
}

Outcome check_qe(const QeIdentity& identity, const QeReport& report) {
  if (masked(report.miscselect, identity.miscselect_mask) != identity.miscselect) {
    return reject(TdxError::kQeMiscselectMismatch, hex_encode(identity.miscselect),
                  hex_encode(report.miscselect));
  }
  if (masked(report.attributes, identity.attributes_mask) != identity.attributes) {
    return reject(TdxError::kQeAttributesMismatch, hex_encode(identity.attributes),
                  hex_encode(report.attributes));
  }
  if (report.mrsigner != identity.mrsigner) {
    return reject(TdxError::kQeMrsignerMismatch, hex_encode(identity.mrsigner),
                  hex_encode(report.mrsigner));
  }
  if (report.isvprodid != identity.isvprodid) {
    return reject(TdxError::kQeIsvprodidMismatch, std::to_string(identity.isvprodid),
                  std::to_string(report.isvprodid));
  }
  return {};
}

}  // namespace assay::attestation::tdx
