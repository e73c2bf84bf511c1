// SPDX-License-Identifier: Apache-2.0
// What a lineage costs a service: when nothing is known and all is read from its database (cold),
// when its statements are known from other lineages (made anew; beside it, what collecting them
// from memory costs), when the service knows it already (warm), and after one more statement about
// something else; and what an evaluation of a policy about it costs the first time and again.
// Beside them the floor of a cold one: reading the rows of its statements, each compared with its
// seal, and reading and hashing their signed bytes, which a lineage leaves out because the rows say
// what it needs of them. All in processor time of the calling thread. Words: dir=DIR rounds=N
// nodes=N,N,... json=FILE ("-": to standard output alone). Exits with 1 when a limit is not kept at
// 10,000 nodes: reading it cold; finding it warm and evaluating the policy again, together.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <unordered_map>

#include "bench/decision_world.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "server/service/lineage/closure.h"

namespace {

using assay::ArtifactId;
using assay::Json;
using assay::bench::measure;
using assay::bench::must;
using assay::bench::Times;
using assay::bench::World;

constexpr std::size_t kDepth = 32;
constexpr std::size_t kNodes = 10'000;
constexpr double kMaxColdMs = 20;
constexpr double kMaxWarmUs = 50;

ArtifactId thing(std::size_t layer, std::size_t i) {
  return ArtifactId(
      assay::sha256(assay::as_bytes("thing " + std::to_string(layer) + "/" + std::to_string(i))));
}

void add_input(assay::Lifecycle& made, const ArtifactId& from) {
  made.inputs.push_back(
      {"base-model", "acme/demo", {{std::string(from.digest_name()), from.root().hex()}}});
}

// Stores one thing that was made from all of the layer above, and kDepth layers of which each thing
// was made from two of the layer above; the last layer was collected. Returns the number of things.
std::size_t fill(World& world, std::size_t nodes) {
  const std::size_t wide = std::max<std::size_t>(1, (nodes - 1) / kDepth);
  const std::size_t all = 1 + wide * kDepth;
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (std::size_t number = next++; number < all; number = next++) {
        const std::size_t layer = number == 0 ? 0 : 1 + (number - 1) / wide;
        const std::size_t i = number == 0 ? 0 : (number - 1) % wide;
        assay::Lifecycle made;
        made.stage = layer == kDepth ? "collect" : "train";
        for (std::size_t k = 0; layer < kDepth && k < (layer == 0 ? wide : 2); ++k) {
          if (const ArtifactId from = thing(layer + 1, (i + k) % wide); k == 0 || wide > 1) {
            add_input(made, from);
          }
        }
        world.add_lifecycle(made, thing(layer, i), 0);
      }
    });
  }
  return all;
}

// The service knows no lineage of the artifact any more.
void forget(World& world, const ArtifactId& artifact) {
  world.services().decisions.lineages.put(artifact.text(),
                                          {0, assay::TrustEpochs{~0ULL, ~0ULL}, {}, 0, nullptr});
}

// The service knows no statement of any lineage any more.
void forget_statements(World& world) {
  assay::server::LineageSteps& steps = world.services().decisions.steps;
  const std::scoped_lock lock(steps.mutex);
  steps.about.clear();
  steps.kept = 0;
}

std::shared_ptr<const assay::server::LineageFacts> look(World& world, const ArtifactId& artifact) {
  const auto snapshot = must(world.services().store.snapshot());
  return must(assay::server::lineage_facts(world.services(), *snapshot, artifact)).facts;
}

assay::Timestamp now() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

// Who may sign, in which order things happen, what must not be there.
assay::policy::ActivePolicy policy_about_lineage() {
  constexpr std::string_view kText = R"({"name":"lineage","version":1,"mode":"enforce",
    "match":{"namespaces":["prod"]},"require":[{"id":"lineage","lineage":{"edges":[{"stage":"train",
    "signers":{"identities":["signer-0"]}}],"stages":["collect","train"],
    "deny":{"names":["leaked/*"]},"max_depth":64}}]})";
  return {assay::StatementId(assay::sha256(assay::as_bytes(kText))),
          must(assay::parse_policy(assay::as_bytes(kText)))};
}

// Facts about the model under its name, which a publisher signed.
assay::policy::Facts facts_about(const ArtifactId& model) {
  const std::string type(assay::kManifestPredicateType);
  const auto key = assay::bench::make_key(assay::KeyPurpose::kPublisher, "release",
                                          {{"*", type, "acme"}}, now());
  const assay::Timestamp then = now() - std::chrono::seconds(60);
  assay::policy::Facts facts;
  facts.artifact = model;
  facts.manifests = {assay::policy::ManifestFact{
      {assay::StatementId(model.root()), type, {}, nullptr, {{key.record, then}}, then, 0},
      "acme/demo",
      {},
      {},
      assay::Objects::kFiles}};
  return facts;
}

// Collects the statements of `known` again.
Times collect_from_memory(std::size_t rounds, const assay::policy::Lineage& known) {
  std::unordered_map<std::string, assay::policy::Lineage::Statements> about;
  for (const auto& statement : known.statements()) {
    for (const assay::policy::LineageSubject& subject : statement->subjects) {
      about[subject.digest].push_back(statement);
    }
  }
  const assay::policy::LineageSource source{
      [&](const std::string& digest) -> assay::Result<assay::policy::Lineage::Statements> {
        return about[digest];
      }};
  return measure(rounds,
                 [&] { (void)must(assay::policy::collect_lineage(known.start(), source)); });
}

// What reading all statements of `known` costs, without making anything of it.
struct Floor {
  Times rows;
  Times bytes;
};

Floor floor_of(World& world, std::size_t rounds, const assay::policy::Lineage& known) {
  std::vector<assay::DocumentId> envelopes;
  const auto snapshot = must(world.services().store.snapshot());
  const auto read_rows = [&] {
    envelopes.clear();
    for (const auto& statement : known.statements()) {
      const auto row = must(snapshot->statement_at(statement->fact.log_index));
      envelopes.push_back(row.envelopes.front());
    }
  };
  const Times rows = measure(rounds, read_rows);
  const auto read_bytes = [&] {
    for (const assay::DocumentId& id : envelopes) {
      (void)must(snapshot->document(id));
    }
  };
  return {rows, measure(rounds, read_bytes)};
}

// All figures of one lineage.
struct Figures {
  Times started;
  Times cold;
  Times anew;
  Floor floor;
  Times memory;
  Times warm;
  Times one_more;
  Times first;  // evaluation
  Times again;
};

Json show(std::size_t nodes, const Figures& found, std::FILE* out) {
  std::fprintf(
      out,
      "%6zu  %12.2f  %8.2f  %8.2f  %8.2f  %9.2f  %8.2f  %10.2f  %8.1f  %8.1f  %12.1f  %10.2f"
      "  %9.1f\n",
      nodes, found.started.p50 / 1000, found.cold.p50 / 1000, found.cold.best / 1000,
      found.floor.rows.best / 1000, found.floor.bytes.best / 1000, found.anew.p50 / 1000,
      found.memory.best / 1000, found.warm.p50, found.warm.p99, found.one_more.p50,
      found.first.best / 1000, found.again.p50);
  std::fflush(out);
  return {{"nodes", nodes},
          {"started_ms", found.started.p50 / 1000},
          {"cold_ms", found.cold.p50 / 1000},
          {"cold_best_ms", found.cold.best / 1000},
          {"floor_rows_ms", found.floor.rows.best / 1000},
          {"floor_bytes_ms", found.floor.bytes.best / 1000},
          {"anew_ms", found.anew.p50 / 1000},
          {"memory_ms", found.memory.best / 1000},
          {"warm_us", found.warm.p50},
          {"warm_p99_us", found.warm.p99},
          {"one_more_us", found.one_more.p50},
          {"judged_ms", found.first.best / 1000},
          {"again_us", found.again.p50}};
}

Json measure_all(World& world, std::size_t nodes, std::size_t rounds, std::FILE* out) {
  const ArtifactId model = thing(0, 0);
  const auto read = [&] {
    if (look(world, model)->lineage->statements().size() != nodes) {
      std::fprintf(stderr, "lineage_store_bench: another number of statements\n");
      std::exit(2);
    }
  };
  const Times started = measure(std::min<std::size_t>(rounds, 5), [&] { world.open(); }, read);
  const auto forget_all = [&] {
    forget(world, model);
    forget_statements(world);
  };
  const Times cold = measure(rounds, forget_all, read);
  const Times anew = measure(rounds, [&] { forget(world, model); }, read);
  const Times warm = measure(1000, read);
  assay::policy::Facts facts = facts_about(model);
  const std::vector<assay::policy::ActivePolicy> policies = {policy_about_lineage()};
  const auto evaluate = [&] {
    const auto verdict = assay::policy::evaluate(policies, {"prod", {}, {}}, std::span(&facts, 1),
                                                 {}, assay::DecisionPoint::kCreate, now());
    if (!verdict.allowed) {
      std::fprintf(stderr, "%s\n", to_json(verdict).dump(1).c_str());
      std::exit(2);
    }
  };
  const auto known = look(world, model);
  facts.lineage = known->lineage;
  const Floor floor = floor_of(world, rounds, *known->lineage);
  const Times memory = collect_from_memory(rounds, *known->lineage);
  const Times first = measure(rounds, evaluate);
  facts.lineage_results = known->results.get();
  const Times again = measure(1000, evaluate);
  std::size_t others = 0;
  const auto add = [&] {
    assay::Lifecycle other;
    other.stage = "collect";
    world.add_lifecycle(other, thing(1'000'000, others++), 0);
  };
  const Times one_more = measure(rounds, add, read);
  return show(nodes, {started, cold, anew, floor, memory, warm, one_more, first, again}, out);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = assay::bench::parse_options(argc, argv, "lineage_store_bench");
  const std::size_t rounds = assay::bench::number(options, "rounds", 20);
  const std::string json = assay::bench::text(options, "json", "");
  std::FILE* out = json == "-" ? stderr : stdout;
  std::fprintf(out, "depth %zu; limits at %zu nodes: cold %.0f ms, warm %.0f us\n", kDepth, kNodes,
               kMaxColdMs, kMaxWarmUs);
  std::fprintf(
      out,
      " nodes  at start, ms  cold, ms      best  rows, ms  bytes, ms  anew, ms  memory, ms  "
      "warm, us       p99  "
      "one more, us  judged, ms  again, us\n");
  Json rows = Json::array();
  bool kept = true;
  std::istringstream counts(assay::bench::text(options, "nodes", "33,321,3201,10017"));
  for (std::string text; std::getline(counts, text, ',');) {
    World world(
        assay::bench::text(options, "dir", std::filesystem::temp_directory_path().string()) +
            "/assay-lineage-" + std::to_string(::getpid()),
        1, 1);
    const std::size_t nodes = fill(world, std::strtoull(text.c_str(), nullptr, 10));
    rows.push_back(measure_all(world, nodes, rounds, out));
    const Json& row = rows.back();
    kept = kept && (nodes < kNodes ||
                    (row["cold_ms"] <= kMaxColdMs &&
                     row["warm_us"].get<double>() + row["again_us"].get<double>() <= kMaxWarmUs));
  }
  std::fprintf(out, "limits: %s\n", kept ? "kept" : "NOT KEPT");
  const Json result = {{"benchmark", "lineage_store"},
                       {"depth", kDepth},
                       {"limits", {{"cold_ms", kMaxColdMs}, {"warm_us", kMaxWarmUs}}},
                       {"kept", kept},
                       {"rows", std::move(rows)}};
  if (json == "-") {
    std::printf("%s\n", result.dump().c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return kept ? 0 : 1;
}
