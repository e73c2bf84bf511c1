// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/device.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "policy/conditions/age.h"
#include "policy/conditions/anchors.h"
#include "schemas/evidence.h"

namespace assay::policy {
namespace {

constexpr int kDecimal = 10;
constexpr int kHex = 16;
constexpr std::size_t kShown = 32;

// The measurements that cover what a guest runs, by type of its evidence.
struct Covering {
  std::string_view type;
  std::array<std::string_view, 4> measurements;  // empty ones: none
};
constexpr std::array<Covering, 2> kCovering = {{{kTdxEvidence, {"mrtd", "rtmr0", "rtmr1", "rtmr2"}},
                                                {kSnpEvidence, {"measurement", "", "", ""}}}};

bool is_listed(const std::vector<std::string>& list, const std::string& value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

// A version that cannot be compared is as good as none.
bool is_at_least(const std::string& version, const std::optional<std::string>& least, int base) {
  return !least || is_older_version(version, *least, base) == false;
}

// Why a device that is attested is not as demanded; empty: it is.
std::string_view shortcoming(const DeviceDemands& demands, const DeviceFact& device,
                             Timestamp now) {
  const DeviceState& state = *device.state;
  const bool is_gpu = state.kind == "gpu";
  if (!is_listed(demands.vendor, state.vendor)) {
    return "vendor";
  }
  if (!is_listed(demands.architecture, state.architecture)) {
    // A switch goes with the GPUs of its board.
    if (is_gpu) {
      return "architecture";
    }
  }
  if (is_gpu && !is_listed(demands.mode, state.mode)) {
    return "mode";
  }
  if (state.measurements != "rim" && !(demands.allow_waived && state.measurements == "waived")) {
    return "measurements";
  }
  if (is_gpu && !is_at_least(state.driver, demands.min_driver, kDecimal)) {
    return "min_driver";
  }
  if (is_gpu && !is_at_least(state.firmware, demands.min_vbios, kHex)) {
    return "min_vbios";
  }
  if (demands.max_age_seconds && is_older(device.appraised_at, *demands.max_age_seconds, now)) {
    return "max_age_seconds";
  }
  return {};
}

// The part of a device that is shown, and whether the device is as demanded.
struct JudgedDevice {
  bool attested;
  bool accepted;
  Json shown;
};

JudgedDevice judge_device(const DeviceDemands& demands, const std::vector<std::string>& anchors,
                          const NodeFact& node, const DeviceFact& device, Timestamp now) {
  Json shown = {{"uuid", device.uuid}, {"appraised_at", to_rfc3339(device.appraised_at)}};
  const bool anchored = accepts_anchor(anchors, device.anchor, device.anchor_is_vendor);
  const bool attested = is_attested(node, device, now) && anchored;
  if (!device.error.empty()) {
    shown["error"] = device.error;
  } else if (!device.current) {
    shown["lacks"] = "current";
  } else if (!anchored) {
    shown["lacks"] = "anchor";
  }
  if (device.state) {
    const DeviceState& state = *device.state;
    shown.update({{"kind", state.kind},
                  {"architecture", state.architecture},
                  {"mode", state.mode},
                  {"driver", state.driver},
                  {"firmware", state.firmware},
                  {"measurements", state.measurements},
                  {"rim", state.rim},
                  {"revocation", state.revocation}});
    if (!state.waived.empty()) {
      shown["waived"] = state.waived;
    }
  }
  if (!attested) {
    return {false, false, std::move(shown)};
  }
  const std::string_view lacks = shortcoming(demands, device, now);
  if (!lacks.empty()) {
    shown["lacks"] = lacks;
  }
  return {true, lacks.empty(), std::move(shown)};
}

bool is_gpu(const DeviceFact& device) { return device.state && device.state->kind == "gpu"; }

}  // namespace

bool covers_guest(const NodeFact& node) {
  const auto row = std::ranges::find(kCovering, node.evidence_type, &Covering::type);
  return node.worker_measured && node.appraised_at && node.appraisal_current &&
         node.appraisal_error.empty() && row != kCovering.end() &&
         std::ranges::all_of(row->measurements, [&](std::string_view name) {
           return name.empty() || node.matched.contains(std::string(name));
         });
}

bool is_attested(const NodeFact& node, const DeviceFact& device, Timestamp now) {
  return covers_guest(node) && device.error.empty() && device.current && device.state &&
         device.appraised_at <= now && is_valid(device.valid_until, now);
}

void check_devices(const DeviceDemands& demands, const std::vector<std::string>& anchors,
                   const NodeFact& node, Timestamp now, Checks& checks, Json& actual) {
  std::size_t attested = 0;
  std::size_t attested_gpus = 0;  // which a registration counts
  std::size_t accepted = 0;
  bool has_gpu = false;
  Json shown = Json::array();
  for (const DeviceFact& device : node.devices) {
    JudgedDevice judged = judge_device(demands, anchors, node, device, now);
    attested += judged.attested ? 1U : 0U;
    attested_gpus += judged.attested && is_gpu(device) ? 1U : 0U;
    accepted += judged.accepted ? 1U : 0U;
    has_gpu = has_gpu || (judged.accepted && is_gpu(device));
    if (shown.size() < kShown) {
      shown.push_back(std::move(judged.shown));
    }
  }
  actual["devices"] = std::move(shown);
  actual["devices_registered"] =
      node.devices_registered ? Json(*node.devices_registered) : Json(nullptr);
  actual["guest_covered"] = covers_guest(node);
  const bool complete =
      !demands.all || (node.devices_registered == attested_gpus && attested == node.devices.size());
  checks.demand(attested > 0 && complete, Reason::kDeviceNotAttested);
  const bool as_demanded = demands.all ? accepted == node.devices.size() : true;
  checks.demand(has_gpu && as_demanded, Reason::kDeviceNotAccepted);
}

}  // namespace assay::policy
