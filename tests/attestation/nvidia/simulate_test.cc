// SPDX-License-Identifier: Apache-2.0
// Simulated devices are accepted under their root, and each fault has its error.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "attestation/nvidia/accept.h"
#include "attestation/nvidia/evidence_file.h"
#include "attestation/nvidia/topology.h"
#include "attestation/simulate/nvidia_faults.h"
#include "attestation/simulate/nvidia_machine.h"
#include "tests/attestation/nvidia/machine.h"

namespace assay::test::nvidia {
namespace {

using attestation::SimulatedGpus;
using attestation::SimulatedMachine;

const Timestamp kNow = parse_rfc3339("2026-06-01T10:20:30.5Z").value();

nv::Nonce asked() {
  nv::Nonce nonce{};
  nonce.fill(0x3c);
  return nonce;
}

SimulatedMachine machine_of(SimulatedGpus options) {
  options.seed = to_bytes("seed of a test");
  return simulate_machine(options, kNow, asked()).value();
}

// The parts of a collateral that a caller keeps.
struct Opened {
  std::vector<x509::Certificate> roots;
  std::vector<nv::OcspResponse> answers;
  std::vector<nv::Rim> rims;

  Opened(const Json& collateral, const Bytes& root)
      : roots({x509::Certificate::from_der(root).value()}) {
    for (const auto& [key, value] : collateral.items()) {
      if (key.starts_with("ocsp/")) {
        answers.push_back(
            nv::OcspResponse::parse(base64_decode(value.get<std::string>()).value()).value());
        const auto chain = x509::parse_certificates(
                               as_bytes(collateral["chain/" + key.substr(5)].get<std::string>()))
                               .value();
        EXPECT_EQ(chain.front().digest().hex(), key.substr(5));
        EXPECT_TRUE(chain.back().is_self_issued());
      }
    }
    for (const auto& [key, value] : collateral.items()) {
      if (key.starts_with("rim/")) {
        auto rim = nv::open_rim(key.substr(4), as_bytes(value.get_ref<const std::string&>()), roots,
                                answers);
        if (rim) {
          rims.push_back(*std::move(rim));
        }
      }
    }
  }

  nv::Checked<nv::DeviceFacts> facts(const Json& item, const nv::NonceExpectation& nonce) const {
    const auto parsed = nv::parse_evidence(as_bytes(Json::array({item}).dump()));
    if (!parsed) {
      return std::unexpected(parsed.error());
    }
    return nv::verify(parsed->front(), {roots, rims, answers, {}}, kNow, nonce);
  }
  std::string verdict(
      const Json& item, const nv::Acceptance& acceptance = {},
      const nv::NonceExpectation& nonce = nv::NonceExpectation::exactly(asked())) const {
    const auto found = facts(item, nonce);
    if (!found) {
      return code(found.error());
    }
    const auto wrong = nv::shortcomings(*found, acceptance, kNow);
    return wrong.empty() ? "accepted" : code(wrong.front());
  }
};

TEST(Simulate, SoundDevices_AreAccepted) {
  for (const auto architecture : {nv::Architecture::kHopper, nv::Architecture::kBlackwell}) {
    const SimulatedMachine machine = machine_of({.architecture = architecture, .count = 2});
    const Opened opened(machine.collateral, machine.root);
    ASSERT_EQ(machine.devices.size(), 2U);
    std::set<std::string> identities;
    for (const auto& device : machine.devices) {
      EXPECT_EQ(opened.verdict(device.evidence), "accepted");
      const auto facts =
          opened.facts(device.evidence, nv::NonceExpectation::exactly(asked())).value();
      identities.insert(facts.identity.text());
      EXPECT_EQ(facts.compared, 64U);
      EXPECT_EQ(facts.architecture, architecture);
      EXPECT_EQ(facts.fwid, nv::FwidCheck::kMatched);
      EXPECT_EQ(to_rfc3339(facts.valid_until), "2026-06-30T10:20:30.000Z");
      EXPECT_EQ(device.uuid.size(), 40U);
    }
    EXPECT_EQ(identities.size(), 2U);
  }
}

TEST(Simulate, SameSeed_GivesTheSameBytes) {
  const SimulatedMachine one = machine_of({});
  const SimulatedMachine other = machine_of({.first = 8});
  EXPECT_EQ(machine_of({}).devices[0].evidence, one.devices[0].evidence);
  EXPECT_EQ(machine_of({}).collateral, one.collateral);
  EXPECT_EQ(other.root, one.root);
  EXPECT_NE(other.devices[0].evidence, one.devices[0].evidence);
}

TEST(Simulate, ProtectedPcie_IsOneBoard) {
  const SimulatedMachine machine =
      machine_of({.count = 8, .first = 8, .mode = nv::DeviceMode::kProtectedPcie});
  const Opened opened(machine.collateral, machine.root);
  std::vector<nv::BoardDevice> all;
  for (const auto& device : machine.devices) {
    EXPECT_EQ(opened.verdict(device.evidence), "accepted");
    all.push_back(nv::board_device(
        opened.facts(device.evidence, nv::NonceExpectation::exactly(asked())).value()));
  }
  EXPECT_TRUE(nv::check_topology(all));
}

// A fault is refused by default; where it needs something, it passes without.
TEST(Simulate, EachFault_HasItsError) {
  const Bytes root = machine_of({}).root;
  for (const nv::DeviceFault& fault : nv::device_faults()) {
    const SimulatedMachine machine = machine_of({.fault = std::string(fault.name)});
    const Opened opened(machine.collateral, root);
    const Json& item = machine.devices.back().evidence;
    EXPECT_EQ(opened.verdict(item), fault.error.empty() ? "accepted" : fault.error) << fault.name;
    nv::Acceptance loose{
        .require_nonce = false,
        .allow_expired_rim = true,
        .allow_certificate_hold = true,
        .require_revocation = false,
        .waived = {{nv::RimSource::kDriver, 17, "tried here", kNow + std::chrono::hours(1)}}};
    if (!fault.needs.empty()) {
      EXPECT_EQ(opened.verdict(item, loose, nv::NonceExpectation::not_requested()), "accepted")
          << fault.name;
    }
  }
}

TEST(Simulate, OldDriver_IsAFact) {
  const SimulatedMachine machine = machine_of({.fault = "old-driver"});
  const Opened opened(machine.collateral, machine.root);
  const auto facts =
      opened.facts(machine.devices[0].evidence, nv::NonceExpectation::exactly(asked())).value();
  EXPECT_EQ(facts.firmware.driver, "550.54.15");
  EXPECT_TRUE(facts.is_measured);
}

TEST(Simulate, MachinesThatCannotBe_AreRefused) {
  const auto refusal = [](SimulatedGpus options) {
    const auto made = simulate_machine(options, kNow, asked());
    return made ? std::string("made") : std::string(info(made.error().code).code);
  };
  const Bytes seed = {1};
  EXPECT_EQ(refusal({.seed = seed}), "made");
  EXPECT_EQ(refusal({}), "invalid-parameter");
  EXPECT_EQ(refusal({.seed = seed, .count = 0}), "invalid-parameter");
  EXPECT_EQ(refusal({.seed = seed, .count = 33}), "invalid-parameter");
  EXPECT_EQ(refusal({.seed = seed, .fault = "no such"}), "invalid-parameter");
  EXPECT_EQ(refusal({.seed = seed, .architecture = nv::Architecture::kLs10}), "invalid-parameter");
  EXPECT_EQ(refusal({.seed = seed, .count = 4, .mode = nv::DeviceMode::kProtectedPcie}),
            "invalid-parameter");
}

}  // namespace
}  // namespace assay::test::nvidia
