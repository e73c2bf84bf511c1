// SPDX-License-Identifier: Apache-2.0
// The callers' side of plug-ins: hosts that break the rules, a system that says no, signals.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <pthread.h>
#include <thread>

#include <gtest/gtest.h>

#include "attestation/plugin/wire.h"
#include "schemas/core/sha.h"
#include "schemas/posix/memory_file.h"
#include "tests/attestation/limits.h"
#include "tests/attestation/plugin_support.h"

namespace assay::attestation::plugin {
namespace {

using std::chrono::milliseconds;
using test::descriptors_and;
using test::LoweredLimit;

constexpr milliseconds kSoon{700};

PluginCall some_call() {
  return {.type = "wicked",
          .media_type = "application/vnd.example.wicked",
          .purpose = Purpose::kEnrol,
          .now = 0,
          .report_data = {},
          .evidence = as_bytes("good"),
          .event_log = {},
          .endorsements = "null",
          .policy = "{}"};
}

PluginFile text_file(std::string_view text) {
  return {sealed_memory("plugin", {as_bytes(text)}, Executable::kYes).value(),
          sha256(as_bytes(text))};
}

// What a call of a host that behaves in this way comes to.
std::string wicked_answer(std::string_view way, HostOptions options = test::host_options()) {
  options.program = std::string(ASSAY_BINARY_DIR) + "/plugins/wicked_host";
  const auto host = Host::make(text_file(way), std::move(options));
  const auto answer = host->call(some_call());
  return answer ? "an answer" : to_string(answer.error());
}

std::string spoken_of(const Error& error) { return std::string(info(error.code).code); }

TEST(PluginCalls, AnswersAgainstTheRules_AreErrors) {
  const auto refused_with = [](std::string_view way, std::string_view words) {
    const std::string answer = wicked_answer(way);
    EXPECT_TRUE(answer.find("verifier-failed") != answer.npos) << way << ": " << answer;
    EXPECT_TRUE(answer.find(words) != answer.npos) << way << ": " << answer;
  };
  refused_with("other kind", "wrote no answer");
  refused_with("no kind", "wrote no answer");
  refused_with("too long", "more or less than an answer");
  refused_with("longer than it says", "more or less than an answer");
  refused_with("shorter than it says", "more or less than an answer");
  refused_with("half a header", "ended before it had answered");
  refused_with("words", "cannot be loaded: a????~");
}

// The host must end what hangs. One that hangs itself is ended by its caller.
TEST(PluginCalls, HostThatNeverAnswers_IsEnded) {
  HostOptions options = test::host_options(milliseconds(50));
  options.grace = milliseconds(50);
  const std::string answer = wicked_answer("silent", options);
  EXPECT_TRUE(answer.find("its host did not end it") != answer.npos) << answer;
}

TEST(PluginCalls, PluginThatIsNoLibrary_IsAnError) {
  const auto host = Host::make(text_file("no library"), test::host_options());
  const auto answer = host->call(some_call());
  ASSERT_FALSE(answer);
  EXPECT_EQ(spoken_of(answer.error()), "verifier-failed");
  EXPECT_TRUE(answer.error().detail.starts_with("the plug-in cannot be loaded: "));
}

TEST(PluginCalls, EntryThatIsIncomplete_IsNotCalled) {
  for (const char* file :
       {"wicked_reserved", "wicked_no_type", "wicked_no_media_type", "wicked_no_appraise"}) {
    const auto appraised =
        test::ask(*test::wicked(test::host_options(), file), test::wicked_evidence("good"));
    ASSERT_FALSE(appraised) << file;
    EXPECT_EQ(spoken_of(appraised.error()), "verifier-failed") << file;
  }
}

TEST(PluginCalls, Purpose_IsHandedOn) {
  const auto verifier = test::wicked();
  const auto purpose_seen = [&](Purpose purpose) {
    return test::ask(*verifier, test::wicked_evidence("good"), purpose)
        .value()
        .result["measurements"]["purpose"];
  };
  EXPECT_EQ(purpose_seen(Purpose::kInspect), "0");
  EXPECT_EQ(purpose_seen(Purpose::kEnrol), "1");
  EXPECT_EQ(purpose_seen(Purpose::kStage), "2");
}

// What the handler of trapped system calls says to those that name no file, or another one.
TEST(PluginCalls, FilesOfTheSystem_AreNeitherOpenedNorSeen) {
  const auto verifier = test::wicked();
  for (const char* way : {"nameless-open", "stat", "nameless-stat", "bad-stat"}) {
    const auto appraised = test::ask(*verifier, test::wicked_evidence(way));
    ASSERT_FALSE(appraised) << way;
    EXPECT_EQ(spoken_of(appraised.error()), "verifier-failed") << way;
  }
}

// More calls than a host has processes for wait their turn.
TEST(PluginCalls, MoreThanTheHostHasProcessesFor_AllEnd) {
  const auto verifier = test::wicked(test::host_options(kSoon));
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 20; ++i) {
      callers.emplace_back([&] {
        const auto appraised = test::ask(*verifier, test::wicked_evidence("sleep"));
        refused += !appraised && spoken_of(appraised.error()) == "verifier-failed" ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(refused, 20);
  const auto later = test::wicked();
  EXPECT_TRUE(test::ask(*later, test::wicked_evidence("good")));
}

TEST(PluginCalls, SignalsInTheMeantime_DoNotEndThem) {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const auto verifier = test::wicked(test::host_options(kSoon));
  std::atomic<bool> over = false;
  const pthread_t caller = ::pthread_self();
  std::jthread disturber([&] {
    while (!over) {
      (void)::pthread_kill(caller, SIGUSR1);
      std::this_thread::yield();
    }
  });
  const auto start = std::chrono::steady_clock::now();
  const auto hanging = test::ask(*verifier, test::wicked_evidence("sleep"));
  EXPECT_GE(std::chrono::steady_clock::now() - start, kSoon - milliseconds(50));
  over = true;
  disturber.join();
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
  ASSERT_FALSE(hanging);
  EXPECT_EQ(spoken_of(hanging.error()), "verifier-failed");
}

TEST(PluginCalls, RequestAndAnswer_AreAsLongAsTheirLimitsAndNoLonger) {
  const auto host =
      Host::make(read_plugin(test::plugin_path("wicked")).value(), test::host_options());
  PluginCall call = some_call();
  const std::size_t others = sizeof(RequestHeader) + call.type.size() + call.media_type.size() +
                             call.report_data.size() + call.endorsements.size() +
                             call.policy.size();
  Bytes evidence = to_bytes("longest");
  evidence.resize(kMaxRequestBytes - others);
  call.evidence = evidence;
  const auto answer = host->call(call);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->size(), kMaxAnswerBytes);
  evidence.push_back(0);
  call.evidence = evidence;
  EXPECT_EQ(spoken_of(host->call(call).error()), "limit-exceeded");
  call.evidence = as_bytes("too-long");
  EXPECT_EQ(spoken_of(host->call(call).error()), "verifier-failed");
}

// Seven would do: for the request, a pipe, a pair of sockets, and copies of two for the host.
TEST(PluginCalls, WithoutDescriptors_AreUnavailable) {
  for (int more = 0; more < 7; ++more) {
    const auto host =
        Host::make(read_plugin(test::plugin_path("wicked")).value(), test::host_options());
    const auto code_with = [&](int left) {
      const LoweredLimit limit(RLIMIT_NOFILE, descriptors_and(left));
      const auto answer = host->call(some_call());
      return answer ? "an answer" : spoken_of(answer.error());
    };
    EXPECT_EQ(code_with(more), "unavailable") << more;
    EXPECT_TRUE(host->call(some_call())) << "later";
  }
}

TEST(PluginCalls, WithoutRoomForTheRequest_AreUnavailable) {
  const auto host =
      Host::make(read_plugin(test::plugin_path("wicked")).value(), test::host_options());
  const auto code_within = [&](rlim_t bytes) {
    const test::FileSizeLimit limit(bytes);
    const auto answer = host->call(some_call());
    return answer ? "an answer" : spoken_of(answer.error());
  };
  EXPECT_EQ(code_within(10), "unavailable");
  EXPECT_EQ(code_within(0), "unavailable");
  EXPECT_TRUE(host->call(some_call()));
}

TEST(PluginCalls, HostProgram_IsBesideThisOne) {
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(std::filesystem::path(default_host_program()),
            own.parent_path() / "assay-verifier-host");
}

}  // namespace
}  // namespace assay::attestation::plugin
