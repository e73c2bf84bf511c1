// SPDX-License-Identifier: Apache-2.0
// Event logs: what a real machine's log proves, and what becomes of a log when one thing about it
// is changed.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/tdx/event_log.h"
#include "schemas/core/sha.h"
#include "tests/attestation/tdx/shared_vectors.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using testing::read_file;
using testing::valid_v4;

constexpr std::string_view kRealTime = "2025-06-25T00:00:00Z";
// Offsets in the real log: the header's event, and the first event behind it.
constexpr std::size_t kHeaderData = 32;
constexpr std::size_t kAlgorithmCount = kHeaderData + 24;
constexpr std::size_t kFirstEvent = kHeaderData + 33;
constexpr std::size_t kFirstDigestCount = kFirstEvent + 8;
constexpr std::size_t kFirstDigest = kFirstDigestCount + 4 + 2;
constexpr std::size_t kFirstSize = kFirstDigest + 48;

std::filesystem::path folder() {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/tdx";
}

Bytes real_log() { return read_file(folder() / "v4-2025-06.ccel"); }

AppraisalResult real(const Bytes& log, const AppraisalPolicy& policy = {}) {
  const auto collateral = parse_collateral(read_file(folder() / "2025-06.collateral.json")).value();
  const TrustAnchor anchor = intel_root();
  return verify(
      read_file(folder() / "v4-2025-06.quote"), collateral, std::span(&anchor, 1),
      {parse_rfc3339(kRealTime).value(), ReportDataExpectation::not_requested(), policy, log});
}

std::string real_verdict(const Bytes& log) { return testing::verdict(real(log)); }

std::string simulated(const SimulationSpec& spec, const AppraisalPolicy& policy = {}) {
  testing::Options options;
  options.policy = policy;
  options.with_event_log = true;
  return testing::verdict(simulate(spec), options);
}

AppraisalPolicy policy_of(const std::string& text) {
  return parse_appraisal_policy(parse_json(text).value()).value();
}

TEST(TdxEventLog, OfARealMachine_Replays) {
  const AppraisalResult result = real(real_log());
  ASSERT_EQ(testing::verdict(result), "OK:UpToDate");
  ASSERT_TRUE(result.event_log);
  const ReplayedLog& log = *result.event_log;
  EXPECT_EQ(log.events, 43U);
  EXPECT_TRUE(log.explains_rtmr3);
  EXPECT_EQ(log.boot.secure_boot, false);
  ASSERT_EQ(log.boot.applications->size(), 2U);
  ASSERT_EQ(log.boot.command_lines->size(), 1U);
  EXPECT_TRUE(log.boot.command_lines->front().starts_with(
      "/syslinux/vmlinuz.A init=/usr/lib/systemd/systemd rootwait ro noresume "));
  ASSERT_EQ(log.boot.kernels->size(), 1U);
  EXPECT_TRUE(hex_encode(log.boot.kernels->front()).starts_with("b1012372f421"));
  const Json json = to_json(result)["event_log"];
  EXPECT_EQ(json["secure_boot"], false);
  EXPECT_EQ(json["rtmr3"], "replayed");
}

TEST(TdxEventLog, OfARealMachine_SaysWhatWasMeasured) {
  const AppraisalResult result = real(real_log());
  ASSERT_TRUE(result.event_log);
  const MeasuredBoot& measured = result.event_log->measured;
  EXPECT_EQ(measured.secure_boot, false);
  // Two images; neither the partition table nor what the firmware says of itself.
  ASSERT_EQ(measured.rtmr1->size(), 2U);
  EXPECT_TRUE(measured.rtmr1->front().starts_with("5a10026c9ad4"));
  EXPECT_EQ(measured.rtmr2->size(), 19U);  // of 20 events, two of the same digest
}

struct Boot {
  std::vector<EventSpec> events = valid_boot(as_bytes("measured"));
  [[nodiscard]] MeasuredBoot measured() const {
    const Bytes log = make_event_log(events);
    return measured_boot(parse_event_log(log).value().events);
  }
};

// Only digests are covered by a quote. Whatever somebody writes beside them changes nothing.
TEST(TdxEventLog, KindsAndTexts_ChangeNothingThatIsMeasured) {
  const MeasuredBoot honest = Boot().measured();
  EXPECT_EQ(honest.secure_boot, true);
  EXPECT_EQ(honest.rtmr1->size(), 2U);
  EXPECT_EQ(honest.rtmr2->size(), 2U);
  const Boot boot;
  const Registers registers = registers_of(boot.events);
  for (std::size_t i = 0; i < boot.events.size(); ++i) {
    for (const std::uint32_t type : {4U, kEvIpl, kEvEventTag, 0x80000006U, 0x80000007U}) {
      Boot lied;
      const Bytes log = make_event_log({lied.events[i]});
      lied.events[i].digest = parse_event_log(log).value().events.front().digest;
      lied.events[i].type = type;
      lied.events[i].data = to_bytes("EFI PART\0\0\1\0\x5c\0\0\0");
      EXPECT_EQ(registers_of(lied.events), registers);
      EXPECT_EQ(lied.measured(), honest) << i << " " << type;
    }
  }
}

TEST(TdxEventLog, SecureBootThatWasOff_CannotBeHidden) {
  Bytes off = valid_boot(as_bytes("x")).front().data;
  off.back() = 0;
  Bytes absent = off;
  absent.pop_back();
  absent[24] = 0;
  for (const Bytes& data : {off, absent}) {
    Boot boot;
    boot.events.insert(boot.events.begin() + 1, EventSpec{1, 0x0a, data, {}});
    EXPECT_EQ(boot.measured().secure_boot, false);
    std::swap(boot.events[0], boot.events[1]);
    EXPECT_EQ(boot.measured().secure_boot, false);
    boot.events.erase(boot.events.begin() + 1);
    EXPECT_EQ(boot.measured().secure_boot, false);
  }
  Boot silent;
  silent.events.erase(silent.events.begin());
  EXPECT_EQ(silent.measured().secure_boot, std::nullopt);
  // In another register than the firmware's own it says nothing.
  Boot elsewhere;
  elsewhere.events[0].index = 3;
  EXPECT_EQ(elsewhere.measured().secure_boot, std::nullopt);
}

TEST(TdxEventLog, PartitionTable_IsNoImage) {
  Bytes table = to_bytes(std::string_view("EFI PART\0\0\1\0\x5c\0\0\0", 16));
  table.resize(512, 7);
  Boot boot;
  const std::size_t before = boot.measured().rtmr1->size();
  boot.events.push_back({2, 0x80000006, table, {}});
  EXPECT_EQ(boot.measured().rtmr1->size(), before);
  boot.events.push_back({2, 0x80000006, table, Measurement{}});  // of something else
  EXPECT_EQ(boot.measured().rtmr1->size(), before + 1);
}

// Boot loaders measure whatever they read: a RAM disk whose first block is that of a partition
// table, and a command line with the words of the firmware, are no less measured for it.
TEST(TdxEventLog, WordsOfTheFirmware_HideNothingOfABootLoader) {
  Bytes disk = to_bytes(std::string_view("EFI PART\0\0\1\0\x5c\0\0\0", 16));
  disk.resize(4096, 7);
  for (const Bytes& data : {disk, to_bytes("Exit Boot Services Invocation"), Bytes{0, 0, 0, 0}}) {
    Boot boot;
    const std::size_t before = boot.measured().rtmr2->size();
    boot.events.push_back({3, kEvIpl, data, {}});
    EXPECT_EQ(boot.measured().rtmr2->size(), before + 1);
  }
}

TEST(TdxEventLog, MoreThanIsListed_IsNotKnownInPart) {
  Boot boot;
  for (std::size_t i = 0; i <= kMaxMeasured; ++i) {
    boot.events.push_back({3, kEvIpl, to_bytes(std::to_string(i)), {}});
  }
  EXPECT_EQ(boot.measured().rtmr2, std::nullopt);
  EXPECT_EQ(boot.measured().rtmr1->size(), 2U);
}

TEST(TdxEventLog, Padding_DoesNotCount) {
  Bytes padded = real_log();
  const Digest digest = real(padded).event_log->digest;
  padded.resize(padded.size() + 4096, 0xff);
  EXPECT_EQ(real(padded).event_log->digest, digest);
  padded.back() = 0;
  EXPECT_EQ(real_verdict(padded), "EVENTLOG_FORMAT");
}

// Each change to the real log, and the verdict that it must have.
TEST(TdxEventLog, OneChange_HasItsError) {
  struct Case {
    const char* what;
    std::function<void(Bytes&)> change;
    std::string expected;
  };
  const auto put32 = [](std::size_t at, std::uint32_t value) {
    return [=](Bytes& log) {
      for (std::size_t i = 0; i < 4; ++i) {
        log[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
      }
    };
  };
  const std::vector<Case> cases = {
      {"a digest", [](Bytes& log) { log[kFirstDigest] ^= 1; }, "EVENTLOG_RTMR_MISMATCH:rtmr0"},
      {"no last event", [](Bytes& log) { log.resize(log.size() - 106); },
       "EVENTLOG_RTMR_MISMATCH:rtmr1"},
      {"size of the data", put32(kFirstSize, 0xffffffff), "EVENTLOG_TRUNCATED"},
      {"number of digests", put32(kFirstDigestCount, 0xffffffff), "EVENTLOG_TRUNCATED"},
      {"no digest", put32(kFirstDigestCount, 0), "EVENTLOG_NO_SHA384"},
      {"another algorithm", [](Bytes& log) { log[kFirstDigestCount + 4] = 0x77; },
       "EVENTLOG_ALG_UNKNOWN"},
      {"another register", put32(kFirstEvent, 5), "EVENTLOG_INDEX"},
      {"an event that extends nothing", put32(kFirstEvent + 4, kEvNoAction),
       "EVENTLOG_RTMR_MISMATCH:rtmr0"},
      {"header without SHA-384", put32(kAlgorithmCount, 0), "EVENTLOG_NO_SHA384"},
      {"header with SHA-256 alone",
       [](Bytes& log) {
         log[kAlgorithmCount + 4] = 0x0b;
         log[kAlgorithmCount + 6] = 32;
       },
       "EVENTLOG_NO_SHA384"},
      {"header with a wrong size", [](Bytes& log) { log[kAlgorithmCount + 6] = 32; },
       "EVENTLOG_FORMAT"},
      {"header of another log", [](Bytes& log) { log[kHeaderData] = 's'; }, "EVENTLOG_FORMAT"},
      {"header alone", [](Bytes& log) { log.resize(kFirstEvent); }, "EVENTLOG_RTMR_MISMATCH:rtmr0"},
      {"half an event", [](Bytes& log) { log.resize(kFirstDigest + 7); }, "EVENTLOG_TRUNCATED"},
      {"half a header", [](Bytes& log) { log.resize(20); }, "EVENTLOG_TRUNCATED"},
      {"as long as it may be", [](Bytes& log) { log.resize(kMaxEventLogAreaBytes, 0xff); },
       "OK:UpToDate"},
      {"too long", [](Bytes& log) { log.resize(kMaxEventLogAreaBytes + 1, 0xff); },
       "INPUT_TOO_LARGE"},
  };
  for (const Case& c : cases) {
    Bytes log = real_log();
    c.change(log);
    EXPECT_EQ(real_verdict(log), c.expected) << c.what;
  }
}

TEST(TdxEventLog, OrderOfEvents_Counts) {
  SimulationSpec spec = valid_v4();
  EXPECT_EQ(simulated(spec), "OK:UpToDate");
  std::swap(spec.event_log[3], spec.event_log[4]);
  EXPECT_EQ(simulated(spec), "EVENTLOG_RTMR_MISMATCH:rtmr1");
}

TEST(TdxEventLog, OfAnotherMachine_IsRefused) {
  SimulationSpec spec = valid_v4();
  spec.event_log = valid_boot(to_bytes("another machine"));
  EXPECT_EQ(simulated(spec), "EVENTLOG_RTMR_MISMATCH:rtmr0");
}

TEST(TdxEventLog, MoreEventsThanTheLimit_AreRefused) {
  SimulationSpec spec = valid_v4();
  spec.event_log.assign(kMaxLoggedEvents, {1, kEvNoAction, {}, {}});
  EXPECT_TRUE(parse_event_log(make_event_log(spec.event_log)));
  spec.event_log.push_back({1, kEvNoAction, {}, {}});
  EXPECT_EQ(simulated(spec), "EVENTLOG_FORMAT");
}

TEST(TdxEventLog, AbsentButNeeded_IsRefused) {
  const Simulation simulation = simulate(valid_v4());
  for (const char* policy :
       {R"({"require_event_log":true})", R"({"require_event_log_rtmr3":true})"}) {
    testing::Options options;
    options.policy = policy_of(policy);
    EXPECT_EQ(testing::verdict(simulation, options), "EVENTLOG_MISSING");
    EXPECT_EQ(simulated(valid_v4(), options.policy), "OK:UpToDate");
  }
}

TEST(TdxEventLog, Rtmr3WithoutEvents_IsThePolicysToRefuse) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.rtmr[3].fill(7);
  testing::Options options;
  options.with_event_log = true;
  const AppraisalResult result = testing::run(simulate(spec), options);
  ASSERT_TRUE(result.accepted);
  EXPECT_EQ(to_json(result)["event_log"]["rtmr3"], "unexplained");
  EXPECT_EQ(simulated(spec, policy_of(R"({"require_event_log_rtmr3":true})")),
            "EVENTLOG_RTMR_MISMATCH:rtmr3");
}

// The registers cover digests alone: a text that is not behind its digest is not believed.
TEST(TdxEventLog, TextWithoutItsDigest_IsNoFact) {
  const auto boot_of = [](const std::vector<EventSpec>& events) {
    const Bytes log = make_event_log(events);
    return boot_facts(parse_event_log(log).value().events);
  };
  std::vector<EventSpec> events = valid_boot(testing::seed());
  BootFacts facts = boot_of(events);
  EXPECT_EQ(facts.secure_boot, true);
  EXPECT_EQ(facts.command_lines, std::vector{std::string(kSimulatedCommandLine)});
  EXPECT_EQ(facts.initrds->size(), 1U);
  EXPECT_EQ(facts.applications->size(), 2U);

  for (EventSpec& event : events) {
    if (!event.digest) {
      const Digest digest = sha(HashAlgorithm::kSha384, event.data);
      std::ranges::copy(digest.bytes(), event.digest.emplace().begin());
    }
  }
  events[0].data.back() = 0;
  events[6].data = to_bytes("kernel_cmdline: quiet");
  facts = boot_of(events);
  EXPECT_EQ(facts.secure_boot, std::nullopt);
  EXPECT_TRUE(facts.command_lines->empty());
}

TEST(TdxEventLog, SecureBootThatIsOffOnce_IsOff) {
  std::vector<EventSpec> events = valid_boot(testing::seed());
  events.push_back(events.front());
  events.back().data.back() = 0;
  const Bytes log = make_event_log(events);
  EXPECT_EQ(boot_facts(parse_event_log(log).value().events).secure_boot, false);
}

TEST(TdxEventLog, ListsBeyondTheirLimit_AreUnknown) {
  std::vector<EventSpec> events(kMaxBooted, {2, kEvEfiBootServicesApplication, Bytes(32), {}});
  Bytes log = make_event_log(events);
  EXPECT_EQ(boot_facts(parse_event_log(log).value().events).applications->size(), kMaxBooted);
  events.push_back(events.front());
  log = make_event_log(events);
  EXPECT_EQ(boot_facts(parse_event_log(log).value().events).applications, std::nullopt);
}

}  // namespace
}  // namespace assay::attestation::tdx
