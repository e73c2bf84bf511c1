// SPDX-License-Identifier: Apache-2.0
// What a decision costs and stores: time and bytes of an allow and of a denial about one model, as
// its statements grow. Words: dir=DIR entries=N manifests=N statements=N,N,... decisions=N
// json=FILE ("-": to standard output alone). Exits with 1 when a limit is not kept.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "bench/decision_world.h"
#include "bench/options.h"

namespace {

using assay::Json;
using assay::bench::kPerSigner;
using assay::bench::must;
using assay::bench::World;
using SteadyClock = std::chrono::steady_clock;

// The limits of docs/limits.md.
constexpr double kMaxWarmMs = 5;
constexpr double kMaxAllowBytes = 8 << 10;
constexpr double kMaxDenialBytes = 4 << 10;

double cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

struct Times {
  double p50;
  double p99;
  double cpu;  // of the process, for each
};

Times measure(World& world, bool good, bool dry_run, std::size_t count) {
  std::vector<double> times;
  const double cpu = cpu_ms();
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = SteadyClock::now();
    world.decide(good, dry_run, i);
    times.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
  }
  const double spent = (cpu_ms() - cpu) / static_cast<double>(count);
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100], spent};
}

// Bytes of the database for each decision beyond the first.
double stored(World& world, bool good, std::size_t count) {
  world.decide(good, false, 0);
  const auto before = world.file_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    world.decide(good, false, i);
  }
  return static_cast<double>(world.file_bytes() - before) / static_cast<double>(count);
}

Json measure_all(World& world, std::size_t manifests, std::size_t statements, std::size_t count,
                 std::FILE* out) {
  const auto before = world.file_bytes();
  const auto begin = SteadyClock::now();
  world.decide(true, false, 0);
  const double cold = std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
  const auto after = world.file_bytes();
  const double allow = stored(world, true, count);
  const double denial = stored(world, false, count);
  const std::size_t envelope = world.decide(false, false, 0).envelope.size();
  world.decide(true, true, 0);
  const Times judged = measure(world, true, true, count);
  const Times recorded = measure(world, true, false, count);
  std::fprintf(out, "%9zu  %10zu  %8.1f  %8.2f  %8.2f  %8.2f  %8.2f  %9ju  %7.0f  %7.0f\n",
               manifests, statements, cold, judged.p50, judged.cpu, recorded.p50, recorded.p99,
               after - before, allow, denial);
  std::fflush(out);
  return {{"manifests", manifests},
          {"statements", statements},
          {"cold_ms", cold},
          {"judged_p50_ms", judged.p50},
          {"judged_p99_ms", judged.p99},
          {"judged_cpu_ms", judged.cpu},
          {"recorded_p50_ms", recorded.p50},
          {"recorded_p99_ms", recorded.p99},
          {"recorded_cpu_ms", recorded.cpu},
          {"first_bytes", after - before},
          {"allow_bytes", allow},
          {"denial_bytes", denial},
          {"denial_envelope_bytes", envelope}};
}

// The first decision after one more statement about a model of which the rest is known.
double after_one_more(World& world, std::size_t number) {
  world.add_statement(number);
  const auto begin = SteadyClock::now();
  world.decide(true, true, 0);
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

std::vector<std::size_t> numbers(const std::string& text) {
  std::vector<std::size_t> list;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) {
    list.push_back(std::strtoull(one.c_str(), nullptr, 10));
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = assay::bench::parse_options(argc, argv, "limits_decision_bench");
  const auto steps = numbers(assay::bench::text(options, "statements", "2,100,1000,4000"));
  const std::uint64_t entries = assay::bench::number(options, "entries", 100'000);
  const std::uint64_t manifests = assay::bench::number(options, "manifests", 50);
  const std::uint64_t count = assay::bench::number(options, "decisions", 300);
  const std::string json = assay::bench::text(options, "json", "");
  std::FILE* out = json == "-" ? stderr : stdout;
  World world(assay::bench::text(options, "dir", std::filesystem::temp_directory_path().string()) +
                  "/assay-limits-" + std::to_string(::getpid()),
              entries, 1 + *std::max_element(steps.begin(), steps.end()) / kPerSigner);
  std::fprintf(out, "model of %ju entries; times in ms, bytes of the database file\n",
               static_cast<std::uintmax_t>(entries));
  std::fprintf(out,
               "manifests  statements      cold    judged       cpu  recorded       p99  "
               "first one    allow   denial\n");
  for (std::size_t i = 0; i < manifests; ++i) {
    world.add_manifest(i);
  }
  Json rows = Json::array();
  std::size_t have = 0;
  for (const std::size_t statements : steps) {
    for (; have < statements; ++have) {
      world.add_statement(have);
    }
    rows.push_back(measure_all(world, manifests, statements, count, out));
    rows.back()["one_more_ms"] = after_one_more(world, have++);
    std::fprintf(out, "%*s and after one more statement %.1f ms\n", 21, "",
                 rows.back()["one_more_ms"].get<double>());
  }
  const Json& last = rows.back();
  const bool kept = last["judged_cpu_ms"] < kMaxWarmMs && last["allow_bytes"] < kMaxAllowBytes &&
                    last["denial_bytes"] < kMaxDenialBytes;
  std::fprintf(out, "limits of the last row: judged %.0f ms of CPU, allow %.0f, denial %.0f: %s\n",
               kMaxWarmMs, kMaxAllowBytes, kMaxDenialBytes, kept ? "kept" : "NOT KEPT");
  const Json result = {{"benchmark", "limits_decision"},
                       {"entries", entries},
                       {"rows", rows},
                       {"limits",
                        {{"warm_ms", kMaxWarmMs},
                         {"allow_bytes", kMaxAllowBytes},
                         {"denial_bytes", kMaxDenialBytes}}},
                       {"kept", kept}};
  if (json == "-") {
    std::printf("%s\n", result.dump(2).c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(2) << "\n";
  }
  return kept ? 0 : 1;
}
