// SPDX-License-Identifier: Apache-2.0
// Devices as the registry and the collateral of a service see them: which collateral is authentic
// and what it is called, which evidence counts, and what is kept of a verdict.
#include <array>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/collateral_set.h"
#include "attestation/simulate/nvidia_machine.h"
#include "attestation/verifier_registry.h"
#include "schemas/core/sha.h"
#include "tests/support/vectors.h"

namespace assay::attestation {
namespace {

const Timestamp kNow = parse_rfc3339("2026-06-01T10:20:30Z").value();

Nonce asked() {
  Nonce nonce{};
  nonce.fill(0x3c);
  return nonce;
}

// A machine of one GPU, with this fault.
const SimulatedMachine& machine(const std::string& fault = "") {
  static std::map<std::string, SimulatedMachine> made;
  const auto [found, is_new] = made.try_emplace(fault);
  if (is_new) {
    SimulatedGpus options;
    options.seed = to_bytes("seed of a test");
    options.fault = fault;
    found->second = simulate_machine(options, kNow, asked()).value();
  }
  return found->second;
}

std::string code_text(const Error& error) { return std::string(info(error.code).code); }

// --- collateral

std::string authenticated(const Json& bundle,
                          const std::vector<Bytes>& anchors = {machine().root}) {
  const auto set = authenticate_collateral(kNvidiaEvidence, bundle, anchors);
  return set ? "authentic" : code_text(set.error()) + " " + set.error().where;
}

std::string key_of(const std::string& prefix) {
  for (const auto& [key, value] : machine().collateral.items()) {
    if (key.starts_with(prefix)) {
      return key;
    }
  }
  return "";
}

std::vector<std::string> certificates_of(const Json& collateral, const std::string& key) {
  const std::string end = "-----END CERTIFICATE-----\n";
  std::string text = collateral.value(key, "");
  std::vector<std::string> all;
  for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end)) {
    all.push_back(text.substr(0, at + end.size()));
    text.erase(0, at + end.size());
  }
  return all;
}

TEST(NvidiaCollateral, SetHasItsPartsUnderItsAnchor) {
  const auto set =
      authenticate_collateral(kNvidiaEvidence, machine().collateral, std::array{machine().root})
          .value();
  EXPECT_EQ(set->type(), kNvidiaEvidence);
  EXPECT_FALSE(set->anchor_is_vendor() || set->is_kept_whole());
  EXPECT_EQ(set->anchor(), sha256(machine().root));
  EXPECT_EQ(set->bundle(), machine().collateral);
  EXPECT_GT(set->memory_bytes(), machine().collateral.dump().size());
  EXPECT_LT(set->valid_from(), kNow);
  EXPECT_GT(set->valid_until(), kNow);
  std::size_t rims = 0;
  for (const CollateralPart& part : set->parts()) {
    EXPECT_TRUE(part.name.starts_with("nvidia-gpu/" + sha256(machine().root).hex() + "/"));
    EXPECT_EQ(part.asks.empty(), part.kind == "ocsp") << part.name;
    EXPECT_EQ(members_of(*set, part).size(), part.kind == "ocsp" ? 2U : 1U);
    rims += part.kind == "rim" ? 1U : 0U;
  }
  EXPECT_EQ(rims, 2U);
  const Evidence evidence{
      std::string(kNvidiaEvidence), to_bytes(machine().devices[0].evidence.dump()), {}, {}};
  for (const std::string& name : collateral_names(evidence, {})) {
    EXPECT_NE(std::ranges::find(set->parts(), name, &CollateralPart::name), set->parts().end())
        << name;
  }
  const auto empty = authenticate_collateral(kNvidiaEvidence, Json::object(), {}).value();
  EXPECT_TRUE(empty->anchor_is_vendor());
}

TEST(NvidiaCollateral, OfNoReadableEvidence_HasNoNames) {
  const auto names = [](Json device) {
    return collateral_names({std::string(kNvidiaEvidence), to_bytes(device.dump()), {}, {}}, {})
        .size();
  };
  const Json good = machine().devices[0].evidence;
  EXPECT_EQ(names(good), 5U);
  EXPECT_EQ(names(7), 0U);
  Json changed = good;
  changed["certificate"] = "UEVN";
  EXPECT_EQ(names(changed), 0U);
  changed = good;
  changed["evidence"] = "EeAB/w==";
  EXPECT_EQ(names(changed), 0U);
  Bytes report = base64_decode(good["evidence"].get<std::string>()).value();
  report[report.size() - 97] ^= 0xff;  // the last byte of the opaque fields: of the feature flag
  changed["evidence"] = base64_encode(report);
  EXPECT_EQ(names(changed), 0U);
}

// long-function: one sound set, one change a line.
TEST(NvidiaCollateral, TextsThatAreNotAuthentic_AreRefused) {
  // The answer about the device's own certificate, which has the longest chain.
  std::string chain;
  for (const auto& [key, value] : machine().collateral.items()) {
    if (key.starts_with("chain/") &&
        (chain.empty() || value.get_ref<const std::string&>().size() >
                              machine().collateral[chain].get_ref<const std::string&>().size())) {
      chain = key;
    }
  }
  const std::string ocsp = "ocsp/" + chain.substr(6);
  const std::string rim = key_of("rim/");
  const Json& good = machine().collateral;
  ASSERT_EQ(authenticated(good), "authentic");
  const auto changed = [&](const std::function<void(Json&)>& change) {
    Json bundle = good;
    change(bundle);
    return authenticated(bundle);
  };
  const auto with = [&](const std::string& key, const Json& value) {
    return changed([&](Json& bundle) { bundle[key] = value; });
  };
  const std::string refused = "collateral-refused /collateral/";
  EXPECT_EQ(authenticated(Json::array()), "schema-violation /collateral");
  EXPECT_EQ(with("rim/x", 7), "schema-violation /collateral/rim/x");
  EXPECT_EQ(with("other", "text"), "unknown-member /collateral/other");
  EXPECT_EQ(with("chain/ab", "text"), refused + "chain/ab");
  EXPECT_EQ(changed([&](Json& bundle) { bundle.erase(chain); }), refused + chain);
  EXPECT_EQ(with(chain, "no PEM"), refused + chain);
  const std::vector<std::string> pem = certificates_of(good, chain);
  ASSERT_GE(pem.size(), 4U);
  const auto with_chain = [&](const std::vector<std::string>& certificates) {
    std::string text;
    for (const std::string& one : certificates) {
      text += one;
    }
    return with(chain, text);
  };
  SimulatedGpus stranger;
  stranger.seed = to_bytes("seed of another test");
  const auto others = simulate_machine(stranger, kNow, asked()).value();
  std::string of_others;  // the chain of the stranger's device: the same names, other keys
  for (const auto& [key, value] : others.collateral.items()) {
    if (key.starts_with("chain/") && certificates_of(others.collateral, key).size() == pem.size()) {
      of_others = key;
    }
  }
  const std::vector<std::string> foreign = certificates_of(others.collateral, of_others);
  ASSERT_EQ(with_chain(pem), "authentic");
  const std::vector<std::vector<std::string>> chains = {
      {pem[0]},                              // the certificate alone
      {pem[1], pem[2], pem[3]},              // that of another certificate
      {pem[0], pem[1], pem[2]},              // no root
      {pem[0], pem[2], pem[3]},              // not issued by the next
      {pem[0], foreign[1], pem[2], pem[3]},  // issued by one of this name
  };
  for (std::size_t i = 0; i < chains.size(); ++i) {
    EXPECT_EQ(with_chain(chains[i]), refused + chain) << i;
  }
  // Signers of RIMs are no CAs.
  for (const auto& [key, value] : good.items()) {
    if (key.starts_with("chain/") && key != chain) {
      EXPECT_EQ(with_chain({pem[0], certificates_of(good, key).front(), pem[2], pem[3]}),
                certificates_of(good, key).front() == pem[1] ? "authentic" : refused + chain);
    }
  }
  EXPECT_TRUE(authenticated(good, {}).starts_with(refused + "chain/"));
  EXPECT_EQ(with(ocsp, "?"), refused + ocsp);
  EXPECT_EQ(with(ocsp, "UEVN"), refused + ocsp);
  std::string other;
  for (const auto& [key, value] : good.items()) {
    if (key.starts_with("ocsp/") && key != ocsp) {
      other = value.get<std::string>();
    }
  }
  EXPECT_EQ(with(ocsp, other), refused + ocsp);  // an answer about another certificate
  Bytes der = base64_decode(good[ocsp].get<std::string>()).value();
  der.back() ^= 1;
  EXPECT_EQ(with(ocsp, base64_encode(der)), refused + ocsp);
  EXPECT_EQ(with(rim, "<a></a>"), refused + rim);
  EXPECT_EQ(with("rim/other", good[rim]), refused + "rim/other");
  EXPECT_EQ(with("vouched/x", "text").substr(0, 14), "invalid-digest");
  EXPECT_EQ(with("vouched/x", sha256(as_bytes("a RIM")).text()), "authentic");
  Json many = Json::object();
  for (int i = 0; i < 513; ++i) {
    many["rim/" + std::to_string(i)] = "text";
  }
  EXPECT_EQ(authenticated(many), "limit-exceeded /collateral");
  EXPECT_EQ(authenticated(Json::object(), {Bytes{1}}).substr(0, 21), "malformed-certificate");
  // Parts under two roots are no set.
  Json both = good;
  both.update(others.collateral);
  EXPECT_EQ(authenticated(both, {machine().root, others.root}).substr(0, 18), "collateral-refused");
}

// --- appraisal

struct Asking {
  Json device = machine().devices[0].evidence;
  Json collateral = machine().collateral;
  Appraisal appraisal{};
  Purpose purpose = Purpose::kDevice;
  ReportDataBytes expected = device_report_data(asked());
  Timestamp now = kNow;
  Bytes event_log{};
  Json own_collateral{};
  std::string media_type{};

  Asking() {
    appraisal.evidence_type = kNvidiaEvidence;
    appraisal.dangerous_anchors = {machine().root};
  }
  explicit Asking(const std::string& fault) : Asking() {
    device = machine(fault).devices[0].evidence;
    collateral = machine(fault).collateral;
  }
  [[nodiscard]] Result<AppraisedEvidence> result() const {
    const auto set =
        authenticate_collateral(kNvidiaEvidence, collateral, std::array{machine().root});
    if (!set) {
      return std::unexpected(set.error());
    }
    return appraise_under(**set,
                          {std::string(kNvidiaEvidence), to_bytes(device.dump()), event_log,
                           own_collateral, media_type},
                          appraisal, purpose, expected, now);
  }
  [[nodiscard]] std::string verdict() const {
    const auto appraised = result();
    return !appraised            ? code_text(appraised.error()) + " " + appraised.error().where
           : appraised->accepted ? "accepted"
                                 : appraised->error;
  }
};

TEST(NvidiaAppraisal, SoundDevice_IsKeptWithItsState) {
  const auto appraised = Asking().result().value();
  ASSERT_TRUE(appraised.accepted) << appraised.error;
  EXPECT_TRUE(appraised.has_reference_values && !appraised.anchor_is_vendor);
  const DeviceState& state = appraised.device.value();
  EXPECT_EQ(state.vendor + " " + state.kind + " " + state.architecture + " " + state.mode,
            "nvidia gpu hopper cc");
  EXPECT_EQ(state.measurements + " " + state.rim + " " + state.revocation + " " + state.debug,
            "rim valid good disabled");
  EXPECT_EQ(appraised.platform, plugin_platform(kNvidiaEvidence, state.identity.bytes()));
  EXPECT_EQ(appraised.trustworthiness.hardware, 32);  // not NVIDIA's root
  EXPECT_EQ(appraised.result["verdict"], "accepted");
}

TEST(NvidiaAppraisal, WaivedDevice_SaysSoAndEndsWithItsWaiver) {
  Asking asking("firmware");
  EXPECT_TRUE(asking.verdict().starts_with("MEASUREMENT_MISMATCH")) << asking.verdict();
  asking.appraisal.policy = Json::parse(R"({"waived":[{"source":"driver","index":17,
    "reason":"known","until":"2026-06-02T00:00:00Z"}]})");
  const auto appraised = asking.result().value();
  ASSERT_TRUE(appraised.accepted) << appraised.error;
  EXPECT_EQ(appraised.device->measurements, "waived");
  EXPECT_EQ(appraised.device->waived, std::vector<std::string>(1, "driver:17"));
  EXPECT_EQ(to_rfc3339(appraised.valid_until.value()), "2026-06-02T00:00:00.000Z");
}

TEST(NvidiaAppraisal, StatesThatAreAllowed_AreSaid) {
  const auto state = [](const std::string& fault, const Json& policy, const auto& change) {
    Asking asking(fault);
    asking.appraisal.policy = policy;
    change(asking);
    const auto appraised = asking.result().value();
    return appraised.accepted ? appraised.device->revocation + " " + appraised.device->rim + " " +
                                    appraised.device->measurements
                              : appraised.error;
  };
  const auto as_it_is = [](Asking&) {};
  const auto without_answers = [](Asking& asking) {
    Json rims = Json::object();
    for (const auto& [key, value] : asking.collateral.items()) {
      if (key.starts_with("rim/")) {
        rims[key] = value;
      }
    }
    asking.collateral = rims;
  };
  EXPECT_EQ(state("", {{"require_revocation", false}}, without_answers), "unknown valid rim");
  EXPECT_EQ(state("", Json::object(), without_answers), "REVOCATION_UNKNOWN:device");
  const std::vector<std::tuple<const char*, Json, const char*>> rows = {
      {"hold", {{"allow_certificate_hold", true}}, "hold valid rim"},
      {"hold", Json::object(), "CERTIFICATE_HOLD:device"},
      {"unknown", {{"require_revocation", false}}, "unknown valid rim"},
      {"old-answer", {{"require_revocation", false}}, "unknown valid rim"},
      {"expired-rim", {{"allow_expired_rim", true}}, "good expired rim"},
      {"revoked", {{"require_revocation", false}}, "CERTIFICATE_REVOKED:device"},
      {"debug", Json::object(), "DEBUG_ENABLED"},
  };
  for (const auto& [fault, policy, want] : rows) {
    EXPECT_EQ(state(fault, policy, as_it_is), want) << fault;
  }
}

TEST(NvidiaAppraisal, EvidenceInAnotherForm_IsRefused) {
  const auto verdict = [](const std::function<void(Asking&)>& change) {
    Asking asking;
    change(asking);
    return asking.verdict();
  };
  EXPECT_EQ(verdict([](Asking&) {}), "accepted");
  EXPECT_EQ(verdict([](Asking& a) { a.purpose = Purpose::kEnrol; }), "DEVICE_ALONE");
  EXPECT_EQ(verdict([](Asking& a) { a.purpose = Purpose::kStage; }), "DEVICE_ALONE");
  EXPECT_EQ(verdict([](Asking& a) { a.expected.back() = 1; }), "NONCE_MISMATCH");
  EXPECT_EQ(verdict([](Asking& a) { a.expected.front() ^= 1; }), "NONCE_MISMATCH");
  EXPECT_EQ(verdict([](Asking& a) { a.device["arch"] = "BLACKWELL"; }), "ARCHITECTURE_MISMATCH");
  EXPECT_EQ(verdict([](Asking& a) { a.device.erase("arch"); }), "accepted");
  EXPECT_EQ(verdict([](Asking& a) { a.device["uuid"] = "x"; }), "EVIDENCE_FORMAT");
  EXPECT_EQ(verdict([](Asking& a) { a.device["certificate"] = "UEVN"; }), "DEVICE_CHAIN_FORMAT");
  EXPECT_EQ(verdict([](Asking& a) { a.appraisal.dangerous_anchors.clear(); }),
            "DEVICE_CHAIN_UNTRUSTED");
  EXPECT_EQ(verdict([](Asking& a) { a.event_log = Bytes{1}; }), "schema-violation /event_log");
  EXPECT_EQ(verdict([](Asking& a) { a.own_collateral = Json::object(); }),
            "schema-violation /collateral");
  EXPECT_EQ(verdict([](Asking& a) { a.media_type = "text/plain"; }),
            "evidence-type-unknown /media_type");
  EXPECT_EQ(verdict([](Asking& a) { a.media_type = kNvidiaMediaType; }), "accepted");
  EXPECT_EQ(verdict([](Asking& a) { a.appraisal.policy = {{"waived", 1}}; }),
            "schema-violation /policy/waived");
  EXPECT_EQ(verdict([](Asking& a) { a.appraisal.constrained = {"x"}; }), "reference-unmapped ");
  EXPECT_EQ(verdict([](Asking& a) { a.appraisal.imported.emplace_back(); }), "reference-unmapped ");
  EXPECT_TRUE(verdict([](Asking& a) {
                a.appraisal.dangerous_anchors = {Bytes{1}};
              }).starts_with("malformed-certificate"));
}

TEST(NvidiaAppraisal, RegistryTakesCollateralOnlyToInspect) {
  const VerifierRegistry& registry = built_in_verifiers();
  Asking asking;
  const auto verdict = [&](Purpose purpose, const Json& collateral) {
    const auto appraised = registry.appraise(
        {std::string(kNvidiaEvidence), to_bytes(asking.device.dump()), {}, collateral},
        asking.appraisal, purpose, asking.expected, kNow);
    return !appraised            ? code_text(appraised.error())
           : appraised->accepted ? "accepted"
                                 : appraised->error;
  };
  EXPECT_EQ(verdict(Purpose::kInspect, asking.collateral), "accepted");
  EXPECT_EQ(verdict(Purpose::kInspect, nullptr), "REVOCATION_UNKNOWN:device");
  EXPECT_EQ(verdict(Purpose::kDevice, nullptr), "REVOCATION_UNKNOWN:device");
  EXPECT_EQ(verdict(Purpose::kDevice, asking.collateral), "schema-violation");
  EXPECT_EQ(verdict(Purpose::kInspect, Json{{"other", "text"}}), "unknown-member");
  EXPECT_TRUE(registry.check(asking.appraisal));
  EXPECT_TRUE(registry.check(default_appraisal(kNvidiaEvidence)));
  for (const auto& change : std::vector<std::function<void(Appraisal&)>>{
           [](Appraisal& a) { a.stage = "train"; }, [](Appraisal& a) { a.policy = 7; },
           [](Appraisal& a) { a.dangerous_anchors = {Bytes{1}}; }}) {
    Appraisal bad = asking.appraisal;
    change(bad);
    EXPECT_FALSE(registry.check(bad));
  }
}

TEST(NvidiaAppraisal, ManyDevicesUnderOneSet_AreRememberedAndForgotten) {
  const auto set =
      authenticate_collateral(kNvidiaEvidence, machine().collateral, std::array{machine().root})
          .value();
  Asking asking;
  asking.appraisal.policy = {{"require_revocation", false}};
  const auto verdict = [&](const Json& device) {
    return appraise_under(*set, {std::string(kNvidiaEvidence), to_bytes(device.dump()), {}, {}},
                          asking.appraisal, Purpose::kDevice, asking.expected, kNow)
        ->accepted;
  };
  SimulatedGpus options;
  options.seed = to_bytes("seed of a test");
  options.count = 18;
  const auto all = simulate_machine(options, kNow, asked()).value();
  for (int round = 0; round < 2; ++round) {
    for (const auto& device : all.devices) {
      EXPECT_TRUE(verdict(device.evidence));
    }
  }
  EXPECT_TRUE(verdict(all.devices.back().evidence));
  // A root that counts no more takes a remembered device along.
  asking.appraisal.dangerous_anchors.clear();
  EXPECT_FALSE(verdict(all.devices.back().evidence));
}

std::string read_real(const std::string& file) {
  return test::read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/nvgpu" / file);
}

TEST(RealSwitch, UnderNvidiasRoots_IsTrustedButForItsRevocation) {
  const std::string id = "NV_SWITCH_BIOS_5612_0002_890_9610550001";
  const Json bundle = {{"rim/" + id, read_real(id + ".xml")}};
  const auto set = authenticate_collateral(kNvidiaEvidence, bundle, {}).value();
  EXPECT_TRUE(set->anchor_is_vendor());
  EXPECT_EQ(set->parts().front().name, "nvidia-gpu/rim/" + id);
  const Json list = Json::parse(read_real("ls10.json"));
  const Json device = list.is_array() ? list.front() : list;
  Nonce nonce{};
  std::ranges::copy(hex_decode(lower_case(device["nonce"].get<std::string>())).value(),
                    nonce.begin());
  Appraisal appraisal;
  appraisal.evidence_type = kNvidiaEvidence;
  const auto verdict = [&](const Json& policy) {
    appraisal.policy = policy;
    return appraise_under(*set, {std::string(kNvidiaEvidence), to_bytes(device.dump()), {}, {}},
                          appraisal, Purpose::kDevice, device_report_data(nonce),
                          parse_rfc3339("2026-11-01T00:00:00Z").value())
        .value();
  };
  EXPECT_EQ(verdict(Json::object()).error, "REVOCATION_UNKNOWN:device");
  const auto appraised = verdict({{"require_revocation", false}});
  ASSERT_TRUE(appraised.accepted) << appraised.error;
  EXPECT_TRUE(appraised.anchor_is_vendor);
  EXPECT_EQ(appraised.device->kind + appraised.device->mode, "switch");
  EXPECT_EQ(appraised.trustworthiness.hardware, 32);  // nobody said that it is not revoked
}

TEST(DevicesTogether, AreThoseOfTheVendor) {
  const DeviceState gpu = Asking().result()->device.value();
  EXPECT_EQ(fault_of_devices({}), "");
  EXPECT_EQ(fault_of_devices(std::vector{gpu}), "");
  EXPECT_EQ(fault_of_devices(std::vector{gpu, gpu}), "TOPOLOGY_DOUBLED");
  DeviceState other = gpu;
  other.vendor = "another";
  EXPECT_EQ(fault_of_devices(std::vector{gpu, other}), "");
  other = gpu;
  other.kind = "switch";
  other.bus = "";
  other.identity = sha256(as_bytes("a switch"));
  EXPECT_EQ(fault_of_devices(std::vector{gpu, other}), "TOPOLOGY_COUNT") << "a part of a board";
  EXPECT_EQ(fault_of_devices(std::vector{other}), "") << "alone it speaks for no GPU";
  other.mode = "ppcie";
  other.kind = "gpu";
  EXPECT_EQ(fault_of_devices(std::vector{gpu, other}), "TOPOLOGY_COUNT");
  EXPECT_TRUE(is_of_device(kNvidiaEvidence));
  EXPECT_FALSE(is_of_device(kTdxEvidence));
}

}  // namespace
}  // namespace assay::attestation
