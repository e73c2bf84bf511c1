// SPDX-License-Identifier: Apache-2.0
// Durable log appends per second with 1 to 256 writers, and beside each the rate of syncs that the
// same folder can do: an append is acknowledged after a sync, so only their ratio means something
// on another disk. Usage: storage_append_bench [--dir DIR] [--seconds N] [--json FILE]
// [--documents]
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "schemas/core/json.h"
#include "schemas/core/sha.h"
#include "server/service/jobs/precedence.h"
#include "storage/store.h"
#include "tests/support/test_signer.h"

namespace {

using assay::Json;
using SteadyClock = std::chrono::steady_clock;

struct Options {
  std::string folder = std::filesystem::temp_directory_path().string();
  double seconds = 4;
  std::string json;
  bool documents = false;
};

struct Outcome {
  std::size_t writers;
  double appends_per_second;
  double syncs_before;
  double syncs_after;
  double group_median;
  std::size_t group_max;
  double p50_ms;
  double p99_ms;
  std::size_t errors;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "storage_append_bench: %s\n", why.c_str());
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--documents") {
      options.documents = true;
      continue;
    }
    if (i + 1 == argc) {
      stop("usage: [--dir DIR] [--seconds N] [--json FILE] [--documents]");
    }
    const std::string value = argv[++i];
    if (name == "--dir") {
      options.folder = value;
    } else if (name == "--seconds") {
      options.seconds = std::strtod(value.c_str(), nullptr);
    } else if (name == "--json") {
      options.json = value;
    } else {
      stop("unknown option " + name);
    }
  }
  return options;
}

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Writes of 4 KiB to a growing file, each synced.
double sync_rate(const std::string& folder) {
  const std::string path = folder + "/sync.tmp";
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) {
    stop("cannot write to the folder");
  }
  std::array<char, 4096> page{};
  std::memset(page.data(), 'x', page.size());
  const auto begin = SteadyClock::now();
  std::size_t count = 0;
  while (seconds_since(begin) < 1) {
    if (::write(file, page.data(), page.size()) != 4096 || ::fdatasync(file) != 0) {
      stop("a sync failed");
    }
    ++count;
  }
  const double rate = static_cast<double>(count) / seconds_since(begin);
  ::close(file);
  ::unlink(path.c_str());
  return rate;
}

// A record like that of a decision: two subjects, two documents, a little detail.
assay::LogRecord make_record(const std::string& unique) {
  const assay::Digest digest = assay::sha256(assay::as_bytes(unique));
  return {.type = "decision.made",
          .time = assay::Timestamp(),
          .actor = "orchestrator-1",
          .subjects = {unique, assay::ArtifactId(assay::sha256(assay::as_bytes("model"))).text()},
          .documents = {assay::DocumentId(digest), assay::DocumentId(digest)},
          .detail = {{"allowed", true}, {"namespace", "prod"}, {"point", "create"}}};
}

struct Writer {
  std::vector<double> latencies_ms;
  std::map<assay::TreeSize, std::size_t>
      groups;  // size of the log after a commit: acknowledged here
  std::size_t errors = 0;
};

void write_until(assay::storage::Store& store, const std::atomic<int>& phase, std::size_t number,
                 bool documents, Writer& writer) {
  for (std::size_t i = 0; phase < 2; ++i) {
    const std::string unique = std::to_string(number) + "-" + std::to_string(i);
    const assay::LogRecord record = make_record(unique);
    const bool counted = phase == 1;
    const auto begin = SteadyClock::now();
    const auto state = store.write([&](assay::storage::Transaction& transaction) -> assay::Status {
      if (documents) {
        const std::string document(1024, 'd');
        ASSAY_TRY(transaction.put_document("text/plain", assay::as_bytes(unique + document)));
      }
      ASSAY_TRY(transaction.append(record));
      return {};
    });
    if (!state) {
      ++writer.errors;
    } else if (counted && phase == 1) {
      writer.latencies_ms.push_back(seconds_since(begin) * 1000);
      ++writer.groups[state->size];
    }
  }
}

double quantile(std::vector<double>& values, double part) {
  if (values.empty()) {
    return 0;
  }
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

Outcome summarise(std::vector<Writer>& writers, double seconds) {
  std::vector<double> latencies;
  std::map<assay::TreeSize, std::size_t> groups;
  Outcome outcome{};
  outcome.writers = writers.size();
  for (Writer& writer : writers) {
    latencies.insert(latencies.end(), writer.latencies_ms.begin(), writer.latencies_ms.end());
    for (const auto& [size, count] : writer.groups) {
      groups[size] += count;
    }
    outcome.errors += writer.errors;
  }
  std::vector<double> sizes;
  for (const auto& [size, count] : groups) {
    sizes.push_back(static_cast<double>(count));
    outcome.group_max = std::max(outcome.group_max, count);
  }
  outcome.appends_per_second = static_cast<double>(latencies.size()) / seconds;
  outcome.group_median = quantile(sizes, 0.5);
  outcome.p50_ms = quantile(latencies, 0.5);
  outcome.p99_ms = quantile(latencies, 0.99);
  return outcome;
}

Outcome measure(const Options& options, std::size_t count) {
  const std::string folder = options.folder + "/assay-append-" + std::to_string(::getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const double syncs_before = sync_rate(folder);
  const assay::TestSigner signer;
  const assay::SystemClock clock;
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
  std::vector<Writer> writers(count);
  std::vector<std::thread> threads;
  std::atomic<int> phase = 0;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { write_until(**store, phase, i, options.documents, writers[i]); });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // warm-up
  phase = 1;
  const auto begin = SteadyClock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  const double seconds = seconds_since(begin);
  phase = 2;
  for (std::thread& thread : threads) {
    thread.join();
  }
  Outcome outcome = summarise(writers, seconds);
  const auto snapshot = (*store)->snapshot();
  if (!snapshot || !(*snapshot)->verify_log()) {
    stop("the log does not verify");
  }
  outcome.syncs_before = syncs_before;
  outcome.syncs_after = sync_rate(folder);
  store->reset();
  std::filesystem::remove_all(folder);
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::printf(
      "writers  appends/s  syncs/s before, after  appends per sync  group median, max"
      "    p50 ms    p99 ms  errors\n");
  Json rows = Json::array();
  for (const std::size_t writers : {1U, 16U, 64U, 256U}) {
    const Outcome o = measure(options, writers);
    const double syncs = (o.syncs_before + o.syncs_after) / 2;
    std::printf("%7zu  %9.0f  %13.0f, %5.0f  %16.1f  %12.0f, %3zu  %8.2f  %8.2f  %6zu\n", o.writers,
                o.appends_per_second, o.syncs_before, o.syncs_after, o.appends_per_second / syncs,
                o.group_median, o.group_max, o.p50_ms, o.p99_ms, o.errors);
    std::fflush(stdout);
    rows.push_back({{"writers", o.writers},
                    {"appends_per_second", o.appends_per_second},
                    {"syncs_per_second_before", o.syncs_before},
                    {"syncs_per_second_after", o.syncs_after},
                    {"group_median", o.group_median},
                    {"group_max", o.group_max},
                    {"p50_ms", o.p50_ms},
                    {"p99_ms", o.p99_ms},
                    {"errors", o.errors}});
  }
  if (!options.json.empty()) {
    std::ofstream(options.json) << Json{{"benchmark", "storage_append"},
                                        {"seconds", options.seconds},
                                        {"documents", options.documents},
                                        {"rows", rows}}
                                       .dump(2)
                                << "\n";
  }
  return 0;
}
