// SPDX-License-Identifier: Apache-2.0
// Audit queries over a log that grows: the time of a page of 100 events by each filter, at several
// sizes of the same log. Usage: storage_query_bench [--dir DIR] [--sizes N,N,...] [--queries N]
// [--json FILE]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "schemas/core/json.h"
#include "schemas/core/sha.h"
#include "server/service/jobs/precedence.h"
#include "storage/store.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_signer.h"

namespace {

using assay::Json;
using assay::storage::EventQuery;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kModels = 500;
constexpr std::uint64_t kActors = 40;
constexpr std::uint64_t kBatch = 2000;

struct Options {
  std::string folder = std::filesystem::temp_directory_path().string();
  std::vector<std::uint64_t> sizes = {100000, 1000000};
  int queries = 300;
  std::string json;
};

struct Kind {
  std::string name;
  std::function<EventQuery(std::mt19937_64&, std::uint64_t size)> make;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "storage_query_bench: %s\n", why.c_str());
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--dir") {
      options.folder = value;
    } else if (name == "--json") {
      options.json = value;
    } else if (name == "--queries") {
      options.queries = std::atoi(value.c_str());
    } else if (name == "--sizes") {
      options.sizes.clear();
      std::istringstream list(value);
      for (std::string size; std::getline(list, size, ',');) {
        options.sizes.push_back(std::strtoull(size.c_str(), nullptr, 10));
      }
    } else {
      stop("unknown option " + name);
    }
  }
  return options;
}

std::string model(std::uint64_t number) {
  return assay::ArtifactId(assay::sha256(assay::as_bytes("model " + std::to_string(number))))
      .text();
}

std::string actor(std::uint64_t number) { return "orchestrator-" + std::to_string(number); }

// Decisions about a few hundred models, and every thousandth record something rarer.
assay::LogRecord make_record(std::uint64_t i) {
  const std::string id = "decision-" + std::to_string(i);
  const bool rare = i % 1000 == 999;
  return {.type = rare ? "policy.activated" : "decision.made",
          .time = assay::Timestamp(),
          .actor = rare ? "alice" : actor(i * 7919 % kActors),
          .subjects = {id, model(i * 104729 % kModels)},
          .documents = {assay::DocumentId(assay::sha256(assay::as_bytes(id)))},
          .detail = {{"allowed", i % 50 != 0}, {"namespace", "prod"}, {"point", "create"}}};
}

// One record a second of the log's own time.
void grow(assay::storage::Store& store, assay::ManualClock& clock, std::uint64_t from,
          std::uint64_t to) {
  for (std::uint64_t begin = from; begin < to; begin += kBatch) {
    const std::uint64_t end = std::min(begin + kBatch, to);
    clock.advance(std::chrono::seconds(end - begin));
    const auto state = store.write([&](assay::storage::Transaction& transaction) -> assay::Status {
      for (std::uint64_t i = begin; i < end; ++i) {
        ASSAY_TRY(transaction.append(make_record(i)));
      }
      return {};
    });
    if (!state) {
      stop(assay::to_string(state.error()));
    }
  }
}

std::vector<Kind> kinds(assay::Timestamp start) {
  const auto after = [](std::mt19937_64& random, std::uint64_t size) {
    EventQuery query;
    query.bounds.after = random() % size;
    return query;
  };
  return {
      {"no filter", after},
      {"type prefix",
       [=](auto& random, auto size) {
         EventQuery query = after(random, size);
         query.type = "decision.";
         return query;
       }},
      {"rare type",
       [](auto&, auto) {
         EventQuery query;
         query.type = "policy.activated";
         return query;
       }},
      {"actor",
       [=](auto& random, auto size) {
         EventQuery query = after(random, size);
         query.actor = actor(random() % kActors);
         return query;
       }},
      {"one decision",
       [](auto& random, auto size) {
         EventQuery query;
         query.subject = "decision-" + std::to_string(random() % size);
         return query;
       }},
      {"model and actor",
       [](auto& random, auto) {
         EventQuery query;
         query.subject = model(random() % kModels);
         query.actor = actor(random() % kActors);
         query.type = "decision.made";
         return query;
       }},
      {"an hour",
       [=](auto& random, auto size) {
         EventQuery query;
         query.since = start + std::chrono::seconds(random() % size);
         query.until = *query.since + std::chrono::hours(1);
         return query;
       }},
      {"model in a day",
       [=](auto& random, auto size) {
         EventQuery query;
         query.subject = model(random() % kModels);
         query.since = start + std::chrono::seconds(random() % size);
         query.until = *query.since + std::chrono::hours(24);
         return query;
       }},
  };
}

Json measure(assay::storage::Store& store, const Kind& kind, std::uint64_t size, int queries) {
  std::mt19937_64 random(size);
  std::vector<double> times;
  std::size_t items = 0;
  for (int i = 0; i < queries; ++i) {
    const EventQuery query = kind.make(random, size);
    const auto begin = SteadyClock::now();
    const auto snapshot = store.snapshot();
    const auto page = (*snapshot)->events(query);
    times.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
    if (!page) {
      stop(assay::to_string(page.error()));
    }
    items += page->items.size();
  }
  std::sort(times.begin(), times.end());
  const double p50 = times[times.size() / 2];
  const double p99 = times[times.size() * 99 / 100];
  std::printf("%10llu  %-16s  %8.2f  %8.2f  %10.1f\n", static_cast<unsigned long long>(size),
              kind.name.c_str(), p50, p99,
              static_cast<double>(items) / static_cast<double>(times.size()));
  std::fflush(stdout);
  return {{"events", size}, {"query", kind.name}, {"p50_ms", p50}, {"p99_ms", p99}};
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string folder = options.folder + "/assay-query-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const assay::TestSigner signer;
  assay::ManualClock clock;
  const assay::Timestamp start = clock.now();
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
  std::printf("    events  query               p50 ms    p99 ms  items/page\n");
  Json rows = Json::array();
  std::uint64_t size = 0;
  for (const std::uint64_t next : options.sizes) {
    grow(**store, clock, size, next);
    size = next;
    for (const Kind& kind : kinds(start)) {
      rows.push_back(measure(**store, kind, size, options.queries));
    }
  }
  if (!options.json.empty()) {
    std::ofstream(options.json) << Json{{"benchmark", "storage_query"}, {"rows", rows}}.dump(2)
                                << "\n";
  }
  store->reset();
  std::filesystem::remove_all(folder);
  return 0;
}
