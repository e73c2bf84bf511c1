// SPDX-License-Identifier: Apache-2.0
// Lists of decisions over a log that grows: the time of the first page of 100 as the service makes
// it, each row with its signed decision. Usage: decision_list_bench [--dir DIR] [--size N]
// [--queries N] [--json FILE]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "attestation/dsse.h"
#include "schemas/core/json.h"
#include "schemas/core/sha.h"
#include "schemas/decision.h"
#include "server/service/jobs/precedence.h"
#include "storage/store.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_signer.h"

namespace {

using assay::Json;
using assay::storage::DecisionQuery;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kBatch = 2000;
constexpr std::uint64_t kRefusedOneIn = 20;
constexpr std::uint64_t kEnvelopes = 4000;
constexpr auto kEvery = std::chrono::seconds(5);  // a million in 58 days

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "decision_list_bench: %s\n", why.c_str());
  std::exit(2);
}

std::string uuid(std::uint64_t number) {
  char text[64];
  std::snprintf(text, sizeof text, "00000000-0000-7000-8000-%012llx",
                static_cast<unsigned long long>(number));
  return text;
}

// A signed decision of the usual length; a few thousand stand for all.
std::string envelope(std::uint64_t number) {
  const Json decision = {
      {"id", uuid(number)},
      {"request",
       {{"name", "pod-" + std::to_string(number)}, {"user", "dev"}, {"principal", "cluster-a"}}},
      {"models", Json::array({{{"artifact", "a"}, {"name", "acme/model"}}})},
      {"filler", std::string(600, 'x')}};
  return assay::attestation::encode_envelope({std::string(assay::kDecisionPayloadType),
                                              assay::to_bytes(decision.dump()),
                                              {{"", assay::Bytes(64, 1), Json::object()}}});
}

assay::Status decide(assay::storage::Transaction& transaction, std::uint64_t i,
                     const std::vector<assay::DocumentId>& envelopes) {
  const bool allowed = i % kRefusedOneIn != 0;
  const std::string model =
      assay::ArtifactId(assay::sha256(assay::as_bytes(std::to_string(i % 500)))).text();
  const assay::DocumentId& document = envelopes[i % envelopes.size()];
  ASSAY_ASSIGN(const auto index, transaction.append({.type = "decision.made",
                                                     .time = {},
                                                     .actor = "cluster-a",
                                                     .subjects = {model},
                                                     .documents = {document},
                                                     .detail = {{"decision_id", uuid(i)}}}));
  return transaction.put_decision({.id = uuid(i),
                                   .envelope = document,
                                   .allowed = allowed,
                                   .point = "create",
                                   .subjects = {model},
                                   .name_space = "team-" + std::to_string(i % 97),
                                   .reasons = allowed
                                                  ? std::vector<std::string>()
                                                  : std::vector<std::string>{"manifest-missing"},
                                   .evaluated_at = transaction.now(),
                                   .log_index = index});
}

void grow(assay::storage::Store& store, assay::ManualClock& clock, std::uint64_t size) {
  std::vector<assay::DocumentId> envelopes;
  for (std::uint64_t begin = 0; begin < size; begin += kBatch) {
    clock.advance(kEvery * kBatch);
    const auto done = store.write([&](assay::storage::Transaction& transaction) -> assay::Status {
      for (std::uint64_t i = envelopes.size(); i < kEnvelopes && begin == 0; ++i) {
        ASSAY_ASSIGN(assay::DocumentId id,
                     transaction.put_document("application/vnd.dsse.envelope.v1+json",
                                              assay::as_bytes(envelope(i))));
        envelopes.push_back(std::move(id));
      }
      for (std::uint64_t i = begin; i < std::min(begin + kBatch, size); ++i) {
        ASSAY_TRY(decide(transaction, i, envelopes));
      }
      return {};
    });
    if (!done) {
      stop(assay::to_string(done.error()));
    }
  }
}

// As server/api/decisions.cc answers.
std::size_t page(assay::storage::Store& store, const DecisionQuery& query) {
  const auto snapshot = store.snapshot();
  const auto rows = (*snapshot)->decisions(query);
  if (!rows) {
    stop(assay::to_string(rows.error()));
  }
  for (const auto& row : rows->items) {
    const auto document = (*snapshot)->document(row.envelope);
    const auto signed_form = assay::attestation::parse_envelope(document.value().bytes);
    if (!signed_form || !assay::parse_json(assay::ByteView(signed_form->payload))) {
      stop("a decision cannot be read");
    }
  }
  return rows->items.size();
}

Json measure(assay::storage::Store& store, const std::string& name, const DecisionQuery& query,
             int queries) {
  std::vector<double> times;
  std::size_t items = 0;
  for (int i = 0; i < queries; ++i) {
    const auto begin = SteadyClock::now();
    items = page(store, query);
    times.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
  }
  std::ranges::sort(times);
  const double p50 = times[times.size() / 2];
  const double p99 = times[times.size() * 99 / 100];
  std::printf("%-32s %8.2f %8.2f %6zu\n", name.c_str(), p50, p99, items);
  return {{"query", name}, {"p50_ms", p50}, {"p99_ms", p99}, {"items", items}};
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = std::filesystem::temp_directory_path().string();
  std::uint64_t size = 1'000'000;
  int queries = 100;
  std::string json;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--dir") {
      folder = argv[i + 1];
    } else if (name == "--size") {
      size = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (name == "--queries") {
      queries = std::atoi(argv[i + 1]);
    } else if (name == "--json") {
      json = argv[i + 1];
    } else {
      stop("unknown option " + name);
    }
  }
  folder += "/assay-decisions-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const assay::TestSigner signer;
  assay::ManualClock clock;
  assay::storage::SqliteOptions sqlite;
  sqlite.rules = &assay::server::kReportRules;
  sqlite.path = folder + "/assay.db";
  sqlite.create = true;
  sqlite.origin = "bench.example.com/log";
  sqlite.anchor_path = folder + "/anchor.json";
  auto store = assay::storage::open_sqlite(sqlite, signer, clock);
  if (!store) {
    stop(assay::to_string(store.error()));
  }
  grow(**store, clock, size);
  std::printf("%llu decisions                  p50 ms   p99 ms  items\n",
              static_cast<unsigned long long>(size));
  DecisionQuery query;
  query.newest_first = true;
  query.with_total = true;
  Json rows = Json::array({measure(**store, "newest", query, queries)});
  query.since = clock.now() - std::chrono::hours(30 * 24);
  query.allowed = false;
  rows.push_back(measure(**store, "refused, 30 days", query, queries));
  query.name_space = "team-7";
  rows.push_back(measure(**store, "refused, 30 days, one namespace", query, queries));
  if (!json.empty()) {
    std::ofstream(json)
        << Json{{"benchmark", "decision_list"}, {"decisions", size}, {"rows", rows}}.dump(2)
        << "\n";
  }
  store->reset();
  std::filesystem::remove_all(folder);
  return 0;
}
