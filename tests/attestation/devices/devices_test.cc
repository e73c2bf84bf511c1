// SPDX-License-Identifier: Apache-2.0
// Evidence of devices, from a library that stands for those of the driver.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "attestation/nvidia/evidence_file.h"
#include "attestation/provider/device_evidence.h"
#include "attestation/simulate/nvidia_devices.h"
#include "attestation/simulate/nvidia_machine.h"
#include "tests/support/manual_clock.h"

namespace assay::attestation {
namespace {

class Devices : public testing::Test {
 protected:
  void SetUp() override {
    nonce_.fill(0x3c);
    options_.seed = to_bytes("seed of a test");
    file_ = std::filesystem::path(testing::TempDir()) / ("devices-" + std::to_string(::getpid()));
    ::setenv("ASSAY_FAKE_ITEMS", file_.c_str(), 1);
    says("cc");
  }
  void TearDown() override { std::filesystem::remove(file_); }

  // The library has this machine's devices, which answer `asked`, in this mode and with this fault.
  void says(const char* mode, const char* fault = "", unsigned char asked = 0x3c) {
    options_.mode = std::string_view(mode) == "ppcie" ? nvidia::DeviceMode::kProtectedPcie
                                                      : nvidia::DeviceMode::kConfidential;
    options_.count = options_.mode == nvidia::DeviceMode::kProtectedPcie ? 8 : 2;
    nvidia::Nonce nonce{};
    nonce.fill(asked);
    std::ofstream out(file_);
    static std::map<std::pair<unsigned, unsigned char>, SimulatedMachine> made;
    const auto [found, is_new] = made.try_emplace({options_.count, asked});
    if (is_new) {
      found->second = simulate_machine(options_, clock_.now(), nonce).value();
    }
    machine_ = found->second;
    for (const auto& device : machine_.devices) {
      const auto hex = [&](const char* member) {
        return hex_encode(base64_decode(device.evidence[member].get<std::string>()).value());
      };
      out << device.uuid << " " << hex("evidence") << " " << hex("certificate") << "\n";
    }
    out.close();
    ::setenv("ASSAY_FAKE_MODE", mode, 1);
    ::setenv("ASSAY_FAKE_FAULT", fault, 1);
  }
  std::string refusal(const char* mode, const char* fault = "", unsigned char asked = 0x3c) {
    says(mode, fault, asked);
    const auto collected = devices_->collect(nonce_);
    return collected ? "collected" : std::string(info(collected.error().code).code);
  }

  ManualClock clock_;
  Nonce nonce_{};
  SimulatedGpus options_;
  SimulatedMachine machine_;
  std::filesystem::path file_;
  std::unique_ptr<DeviceEvidenceSource> devices_ =
      make_machine_devices(ASSAY_FAKE_DRIVER, ASSAY_FAKE_DRIVER);
};

TEST_F(Devices, Gpus_GiveTheirEvidence) {
  const auto listed = devices_->list().value();
  const auto collected = devices_->collect(nonce_).value();
  ASSERT_EQ(collected.size(), 2U);
  ASSERT_EQ(listed.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(listed[i].uuid, machine_.devices[i].uuid);
    EXPECT_EQ(listed[i].kind + listed[i].architecture + listed[i].mode, "gpuHOPPERcc");
    EXPECT_EQ(collected[i].uuid, machine_.devices[i].uuid);
    EXPECT_EQ(collected[i].evidence.type, kNvidiaEvidence);
    EXPECT_EQ(parse_json(collected[i].evidence.quote).value(), machine_.devices[i].evidence);
    EXPECT_EQ(nvidia::parse_evidence(collected[i].evidence.quote).value().size(), 1U);
  }
}

TEST_F(Devices, Board_HasItsSwitches) {
  says("ppcie");
  const auto listed = devices_->list().value();
  const auto collected = devices_->collect(nonce_).value();
  ASSERT_EQ(collected.size(), 12U);
  EXPECT_EQ(listed[0].mode, "ppcie");
  EXPECT_EQ(listed[11].kind + listed[11].architecture + listed[11].mode, "switchLS10ppcie");
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(collected[i].uuid, machine_.devices[i].uuid);
    EXPECT_EQ(parse_json(collected[i].evidence.quote).value(), machine_.devices[i].evidence);
  }
}

TEST_F(Devices, WithoutConfidentialComputing_SayIt) {
  EXPECT_EQ(refusal("cc"), "collected");
  EXPECT_EQ(refusal("off"), "device-not-confidential");
  EXPECT_EQ(devices_->list().value()[1].mode, "off");
  EXPECT_EQ(refusal("unsupported"), "device-not-confidential");
  EXPECT_EQ(refusal("cc", "not supported"), "device-not-confidential");
  EXPECT_EQ(refusal("cc", "old architecture"), "device-not-confidential");
  EXPECT_EQ(refusal("ppcie", "switch off"), "device-not-confidential");
}

TEST_F(Devices, InDevtoolsMode_GiveNothing) {
  for (const char* mode : {"devtools", "ppcie devtools"}) {
    EXPECT_EQ(refusal(mode), "device-not-confidential") << mode;
    EXPECT_EQ(devices_->list().value()[0].mode, "devtools") << mode;
  }
}

TEST_F(Devices, OddLibraries_AreRefused) {
  EXPECT_EQ(refusal("cc", "", 0x11), "evidence-unavailable") << "another nonce";
  for (const char* fault :
       {"odd uuid", "endless uuid", "long report", "short report", "long chain", "odd chain"}) {
    EXPECT_EQ(refusal("cc", fault), "evidence-unavailable") << fault;
  }
  for (const char* fault : {"init", "count", "handle", "uuid", "architecture", "state", "report",
                            "certificate", "many"}) {
    EXPECT_EQ(refusal("cc", fault), "device-failed") << fault;
  }
  for (const char* fault : {"session", "switch", "label", "input", "observe", "no device"}) {
    EXPECT_EQ(refusal("ppcie", fault), "device-failed") << fault;
  }
  for (const char* fault : {"many switches", "long switch report"}) {
    EXPECT_EQ(refusal("ppcie", fault), "limit-exceeded") << fault;
  }
}

TEST_F(Devices, OfOtherKinds_SayWhatTheyAre) {
  says("cc", "blackwell");
  EXPECT_EQ(devices_->list().value()[0].architecture, "BLACKWELL");
  EXPECT_EQ(refusal("cc", "settings"), "collected") << "a driver before protected PCIe";
  for (const char* fault : {"old switch", "other mode"}) {
    EXPECT_EQ(refusal("ppcie", fault), "device-not-confidential") << fault;
  }
  says("ppcie", "old switch");
  EXPECT_EQ(devices_->list().value()[11].architecture, "");
  says("ppcie", "switch off");
  EXPECT_EQ(devices_->list().value()[11].mode, "off");
  for (const char* fault : {"null session", "no mode device"}) {
    EXPECT_EQ(refusal("ppcie", fault), "device-failed") << fault;
  }
}

TEST_F(Devices, MoreThanAnEnrolmentTakes_AreRefused) {
  says("ppcie");
  std::ofstream out(file_, std::ios::app);
  const auto& gpu = machine_.devices.front();
  for (int i = 0; i < 22; ++i) {
    out << gpu.uuid;
    for (const char* member : {"evidence", "certificate"}) {
      out << " " << hex_encode(base64_decode(gpu.evidence[member].get<std::string>()).value());
    }
    out << "\n";
  }
  out.close();
  EXPECT_EQ(devices_->collect(nonce_).error().code, ErrorCode::kLimitExceeded);
}

TEST(DeviceAnswers, HaveNamesAndSizes) {
  const auto uuid = [](std::string text) {
    const auto read = read_uuid(as_bytes(text));
    return read ? *read : std::string(info(read.error().code).code);
  };
  const std::string end(1, '\0');
  EXPECT_EQ(uuid("GPU-09azAZ" + end), "GPU-09azAZ");
  for (const std::string& bad : {end, std::string("GPU"), std::string(65, 'a') + end, "{" + end,
                                 "[" + end, ":" + end, "/" + end}) {
    EXPECT_EQ(uuid(bad), "evidence-unavailable") << bad;
  }
  const Bytes report(37 + 42 + 96, 0);
  const Bytes chain = to_bytes("-----BEGIN CERTIFICATE-----");
  const auto presented = [](const Bytes& answer, const Bytes& certificates) {
    return present_device({"GPU-1", "HOPPER", answer, certificates}, Nonce{}).has_value();
  };
  EXPECT_TRUE(presented(report, chain));
  EXPECT_FALSE(presented(Bytes(8193, 0), chain));
  EXPECT_FALSE(presented(report, {}));
  EXPECT_FALSE(presented(report, Bytes(5121, '-')));
}

TEST_F(Devices, WithoutADriver_AreNotFound) {
  EXPECT_EQ(make_nvml_devices("no-such-library.so")->list().error().code,
            ErrorCode::kDeviceNotFound);
  EXPECT_EQ(make_nscq_devices("no-such-library.so")->collect(nonce_).error().code,
            ErrorCode::kDeviceNotFound);
  EXPECT_EQ(make_nvml_devices("libdl.so.2")->list().error().code, ErrorCode::kDeviceNotFound);
  EXPECT_EQ(make_nscq_devices("libdl.so.2")->list().error().code, ErrorCode::kDeviceNotFound);
}

TEST_F(Devices, Simulated_AreASourceToo) {
  const auto devices = make_simulated_devices(options_, clock_).value();
  EXPECT_EQ(devices->list().value()[1].uuid, machine_.devices[1].uuid);
  const auto collected = devices->collect(nonce_).value();
  EXPECT_EQ(parse_json(collected[1].evidence.quote).value(), machine_.devices[1].evidence);
  options_.seed.clear();
  EXPECT_EQ(make_simulated_devices(options_, clock_).error().code, ErrorCode::kInvalidParameter);
}

}  // namespace
}  // namespace assay::attestation
