// SPDX-License-Identifier: Apache-2.0
// Event logs of other machines: what firmware, boot loaders and kernels of others write, and what
// the parser of another project reads in the same bytes.

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/tdx/event_log.h"
#include "schemas/core/sha.h"
#include "tests/attestation/tdx/shared_vectors.h"

namespace assay::attestation::tdx {
namespace {

using testing::read_file;
using testing::read_json;

// Numbers of the event types that are in these logs (TCG PC Client Platform Firmware Profile, table
// 27).
const std::map<std::string, std::uint32_t> kTypes = {
    {"EV_POST_CODE", 0x01},
    {"EV_NO_ACTION", 0x03},
    {"EV_SEPARATOR", 0x04},
    {"EV_EVENT_TAG", 0x06},
    {"EV_PLATFORM_CONFIG_FLAGS", 0x0a},
    {"EV_IPL", 0x0d},
    {"EV_EFI_VARIABLE_DRIVER_CONFIG", 0x80000001},
    {"EV_EFI_VARIABLE_BOOT", 0x80000002},
    {"EV_EFI_BOOT_SERVICES_APPLICATION", 0x80000003},
    {"EV_EFI_GPT_EVENT", 0x80000006},
    {"EV_EFI_ACTION", 0x80000007},
    {"EV_EFI_PLATFORM_FIRMWARE_BLOB2", 0x8000000a},
    {"EV_EFI_HANDOFF_TABLES2", 0x8000000b},
    {"EV_EFI_VARIABLE_AUTHORITY", 0x800000e0},
};

Bytes own_log(const char* name) {
  return read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/tdx" / name);
}

std::vector<std::string> starts(const std::optional<std::vector<Measurement>>& digests) {
  std::vector<std::string> texts;
  for (const Measurement& digest : digests.value()) {
    texts.push_back(hex_encode(digest).substr(0, 12));
  }
  return texts;
}

using Starts = std::vector<std::string>;

// The log must outlive what is read of it.
BootFacts facts_of(const Bytes& log) { return boot_facts(parse_event_log(log).value().events); }

TEST(TdxForeignEventLogs, GrubOfRedHat_SaysWhatItStarted) {
  const Bytes log = own_log("grub-redhat.ccel");
  const BootFacts facts = facts_of(log);
  EXPECT_EQ(facts.secure_boot, false);
  EXPECT_EQ(starts(facts.applications), (Starts{"06647f7cd6b1", "1c6b41cc5f1e"}));
  EXPECT_EQ(starts(facts.kernels), Starts{"7ecde58258fb"});
  EXPECT_EQ(starts(facts.initrds), Starts{"7de50181f02b"});
  EXPECT_EQ(starts(facts.load_options), Starts{});
  ASSERT_EQ(facts.command_lines->size(), 1U);
  EXPECT_TRUE(facts.command_lines->front().starts_with(
      "(hd0,gpt3)/boot/vmlinuz-5.10.134-19.1.al8.x86_64 root=UUID=33b46ac5-7482-4aa5-8de0-"));
}

TEST(TdxForeignEventLogs, SystemdStub_SaysWhatItStarted) {
  const Bytes log = own_log("systemd-stub.ccel");
  const BootFacts facts = facts_of(log);
  EXPECT_EQ(facts.secure_boot, false);
  EXPECT_EQ(starts(facts.applications), (Starts{"36e4a41d9f84", "3c57129b96da"}));
  EXPECT_EQ(starts(facts.kernels), Starts{"2807a2f1d2ee"});
  EXPECT_EQ(starts(facts.load_options), Starts{"df6024107c34"});
  EXPECT_EQ(starts(facts.initrds), Starts{"2b6b1037266a"});
  EXPECT_EQ(facts.command_lines, std::vector<std::string>{});
}

// --- the logs beside the repository

class SharedEventLogs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) {
      GTEST_SKIP() << "needs the shared vectors";
    }
  }
  std::filesystem::path folder_ =
      testing::vectors_folder() / "confidential-containers_trustee/eventlog";
};

TEST_F(SharedEventLogs, Own_AreTheseWithoutTheirPadding) {
  const std::vector<std::pair<const char*, const char*>> pairs = {
      {"grub-redhat.ccel", "CCEL_AAEL_alibabacloud"}, {"systemd-stub.ccel", "CCEL_data_grub_gke"}};
  for (const auto& [own, shared] : pairs) {
    Bytes log = read_file(folder_ / shared);
    log.resize(parse_event_log(log).value().size);
    EXPECT_EQ(own_log(own), log) << own;
  }
}

struct Started {
  const char* log;
  std::size_t events;
  std::optional<bool> secure_boot;
  std::size_t applications;
  std::size_t kernels;
  std::size_t command_lines;
  std::size_t load_options;
  std::size_t initrds;
};
constexpr Started kStarted[] = {
    {"CCEL_AAEL_alibabacloud", 87, false, 2, 1, 1, 0, 1},
    {"CCEL_data", 5, std::nullopt, 0, 0, 0, 0, 0},
    {"CCEL_data_gcp", 21, false, 2, 0, 0, 0, 0},
    {"CCEL_data_grub", 37, true, 5, 0, 0, 1, 1},
    {"CCEL_data_grub_gke", 35, false, 2, 1, 0, 1, 1},
    {"CCEL_data_ovmf", 20, false, 1, 0, 0, 1, 1},
};

TEST_F(SharedEventLogs, Each_SaysWhatWasStarted) {
  for (const Started& one : kStarted) {
    const Bytes log = read_file(folder_ / one.log);
    const auto view = parse_event_log(log);
    ASSERT_TRUE(view) << one.log << ": " << code(view.error());
    EXPECT_EQ(view->events.size(), one.events) << one.log;
    const BootFacts facts = boot_facts(view->events);
    EXPECT_EQ(facts.secure_boot, one.secure_boot) << one.log;
    EXPECT_EQ(facts.applications->size(), one.applications) << one.log;
    EXPECT_EQ(facts.kernels->size(), one.kernels) << one.log;
    EXPECT_EQ(facts.command_lines->size(), one.command_lines) << one.log;
    EXPECT_EQ(facts.load_options->size(), one.load_options) << one.log;
    EXPECT_EQ(facts.initrds->size(), one.initrds) << one.log;
  }
}

std::string sha384_hex(ByteView bytes) { return sha(HashAlgorithm::kSha384, bytes).hex(); }

// One event beside what Trustee reads in it.
void compare(const LoggedEvent& event, const Json& theirs, const std::string& where) {
  EXPECT_EQ(event.index, theirs.at("index")) << where;
  EXPECT_EQ(event.type, kTypes.at(theirs.at("type_name"))) << where;
  EXPECT_EQ(Bytes(event.data.begin(), event.data.end()),
            base64_decode(theirs.at("event").get<std::string>()).value())
      << where;
  const std::string digest = hex_encode(event.digest);
  EXPECT_EQ(theirs.at("digests"), (Json{{{"alg", "SHA-384"}, {"digest", digest}}})) << where;
  EXPECT_EQ(digest == sha384_hex(event.data), theirs.at("digest_matches_event")) << where;
}

TEST_F(SharedEventLogs, EveryEvent_IsWhatTrusteeReads) {
  std::size_t compared = 0;
  for (const Started& one : kStarted) {
    const auto parsed = folder_ / (std::string(one.log) + "_out.json");
    if (!std::filesystem::exists(parsed)) {
      continue;  // CCEL_data_gcp
    }
    const Json theirs = read_json(parsed).at("uefi_event_logs");
    const Bytes log = read_file(folder_ / one.log);
    const std::vector<LoggedEvent> events = parse_event_log(log).value().events;
    ASSERT_EQ(events.size(), theirs.size()) << one.log;
    for (std::size_t i = 0; i < events.size(); ++i) {
      compare(events[i], theirs[i], std::string(one.log) + " " + std::to_string(i));
    }
    compared += events.size();
  }
  EXPECT_EQ(compared, 184U);
}

}  // namespace
}  // namespace assay::attestation::tdx
