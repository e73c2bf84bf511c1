// SPDX-License-Identifier: Apache-2.0
// How long it takes to say which of many stored decisions a hypothesis would turn round, as the
// share of decisions with a case of their own grows: another policy; and where the policy asks for
// a lineage of 12 statements with evidence, a revoked key, a dataset that must not be used, and a
// lost TCB level. Words: dir=DIR decisions=N statements=N own=N,N,... (decisions in so many have a
// case of their own; 0: all share one) beside=N (other things that were made from the dataset)
// json=FILE. Exits with 1 when 100,000 decisions would take more than 10 s where nearly all share
// their cases.
#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "bench/options.h"
#include "bench/stage_world.h"
#include "server/service/impact/decision_impact.h"

namespace {

using assay::Hypothesis;
using assay::Json;
using assay::bench::must;
using assay::bench::World;
using SteadyClock = std::chrono::steady_clock;

constexpr double kMaxSeconds = 10;  // of 100,000 decisions, docs/limits.md
constexpr double kDecisions = 100'000;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Decisions that were stored, and how long that took.
struct Filled {
  std::uint64_t decisions;
  std::uint64_t own;
  double seconds;
};

// Stores decisions in several threads, as commits are shared. One in `own` has a case of its own:
// its volume has another name.
Filled fill(World& world, std::uint64_t decisions, std::uint64_t own) {
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
  return {decisions, own, seconds_since(begin)};
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

Hypothesis other_policy() {
  const Json document = {
      {"name", "gpu-models"},
      {"version", 2},
      {"mode", "enforce"},
      {"match", {{"resources", {"gpu"}}}},
      {"require", {{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 2}}}}}}}}};
  return {.activate = {must(assay::parse_policy(assay::as_bytes(document.dump())))}};
}

// All that the simulated platform can be at.
Hypothesis lost_level(const World& world) {
  const auto platform = assay::bench::simulated_platform(world.now()).platform;
  return {.tcb_levels_lost = {{assay::hex_encode(platform.fmspc), world.now()}}};
}

Asked ask(World& world, const Hypothesis& hypothesis) {
  assay::ImpactRequest request{.hypothesis = hypothesis};
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

// Asks, prints a row and adds it to `rows`. Returns the seconds that 100,000 decisions would take.
double measure(World& world, const char* question, const Hypothesis& hypothesis,
               const Filled& filled, std::FILE* out, Json& rows) {
  const Asked asked = ask(world, hypothesis);
  if (asked.examined != filled.decisions || asked.denied != filled.decisions) {
    std::fprintf(stderr, "impact_bench: %s: %ju of %ju decisions were seen, %ju denied\n", question,
                 static_cast<std::uintmax_t>(asked.examined),
                 static_cast<std::uintmax_t>(filled.decisions),
                 static_cast<std::uintmax_t>(asked.denied));
    std::exit(2);
  }
  const double decisions = static_cast<double>(filled.decisions);
  const double each = asked.seconds / decisions;
  std::fprintf(
      out, "%8s  %6ju  %9ju  %8ju  %6ju  %8.2f  %7.1f  %7.1f  %8.1f s  %7.1f s\n", question,
      static_cast<std::uintmax_t>(filled.own), static_cast<std::uintmax_t>(filled.decisions),
      static_cast<std::uintmax_t>(asked.cases), static_cast<std::uintmax_t>(asked.calls),
      asked.seconds, 1e6 * each, 1e6 * asked.cpu / decisions, kDecisions * each, filled.seconds);
  std::fflush(out);
  rows.push_back({{"question", question},
                  {"own", filled.own},
                  {"decisions", filled.decisions},
                  {"cases", asked.cases},
                  {"calls", asked.calls},
                  {"seconds", asked.seconds},
                  {"cpu_seconds", asked.cpu},
                  {"us_each", 1e6 * each}});
  return kDecisions * each;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = assay::bench::parse_options(argc, argv, "impact_bench");
  const std::uint64_t decisions = assay::bench::number(options, "decisions", 100'000);
  const std::uint64_t statements = assay::bench::number(options, "statements", 12);
  const std::uint64_t beside = assay::bench::number(options, "beside", 10'000);
  const std::string json = assay::bench::text(options, "json", "");
  const std::string folder =
      assay::bench::text(options, "dir", std::filesystem::temp_directory_path().string()) +
      "/assay-impact-" + std::to_string(::getpid());
  std::FILE* out = json == "-" ? stderr : stdout;
  std::fprintf(out,
               "one of N has a case of its own; limit: %.0f s for 100,000 decisions of N = 0\n",
               kMaxSeconds);
  std::fprintf(
      out,
      "question       N  decisions     cases   calls   seconds  us each   us cpu  100,000 in"
      "  filled in\n");
  Json rows = Json::array();
  bool kept = true;
  std::istringstream shares(assay::bench::text(options, "own", "0,10"));
  for (std::string text; std::getline(shares, text, ',');) {
    const std::uint64_t own = std::strtoull(text.c_str(), nullptr, 10);
    const auto take = [&](World& world, const char* question, const Hypothesis& hypothesis,
                          const Filled& filled) {
      const double seconds = measure(world, question, hypothesis, filled, out, rows);
      kept = kept && (own != 0 || seconds <= kMaxSeconds);
    };
    {
      World world(folder, 100, 1 + statements / assay::bench::kPerSigner);
      world.add_manifest(0);
      for (std::uint64_t i = 0; i < statements; ++i) {
        world.add_statement(i);
      }
      take(world, "policy", other_policy(), fill(world, decisions, own));
    }
    World world(folder, 100, 1);
    world.add_manifest(0);
    assay::bench::add_lineage(world, beside);
    const Filled filled = fill(world, decisions, own);
    take(world, "key", {.revoke_keys = {world.signer(0).record.id}}, filled);
    take(world, "dataset", {.without_artifacts = {assay::bench::dataset().text()}}, filled);
    take(world, "level", lost_level(world), filled);
  }
  const Json result = {
      {"limit_seconds", kMaxSeconds}, {"beside", beside}, {"rows", std::move(rows)}};
  if (json == "-") {
    std::printf("%s\n", result.dump().c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return kept ? 0 : 1;
}
