// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/tcb_info.h"

#include <algorithm>
#include <tuple>

#include "attestation/tdx/json_fields.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::uint32_t kVersion = 3;
constexpr std::uint32_t kTcbType = 0;
constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxLevels = 1024;

std::unexpected<Failure> malformed(std::string what) {
  return reject(TdxError::kTcbInfoFormat, std::move(what));
}

// Exactly 16 objects with an "svn" of one byte.
bool read_components(const Json& tcb, const char* name, Svns& out) {
  const Json* list = fields::find_array(tcb, name);
  if (list == nullptr || list->size() != out.size()) {
    return false;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto svn = fields::number((*list)[i], "svn", 0xff);
    if (!svn) {
      return false;
    }
    out[i] = static_cast<std::uint8_t>(*svn);
  }
  return true;
}

// Date, status and advisories of a level.
bool read_verdict(const Json& level, bool (*allowed)(TcbStatus), TcbVerdict& out) {
  const auto date = fields::time(level, "tcbDate");
  const auto text = fields::text(level, "tcbStatus");
  const auto status = text ? tcb_status_from(*text) : std::nullopt;
  auto advisories = fields::texts(level, "advisoryIDs");
  if (!date || !status || !allowed(*status) || !advisories) {
    return false;
  }
  out = TcbVerdict{*status, *date, std::move(*advisories)};
  return true;
}

bool read_level(const Json& json, PlatformLevel& out) {
  const Json* tcb = fields::find(json, "tcb");
  if (tcb == nullptr) {
    return false;
  }
  const auto pcesvn = fields::number(*tcb, "pcesvn", 0xffff);
  out.pcesvn = static_cast<std::uint16_t>(pcesvn.value_or(0));
  return pcesvn && read_components(*tcb, "sgxtcbcomponents", out.sgx) &&
         read_components(*tcb, "tdxtcbcomponents", out.tdx) &&
         read_verdict(json, is_platform_status, out.verdict);
}

auto order_of(const PlatformLevel& level) { return std::tie(level.sgx, level.pcesvn, level.tdx); }

// Intel lists levels highest first, but nothing in the document promises it.
Outcome read_levels(const Json& json, TcbInfo& out) {
  const Json* list = fields::find_array(json, "tcbLevels");
  if (list == nullptr || list->empty() || list->size() > kMaxLevels) {
    return malformed("tcbLevels");
  }
  for (const Json& element : *list) {
    if (!read_level(element, out.levels.emplace_back())) {
      return malformed("TCB levels with 16 + 16 components, PCESVN, date and a known status");
    }
  }
  const auto higher = [](const PlatformLevel& a, const PlatformLevel& b) {
    return order_of(a) > order_of(b);
  };
  const auto same = [](const PlatformLevel& a, const PlatformLevel& b) {
    return order_of(a) == order_of(b);
  };
  std::ranges::sort(out.levels, higher);
  if (std::ranges::adjacent_find(out.levels, same) != out.levels.end()) {
    return malformed("TCB levels that differ");
  }
  return {};
}

bool read_identity(const Json& json, ModuleIdentity& out) {
  return fields::read_hex(json, "mrsigner", out.mrsigner) &&
         fields::read_hex(json, "attributes", out.attributes) &&
         fields::read_hex(json, "attributesMask", out.attributes_mask);
}

// "TDX_01", in either case.
std::optional<std::uint8_t> module_major(const Json& json) {
  auto id = fields::text(json, "id");
  if (!id || id->size() != 6) {
    return std::nullopt;
  }
  std::ranges::transform(*id, id->begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto major = fields::hex_bytes(std::string_view(*id).substr(4));
  if (!id->starts_with("TDX_") || !major) {
    return std::nullopt;
  }
  return major->front();
}

// Old documents have no tdxModuleIdentities.
Outcome read_modules(const Json& json, TcbInfo& out) {
  const Json* module = fields::find(json, "tdxModule");
  if (module == nullptr || !read_identity(*module, out.module)) {
    return malformed("tdxModule");
  }
  const Json* list = fields::find(json, "tdxModuleIdentities");
  if (list == nullptr) {
    return {};
  }
  if (!list->is_array()) {
    return malformed("tdxModuleIdentities");
  }
  for (const Json& element : *list) {
    ModuleIdentity identity;
    const auto major = module_major(element);
    auto levels = parse_component_levels(element);
    if (!major || !levels || !read_identity(element, identity)) {
      return malformed("module identities TDX_xx with signer, attributes and levels");
    }
    identity.major = *major;
    identity.levels = std::move(*levels);
    if (std::ranges::find(out.identities, *major, &ModuleIdentity::major) != out.identities.end()) {
      return malformed("one identity for each module version");
    }
    out.identities.push_back(std::move(identity));
  }
  return {};
}

// What kind of document this is, before anything else in it is believed.
Outcome check_kind(const Json& json) {
  const auto id = fields::text(json, "id");
  const auto version = fields::number(json, "version", 0xffff);
  if (!id || !version) {
    return malformed("id and version");
  }
  if (*id != "TDX") {
    return reject(TdxError::kTcbInfoIdMismatch, "TDX", *id);
  }
  if (*version != kVersion) {
    return reject(TdxError::kTcbInfoVersion, std::to_string(kVersion), std::to_string(*version));
  }
  const auto type = fields::number(json, "tcbType", 0xffff);
  if (!type) {
    return malformed("tcbType");
  }
  if (*type != kTcbType) {
    return reject(TdxError::kTcbInfoTcbType, std::to_string(kTcbType), std::to_string(*type));
  }
  return {};
}

}  // namespace

std::optional<std::vector<ComponentLevel>> parse_component_levels(const Json& object) {
  const Json* list = fields::find_array(object, "tcbLevels");
  if (list == nullptr || list->empty() || list->size() > kMaxLevels) {
    return std::nullopt;
  }
  std::vector<ComponentLevel> levels;
  for (const Json& element : *list) {
    const Json* tcb = fields::find(element, "tcb");
    const auto isvsvn = tcb != nullptr ? fields::number(*tcb, "isvsvn", 0xffff) : std::nullopt;
    ComponentLevel& level = levels.emplace_back();
    level.isvsvn = static_cast<std::uint16_t>(isvsvn.value_or(0));
    if (!isvsvn || !read_verdict(element, is_component_status, level.verdict)) {
      return std::nullopt;
    }
  }
  std::ranges::sort(levels, std::greater{}, &ComponentLevel::isvsvn);
  if (std::ranges::adjacent_find(levels, {}, &ComponentLevel::isvsvn) != levels.end()) {
    return std::nullopt;
  }
  return levels;
}

Checked<TcbInfo> parse_tcb_info(std::string_view text) {
  const auto json = parse_json(text, JsonLimits{.max_depth = kMaxDepth});
  if (!json) {
    return malformed(json.error().detail);
  }
  if (auto outcome = check_kind(*json); !outcome) {
    return std::unexpected(outcome.error());
  }
  TcbInfo info;
  const auto issued = fields::time(*json, "issueDate");
  const auto next_update = fields::time(*json, "nextUpdate");
  const auto number = fields::number(*json, "tcbEvaluationDataNumber", 0x7fffffff);
  if (!issued || !next_update || !number || !fields::read_hex(*json, "fmspc", info.fmspc) ||
      !fields::read_hex(*json, "pceId", info.pceid)) {
    return malformed("issueDate, nextUpdate, tcbEvaluationDataNumber, fmspc and pceId");
  }
  info.issued = *issued;
  info.next_update = *next_update;
  info.evaluation_number = *number;
  if (auto outcome = read_modules(*json, info); !outcome) {
    return std::unexpected(outcome.error());
  }
  if (auto outcome = read_levels(*json, info); !outcome) {
    return std::unexpected(outcome.error());
  }
  return info;
}

}  // namespace assay::attestation::tdx
