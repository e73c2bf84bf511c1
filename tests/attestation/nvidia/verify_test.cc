// SPDX-License-Identifier: Apache-2.0
// Facts and refusals about simulated devices: one sound machine, one fault a case.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/nvidia/accept.h"
#include "attestation/nvidia/evidence_file.h"
#include "attestation/nvidia/topology.h"
#include "schemas/core/sha.h"
#include "tests/attestation/nvidia/machine.h"

namespace assay::test::nvidia {
namespace {

// Devices and RIMs are opened once for the program: that is most of the time.
struct OpenedDevice {
  Device made;
  nv::Checked<nv::KnownDevice> known;
};
const OpenedDevice& opened_device(const DeviceSpec& spec, bool has_answers) {
  static std::map<std::string, OpenedDevice> all;
  const std::string key = spec.chip + "|" + std::to_string(static_cast<int>(spec.form)) +
                          hex_encode(spec.fwid) + std::to_string(spec.flags) + spec.leaf_kind +
                          spec.not_after + spec.name + (has_answers ? "+" : "-");
  const auto found = all.find(key);
  if (found != all.end()) {
    return found->second;
  }
  Device made = make_device(spec);
  auto known =
      nv::open_device(made.pem, std::span(&device_root(), 1),
                      has_answers ? good_answers(made, spec) : std::vector<nv::OcspResponse>());
  return all.emplace(key, OpenedDevice{std::move(made), std::move(known)}).first->second;
}

const nv::Rim& opened_rim(const RimSpec& spec, const std::string& id, bool has_answers) {
  static std::map<std::string, nv::Rim> all;
  std::string key = id + spec.product + spec.leaf_until + (has_answers ? "+" : "-");
  for (const Resource& one : spec.resources) {
    key += std::to_string(one.index) + (one.active ? "+" : "-") + hex_encode(one.values.front());
  }
  const auto found = all.find(key);
  if (found != all.end()) {
    return found->second;
  }
  const auto answers = has_answers ? good_answers(spec) : std::vector<nv::OcspResponse>();
  return all.emplace(key, open(make_rim(spec), id, answers).value()).first->second;
}

nv::WaivedMeasurement waiver(nv::RimSource source, std::uint8_t index) {
  return {source, index, "a known fault", at("2027-01-01T00:00:00Z")};
}

struct World {
  DeviceSpec device;
  ReportSpec report = hopper_report();
  RimSpec driver = driver_rim();
  RimSpec vbios = vbios_rim();
  std::string driver_id = kDriverId;
  std::string vbios_id = kVbiosId;
  bool has_driver = true;
  bool has_answers = true;
  nv::NonceExpectation nonce = nv::NonceExpectation::exactly(some_nonce());
  Timestamp now = at();
  nv::Acceptance acceptance{};
  std::function<void(Bytes&)> bytes;

  nv::Checked<nv::DeviceFacts> facts() const {
    const auto& [made, known] = opened_device(device, has_answers);
    if (!known) {
      return std::unexpected(known.error());
    }
    std::vector<nv::Rim> rims = {opened_rim(vbios, vbios_id, has_answers)};
    if (has_driver) {
      rims.push_back(opened_rim(driver, driver_id, has_answers));
    }
    Bytes evidence = make_report(report, made.key);
    if (bytes) {
      bytes(evidence);
    }
    return nv::verify(evidence, *known, {now, nonce, rims, acceptance.window});
  }

  // "accepted", or the codes of everything that is wrong.
  std::string verdict() const {
    const auto found = facts();
    if (!found) {
      return code(found.error());
    }
    std::string text;
    for (const nv::Failure& failure : nv::shortcomings(*found, acceptance, now)) {
      text += (text.empty() ? "" : " ") + code(failure);
    }
    return text.empty() ? "accepted" : text;
  }
};

TEST(Device, SoundMachine_GivesItsFacts) {
  const World world;
  ASSERT_EQ(world.verdict(), "accepted");
  const auto facts = *world.facts();
  EXPECT_EQ(facts.chip, "GH100");
  EXPECT_EQ(facts.pdi, "0102030405060708");
  EXPECT_EQ(facts.firmware.driver, "600.1");
  EXPECT_EQ(facts.firmware.vbios, "96.00.74.00.20");
  EXPECT_EQ(facts.firmware.mode, nv::DeviceMode::kConfidential);
  EXPECT_EQ(facts.fwid, nv::FwidCheck::kMatched);
  EXPECT_EQ(facts.compared, 4U);
  EXPECT_TRUE(facts.is_measured && facts.nonce_matched && !facts.is_nvidia_root);
  EXPECT_EQ(facts.debug, nv::DebugState::kDisabled);
  EXPECT_EQ(facts.revocations.size(), 3U + 2 + 2);
  EXPECT_EQ(to_rfc3339(facts.valid_until), "2026-06-07T00:00:00.000Z");  // of OCSP answers
  const Json json = nv::to_json(facts);
  EXPECT_EQ(json["mode"], "cc");
  EXPECT_EQ(json["rims"][0]["id"], kDriverId);
}

struct Case {
  const char* what;
  const char* want;
  std::function<void(World&)> change;
};

void expect_verdicts(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    World world;
    one.change(world);
    EXPECT_EQ(world.verdict(), one.want) << one.what;
  }
}

std::function<void(World&)> field(std::uint16_t type, std::optional<Bytes> value) {
  return [type, value](World& world) { set_field(world.report, type, value); };
}

std::function<void(World&)> device(std::function<void(DeviceSpec&)> change) {
  return [change](World& world) { change(world.device); };
}

TEST(Device, OneFault_IsNamed) {
  expect_verdicts({
      {"another nonce", "NONCE_MISMATCH", [](World& w) { w.report.nonce.fill(1); }},
      {"no nonce asked for", "NONCE_NOT_REQUESTED",
       [](World& w) { w.nonce = nv::NonceExpectation::not_requested(); }},
      {"ended chain", "DEVICE_CHAIN_EXPIRED",
       device([](auto& d) { d.not_after = "2026-05-31T23:59:59Z"; })},
      {"before the chain", "DEVICE_CHAIN_NOT_YET_VALID",
       [](World& w) { w.now = at("2025-12-31T23:59:59Z"); }},
      {"last second of the chain", "accepted",
       device([](auto& d) { d.not_after = "2026-06-01T00:00:00Z"; })},
      {"key on another curve", "DEVICE_KEY_TYPE", device([](auto& d) { d.leaf_kind = "P-256"; })},
      {"unknown chip", "DEVICE_UNKNOWN", device([](auto& d) { d.chip = "AD102"; })},
      {"another maker", "DEVICE_UNKNOWN", device([](auto& d) { d.name = "ACME:GH100:1"; })},
      {"no serial number", "DEVICE_UNKNOWN", device([](auto& d) { d.name = "NVIDIA:GH100:"; })},
      {"other firmware in the certificate", "FWID_MISMATCH",
       device([](auto& d) { d.fwid = Bytes(48, 1); })},
      {"no firmware in the certificate", "FWID_MISMATCH",
       device([](auto& d) { d.form = FwidForm::kNone; })},
      {"short digest of firmware", "FWID_FORMAT", device([](auto& d) { d.fwid = Bytes(32, 1); })},
      {"firmware not reported", "accepted", field(20, std::nullopt)},
      {"no driver", "OPAQUE_MISSING:3", field(3, std::nullopt)},
      {"driver with a slash", "OPAQUE_FORMAT:3", field(3, to_bytes("../1"))},
      {"no VBIOS", "OPAQUE_MISSING:6", field(6, std::nullopt)},
      {"short VBIOS", "OPAQUE_FORMAT:6", field(6, Bytes(7, 1))},
      {"no project", "OPAQUE_MISSING:17", field(17, std::nullopt)},
      {"newer opaque data", "OPAQUE_VERSION", field(34, Bytes{2, 0})},
      {"long opaque version", "OPAQUE_FORMAT:34", field(34, Bytes(9, 0))},
      {"unknown feature", "OPAQUE_FORMAT:36", field(36, Bytes{3, 0})},
      {"unknown state of PCIe", "OPAQUE_FORMAT:21", field(21, Bytes{1})},
      {"modes contradict", "MODE_CONTRADICTION", field(36, Bytes{2, 0})},
      {"odd links", "OPAQUE_FORMAT:22", field(22, Bytes(9, 1))},
      {"unknown state of NVDEC", "OPAQUE_FORMAT:11", field(11, Bytes{0})},
      {"state of NVDEC not said", "NVDEC_STATUS", field(11, std::nullopt)},
      {"debugging in TcbInfo", "DEBUG_ENABLED RIM_MISSING:driver",
       [](World& w) {
         w.device.chip = "GB100";
         w.device.form = FwidForm::kBlackwell;
         w.device.flags = 0x90;
         w.vbios.product = "GB100";
       }},
      {"signature of another device", "REPORT_SIGNATURE",
       [](World& w) { w.bytes = [](Bytes& b) { b.back() ^= 1; }; }},
      {"zero signature", "REPORT_SIGNATURE",
       [](World& w) { w.bytes = [](Bytes& b) { std::fill(b.end() - 96, b.end(), 0); }; }},
  });
}

// long-function: one table.
TEST(Device, Measurements_AreNamedByIndexAndSource) {
  expect_verdicts({
      {"another value", "MEASUREMENT_MISMATCH:driver:7",
       [](World& w) { w.report.measurements[7].second = value_of(1); }},
      {"absent", "MEASUREMENT_MISMATCH:vbios:9",
       [](World& w) { w.report.measurements.erase(w.report.measurements.begin() + 9); }},
      {"shorter value", "MEASUREMENT_MISMATCH:vbios:0",
       [](World& w) { w.report.measurements[0].second = Bytes(32, 1); }},
      {"the other alternative", "accepted",
       [](World& w) { w.report.measurements[9].second = value_of(77); }},
      {"35 with NVDEC", "MEASUREMENT_MISMATCH:driver:35",
       [](World& w) { w.report.measurements[35].second = value_of(1); }},
      {"35 without NVDEC", "accepted",
       [](World& w) {
         w.report.measurements[35].second = value_of(1);
         set_field(w.report, 11, Bytes{0x55});
       }},
      {"inactive value", "accepted",
       [](World& w) { w.driver.resources[2].values = {value_of(200)}; }},
      {"both RIMs have an index", "RIM_CONFLICT:0",
       [](World& w) { w.driver.resources.push_back({0, {value_of(1)}}); }},
      {"waived", "accepted",
       [](World& w) {
         w.report.measurements[7].second = value_of(1);
         w.acceptance.waived = {waiver(nv::RimSource::kDriver, 7)};
       }},
      {"waived until now", "MEASUREMENT_MISMATCH:driver:7",
       [](World& w) {
         w.report.measurements[7].second = value_of(1);
         w.acceptance.waived = {waiver(nv::RimSource::kDriver, 7)};
         w.acceptance.waived.front().until = w.now;
       }},
      {"waived for another index", "MEASUREMENT_MISMATCH:driver:7",
       [](World& w) {
         w.report.measurements[7].second = value_of(1);
         w.acceptance.waived = {waiver(nv::RimSource::kDriver, 8)};
       }},
      {"nothing that counts in either RIM", "RIM_CONFLICT:35",
       [](World& w) {
         w.driver.resources = w.vbios.resources = {{35, {value_of(36)}}};
         set_field(w.report, 11, Bytes{0x55});
       }},
      {"waived for the other source", "MEASUREMENT_MISMATCH:driver:7",
       [](World& w) {
         w.report.measurements[7].second = value_of(1);
         w.acceptance.waived = {waiver(nv::RimSource::kVbios, 7)};
       }},
  });
  World world;
  world.report.measurements[7].second = value_of(1);
  const auto facts = *world.facts();
  ASSERT_EQ(facts.mismatches.size(), 1U);
  EXPECT_EQ(facts.mismatches[0].golden, std::vector<Bytes>(1, value_of(8)));
  EXPECT_EQ(facts.mismatches[0].reported, value_of(1));
  EXPECT_FALSE(facts.is_measured);
  EXPECT_EQ(facts.debug, nv::DebugState::kUnknown);
  EXPECT_EQ(nv::to_json(facts)["mismatches"][0]["reported"], hex_encode(value_of(1)));
  world.report.measurements.erase(world.report.measurements.begin() + 7);
  const Json absent = nv::to_json(*world.facts())["mismatches"][0];
  EXPECT_EQ(absent["golden"], Json::array({hex_encode(value_of(8))}));
  EXPECT_TRUE(absent["reported"].is_null());
}

TEST(Device, Rims_AreJudgedAtNow) {
  expect_verdicts({
      {"missing", "RIM_MISSING:driver", [](World& w) { w.has_driver = false; }},
      {"of another version", "RIM_MISSING:driver",
       [](World& w) {
         w.driver.version = "600.2";
         w.driver_id = "NV_GPU_DRIVER_GH100_600.2";
       }},
      {"of another chip under this id", "RIM_MISSING:vbios",
       [](World& w) { w.vbios.product = "GB100"; }},
      {"ended", "RIM_EXPIRED:driver",
       [](World& w) { w.driver.leaf_until = "2026-05-31T23:59:59Z"; }},
      {"ended and allowed", "accepted",
       [](World& w) {
         w.driver.leaf_until = "2026-05-31T23:59:59Z";
         w.acceptance.allow_expired_rim = true;
       }},
      {"without answers",
       "REVOCATION_UNKNOWN:device REVOCATION_UNKNOWN:device "
       "REVOCATION_UNKNOWN:device REVOCATION_UNKNOWN:driver "
       "REVOCATION_UNKNOWN:driver REVOCATION_UNKNOWN:vbios "
       "REVOCATION_UNKNOWN:vbios",
       [](World& w) { w.has_answers = false; }},
      {"without answers, which is allowed", "accepted",
       [](World& w) {
         w.has_answers = false;
         w.acceptance.require_revocation = false;
       }},
  });
}

TEST(Device, RimThatTwoPeopleStandFor_CountsBeyondItsEnd) {
  World world;
  world.driver.leaf_until = "2026-05-31T23:59:59Z";
  world.acceptance.vouched = {sha256(as_bytes("another RIM"))};
  EXPECT_EQ(world.verdict(), "RIM_EXPIRED:driver");
  const auto facts = world.facts().value();
  world.acceptance.vouched.insert(facts.rims.front().digest.value());
  EXPECT_EQ(world.verdict(), "accepted");
  EXPECT_EQ(name(facts.rims.front().state), "expired");
}

TEST(Device, OfTwoRimsWithOneId_TheValidOneCounts) {
  const World world;
  const auto& [made, known] = opened_device(world.device, true);
  RimSpec ended = world.driver;
  ended.leaf_until = "2026-05-31T23:59:59Z";
  const nv::Rim& old_one = opened_rim(ended, kDriverId, true);
  const nv::Rim& new_one = opened_rim(world.driver, kDriverId, true);
  for (const std::vector<nv::Rim>& rims :
       {std::vector<nv::Rim>{old_one, new_one}, {new_one, old_one}, {old_one, old_one, new_one}}) {
    const auto facts =
        nv::verify(make_report(world.report, made.key), *known, {world.now, world.nonce, rims});
    EXPECT_EQ(facts.value().rims.front().digest, new_one.digest);
  }
}

TEST(Device, States_HaveNames) {
  using enum nv::RimState;
  EXPECT_EQ(name(kNotYetValid), "not-yet-valid");
  EXPECT_EQ(name(kMissing), "missing");
  EXPECT_EQ(name(nv::FwidCheck::kNotReported), "not-reported");
  EXPECT_EQ(name(nv::DebugState::kEnabled), "enabled");
  EXPECT_EQ(name(nv::DebugState::kUnknown), "unknown");
  EXPECT_EQ(name(nv::DeviceKind::kSwitch), "switch");
}

TEST(Device, ChainOutOfShape_IsRefused) {
  const Device made = make_device();
  const auto open_chain = [&](std::vector<x509::Certificate> chain) {
    const auto opened = nv::open_device(pem_of(chain), std::span(&device_root(), 1), {});
    return opened ? "opened" : std::string(name(opened.error().error));
  };
  const auto& c = made.chain;
  EXPECT_EQ(open_chain(c), "opened");
  EXPECT_EQ(open_chain({c[0], c[1], c[2], c[3]}), "DEVICE_CHAIN_SHAPE");
  EXPECT_EQ(open_chain({c[0], c[1], c[2], c[3], c[4], c[4]}), "DEVICE_CHAIN_SHAPE");
  EXPECT_EQ(open_chain({c[0], c[2], c[1], c[3], c[4]}), "DEVICE_CHAIN_SHAPE");
  EXPECT_EQ(open_chain({c[1], c[2], c[3], c[3], c[4]}), "DEVICE_CHAIN_REFUSED");  // a CA as leaf
  EXPECT_EQ(open_chain({c[0], c[1], c[2], c[3], rim_root()}), "DEVICE_CHAIN_UNTRUSTED");
  const Device other = make_device({.number = 1});
  EXPECT_EQ(open_chain({c[0], other.chain[1], c[2], c[3], c[4]}), "DEVICE_CHAIN_UNTRUSTED");
  const auto nothing = nv::open_device("no PEM", std::span(&device_root(), 1), {});
  EXPECT_EQ(nothing.error().error, nv::NvidiaError::kDeviceChainFormat);
  EXPECT_EQ(nv::open_device(made.pem, {}, {}).error().error,
            nv::NvidiaError::kDeviceChainUntrusted);
}

TEST(Device, Evidence_MustFitItsOwnStatements) {
  const Device made = make_device();
  nv::Evidence evidence{make_report(hopper_report(), made.key), made.pem, {}, {}};
  const nv::Trust trust{std::span(&device_root(), 1), {}, {}, {}};
  const auto verdict = [&] {
    const auto facts = nv::verify(evidence, trust, at(), nv::NonceExpectation::not_requested());
    return facts ? "verified" : std::string(name(facts.error().error));
  };
  EXPECT_EQ(verdict(), "verified");
  evidence.architecture = nv::Architecture::kLs10;
  EXPECT_EQ(verdict(), "ARCHITECTURE_MISMATCH");
  evidence.architecture = nv::Architecture::kHopper;
  evidence.nonce = nv::Nonce{};
  EXPECT_EQ(verdict(), "NONCE_MISMATCH");
  evidence.certificates.clear();
  EXPECT_EQ(verdict(), "DEVICE_CHAIN_FORMAT");
}

TEST(Device, Blackwell_AsksForItsOwnRims) {
  World world;
  world.device = {.chip = "GB202", .form = FwidForm::kBlackwell};
  set_field(world.report, 35, to_bytes("gb202"));
  world.driver.product = world.vbios.product = "GB202";
  world.driver_id = "NV_GPU_CC_DRIVER_GB202_600.1";
  EXPECT_EQ(world.verdict(), "accepted");
  set_field(world.report, 35, to_bytes("\x01"));
  EXPECT_EQ(world.verdict(), "OPAQUE_FORMAT:35");
}

// --- protected PCIe

std::vector<nv::DeviceFacts> board() {
  std::vector<nv::DeviceFacts> all;
  World world;
  world.has_answers = false;
  const nv::DeviceFacts gpu = *world.facts();
  const auto pdi = [](int kind, int i) {
    return "0" + std::to_string(kind) + "0000000000000" + std::to_string(i);
  };
  std::vector<std::string> gpus;
  std::vector<std::string> switches;
  for (int i = 0; i < 12; ++i) {
    (i < 8 ? gpus : switches).push_back(pdi(i < 8 ? 1 : 2, i % 8));
  }
  for (int i = 0; i < 12; ++i) {
    nv::DeviceFacts one = gpu;
    one.identity = sha256(as_bytes(std::to_string(i)));
    one.kind = i < 8 ? nv::DeviceKind::kGpu : nv::DeviceKind::kSwitch;
    one.pdi = pdi(i < 8 ? 1 : 2, i % 8);
    one.firmware.mode = nv::DeviceMode::kProtectedPcie;
    one.firmware.neighbours = i < 8 ? switches : gpus;
    all.push_back(one);
  }
  return all;
}

TEST(Topology, Switch_StandsForNoGpuBesideIt) {
  const auto together = [](std::vector<std::size_t> places) {
    auto devices = board();
    devices[0].firmware.mode = devices[1].firmware.mode = nv::DeviceMode::kConfidential;
    std::vector<nv::BoardDevice> all;
    for (const std::size_t place : places) {
      all.push_back(nv::board_device(devices[place]));
    }
    const auto checked = nv::check_together(all);
    return checked ? *checked ? "board" : "single" : std::string(name(checked.error().error));
  };
  EXPECT_EQ(together({0, 1}), "single");
  EXPECT_EQ(together({11}), "single");
  EXPECT_EQ(together({0, 11}), "TOPOLOGY_COUNT");
  EXPECT_EQ(together({10, 11}), "TOPOLOGY_COUNT");
}

TEST(Topology, Board_MustNameItself) {
  const auto verdict = [](const std::function<void(std::vector<nv::DeviceFacts>&)>& change) {
    auto devices = board();
    change(devices);
    std::vector<nv::BoardDevice> all;
    std::ranges::transform(devices, std::back_inserter(all), nv::board_device);
    const auto checked = nv::check_topology(all);
    return checked ? "whole" : std::string(name(checked.error().error));
  };
  EXPECT_EQ(verdict([](auto&) {}), "whole");
  EXPECT_EQ(verdict([](auto& d) { d.pop_back(); }), "TOPOLOGY_COUNT");
  EXPECT_EQ(verdict([](auto& d) { d[0].firmware.mode = nv::DeviceMode::kConfidential; }),
            "TOPOLOGY_COUNT");
  EXPECT_EQ(verdict([](auto& d) { d[11].kind = nv::DeviceKind::kGpu; }), "TOPOLOGY_COUNT");
  EXPECT_EQ(verdict([](auto& d) { d[1].identity = d[0].identity; }), "TOPOLOGY_DOUBLED");
  EXPECT_EQ(verdict([](auto& d) { d[1].pdi = d[0].pdi; }), "TOPOLOGY_DOUBLED");
  EXPECT_EQ(verdict([](auto& d) { d[3].pdi = "0900000000000000"; }), "TOPOLOGY_MISMATCH");
  EXPECT_EQ(verdict([](auto& d) { d[3].pdi = std::nullopt; }), "TOPOLOGY_MISMATCH");
  EXPECT_EQ(verdict([](auto& d) { d[9].pdi = std::nullopt; }), "TOPOLOGY_MISMATCH");
  EXPECT_EQ(verdict([](auto& d) { d[2].firmware.neighbours.pop_back(); }), "TOPOLOGY_MISMATCH");
  EXPECT_EQ(verdict([](auto& d) { d[10].firmware.neighbours.pop_back(); }), "TOPOLOGY_MISMATCH");
}

// --- acceptance

TEST(Acceptance, Document_IsReadStrictly) {
  const auto read = [](const char* text) { return nv::parse_acceptance(Json::parse(text)); };
  const auto all = read(R"({"require_nonce":false,"allow_expired_rim":true,
    "allow_certificate_hold":true,"require_revocation":false,"ocsp_grace_seconds":60,
    "waived":[{"source":"vbios","index":9,"reason":"nvtrust 90","until":"2027-01-01T00:00:00Z"}]})");
  ASSERT_TRUE(all);
  EXPECT_TRUE(!all->require_nonce && all->allow_expired_rim && all->allow_certificate_hold &&
              !all->require_revocation);
  EXPECT_EQ(all->window.grace, std::chrono::seconds(60));
  ASSERT_EQ(all->waived.size(), 1);
  EXPECT_EQ(read(R"({"waived":[{"source":"driver","index":0,"reason":"r",
    "until":"2027-01-01T00:00:00Z"}]})")
                ->waived.front()
                .source,
            nv::RimSource::kDriver);
  EXPECT_EQ(all->waived.front().index, 9);
  EXPECT_EQ(all->waived.front().until, at("2027-01-01T00:00:00Z"));
  EXPECT_EQ(nv::parse_acceptance(to_json(*all)).value().waived, all->waived);
  for (
      const char* text :
      {"[]",
       R"({"require_nonce":1})",
       R"({"ocsp_grace_seconds":-1})",
       R"({"ocsp_grace_seconds":40000000})",
       R"({"waived":{}})",
       R"({"waived":[{"index":9}]})",
       R"({"waived":[{"source":"vbios","index":9}]})",
       R"({"waived":[{"source":"gpu","index":9,"reason":"r","until":"2027-01-01T00:00:00Z"}]})",
       R"({"waived":[{"source":"vbios","index":9,"reason":"","until":"2027-01-01T00:00:00Z"}]})",
       R"({"waived":[{"source":"vbios","index":9,"reason":"r","until":"soon"}]})",
       R"({"waived":[{"source":"vbios","index":255,"reason":"r","until":"2027-01-01T00:00:00Z"}]})",
       R"({"allow_expired_rim":"yes"})",
       R"({"allow_certificate_hold":1})",
       R"({"require_revocation":1})",
       R"({"ocsp_grace_seconds":"1"})",
       R"({"waived":[1]})",
       R"({"waived":[{"source":"vbios","index":9,"reason":"r","end":"2027-01-01T00:00:00Z"}]})",
       R"({"waived":[{"source":"vbios","index":9,"until":"r","end":"2027-01-01T00:00:00Z"}]})",
       R"({"waived":[{"source":"vbios","until":"9","reason":"r","end":"2027-01-01T00:00:00Z"}]})",
       R"({"waived":[{"until":"vbios","index":9,"reason":"r","end":"2027-01-01T00:00:00Z"}]})",
       R"({"waived":[{"source":"vbios","index":-1,"reason":"r","until":"2027-01-01T00:00:00Z"}]})",
       R"({"waived":[{"source":"vbios","index":9,"reason":1,"until":"2027-01-01T00:00:00Z"}]})",
       R"({"waived":[{"source":"vbios","index":9,"reason":"r","until":1}]})"}) {
    const auto refused = read(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::kSchemaViolation) << text;
  }
  const std::string one =
      R"({"source":"vbios","index":9,"reason":"r","until":"2027-01-01T00:00:00Z"})";
  std::string many = one;
  for (std::size_t i = 0; i < nv::kMaxWaived; ++i) {
    many += "," + one;
  }
  EXPECT_FALSE(read((R"({"waived":[)" + many + "]}").c_str()));
  EXPECT_FALSE(
      read(replaced(R"({"waived":[)" + one + "]}", "\"r\"", "\"" + std::string(257, 'r') + "\"")
               .c_str()));
  EXPECT_EQ(read(R"({"allow_everything":true})").error().code, ErrorCode::kUnknownMember);
}

TEST(Errors, EveryRow_HasANameAndAMeaning) {
  for (std::size_t i = 0; i < nv::nvidia_error_count(); ++i) {
    const auto error = static_cast<nv::NvidiaError>(i);
    EXPECT_FALSE(name(error).empty() || meaning(error).empty());
  }
}

}  // namespace
}  // namespace assay::test::nvidia
