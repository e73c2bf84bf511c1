// SPDX-License-Identifier: Apache-2.0
// Plug-ins in their processes: the example, and those that misbehave.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

#include "attestation/verifier_registry.h"
#include "schemas/core/sha.h"
#include "tests/attestation/plugin_support.h"

namespace assay::attestation::plugin {
namespace {

using std::chrono::milliseconds;
using test::ask;
using test::wicked;
using test::wicked_evidence;

// Long for a call that ends, on a machine with much else to do; short for one that does not.
constexpr milliseconds kShort{700};

std::string outcome(const EvidenceVerifier& verifier, const Evidence& evidence) {
  const auto appraised = ask(verifier, evidence);
  if (!appraised) {
    return std::string(info(appraised.error().code).code);
  }
  return appraised->accepted ? "accepted" : appraised->error;
}
std::string outcome(const EvidenceVerifier& verifier, std::string_view way) {
  return outcome(verifier, wicked_evidence(way));
}

// How often the plug-in was called in the process that answered.
std::string calls(const EvidenceVerifier& verifier) {
  const auto appraised = ask(verifier, wicked_evidence("good"));
  return appraised ? appraised->result["measurements"]["calls"].get<std::string>()
                   : to_string(appraised.error());
}

TEST(PluginExample, VerifiesItsEvidence) {
  const auto verifier = test::example_hmac();
  const Evidence genuine = test::hmac_evidence();
  const auto appraised = ask(*verifier, genuine);
  ASSERT_TRUE(appraised) << to_string(appraised.error());
  EXPECT_TRUE(appraised->accepted) << appraised->error;
  Bytes machine;
  for (std::uint8_t i = 0; i < 16; ++i) {
    machine.push_back(i);
  }
  EXPECT_EQ(appraised->platform, plugin_platform("example-hmac", machine));
  EXPECT_EQ(appraised->result["measurements"]["image"], hex_encode(Bytes(32, 0xaa)));

  Evidence changed = genuine;
  changed.quote.back() ^= 1U;
  EXPECT_EQ(outcome(*verifier, changed), "SIGNATURE_MISMATCH");
  changed = genuine;
  changed.quote.front() ^= 1U;
  EXPECT_EQ(outcome(*verifier, changed), "SIGNATURE_MISMATCH");
  changed.quote.pop_back();
  EXPECT_EQ(outcome(*verifier, changed), "EVIDENCE_SIZE");
  const auto other = verifier->appraise(genuine, test::plugin_appraisal("example-hmac"),
                                        Purpose::kInspect, ReportDataBytes{}, tdx::testing::now());
  EXPECT_EQ(other->error, "REPORT_DATA_MISMATCH");
}

// What a plug-in does on its own: none of it is ever an acceptance, and the next call has no trace
// of it.
TEST(PluginHost, WhatMisbehaves_IsAnErrorAndLeavesNothing) {
  const auto verifier = wicked();
  for (const char* way :
       {"crash",       "abort",       "recurse",     "exit",           "allocate", "fork",
        "exec",        "socket",      "open",        "create",         "again",    "ptrace",
        "kill",        "write-input", "remap-input", "descriptors",    "half",     "flood",
        "other-nonce", "other-type",  "garbage",     "empty-object",   "trailing", "twice",
        "zeros",       "nothing",     "too-long",    "contraindicated"}) {
    EXPECT_EQ(outcome(*verifier, way), "verifier-failed") << way;
    EXPECT_EQ(calls(*verifier), "1") << "after " << way;
  }
  EXPECT_FALSE(std::filesystem::exists("/tmp/assay-wicked"));
}

TEST(PluginHost, WhatHangs_EndsAtTheDeadline) {
  const auto verifier = wicked(test::host_options(kShort));
  for (const char* way : {"spin", "sleep"}) {
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(outcome(*verifier, way), "verifier-failed") << way;
    EXPECT_GE(std::chrono::steady_clock::now() - before, kShort - milliseconds(50)) << way;
  }
}

// Constructors run in the process of the call, locked in like everything else.
TEST(PluginHost, ConstructorThatMisbehaves_IsAnError) {
  for (const char* way : {"spin", "crash", "fork", "socket", "allocate"}) {
    const auto verifier =
        wicked(test::host_options(kShort), "wicked_constructor_" + std::string(way));
    EXPECT_EQ(outcome(*verifier, "good"), "verifier-failed") << way;
    EXPECT_EQ(outcome(*verifier, "good"), "verifier-failed") << way;
  }
}

TEST(PluginHost, OtherVersionOrType_IsNotCalled) {
  EXPECT_EQ(outcome(*wicked(test::host_options(), "wicked_abi"), "good"), "verifier-failed");
  EXPECT_EQ(outcome(*wicked(test::host_options(), "wicked_type"), "good"), "verifier-failed");
  EXPECT_EQ(outcome(*wicked(test::host_options(), "wicked_empty"), "good"), "verifier-failed");
  const auto other = test::verifier_of("wicked", "wicked", "application/vnd.example.other");
  EXPECT_EQ(outcome(*other, "good"), "verifier-failed");
}

TEST(PluginHost, MoreCallsThanAllowed_AreTurnedAway) {
  HostOptions options = test::host_options(milliseconds(3'000));
  options.max_calls = 1;
  const auto verifier = wicked(options);
  std::atomic<bool> done = false;
  std::thread hanging([&] {
    std::string first = outcome(*verifier, "sleep");
    while (first == "unavailable") {  // the place was taken by the calls below
      first = outcome(*verifier, "sleep");
    }
    EXPECT_EQ(first, "verifier-failed");
    done = true;
  });
  // Until the other call is under way, this one has its place.
  std::string second;
  while (!done && second != "unavailable") {
    second = outcome(*verifier, "nothing");
  }
  hanging.join();
  EXPECT_EQ(second, "unavailable");
  EXPECT_EQ(outcome(*verifier, "good"), "accepted");
}

// Threads that wait are those of one service, however many plug-ins it has.
TEST(PluginHost, SeveralPlugins_ShareTheirCalls) {
  HostOptions options = test::host_options();
  options.max_calls = 1;
  options.under_way = std::make_shared<std::atomic<std::size_t>>(0);
  const auto one = wicked(options);
  const auto other = wicked(options);
  EXPECT_EQ(outcome(*one, "good"), "accepted");
  ++*options.under_way;  // a call of a third plug-in
  EXPECT_EQ(outcome(*one, "good"), "unavailable");
  EXPECT_EQ(outcome(*other, "good"), "unavailable");
  --*options.under_way;
  EXPECT_EQ(outcome(*other, "good"), "accepted");
  EXPECT_EQ(*options.under_way, 0U);
}

TEST(PluginHost, WithoutAHostProgram_IsUnavailable) {
  HostOptions options = test::host_options();
  options.program = "/nonexistent/assay-verifier-host";
  EXPECT_EQ(outcome(*wicked(options), "good"), "unavailable");
}

// A host that is not one of ours ends at once; what it answers is nothing.
TEST(PluginHost, OtherProgramAsHost_IsAnError) {
  HostOptions options = test::host_options(kShort);
  options.program = "/bin/true";
  const std::string found = outcome(*wicked(options), "good");
  EXPECT_TRUE(found == "unavailable" || found == "verifier-failed") << found;
}

TEST(PluginHost, LongestEvidence_ArrivesWhole) {
  Evidence evidence = wicked_evidence("good");
  evidence.quote.resize(kMaxOtherEvidenceBytes);
  evidence.quote.back() = 7;
  evidence.event_log = Bytes(kMaxEventLogBytes);
  evidence.collateral = {{"chain", std::string(kMaxEvidenceCollateralBytes - 12, 'x')}};
  const auto appraised = ask(*wicked(), evidence);
  ASSERT_TRUE(appraised) << to_string(appraised.error());
  EXPECT_EQ(appraised->result["measurements"]["evidence"], std::to_string(kMaxOtherEvidenceBytes));
  EXPECT_EQ(appraised->result["measurements"]["last"], "7");
}

TEST(PluginHost, RequestThatIsTooLong_IsRefused) {
  Evidence evidence = wicked_evidence("good");
  evidence.quote.resize(std::size_t{9} << 20);
  EXPECT_EQ(outcome(*wicked(), evidence), "limit-exceeded");
}

// Mixed calls from several threads, while built-in verification goes on beside them.
TEST(PluginHost, ThousandMixedCalls_AnswerOnlyWhatIsGood) {
  const auto verifier = wicked(test::host_options(milliseconds(10'000)));
  const VerifierRegistry& registry = built_in_verifiers();
  const std::vector<std::string> ways = {"good", "crash", "good",     "garbage",     "exit",
                                         "good", "flood", "allocate", "other-nonce", "half"};
  std::atomic<bool> over = false;
  std::atomic<int> others = 0;
  std::thread service([&] {
    while (!over) {
      const auto appraised =
          registry.appraise(test::valid_evidence(), test::valid_appraisal(), Purpose::kEnrol,
                            test::expected_report_data(), tdx::testing::now());
      EXPECT_TRUE(appraised && appraised->accepted);
      ++others;
    }
  });
  std::atomic<int> good = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (std::size_t i = 0; i < 250; ++i) {
        const std::string& way = ways[(i + caller) % ways.size()];
        if (way == "good") {
          EXPECT_EQ(calls(*verifier), "1");
          ++good;
        } else {
          EXPECT_EQ(outcome(*verifier, way), "verifier-failed") << way;
          ++failed;
        }
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  over = true;
  service.join();
  EXPECT_EQ(good + failed, 1000);
  EXPECT_EQ(good, 300);
  EXPECT_GT(others, 0);
}

// --- the file

class PluginFileTest : public ::testing::Test {
 protected:
  PluginFileTest() { std::filesystem::create_directories(folder_); }
  ~PluginFileTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] static std::string code(const std::string& file) {
    const auto read = read_plugin(file);
    return read ? "OK" : std::string(info(read.error().code).code);
  }

 private:
  std::string folder_ = std::filesystem::temp_directory_path().string() + "/assay-plugin-" +
                        std::to_string(::getpid());
};

TEST_F(PluginFileTest, WhatIsNoRegularFile_IsRefused) {
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink(test::plugin_path("wicked"), path("link"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::ofstream(path("empty")).close();
  for (const char* name : {"folder", "link", "pipe", "empty", "missing"}) {
    EXPECT_EQ(code(path(name)), "plugin-unusable") << name;
  }
  std::ofstream(path("huge")).close();
  std::filesystem::resize_file(path("huge"), 64U << 20);
  EXPECT_EQ(code(path("huge")), "OK");
  std::filesystem::resize_file(path("huge"), (64U << 20) + 1);
  EXPECT_EQ(code(path("huge")), "plugin-unusable");
  EXPECT_EQ(code("/dev/zero"), "plugin-unusable");
  EXPECT_EQ(code(""), "plugin-unusable");
  EXPECT_EQ(code(test::plugin_path("wicked")), "OK");
}

TEST_F(PluginFileTest, OtherDigestThanPinned_IsRefused) {
  const std::string file = test::plugin_path("wicked");
  const Digest pin = read_plugin(file)->sha256;
  EXPECT_TRUE(read_pinned_plugin(file, pin));
  EXPECT_EQ(read_pinned_plugin(file, sha256(as_bytes("other"))).error().code,
            ErrorCode::kPluginUnusable);
}

// What was hashed is what runs, whatever becomes of the file.
TEST_F(PluginFileTest, FileThatIsReplacedLater_ChangesNothing) {
  std::filesystem::copy_file(test::plugin_path("wicked"), path("plugin.so"));
  const Digest pin = read_plugin(path("plugin.so"))->sha256;
  const auto verifier = load_plugin_verifier({"wicked", "application/vnd.example.wicked"},
                                             path("plugin.so"), pin, test::host_options());
  ASSERT_TRUE(verifier);
  std::ofstream(path("plugin.so"), std::ios::trunc) << "another file";
  EXPECT_EQ(outcome(**verifier, "good"), "accepted");
  std::filesystem::remove(path("plugin.so"));
  EXPECT_EQ(outcome(**verifier, "good"), "accepted");
  EXPECT_EQ(ask(**verifier, wicked_evidence("good"))->anchor, Anchor::plugin(pin));
}

}  // namespace
}  // namespace assay::attestation::plugin
