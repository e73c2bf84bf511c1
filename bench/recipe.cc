// SPDX-License-Identifier: Apache-2.0
// Expected roots of laid-out models, from files in the page cache (worker/recipe/recipe.h).
//
// Usage: recipe_bench [device=cpu|opencl:N] [gib=N] [dir=DIR] [rounds=N]
//
// Prints one line for each kind of layout, then one line of JSON. Rates are bytes of files a
// second. The limit of a GPU is its copy rate from pinned memory. That of a CPU is its hash rate
// divided by 1 + bytes of tensors / bytes of files. Rates and limits take turns; medians of
// `rounds`.

#include "worker/recipe/recipe.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "bench/options.h"
#include "gpu_hash/device.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"
#include "tests/schemas/layouts.h"

namespace assay::worker {
namespace {

using namespace assay::test;  // NOLINT(google-build-using-namespace): short expressions

template <typename T>
T take_or_exit(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "recipe_bench: %s\n", to_string(result.error()).c_str());
    std::exit(2);
  }
  return std::move(*result);
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Entries that follow one another in one file.
class OneFile final : public EntryBytes {
 public:
  OneFile(const Artifact& artifact, std::shared_ptr<const gpu_hash::SourceFile> file)
      : artifact_(artifact), file_(std::move(file)) {}
  Result<gpu_hash::Region> region(std::uint64_t entry, std::uint64_t offset,
                                  std::uint64_t size) override {
    const auto& tensor = std::get<TensorEntry>(artifact_.entries.at(entry));
    return gpu_hash::file_region(file_, tensor.offset + offset, size);
  }

 private:
  const Artifact& artifact_;
  std::shared_ptr<const gpu_hash::SourceFile> file_;
};

struct Kind {
  std::string name;
  Artifact artifact;
  std::vector<LayoutTensor> tensors;
  double factor;  // bytes of tensors for each byte of files
};

// Layers of matrices of 64 MiB: cast, joined, stacked, turned, and cut for one of two ranks.
std::vector<Kind> kinds(std::uint64_t bytes) {
  std::vector<Kind> all;
  const std::uint64_t matrix = std::uint64_t{64} << 20;
  const auto make = [&](const std::string& name, const std::string& dtype, double factor,
                        const std::function<LayoutTensor(const std::vector<std::string>&)>& join,
                        std::size_t group) {
    const std::uint64_t rows = matrix / 4096 / (dtype == "F32" ? 4 : 2);
    std::vector<ToyTensor> toys;
    std::vector<LayoutTensor> tensors;
    for (std::uint64_t at = 0; at + group * matrix <= bytes; at += group * matrix) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < group; ++i) {
        names.push_back("t" + std::to_string(100'000 + toys.size()));
        toys.push_back({names.back(), dtype, {rows, 4096}});
      }
      tensors.push_back(join(names));
      tensors.back().name = names.front();
    }
    all.push_back({name, toy_artifact(toys), std::move(tensors), factor});
  };
  make(
      "cast", "F32", 0.5,
      [](const auto& names) {
        return LayoutTensor{{}, "BF16", {4096, 4096}, cast(entry(names[0]), "BF16")};
      },
      1);
  make(
      "joined", "BF16", 1,
      [](const auto& names) {
        return LayoutTensor{{},
                            "BF16",
                            {3 * 8192, 4096},
                            concat({entry(names[0]), entry(names[1]), entry(names[2])}, 0)};
      },
      3);
  make(
      "experts", "BF16", 1,
      [](const auto& names) {
        return LayoutTensor{{},
                            "BF16",
                            {2, 16'384, 4096},
                            concat({stack({entry(names[0]), entry(names[1])}, 0),
                                    stack({entry(names[2]), entry(names[3])}, 0)},
                                   1)};
      },
      4);
  make(
      "turned", "BF16", 1,
      [](const auto& names) {
        return LayoutTensor{{}, "BF16", {4096, 8192}, transpose(entry(names[0]), {1, 0})};
      },
      1);
  make(
      "columns", "BF16", 0.5,
      [](const auto& names) {
        return LayoutTensor{{}, "BF16", {8192, 2048}, slice(entry(names[0]), 1, 0, 2048)};
      },
      1);
  return all;
}

std::shared_ptr<const gpu_hash::SourceFile> write_file(const std::filesystem::path& path,
                                                       std::uint64_t bytes) {
  std::ofstream out(path, std::ios::binary);
  Bytes block(std::size_t{16} << 20);
  std::uint32_t state = 7;
  for (std::uint8_t& byte : block) {
    state = state * 1'664'525 + 1'013'904'223;
    byte = static_cast<std::uint8_t>(state >> 24U);
  }
  for (std::uint64_t at = 0; at < bytes; at += block.size()) {
    block[at / block.size() % 4096] ^= 1;
    out.write(reinterpret_cast<const char*>(block.data()),
              static_cast<std::streamsize>(block.size()));
  }
  out.close();
  return take_or_exit(gpu_hash::SourceFile::find(path));
}

void set_roots(Kind& kind, const std::shared_ptr<const gpu_hash::SourceFile>& file,
               gpu_hash::Engine& engine) {
  std::vector<gpu_hash::Region> regions;
  for (const Entry& one : kind.artifact.entries) {
    const auto& tensor = std::get<TensorEntry>(one);
    regions.push_back(gpu_hash::file_region(file, tensor.offset, tensor.size));
  }
  const auto digests = take_or_exit(engine.hash(regions, {kind.artifact.parameters, 0, {}, {}}));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    std::get<TensorEntry>(kind.artifact.entries[i]).root = digests[i].root;
  }
}

// Measures one kind; `copy` is the limit of a GPU, 0 for a CPU.
Json measure(Kind& kind, const std::shared_ptr<const gpu_hash::SourceFile>& file,
             std::uint64_t bytes, double copy, std::uint64_t rounds, gpu_hash::Engine& engine) {
  const bool cpu = copy == 0;
  set_roots(kind, file, engine);
  OneFile files(kind.artifact, file);
  const Layout layout = toy_layout(kind.artifact, kind.tensors);
  double source = 0;
  for (const Entry& one : kind.artifact.entries) {
    source += static_cast<double>(std::get<TensorEntry>(one).size);
  }
  (void)take_or_exit(expected_roots(layout, kind.artifact, files, engine, {}));
  std::vector<double> rates;
  std::vector<double> limits;
  std::vector<double> shares;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    rates.push_back(source / seconds_of([&] {
                      (void)take_or_exit(expected_roots(layout, kind.artifact, files, engine, {}));
                    }));
    const gpu_hash::Region whole = gpu_hash::file_region(file, 0, bytes);
    const double hash =
        cpu ? static_cast<double>(bytes) / seconds_of([&] {
                (void)take_or_exit(engine.hash({&whole, 1}, {kind.artifact.parameters, 0, {}, {}}));
              })
            : 0;
    limits.push_back(cpu ? hash / (1 + kind.factor) : copy);
    shares.push_back(rates.back() / limits.back());
  }
  std::printf("%-8s %8.2f GB/s of files, limit %8.2f, %.3f of it\n", kind.name.c_str(),
              median(rates) / 1e9, median(limits) / 1e9, median(shares));
  return {{"kind", kind.name},
          {"bytes", source},
          {"rate", median(rates)},
          {"limit", median(limits)},
          {"share", median(shares)}};
}

int run(int argc, char** argv) {
  const bench::Options options = bench::parse_options(argc, argv, "recipe_bench");
  const std::string device = bench::text(options, "device", "cpu");
  const std::uint64_t bytes = bench::number(options, "gib", 1) << 30U;
  const std::uint64_t rounds = bench::number(options, "rounds", 5);
  const std::filesystem::path path =
      std::filesystem::path(bench::text(options, "dir", "/dev/shm")) / "recipe_bench.bin";
  const auto choice = take_or_exit(gpu_hash::parse_device(device));
  auto& drivers = gpu_hash::drivers_in_this_process();
  const auto engine = take_or_exit(gpu_hash::make_engine(drivers, choice));
  const bool cpu = engine->info().id == "cpu";
  const auto file = write_file(path, bytes);
  double copy = 0;
  if (!cpu) {
    copy = take_or_exit(gpu_hash::bench_device(drivers, choice, HashAlgorithm::kSha256, bytes))
               .limits.pinned_copy;
  }
  Json rows = Json::array();
  for (Kind& kind : kinds(bytes)) {
    rows.push_back(measure(kind, file, bytes, copy, rounds, *engine));
  }
  std::filesystem::remove(path);
  std::printf("%s\n",
              Json::object({{"benchmark", "recipe"},
                            {"device", engine->info().device},
                            {"driver", engine->info().driver},
                            {"limit_is", cpu ? std::string("hash rate / (1 + tensors / files)")
                                             : std::string("pinned copy")},
                            {"rows", rows}})
                  .dump()
                  .c_str());
  return 0;
}

}  // namespace
}  // namespace assay::worker

int main(int argc, char** argv) { return assay::worker::run(argc, argv); }
