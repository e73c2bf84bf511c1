// SPDX-License-Identifier: Apache-2.0
// Evidence of real hardware, with NVIDIA's roots, and everything that a changed byte can do to it.
#include "tests/support/vectors.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/nvidia/accept.h"
#include "attestation/nvidia/evidence_file.h"
#include "attestation/nvidia/topology.h"
#include "attestation/nvidia/verify.h"

namespace assay::attestation::nvidia {
namespace {

std::string read_vector(const std::string& file) {
  return test::read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/nvgpu" / file);
}

std::vector<Evidence> evidence(const std::string& file) {
  auto parsed = parse_evidence(as_bytes(read_vector(file)));
  EXPECT_TRUE(parsed) << file;
  return parsed ? *std::move(parsed) : std::vector<Evidence>();
}

Rim rim(const std::string& id) {
  return open_rim(id, as_bytes(read_vector(id + ".xml")), std::span(&rim_root(), 1), {}).value();
}

std::vector<Rim> all_rims() {
  return {rim("NV_GPU_DRIVER_GH100_550.144.03"), rim("NV_GPU_VBIOS_1010_0205_862_96005E0004"),
          rim("NV_SWITCH_BIOS_5612_0002_890_9610550001")};
}

Checked<DeviceFacts> judge(const Evidence& one, std::span<const Rim> rims,
                           const std::string& now = "2026-11-01T00:00:00Z") {
  return verify(
      one, {std::span(&device_root(), 1), rims, {}, {}}, parse_rfc3339(now).value(),
      one.nonce ? NonceExpectation::exactly(*one.nonce) : NonceExpectation::not_requested());
}

std::string codes(const DeviceFacts& facts) {
  std::string text;
  Acceptance acceptance;
  acceptance.require_revocation = false;  // the vectors have no answers
  for (const Failure& failure : shortcomings(facts, acceptance, Timestamp())) {
    text += (text.empty() ? "" : " ") + code(failure);
  }
  return text;
}

TEST(RealDevices, HaveTheirVerdicts) {
  const std::vector<Rim> rims = all_rims();
  const std::vector<std::array<std::string, 3>> rows = {
      {"hopper-535.json", "GH100", "RIM_MISSING:driver RIM_MISSING:vbios"},
      {"hopper-570.json", "GH100",
       "RIM_MISSING:driver RIM_EXPIRED:vbios MEASUREMENT_MISMATCH:vbios:9"},
      {"hopper-580.json", "GH100", "RIM_MISSING:driver RIM_MISSING:vbios"},
      {"blackwell-575.json", "GB100", "RIM_MISSING:driver RIM_MISSING:vbios"},
      {"ls10.json", "LS_10", ""},
  };
  for (const auto& [file, chip, want] : rows) {
    const auto facts = judge(evidence(file).front(), rims);
    ASSERT_TRUE(facts) << file << ": " << code(facts.error());
    EXPECT_EQ(facts->chip, chip);
    EXPECT_EQ(codes(*facts), want) << file;
    EXPECT_TRUE(facts->is_nvidia_root);
  }
  const auto refused = judge(evidence("ls10-bad-signature.json").front(), rims);
  EXPECT_EQ(refused.error().error, NvidiaError::kReportSignature);
}

TEST(RealDevices, SwitchBeforeItsRimBegan_SaysSo) {
  const auto facts =
      judge(evidence("ls10.json").front(), all_rims(), "2024-12-01T00:00:00Z").value();
  EXPECT_EQ(codes(facts), "RIM_NOT_YET_VALID:vbios");
  EXPECT_TRUE(facts.is_measured);
}

TEST(RealDevices, Reports_AskForTheRimsOfTheirFirmware) {
  const std::map<std::string, std::vector<std::string>> rows = {
      {"hopper-570.json",
       {"NV_GPU_DRIVER_GH100_570.124.03", "NV_GPU_VBIOS_1010_0205_862_96005E0004"}},
      {"blackwell-575.json",
       {"NV_GPU_CC_DRIVER_GB100_575.32", "NV_GPU_VBIOS_G525_0220_886_970088000F"}},
      {"ls10.json", {"NV_SWITCH_BIOS_5612_0002_890_9610550001"}},
  };
  for (const auto& [file, want] : rows) {
    const auto facts = judge(evidence(file).front(), {}).value();
    std::vector<std::string> ids;
    for (const WantedRim& one : facts.firmware.wanted) {
      ids.push_back(one.id);
    }
    EXPECT_EQ(ids, want) << file;
  }
}

TEST(RealDevices, BoardInProtectedPcieMode_NamesItself) {
  std::vector<BoardDevice> devices;
  for (const char* file : {"ppcie-gpus.json", "ppcie-switches.json"}) {
    for (const Evidence& one : evidence(file)) {
      devices.push_back(board_device(judge(one, {}).value()));
    }
  }
  EXPECT_TRUE(check_topology(devices));
  // The switch of another board.
  devices.back() = board_device(judge(evidence("ls10.json").front(), {}).value());
  EXPECT_EQ(check_topology(devices).error().error, NvidiaError::kTopologyMismatch);
}

// Every byte and bit that NVIDIA's signature covers, and the signature.
TEST(RealReport, CutAtAnyByteOrWithAnyBitFlipped_IsRefused) {
  const Evidence one = evidence("ls10.json").front();
  const KnownDevice device =
      open_device(one.certificates, std::span(&device_root(), 1), {}).value();
  const Judging judging{
      parse_rfc3339("2026-11-01T00:00:00Z").value(), NonceExpectation::not_requested(), {}};
  ASSERT_TRUE(verify(one.report, device, judging));
  for (std::size_t size = 0; size < one.report.size(); ++size) {
    const auto cut = verify(ByteView(one.report).first(size), device, judging);
    ASSERT_FALSE(cut) << size;
    ASSERT_TRUE(cut.error().error == NvidiaError::kReportTruncated) << size;
  }
  Bytes longer = one.report;
  longer.push_back(0);
  EXPECT_EQ(verify(longer, device, judging).error().error, NvidiaError::kReportTrailing);
  // A flip that still parses costs a verification: of the others each bit, of these a sample.
  std::size_t accepted = 0;
  std::size_t verified = 0;
  Bytes flipped = one.report;
  for (std::size_t bit = 0; bit < 8 * flipped.size(); ++bit) {
    flipped[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    if (!parse_report(flipped) || verified++ % 40 == 0) {
      accepted += verify(flipped, device, judging) ? 1U : 0U;
    }
    flipped[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
  }
  EXPECT_EQ(accepted, 0U);
  EXPECT_GT(verified, 10'000U);
}

// All RIMs that NVIDIA published with its tools; two of the negative ones were changed by hand.
TEST(RealRims, AllThatAreKeptElsewhere_HaveTheirVerdicts) {
  ASSAY_SHARED_VECTORS_OR_SKIP(folder, "nvgpu");
  std::map<std::string, int> verdicts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".xml" && extension != ".swidtag") {
      continue;
    }
    // The id does not matter here: it is looked at last.
    const auto opened =
        open_rim("", as_bytes(test::read_file(entry.path())), std::span(&rim_root(), 1), {});
    ++verdicts[std::string(name(opened.error().error))];
  }
  EXPECT_EQ(verdicts, (std::map<std::string, int>{
                          {"RIM_CHAIN", 1}, {"RIM_ID_MISMATCH", 29}, {"RIM_SIGNATURE", 3}}));
}

TEST(EvidenceFile, Forms) {
  const auto verdict = [](const std::string& text) {
    const auto parsed = parse_evidence(as_bytes(text));
    return parsed ? std::to_string(parsed->size()) : std::string(code(parsed.error()));
  };
  const std::string one = R"({"arch":"hopper","evidence":"EeAB/w==","certificate":"UEVN"})";
  EXPECT_EQ(verdict("[" + one + "]"), "1");
  EXPECT_EQ(verdict(one), "1");
  EXPECT_EQ(verdict(R"({"device_evidence_list":[)" + one + "," + one + "]}"), "2");
  EXPECT_EQ(verdict(R"([{"evidence":"11E001FF","certificate":"UEVN","uuid":"x"}])"), "1");
  for (const char* text : {"", "{}", "[]", "7", R"({"device_evidence_list":{}})"}) {
    EXPECT_EQ(verdict(text), "EVIDENCE_FORMAT") << text;
  }
  for (const char* text :
       {"[1]", R"([{"certificate":"UEVN"}])", R"([{"evidence":"11","certificate":"="}])",
        R"([{"evidence":"?","certificate":"UEVN"}])",
        R"([{"arch":"VOLTA","evidence":"11","certificate":"UEVN"}])",
        R"([{"arch":7,"evidence":"11","certificate":"UEVN"}])", R"([{"evidence":"11"}])",
        R"([{"nonce":"zz","evidence":"11","certificate":"UEVN"}])",
        R"([{"nonce":"11","evidence":"11","certificate":"UEVN"}])"}) {
    EXPECT_EQ(verdict(text), "EVIDENCE_FORMAT:0") << text;
  }
  EXPECT_TRUE(parse_device(as_bytes(one)));
  for (const std::string& text :
       {std::string("[]"), std::string("7"),
        std::string(R"({"evidence":"11","certificate":"UEVN","uuid":"x"})")}) {
    EXPECT_EQ(code(parse_device(as_bytes(text)).error()), "EVIDENCE_FORMAT") << text;
  }
  std::string many = "[" + one;
  for (std::size_t i = 0; i < kMaxDevices; ++i) {
    many += "," + one;
  }
  EXPECT_EQ(verdict(many + "]"), "INPUT_TOO_LARGE");
  EXPECT_EQ(verdict(std::string(kMaxEvidenceFile + 1, ' ')), "INPUT_TOO_LARGE");
}

}  // namespace
}  // namespace assay::attestation::nvidia
