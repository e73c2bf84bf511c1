// SPDX-License-Identifier: Apache-2.0
// What a call of a verifier plug-in takes beside the verification itself.
//   attestation_plugin_bench [rounds=2000] [pause_us=2000] [json=FILE|-]
// With a pause between calls the next process is ready, as it is in a service that has other work;
// without, each call waits for the fork of its own process. Beside it what limits it: a fork, and a
// round trip through two pipes to a process that waits.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "attestation/plugin.h"
#include "attestation/plugin/host.h"
#include "bench/options.h"
#include "schemas/core/hmac.h"
#include "schemas/core/json.h"

namespace {

using namespace assay;  // NOLINT: a program of its own
using attestation::plugin::Host;
using Clock = std::chrono::steady_clock;

constexpr double kMaxBesideUs = 200;

struct Figures {
  double best;
  double p50;
  double p99;
};

template <typename Work>
Figures times_of(std::size_t rounds, std::chrono::microseconds pause, const Work& work) {
  std::vector<double> times;
  for (std::size_t i = 0; i < rounds + rounds / 10 + 1; ++i) {
    std::this_thread::sleep_for(pause);
    const auto begin = Clock::now();
    work();
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (i > rounds / 10) {
      times.push_back(took.count());
    }
  }
  std::ranges::sort(times);
  return {times.front(), times[times.size() / 2], times[times.size() * 99 / 100]};
}

Bytes evidence(const Bytes& report_data) {
  Bytes bytes = report_data;
  bytes.resize(bytes.size() + 48, 0xaa);
  const Digest tag = hmac_sha256(as_bytes("an example, known to everybody"), {bytes});
  bytes.insert(bytes.end(), tag.bytes().begin(), tag.bytes().end());
  return bytes;
}

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::exit(2);
}

void fork_once() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(0);
  }
  (void)::waitpid(pid, nullptr, 0);
}

// A process that sends each byte back.
class Echo {
 public:
  Echo() {
    if (::pipe(there_.data()) != 0 || ::pipe(back_.data()) != 0) {
      give_up("no pipes");
    }
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(there_[1]);
      char byte = 0;
      while (::read(there_[0], &byte, 1) == 1 && ::write(back_[1], &byte, 1) == 1) {
      }
      ::_exit(0);
    }
  }
  ~Echo() {
    ::close(there_[1]);
    (void)::waitpid(pid_, nullptr, 0);
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  void once() const {
    char byte = 'x';
    if (::write(there_[1], &byte, 1) != 1 || ::read(back_[0], &byte, 1) != 1) {
      give_up("no round trip");
    }
  }

 private:
  std::array<int, 2> there_{};
  std::array<int, 2> back_{};
  pid_t pid_ = -1;
};

}  // namespace

// long-function: one measurement after the other
int main(int argc, char** argv) {
  const auto options = bench::parse_options(argc, argv, "attestation_plugin_bench");
  const std::size_t rounds = bench::number(options, "rounds", 2'000);
  const std::chrono::microseconds pause(bench::number(options, "pause_us", 2'000));
  const std::string json = bench::text(options, "json", "");
  const std::string host_program = attestation::plugin::default_host_program();
  const std::string file =
      host_program.substr(0, host_program.rfind("/bin/")) + "/plugins/example_hmac.so";

  const Echo echo;  // before there are threads or much memory
  const Figures fork_alone = times_of(rounds, pause, fork_once);
  const Figures round_trip = times_of(rounds, pause, [&] { echo.once(); });

  const Bytes report_data(64, 0x5d);
  const Bytes quote = evidence(report_data);
  void* const library = ::dlopen(file.c_str(), RTLD_NOW);
  const auto* const entry =
      library == nullptr ? nullptr
                         : static_cast<const assay_plugin*>(::dlsym(library, ASSAY_PLUGIN_SYMBOL));
  if (entry == nullptr) {
    give_up("build test-plugins first");
  }
  std::array<char, 65536> room{};
  const Figures verification = times_of(rounds, pause, [&] {
    assay_call call{};
    call.size = sizeof call;
    call.report_data = {report_data.data(), report_data.size()};
    call.evidence = {quote.data(), quote.size()};
    if (entry->appraise(&call, room.data(), room.size()) == 0) {
      give_up("no answer");
    }
  });

  auto read = attestation::plugin::read_plugin(file);
  if (!read) {
    give_up(to_string(read.error()).c_str());
  }
  const auto host = Host::make(*std::move(read), {.program = host_program});
  const auto call = [&] {
    const auto answer = host->call({.type = "example-hmac",
                                    .media_type = "application/vnd.example.hmac",
                                    .purpose = attestation::Purpose::kEnrol,
                                    .now = 0,
                                    .report_data = report_data,
                                    .evidence = quote,
                                    .event_log = {},
                                    .endorsements = "null",
                                    .policy = "{}"});
    if (!answer) {
      give_up(to_string(answer.error()).c_str());
    }
  };
  const Figures ready = times_of(rounds, pause, call);
  const Figures at_once = times_of(rounds, std::chrono::microseconds(0), call);

  std::FILE* const out = json == "-" ? stderr : stdout;
  const double beside = ready.p50 - verification.p50;
  std::fprintf(out, "us: best, median, p99\n");
  const auto line = [&](const char* what, const Figures& figures) {
    std::fprintf(out, "%-44s %8.1f %8.1f %8.1f\n", what, figures.best, figures.p50, figures.p99);
  };
  line("round trip to a process that waits", round_trip);
  line("fork and end of a process", fork_alone);
  line("the verification itself", verification);
  line("a call, the next process being ready", ready);
  line("a call right after another", at_once);
  std::fprintf(out, "beside the verification itself %.1f; limit %.0f\n", beside, kMaxBesideUs);
  const Json result = {{"limit_beside_us", kMaxBesideUs},
                       {"beside_us", beside},
                       {"call_us", ready.p50},
                       {"call_p99_us", ready.p99},
                       {"call_at_once_us", at_once.p50},
                       {"verification_us", verification.p50},
                       {"fork_us", fork_alone.p50},
                       {"round_trip_us", round_trip.p50}};
  if (json == "-") {
    std::printf("%s\n", result.dump().c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return beside <= kMaxBesideUs ? 0 : 1;
}
