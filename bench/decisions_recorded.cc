// SPDX-License-Identifier: Apache-2.0
// Decisions that are judged, signed, stored and logged, each about another pod, so that none is
// answered from a cache of verdicts. Beside them the limits of the same folder: plain appends with
// as many writers, and syncs. Words: dir=DIR threads=N seconds=N only=NAME (of one row) json=FILE
// ("-": to standard output alone). The bytes of a decision are what the closed database grows by.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "bench/decision_world.h"
#include "bench/options.h"
#include "schemas/log_record.h"

namespace {

using assay::Json;
using assay::bench::must;
using assay::bench::World;
using SteadyClock = std::chrono::steady_clock;

constexpr double kGoal = 4000;       // decisions a second
constexpr double kGoalBytes = 1024;  // of a decision, beyond what decisions of a pod share

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double process_cpu() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return seconds_of(time);
}

// Of the store's thread that writes: works run there.
double writer_cpu(assay::storage::Store& store) {
  timespec time{};
  must(store.write([&](assay::storage::Transaction& /*transaction*/) -> assay::Status {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return {};
  }));
  return seconds_of(time);
}

// Writes of 4 KiB to a growing file, each synced, for a second.
double sync_rate(const std::string& folder) {
  const std::string path = folder + "/sync.tmp";
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  const auto begin = SteadyClock::now();
  std::size_t count = 0;
  while (file >= 0 && seconds_since(begin) < 1 && ::write(file, page.data(), page.size()) == 4096 &&
         ::fdatasync(file) == 0) {
    ++count;
  }
  const double rate = static_cast<double>(count) / seconds_since(begin);
  ::close(file);
  ::unlink(path.c_str());
  return rate;
}

struct Rate {
  double per_second;
  double p50_ms;
  double p99_ms;
  double writer_share;  // of a core
  double writer_us;     // of processor time of the writer's thread for each
  double process_us;    // of the whole process for each
  std::size_t count;
};

Json to_json(const Rate& rate) {
  return {{"per_second", rate.per_second},
          {"p50_ms", rate.p50_ms},
          {"p99_ms", rate.p99_ms},
          {"writer_share_of_a_core", rate.writer_share},
          {"writer_us_each", rate.writer_us},
          {"process_us_each", rate.process_us},
          {"count", rate.count}};
}

// Calls `once(thread, number)` on many threads; the first half second does not count.
template <typename Once>
Rate measure(assay::storage::Store& store, std::size_t threads, double seconds, const Once& once) {
  std::atomic<int> phase = 0;
  std::vector<std::vector<double>> times(threads);
  std::vector<std::thread> running;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      for (std::size_t i = 0; phase < 2; ++i) {
        const bool counted = phase == 1;
        const auto begin = SteadyClock::now();
        once(thread, i);
        if (counted && phase == 1) {
          times[thread].push_back(1e3 * seconds_since(begin));
        }
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const double writer = writer_cpu(store);
  const double process = process_cpu();
  phase = 1;
  const auto begin = SteadyClock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  phase = 2;
  const double taken = seconds_since(begin);
  const double process_spent = process_cpu() - process;
  const double writer_spent = writer_cpu(store) - writer;
  for (std::thread& one : running) {
    one.join();
  }
  std::vector<double> all;
  for (const auto& some : times) {
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  if (all.empty()) {
    assay::bench::stop({assay::ErrorCode::kInternal, "nothing was done in time", {}});
  }
  const auto count = static_cast<double>(all.size());
  return {count / taken,
          all[all.size() / 2],
          all[all.size() * 99 / 100],
          writer_spent / taken,
          1e6 * writer_spent / count,
          1e6 * process_spent / count,
          all.size()};
}

Rate appends(World& world, std::size_t threads, double seconds) {
  assay::storage::Store& store = world.services().store;
  return measure(store, threads, seconds, [&](std::size_t thread, std::size_t i) {
    must(store.write([&](assay::storage::Transaction& transaction) -> assay::Status {
      ASSAY_TRY(transaction.append({.type = "bench.appended",
                                    .time = {},
                                    .actor = "bench",
                                    .subjects = {std::to_string(thread)},
                                    .documents = {},
                                    .detail = {{"number", i}}}));
      return {};
    }));
  });
}

Rate decisions(World& world, bool good, bool dry_run, std::size_t threads, double seconds) {
  return measure(world.services().store, threads, seconds, [&](std::size_t thread, std::size_t i) {
    world.decide(good, dry_run, thread * 100'000'000 + i);
  });
}

// What the closed database grows by for each of `count` decisions about pods of one template.
double stored(World& world, bool good, std::size_t count) {
  world.decide(good, false, 0);
  const auto before = world.file_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    world.decide(good, false, i);
  }
  return static_cast<double>(world.file_bytes() - before) / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = assay::bench::parse_options(argc, argv, "decisions_recorded_bench");
  const std::size_t threads = assay::bench::number(options, "threads", 64);
  const auto seconds = static_cast<double>(assay::bench::number(options, "seconds", 4));
  const std::string folder =
      assay::bench::text(options, "dir", std::filesystem::temp_directory_path().string()) +
      "/assay-recorded-" + std::to_string(::getpid());
  const std::string json = assay::bench::text(options, "json", "");
  std::FILE* const out = json == "-" ? stderr : stdout;
  World world(folder, 100, 1);
  world.add_manifest(0);
  world.add_statement(0);
  world.add_statement(1);
  const double allow_bytes = stored(world, true, 2000);
  const double denial_bytes = stored(world, false, 2000);
  Json result = {{"benchmark", "decisions_recorded"},
                 {"threads", threads},
                 {"allow_bytes", allow_bytes},
                 {"denial_bytes", denial_bytes},
                 {"envelope_bytes", world.decide(true, false, 0).envelope.size()},
                 {"goal", {{"per_second", kGoal}, {"bytes", kGoalBytes}}}};
  std::fprintf(out, "a decision beyond shared parts: %.0f bytes, a denial %.0f (goal %.0f)\n",
               allow_bytes, denial_bytes, kGoalBytes);
  std::fprintf(out, "%-10s %9s %8s %8s  %s\n", "", "a second", "p50 ms", "p99 ms",
               "writer's thread: share of a core, us each; process us each");
  const auto show = [&](const char* name, const Rate& rate) {
    std::fprintf(out, "%-10s %9.0f %8.2f %8.2f  %5.2f %8.0f %8.0f\n", name, rate.per_second,
                 rate.p50_ms, rate.p99_ms, rate.writer_share, rate.writer_us, rate.process_us);
    std::fflush(out);
    result[name] = to_json(rate);
  };
  result["syncs_per_second_before"] = sync_rate(folder);
  const std::string only = assay::bench::text(options, "only", "");
  const auto show_if = [&](const char* name, const auto& make) {
    if (only.empty() || only == name) {
      show(name, make());
    }
  };
  show_if("appends", [&] { return appends(world, threads, seconds); });
  show_if("judged", [&] { return decisions(world, true, true, threads, seconds); });
  show_if("allowed", [&] { return decisions(world, true, false, threads, seconds); });
  show_if("denied", [&] { return decisions(world, false, false, threads, seconds); });
  result["syncs_per_second_after"] = sync_rate(folder);
  std::fprintf(out, "syncs of 4 KiB a second: %.0f before, %.0f after\n",
               result["syncs_per_second_before"].get<double>(),
               result["syncs_per_second_after"].get<double>());
  if (json == "-") {
    std::printf("%s\n", result.dump(2).c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(2) << "\n";
  }
  return 0;
}
