// SPDX-License-Identifier: Apache-2.0
// What policies that are not about a workload add to its evaluation: by looking at each of them,
// and by the index over their match parts. Words: policies=N,N,... rounds=N json=FILE. Exits with 1
// when 10,000 policies add more than 100 us through the index.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <vector>

#include "bench/measure.h"
#include "bench/options.h"
#include "policy/match_index.h"
#include "schemas/core/sha.h"

namespace {

using namespace assay;

constexpr double kMaxAddedUs = 100;  // docs/limits.md
constexpr std::size_t kAt = 10'000;

policy::ActivePolicy policy_number(std::size_t number, WorkloadMatch match) {
  PolicyDocument document{};
  document.name = "policy-" + std::to_string(number);
  document.version = 1;
  document.mode = PolicyMode::kEnforce;
  document.match = std::move(match);
  StatementCondition evaluated;
  evaluated.predicate_type = "https://example.com/evaluation/v1";
  document.require = {{"published", ManifestCondition{}}, {"evaluated", evaluated}};
  return {StatementId(sha256(as_bytes(document.name))), std::move(document)};
}

// One is about the workload; the others in turn about other namespaces, labels, beginnings of
// namespaces, and resources.
std::vector<policy::ActivePolicy> policies(std::size_t count) {
  std::vector<policy::ActivePolicy> made = {
      policy_number(0, {.namespaces = {"prod-*"}, .resources = {"nvidia.com/gpu"}})};
  for (std::size_t i = 1; i < count; ++i) {
    const std::string number = std::to_string(i);
    WorkloadMatch match;
    switch (i % 4) {
      case 0:
        match.namespaces = {"team-" + number};
        break;
      case 1:
        match.labels = {{"app", "app-" + number}};
        break;
      case 2:
        match.namespaces = {"zone-" + number + "-*"};
        break;
      default:
        match.resources = {"example.com/device-" + number};
    }
    made.push_back(policy_number(i, std::move(match)));
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::parse_options(argc, argv, "policies_match_bench");
  const std::size_t rounds = bench::number(options, "rounds", 200);
  const std::string json = bench::text(options, "json", "");
  std::FILE* out = json == "-" ? stderr : stdout;
  const Timestamp now{std::chrono::hours(1'000'000)};
  const policy::Workload workload{"prod-eu", {{"app", "chat"}}, {"nvidia.com/gpu"}};
  policy::Facts model;
  model.artifact = ArtifactId(sha256(as_bytes("model")));
  const std::vector<policy::Facts> models = {model};
  const auto evaluate = [&](std::span<const policy::ActivePolicy> active) {
    const Verdict verdict =
        policy::evaluate(active, workload, models, {}, DecisionPoint::kCreate, now);
    if (verdict.policies.size() != 1) {
      std::exit(2);
    }
  };
  std::fprintf(out, "one policy matches; us, best; limit: the index adds %.0f us at %zu\n",
               kMaxAddedUs, kAt);
  std::fprintf(out, "policies  each looked at   indexed     added   index made in\n");
  const auto alone = policies(1);
  const double base = bench::measure(rounds, [&] { evaluate(alone); }).best;
  Json rows = Json::array();
  bool kept = true;
  std::istringstream counts(bench::text(options, "policies", "1,64,1000,10000,30000"));
  for (std::string text; std::getline(counts, text, ',');) {
    const std::size_t count = std::strtoull(text.c_str(), nullptr, 10);
    const auto active = std::make_shared<const std::vector<policy::ActivePolicy>>(policies(count));
    const double begin = bench::thread_us();
    const policy::MatchIndex index(active);
    const double made = bench::thread_us() - begin;
    const double scanned =
        bench::measure(std::max<std::size_t>(rounds / 10, 5), [&] { evaluate(*active); }).best;
    const auto look_up = [&] { evaluate(index.matching(workload, DecisionPoint::kCreate)); };
    const double indexed = bench::measure(rounds, look_up).best;
    const double added = indexed - base;
    std::fprintf(out, "%8zu  %14.1f  %8.1f  %8.1f  %14.0f\n", count, scanned, indexed, added, made);
    kept = kept && (count != kAt || added <= kMaxAddedUs);
    rows.push_back({{"policies", count},
                    {"scanned_us", scanned},
                    {"indexed_us", indexed},
                    {"added_us", added},
                    {"index_us", made}});
  }
  const Json result = {{"limit_added_us", kMaxAddedUs}, {"at", kAt}, {"rows", std::move(rows)}};
  if (json == "-") {
    std::printf("%s\n", result.dump().c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return kept ? 0 : 1;
}
