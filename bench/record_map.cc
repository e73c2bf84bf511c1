// SPDX-License-Identifier: Apache-2.0
// What the record map costs as the store grows: a start, which reads and hashes all of it, beside
// reading the same database and an HMAC over its bytes; a write of a row; a read of one. The rows
// are pods of about 800 bytes. Words: dir=DIR sizes=N,N json=FILE ("-": to standard output alone).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "bench/options.h"
#include "schemas/core/hmac.h"
#include "schemas/core/json.h"
#include "server/service/jobs/precedence.h"
#include "storage/store.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_signer.h"

namespace {

using assay::Json;
using assay::storage::PodRow;
using assay::storage::Store;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kBatch = 2000;
constexpr int kProbes = 2000;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

template <typename T>
T must(assay::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "record_map_bench: %s\n", to_string(result.error()).c_str());
    std::exit(2);
  }
  return *std::move(result);
}

PodRow pod(std::uint64_t number, const assay::storage::Transaction& transaction) {
  return {.cluster = "kube",
          .uid = "uid-" + std::to_string(number),
          .name_space = "prod",
          .name = "pod-" + std::to_string(number),
          .decision = "d",
          .workload = {{"namespace", "prod"}, {"padding", std::string(600, 'p')}},
          .admitted_at = transaction.now()};
}

struct Bench {
  explicit Bench(std::string where) : folder(std::move(where)) {}

  std::string folder;
  assay::ManualClock clock;
  assay::TestSigner signer;

  [[nodiscard]] std::string path() const { return folder + "/record_map.db"; }
  std::unique_ptr<Store> open() const {
    assay::storage::SqliteOptions options;
    options.rules = &assay::server::kReportRules;
    options.path = path();
    options.create = true;
    options.origin = "bench.example/log";
    options.anchor_path = folder + "/record_map.anchor";
    return must(assay::storage::open_sqlite(options, signer, clock));
  }
  static void put(Store& store, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t first = from; first < to; first += kBatch) {
      must(store.write([&](assay::storage::Transaction& transaction) -> assay::Status {
        for (std::uint64_t i = first; i < std::min(to, first + kBatch); ++i) {
          ASSAY_TRY(transaction.put_pod(pod(i, transaction)));
        }
        return {};
      }));
    }
  }
  // Microseconds of a write of one row that shares its commit with many, at random places.
  double put_us(Store& store, std::uint64_t rows, std::mt19937_64& random) const {
    const auto begin = SteadyClock::now();
    must(store.write([&](assay::storage::Transaction& transaction) -> assay::Status {
      for (int i = 0; i < kProbes; ++i) {
        ASSAY_TRY(transaction.put_pod(pod(random() % rows, transaction)));
      }
      return {};
    }));
    return 1e6 * seconds_since(begin) / kProbes;
  }
  double get_us(Store& store, std::uint64_t rows, std::mt19937_64& random) const {
    const auto view = must(store.snapshot());
    const auto begin = SteadyClock::now();
    for (int i = 0; i < kProbes; ++i) {
      must(view->pod("kube", "uid-" + std::to_string(random() % rows)));
    }
    return 1e6 * seconds_since(begin) / kProbes;
  }
  // Seconds to read the database and to compute an HMAC over it.
  [[nodiscard]] double limit() const {
    const auto begin = SteadyClock::now();
    std::ifstream in(path(), std::ios::binary);
    assay::Bytes chunk(1U << 20);
    while (
        in.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()))
            .gcount() > 0) {
      static_cast<void>(assay::hmac_sha256(
          chunk, {assay::ByteView(chunk).first(static_cast<std::size_t>(in.gcount()))}));
    }
    return seconds_since(begin);
  }
};

std::vector<std::uint64_t> sizes_in(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  std::stringstream list(text);
  for (std::string size; std::getline(list, size, ',');) {
    sizes.push_back(std::strtoull(size.c_str(), nullptr, 10));
  }
  return sizes;
}

}  // namespace

int main(int argc, char** argv) {
  const auto words = assay::bench::parse_options(argc, argv, "record_map_bench");
  const std::string json = assay::bench::text(words, "json", "");
  const Bench bench(assay::bench::text(words, "dir", std::filesystem::temp_directory_path()));
  std::mt19937_64 random(1);
  Json results = Json::array();
  std::uint64_t rows = 0;
  if (json != "-") {
    std::printf("%10s %12s %12s %8s %10s %10s\n", "rows", "start s", "limit s", "ratio", "put us",
                "get us");
  }
  for (const std::uint64_t size :
       sizes_in(assay::bench::text(words, "sizes", "1000,10000,100000,1000000"))) {
    {
      const auto store = bench.open();
      Bench::put(*store, rows, size);
      rows = size;
    }
    const double limit = bench.limit();
    const auto begin = SteadyClock::now();
    const auto store = bench.open();
    const double start = seconds_since(begin);
    const double put = bench.put_us(*store, rows, random);
    const double get = bench.get_us(*store, rows, random);
    results.push_back({{"rows", rows},
                       {"bytes", std::filesystem::file_size(bench.path())},
                       {"start_seconds", start},
                       {"limit_seconds", limit},
                       {"put_us", put},
                       {"get_us", get}});
    if (json != "-") {
      std::printf("%10llu %12.3f %12.3f %8.2f %10.1f %10.1f\n",
                  static_cast<unsigned long long>(rows), start, limit, start / limit, put, get);
    }
  }
  for (const char* suffix : {".db", ".db-wal", ".db-shm", ".db.lock", ".anchor"}) {
    std::filesystem::remove(bench.folder + "/record_map" + suffix);
  }
  const Json document = {{"benchmark", "record_map"}, {"sizes", std::move(results)}};
  if (json == "-") {
    std::printf("%s\n", document.dump(2).c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << document.dump(2) << "\n";
  }
  return 0;
}
