// SPDX-License-Identifier: Apache-2.0
// What lineages cost: collecting one of depth 32 from statements in memory, finding it again, and
// judging one of 12 statements; growth against the number of nodes. Words: rounds=N json=FILE.
// Exits with 1 when a limit is not kept.
#include "policy/lineage.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bench/options.h"
#include "policy/evaluate.h"
#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"

namespace {

using namespace assay;
using policy::Lineage;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kDepth = 32;
constexpr double kMaxColdMs = 20;
constexpr double kMaxWarmUs = 50;
constexpr double kMaxJudgeUs = 50;

double since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
}

struct Measured {
  double median;
  double p99;
};

template <typename Work>
Measured measure(std::size_t rounds, const Work& work) {
  work();  // warm-up
  std::vector<double> times;
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto start = SteadyClock::now();
    work();
    times.push_back(since(start));
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

Timestamp now() { return parse_rfc3339("2026-06-01T12:00:00Z").value(); }

TrustedKey key(KeyPurpose purpose, const std::string& identity, SignerRole role) {
  return {KeyId(sha256(as_bytes(identity))),
          SignatureAlgorithm::kEd25519,
          {},
          purpose,
          identity,
          {std::move(role)},
          now() - std::chrono::hours(1000),
          now() + std::chrono::hours(1000),
          std::nullopt};
}

ArtifactId artifact_of(std::size_t number) {
  return ArtifactId(sha256(as_bytes(std::to_string(number))));
}

// Statements by what they are about.
class Graph {
 public:
  // `nodes` things in kDepth layers; each was made from two of the layer above, the last layer was
  // collected.
  explicit Graph(std::size_t nodes, std::size_t depth = kDepth) {
    const SignerRole role{"*", std::string(kLifecyclePredicateType), "acme"};
    const TrustedKey signer = key(KeyPurpose::kSigner, "trainer", role);
    const std::size_t wide = std::max<std::size_t>(1, nodes / depth);
    for (std::size_t layer = 0; layer <= depth; ++layer) {
      const std::size_t width = layer == 0 ? 1 : wide;
      for (std::size_t i = 0; i < width; ++i) {
        add(layer, i, layer == depth ? 0 : wide, signer);
      }
    }
  }

  [[nodiscard]] policy::LineageSource source() const {
    return {[this](const std::string& digest) -> Result<Lineage::Statements> {
      const auto found = about_.find(digest);
      return found == about_.end() ? Lineage::Statements() : found->second;
    }};
  }
  [[nodiscard]] std::size_t size() const { return about_.size(); }

 private:
  static std::string digest(std::size_t layer, std::size_t i) {
    return artifact_of(layer * 1'000'000 + i).text();
  }

  void add(std::size_t layer, std::size_t i, std::size_t wide, const TrustedKey& signer) {
    const std::string to = digest(layer, i);
    policy::LineageStatement one{{StatementId(sha256(as_bytes(to))),
                                  std::string(kLifecyclePredicateType),
                                  wide == 0 ? "collect" : "train",
                                  nullptr,
                                  {{signer, now() - std::chrono::hours(1)}},
                                  now() - std::chrono::hours(1),
                                  about_.size()},
                                 false,
                                 {{to, {"acme/demo"}}},
                                 {}};
    for (std::size_t k = 0; k < std::min<std::size_t>(wide, layer == 0 ? wide : 2); ++k) {
      one.inputs.push_back({"base-model",
                            "acme/demo",
                            {digest(layer + 1, (i + k) % std::max<std::size_t>(1, wide))}});
    }
    about_[to].push_back(std::make_shared<const policy::LineageStatement>(std::move(one)));
  }

  std::unordered_map<std::string, Lineage::Statements> about_;
};

std::shared_ptr<const Lineage> collect(const Graph& graph) {
  return policy::collect_lineage(artifact_of(0).text(), graph.source()).value();
}

policy::Facts facts_with(std::shared_ptr<const Lineage> lineage) {
  const SignerRole role{"*", "*", "acme"};
  policy::ManifestFact manifest{
      {StatementId(sha256(as_bytes("manifest"))),
       std::string(kManifestPredicateType),
       {},
       nullptr,
       {{key(KeyPurpose::kPublisher, "alice", role), now() - std::chrono::hours(1)}},
       now() - std::chrono::hours(1),
       1'000'000},
      "acme/demo",
      {},
      {},
      Objects::kFiles};
  policy::Facts facts;
  facts.artifact = artifact_of(0);
  facts.manifests = {std::move(manifest)};
  facts.lineage = std::move(lineage);
  return facts;
}

// The three stages of Atlas: expected signers, known lineage, stages in order.
policy::ActivePolicy atlas() {
  constexpr std::string_view kText = R"({"name":"atlas","version":1,"mode":"enforce",
    "match":{"namespaces":["prod"]},"require":[{"id":"published","manifest":{}},
    {"id":"lineage","lineage":{"edges":[{"stage":"train","signers":{"identities":["trainer"]}}],
    "stages":["collect","train"],"deny":{"names":["leaked/*"]},"max_depth":64}}]})";
  return {StatementId(sha256(as_bytes(kText))), parse_policy(as_bytes(kText)).value()};
}

bool within(const char* what, double value, double limit, const char* unit) {
  std::printf("%-48s %10.1f %s   limit %.0f %s%s\n", what, value, unit, limit, unit,
              value <= limit ? "" : "   NOT KEPT");
  return value <= limit;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse_options(argc, argv, "lineage_bench");
  const std::size_t rounds = bench::number(options, "rounds", 30);
  Json growth = Json::array();
  std::printf("nodes   collect ms   evaluate ms   document KiB\n");
  for (const std::size_t nodes : {32U, 320U, 3200U, 10'000U}) {
    const Graph graph(nodes);
    const Measured cold = measure(rounds, [&] { (void)collect(graph); });
    const auto facts = facts_with(collect(graph));
    const std::vector<policy::ActivePolicy> policies = {atlas()};
    const policy::Workload workload{"prod", {}, {}};
    bool allowed = true;
    const Measured judged = measure(rounds, [&] {
      allowed = allowed && policy::evaluate(policies, workload, std::span(&facts, 1), {},
                                            DecisionPoint::kCreate, now())
                               .allowed;
    });
    const std::size_t bytes = canonical_json(policy::to_json(*facts.lineage)).value().size();
    std::printf("%5zu   %10.2f   %11.2f   %12zu%s\n", graph.size(), cold.median / 1000,
                judged.median / 1000, bytes >> 10, allowed ? "" : "   DENIED");
    growth.push_back({{"nodes", graph.size()},
                      {"collect_ms", cold.median / 1000},
                      {"evaluate_ms", judged.median / 1000},
                      {"bytes", bytes}});
  }
  const Graph large(10'000);
  const Measured cold = measure(rounds, [&] { (void)collect(large); });
  const auto kept = collect(large);
  std::unordered_map<std::string, std::shared_ptr<const Lineage>> cache = {
      {artifact_of(0).text(), kept}};
  const Measured warm = measure(1000, [&] { (void)cache.find(artifact_of(0).text())->second; });
  const Graph twelve(11, 11);
  const auto facts = facts_with(collect(twelve));
  const std::vector<policy::ActivePolicy> policies = {atlas()};
  const policy::Workload workload{"prod", {}, {}};
  const Measured judged = measure(1000, [&] {
    (void)policy::evaluate(policies, workload, std::span(&facts, 1), {}, DecisionPoint::kCreate,
                           now());
  });
  bool kept_all =
      within("lineage of 10,000 nodes, collected", cold.median / 1000, kMaxColdMs, "ms");
  kept_all = within("the same, found again", warm.median, kMaxWarmUs, "us") && kept_all;
  kept_all = within("evaluation over 12 statements", judged.median, kMaxJudgeUs, "us") && kept_all;
  const std::string file = bench::text(options, "json", "");
  if (!file.empty()) {
    std::ofstream(file) << Json{{"growth", growth},
                                {"collect_10000_ms", cold.median / 1000},
                                {"collect_10000_p99_ms", cold.p99 / 1000},
                                {"warm_us", warm.median},
                                {"evaluate_12_us", judged.median},
                                {"evaluate_12_p99_us", judged.p99}}
                               .dump(2)
                        << "\n";
  }
  return kept_all ? 0 : 1;
}
