// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/tcb_evaluate.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace assay::attestation::tdx {
namespace {

// Bytes of TEE_TCB_SVN: minor and major version of the module, late microcode.
constexpr std::size_t kMinor = 0;
constexpr std::size_t kMajor = 1;
constexpr std::size_t kMicrocode = 2;

// A module with a major version is judged by its own levels, so its two bytes are left out of the
// platform's (QVL 4.1.2.4.17.3).
std::size_t first_compared(const Svns& tee_tcb_svn) { return tee_tcb_svn[kMajor] > 0 ? 2 : 0; }

bool covers_sgx(const PckExtension& pck, const PlatformLevel& level) {
  return std::ranges::equal(pck.components, level.sgx, std::greater_equal{}) &&
         pck.pcesvn >= level.pcesvn;
}

bool covers_tdx(const Svns& tee_tcb_svn, const PlatformLevel& level) {
  const std::size_t first = first_compared(tee_tcb_svn);
  return std::equal(tee_tcb_svn.begin() + first, tee_tcb_svn.end(), level.tdx.begin() + first,
                    std::greater_equal{});
}

const ModuleIdentity* find_identity(const TcbInfo& info, std::uint8_t major) {
  const auto found = std::ranges::find(info.identities, major, &ModuleIdentity::major);
  return found == info.identities.end() ? nullptr : &*found;
}

std::string module_name(std::uint8_t major) { return "TDX_" + hex_encode(ByteView(&major, 1)); }

const ComponentLevel* find_level(const std::vector<ComponentLevel>& levels, std::uint32_t svn) {
  const auto found =
      std::ranges::find_if(levels, [&](const ComponentLevel& l) { return l.isvsvn <= svn; });
  return found == levels.end() ? nullptr : &*found;
}

std::unexpected<Failure> not_supported(const std::string& what, std::uint32_t lowest,
                                       std::uint32_t have) {
  return reject(TdxError::kTcbLevelNotSupported,
                what + " svn " + std::to_string(lowest) + " or more", std::to_string(have));
}

// The statuses that the relaunch rule looks at.
struct RelaunchInput {
  TcbStatus sgx;     // of the first level that fits when TDX components are left aside
  TcbStatus merged;  // platform and module
  std::optional<TcbStatus> module;
  TcbStatus qe;
};

// QVL 4.1.2.4.17.4.3: everything but the module at launch is fine.
bool may_advise_relaunch(const RelaunchInput& input) {
  const bool sgx_fine = input.sgx == TcbStatus::kUpToDate ||
                        input.sgx == TcbStatus::kSwHardeningNeeded ||
                        input.sgx == TcbStatus::kConfigurationNeeded ||
                        input.sgx == TcbStatus::kConfigurationAndSwHardeningNeeded;
  const bool outdated = input.merged == TcbStatus::kOutOfDate ||
                        input.merged == TcbStatus::kOutOfDateConfigurationNeeded;
  return input.qe == TcbStatus::kUpToDate && sgx_fine && outdated &&
         input.module == TcbStatus::kOutOfDate;
}

// The module loaded now (TEE_TCB_SVN2) is the newest: the TD would be up to date if started again.
Checked<bool> is_loaded_module_latest(const TcbInfo& info, const Svns& now) {
  const PlatformLevel& latest = info.levels.front();
  if (now[kMicrocode] < latest.tdx[kMicrocode]) {
    return false;
  }
  if (now[kMajor] == 0) {
    return now[kMinor] >= latest.tdx[kMinor];
  }
  const ModuleIdentity* identity = find_identity(info, now[kMajor]);
  if (identity == nullptr) {
    return reject(TdxError::kTdxModuleIdentityMissing, "a known module", module_name(now[kMajor]));
  }
  return now[kMinor] >= identity->levels.front().isvsvn;
}

Checked<TcbStatus> advise_relaunch(const TcbInfo& info, const QuoteView& quote,
                                   const RelaunchInput& input) {
  if (!has_second_svn(quote) || !may_advise_relaunch(input)) {
    return input.merged;
  }
  const auto latest = is_loaded_module_latest(info, quote.report.tee_tcb_svn2);
  if (!latest) {
    return std::unexpected(latest.error());
  }
  if (!*latest) {
    return input.merged;
  }
  return needs_configuration(input.sgx) || needs_configuration(input.merged)
             ? TcbStatus::kTdRelaunchAdvisedConfigurationNeeded
             : TcbStatus::kTdRelaunchAdvised;
}

// What the components are. Those of SGX differ from one family of platforms to the next.
struct ComponentName {
  std::string_view component;
  std::string_view name;
};
constexpr std::array<ComponentName, 6> kComponentNames = {{
    {"pcesvn", "provisioning certification enclave"},
    {"tdx[0]", "TDX module, minor version"},
    {"tdx[1]", "TDX module, major version"},
    {"tdx[2]", "late microcode"},
    {"module", "TDX module"},
    {"qe", "quoting enclave"},
}};

void merge_verdict(const TcbVerdict& verdict, TcbEvaluation& out) {
  out.date = std::min(out.date, verdict.date);
  for (const std::string& advisory : verdict.advisories) {
    if (std::ranges::find(out.advisories, advisory) == out.advisories.end()) {
      out.advisories.push_back(advisory);
    }
  }
}

struct PlatformMatch {
  const PlatformLevel* sgx;  // first level that fits by SGX components and PCESVN
  const PlatformLevel* tdx;  // first level that fits altogether
};

Checked<PlatformMatch> match_platform(const TcbInfo& info, const PckExtension& pck,
                                      const Svns& tee_tcb_svn) {
  PlatformMatch match{nullptr, nullptr};
  for (const PlatformLevel& level : info.levels) {
    if (!covers_sgx(pck, level)) {
      continue;
    }
    match.sgx = match.sgx == nullptr ? &level : match.sgx;
    if (covers_tdx(tee_tcb_svn, level)) {
      match.tdx = &level;
      return match;
    }
  }
  const PlatformLevel& lowest = info.levels.back();
  return reject(TdxError::kTcbLevelNotSupported,
                "sgx " + hex_encode(lowest.sgx) + " pcesvn " + std::to_string(lowest.pcesvn) +
                    " tdx " + hex_encode(lowest.tdx),
                "sgx " + hex_encode(pck.components) + " pcesvn " + std::to_string(pck.pcesvn) +
                    " tdx " + hex_encode(tee_tcb_svn));
}

}  // namespace

Checked<const ModuleIdentity*> check_module(const TcbInfo& info, const TdReport& report) {
  const std::uint8_t major = report.tee_tcb_svn[kMajor];
  const ModuleIdentity* module = major == 0 ? &info.module : find_identity(info, major);
  if (module == nullptr) {
    return reject(TdxError::kTdxModuleIdentityMissing, "a known module", module_name(major));
  }
  if (report.mrsignerseam != module->mrsigner) {
    return reject(TdxError::kTdxModuleMrsignerMismatch, hex_encode(module->mrsigner),
                  hex_encode(report.mrsignerseam));
  }
  Bits64 masked = report.seamattributes;
  for (std::size_t i = 0; i < masked.size(); ++i) {
    masked[i] &= module->attributes_mask[i];
  }
  if (masked != module->attributes || report.seamattributes != Bits64{}) {
    return reject(TdxError::kTdxModuleAttributesMismatch, hex_encode(module->attributes),
                  hex_encode(report.seamattributes));
  }
  return module;
}

Checked<TcbEvaluation> evaluate_tcb(const TcbInfo& info,
                                    const std::vector<ComponentLevel>& qe_levels,
                                    const PckExtension& pck, const QuoteView& quote,
                                    const ModuleIdentity& module) {
  const Svns& svn = quote.report.tee_tcb_svn;
  const ComponentLevel* module_level = find_level(module.levels, svn[kMinor]);
  if (module_level == nullptr && svn[kMajor] > 0) {
    return not_supported("module", module.levels.back().isvsvn, svn[kMinor]);
  }
  const auto match = match_platform(info, pck, svn);
  if (!match) {
    return std::unexpected(match.error());
  }
  const ComponentLevel* qe_level = find_level(qe_levels, quote.qe_report.isvsvn);
  if (qe_level == nullptr) {
    return not_supported("qe", qe_levels.back().isvsvn, quote.qe_report.isvsvn);
  }

  const TcbVerdict& platform = match->tdx->verdict;
  TcbEvaluation result;
  result.status = platform.status;
  result.platform = platform.status;
  result.qe = qe_level->verdict.status;
  result.date = platform.date;
  merge_verdict(platform, result);
  if (module_level != nullptr) {
    result.module = module_level->verdict.status;
    result.status = converge(result.status, *result.module);
    merge_verdict(module_level->verdict, result);
  }
  const auto relaunch = advise_relaunch(
      info, quote, {match->sgx->verdict.status, result.status, result.module, result.qe});
  if (!relaunch) {
    return std::unexpected(relaunch.error());
  }
  result.status = converge(*relaunch, result.qe);
  merge_verdict(qe_level->verdict, result);
  return result;
}

std::string words(const Shortfall& shortfall) {
  const auto* found =
      std::ranges::find(kComponentNames, shortfall.component, &ComponentName::component);
  const std::string_view what = found != kComponentNames.end() ? found->name
                                : shortfall.component.starts_with("sgx")
                                    ? "firmware or microcode of the platform"
                                    : "component of TDX";
  return std::string(what) + " (" + shortfall.component + ") has version " +
         std::to_string(shortfall.have) + ", the newest level needs " +
         std::to_string(shortfall.need);
}

std::vector<Shortfall> shortfalls(const TcbInfo& info, const std::vector<ComponentLevel>& qe_levels,
                                  const PckExtension& pck, const QuoteView& quote) {
  std::vector<Shortfall> list;
  const auto compare = [&](std::string component, std::uint32_t have, std::uint32_t need) {
    if (have < need) {
      list.push_back({std::move(component), have, need});
    }
  };
  const PlatformLevel& highest = info.levels.front();
  const Svns& svn = quote.report.tee_tcb_svn;
  for (std::size_t i = 0; i < pck.components.size(); ++i) {
    compare("sgx[" + std::to_string(i) + "]", pck.components[i], highest.sgx[i]);
  }
  compare("pcesvn", pck.pcesvn, highest.pcesvn);
  for (std::size_t i = first_compared(svn); i < svn.size(); ++i) {
    compare("tdx[" + std::to_string(i) + "]", svn[i], highest.tdx[i]);
  }
  const ModuleIdentity* module = find_identity(info, svn[kMajor]);
  if (svn[kMajor] > 0 && module != nullptr) {
    compare("module", svn[kMinor], module->levels.front().isvsvn);
  }
  compare("qe", quote.qe_report.isvsvn, qe_levels.front().isvsvn);
  return list;
}

}  // namespace assay::attestation::tdx
