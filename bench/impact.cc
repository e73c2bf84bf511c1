// SPDX-License-Identifier: Apache-2.0
// How long it takes to say which of many stored decisions another policy would turn round, as the
// share of decisions with a case of their own grows. Words: dir=DIR decisions=N statements=N
// own=N,N,... (decisions in so many have a case of their own; 0: all share one) json=FILE. Exits
// with 1 when 100,000 decisions would take more than 10 s where nearly all share their cases.
#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "bench/decision_world.h"
#include "bench/options.h"
#include "server/service/impact/decision_impact.h"

namespace {

using assay::Json;
using assay::bench::must;
using assay::bench::World;
using SteadyClock = std::chrono::steady_clock;

constexpr double kMaxSeconds = 10;  // of 100,000 decisions, docs/limits.md
constexpr double kDecisions = 100'000;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Stores decisions in several threads, as commits are shared. One in `own` has a case of its own:
// its volume has another name.
double fill(World& world, std::uint64_t decisions, std::uint64_t own) {
  const auto begin = SteadyClock::now();
  std::atomic<std::uint64_t> next = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t number = next++; number < decisions; number = next++) {
        const bool alone = own != 0 && number % own == 0;
        world.decide(true, false, number, alone ? "model-" + std::to_string(number) : "model");
      }
    });
  }
  threads.clear();
  return seconds_since(begin);
}

// Of this process, which does nothing else meanwhile.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Asked {
  double seconds = 0;
  double cpu = 0;  // seconds
  std::uint64_t examined = 0;
  std::uint64_t denied = 0;
  std::uint64_t cases = 0;
  std::uint64_t calls = 0;
};

Asked ask(World& world) {
  const Json document = {
      {"name", "gpu-models"},
      {"version", 2},
      {"mode", "enforce"},
      {"match", {{"resources", {"gpu"}}}},
      {"require", {{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 2}}}}}}}}};
  assay::ImpactRequest request{
      .hypothesis = {.activate = {must(assay::parse_policy(assay::as_bytes(document.dump())))}}};
  Asked asked;
  const double cpu = cpu_seconds();
  const auto begin = SteadyClock::now();
  do {
    const Json page = must(assay::server::decision_impact(world.services(), request, {}));
    asked.examined += page["examined"].get<std::uint64_t>();
    asked.denied += page["denied"].get<std::uint64_t>();
    asked.cases += page["cases"].get<std::uint64_t>();
    ++asked.calls;
    request.after = page.value("next", "");
  } while (!request.after.empty());
  asked.seconds = seconds_since(begin);
  asked.cpu = cpu_seconds() - cpu;
  return asked;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = assay::bench::parse_options(argc, argv, "impact_bench");
  const std::uint64_t decisions = assay::bench::number(options, "decisions", 100'000);
  const std::uint64_t statements = assay::bench::number(options, "statements", 12);
  const std::string json = assay::bench::text(options, "json", "");
  std::FILE* out = json == "-" ? stderr : stdout;
  std::fprintf(out,
               "one of N has a case of its own; limit: %.0f s for 100,000 decisions of N = 0\n",
               kMaxSeconds);
  std::fprintf(
      out,
      "       N  decisions     cases   calls   seconds  us each   us cpu  100,000 in  filled in\n");
  Json rows = Json::array();
  bool kept = true;
  std::istringstream shares(assay::bench::text(options, "own", "0,10"));
  for (std::string text; std::getline(shares, text, ',');) {
    const std::uint64_t own = std::strtoull(text.c_str(), nullptr, 10);
    World world(
        assay::bench::text(options, "dir", std::filesystem::temp_directory_path().string()) +
            "/assay-impact-" + std::to_string(::getpid()),
        100, 1 + statements / assay::bench::kPerSigner);
    world.add_manifest(0);
    for (std::uint64_t i = 0; i < statements; ++i) {
      world.add_statement(i);
    }
    const double filled = fill(world, decisions, own);
    const Asked asked = ask(world);
    if (asked.examined != decisions || asked.denied != decisions) {
      std::fprintf(stderr, "impact_bench: %ju of %ju decisions were seen, %ju denied\n",
                   static_cast<std::uintmax_t>(asked.examined),
                   static_cast<std::uintmax_t>(decisions),
                   static_cast<std::uintmax_t>(asked.denied));
      return 2;
    }
    const double each = asked.seconds / static_cast<double>(decisions);
    std::fprintf(out, "%8ju  %9ju  %8ju  %6ju  %8.2f  %7.1f  %7.1f  %8.1f s  %7.1f s\n",
                 static_cast<std::uintmax_t>(own), static_cast<std::uintmax_t>(decisions),
                 static_cast<std::uintmax_t>(asked.cases), static_cast<std::uintmax_t>(asked.calls),
                 asked.seconds, 1e6 * each, 1e6 * asked.cpu / static_cast<double>(decisions),
                 kDecisions * each, filled);
    std::fflush(out);
    kept = kept && (own != 0 || kDecisions * each <= kMaxSeconds);
    rows.push_back({{"own", own},
                    {"decisions", decisions},
                    {"cases", asked.cases},
                    {"seconds", asked.seconds},
                    {"cpu_seconds", asked.cpu},
                    {"us_each", 1e6 * each}});
  }
  const Json result = {{"limit_seconds", kMaxSeconds}, {"rows", std::move(rows)}};
  if (json == "-") {
    std::printf("%s\n", result.dump().c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return kept ? 0 : 1;
}
