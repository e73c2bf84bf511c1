// SPDX-License-Identifier: Apache-2.0
// How fast files are read, and what that leaves of hashing them: through the page cache, with and
// without asking for it ahead (POSIX_FADV_WILLNEED), and past it (O_DIRECT); cold and warm, one
// file and several.
//
// Usage: file_read_rate_bench [NAME=VALUE...]
//   dir=.       where the files are made: the file system and the disk to measure
//   mib=1024    data in all
//   files=8     files of the second layout; the first one is a single file
//   repeats=3   every figure is the median of repeats that take turns
//   only=TEXT   figures whose name contains it
//   json=FILE   the figures as JSON
//   commit=ID, command=TEXT   go into it
//
// "Cold": written to the disk and dropped from the page cache (posix_fadvise) before every repeat,
// which mincore(2) confirms; what a disk or the host of a virtual machine keeps in its own cache
// cannot be seen from here. "Warm": all pages are there. Rates are GB/s (10^9 bytes), wall clock.
// The limit of a cold figure is the fastest plain read of the disk in the same run, that of a warm
// one the fastest plain read of the page cache. The last column is processor time, in seconds a GB:
// what reading takes from hashing.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "bench/options.h"
#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/region.h"
#include "gpu_hash/source_file.h"
#include "gpu_hash/workers.h"
#include "schemas/core/json.h"
#include "schemas/core/random.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::size_t kPage = 4096;          // bytes; what O_DIRECT is aligned to
constexpr std::uint64_t kAhead = 16 * kMib;  // what is asked for before it is read
constexpr double kGiga = 1e9;

[[noreturn]] void stop(const std::string& what) {
  std::fprintf(stderr, "file_read_rate_bench: %s\n", what.c_str());
  std::exit(2);
}
[[noreturn]] void stop_errno(const char* call) {
  std::perror(call);
  std::exit(2);
}

template <typename T>
T need(Result<T> result) {
  if (!result) {
    stop(to_string(result.error()));
  }
  return std::move(*result);
}

double processor_seconds() {
  timespec time{};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Some files of one size, removed in the end.
class Files {
 public:
  Files(const fs::path& dir, std::size_t count, std::uint64_t size) : size_(size) {
    Bytes block(16 * kMib);
    SystemRandom random;
    for (std::size_t i = 0; i < count; ++i) {
      if (!random.fill(block)) {
        stop("no random bytes");
      }
      const std::string name = "assay-read-" + std::to_string(::getpid()) + "-" +
                               std::to_string(count) + "-" + std::to_string(i);
      paths_.push_back(dir / name);
      std::ofstream out(paths_.back(), std::ios::binary);
      for (std::uint64_t done = 0; done < size; done += block.size()) {
        out << as_text(ByteView(block).first(std::min<std::uint64_t>(block.size(), size - done)));
      }
      if (!out.flush()) {
        stop("no room for the files");
      }
    }
  }
  ~Files() {
    for (const fs::path& path : paths_) {
      std::error_code ignored;
      fs::remove(path, ignored);
    }
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t bytes() const { return size_ * paths_.size(); }
  [[nodiscard]] const std::vector<fs::path>& paths() const { return paths_; }

  // Share of the pages in the page cache.
  [[nodiscard]] double cached() const {
    std::uint64_t there = 0;
    std::uint64_t all = 0;
    for (const fs::path& path : paths_) {
      const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd.get(), 0);
      if (memory == MAP_FAILED) {
        stop_errno("mmap");
      }
      std::vector<unsigned char> pages((size_ + kPage - 1) / kPage);
      if (::mincore(memory, size_, pages.data()) != 0) {
        stop_errno("mincore");
      }
      ::munmap(memory, size_);
      all += pages.size();
      there += static_cast<std::uint64_t>(
          std::ranges::count_if(pages, [](unsigned char page) { return (page & 1U) != 0; }));
    }
    return static_cast<double>(there) / static_cast<double>(all);
  }

  void make_cold() const {
    for (const fs::path& path : paths_) {
      const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (::fsync(fd.get()) != 0 || ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) {
        stop_errno("posix_fadvise");
      }
    }
    if (cached() > 0.01) {
      stop("the files do not leave the page cache");
    }
  }

  void make_warm() const {
    Bytes block(kMib);
    for (const fs::path& path : paths_) {
      std::ifstream in(path, std::ios::binary);
      while (in.read(reinterpret_cast<char*>(block.data()),
                     static_cast<std::streamsize>(block.size()))) {
      }
    }
    if (cached() < 0.99) {
      stop("the files do not fit into the page cache");
    }
  }

 private:
  std::uint64_t size_;
  std::vector<fs::path> paths_;
};

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

enum class Way : std::uint8_t { kBuffered, kAskAhead, kDirect };

constexpr std::string_view way_name(Way way) {
  return way == Way::kBuffered ? "buffered" : way == Way::kAskAhead ? "ahead" : "direct";
}

// Reads all of the files in blocks, which `threads` take in order. False when the file system
// refuses direct reads.
bool read_plainly(const Files& files, std::size_t block, Way way, unsigned threads) {
  const bool direct = way == Way::kDirect;
  std::vector<Descriptor> fds;
  for (const fs::path& path : files.paths()) {
    fds.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0)));
    if (!fds.back()) {
      return false;
    }
    if (!direct) {
      (void)::posix_fadvise(fds.back().get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    }
  }
  const std::uint64_t per_file = (files.size() + block - 1) / block;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> refused = false;
  const auto ask_for = [&](std::uint64_t i) {
    if (way == Way::kAskAhead && i < per_file * fds.size()) {
      (void)::posix_fadvise(fds[i / per_file].get(), static_cast<off_t>(i % per_file * block),
                            static_cast<off_t>(block), POSIX_FADV_WILLNEED);
    }
  };
  const std::uint64_t ahead = kAhead / block;
  for (std::uint64_t i = 0; i < ahead; ++i) {
    ask_for(i);
  }
  run_on_threads(threads, [&] {
    const std::unique_ptr<void, FreeMemory> memory(std::aligned_alloc(kPage, block));
    for (std::uint64_t i = next++; i < per_file * fds.size() && !refused; i = next++) {
      ask_for(i + ahead);
      const ssize_t got = ::pread(fds[i / per_file].get(), memory.get(), block,
                                  static_cast<off_t>(i % per_file * block));
      if (got < 0 || (got == 0 && files.size() > 0)) {
        refused = true;
      }
    }
  });
  return !refused;
}

// All files with the CPU engine, as products do it.
void hash_files(Engine& engine, const Files& files, bool once) {
  std::vector<Region> regions;
  for (const fs::path& path : files.paths()) {
    const auto source = need(SourceFile::find(path));
    if (once) {
      source->read_once();
    }
    regions.push_back(file_region(source));
  }
  (void)need(engine.hash(regions, HashRequest{}));
}

struct Figure {
  std::string name;
  bool cold;
  bool plain;  // reads and does nothing else: may be the limit
  const Files* files;
  std::function<bool()> work;    // false: not possible here
  std::vector<double> rates{};   // GB/s
  std::vector<double> worked{};  // processor seconds a GB

  [[nodiscard]] double median() const { return rates[rates.size() / 2]; }
};

class Bench {
 public:
  Bench(std::string only) : only_(std::move(only)) {}

  void add_layout(const Files& files) {
    const unsigned cores = usable_cores();
    const std::string layout =
        files.paths().size() == 1 ? "1 file" : std::to_string(files.paths().size()) + " files";
    for (const bool cold : {true, false}) {
      const std::string state = layout + (cold ? ", cold, " : ", warm, ");
      for (const unsigned threads : {1U, cores, 8U}) {
        for (const std::size_t block : {std::size_t{256} << 10, std::size_t{2} << 20}) {
          for (const Way way : {Way::kBuffered, Way::kAskAhead, Way::kDirect}) {
            std::string name = state + std::string(way_name(way)) + ", " +
                               std::to_string(block >> 10) + " KiB, " + std::to_string(threads) +
                               " threads";
            add({std::move(name), cold, true, &files, [&files, block, way, threads] {
                   return read_plainly(files, block, way, threads);
                 }});
          }
        }
      }
      for (const bool once : {false, true}) {
        add({state + "CPU engine" + (once ? ", told that it reads once" : ""), cold, false, &files,
             [this, &files, once] {
               hash_files(*engine_, files, once);
               return true;
             }});
      }
    }
  }

  void measure(int repeats) {
    for (int i = 0; i < repeats; ++i) {
      for (Figure& figure : figures_) {
        once(figure);
      }
    }
    std::erase_if(figures_, [](const Figure& figure) { return figure.rates.empty(); });
    for (Figure& figure : figures_) {
      std::ranges::sort(figure.rates);
      std::ranges::sort(figure.worked);
    }
  }

  [[nodiscard]] Json report() const {
    Json list = Json::array();
    std::printf("%-48s %8s %8s %8s %8s %7s %9s\n", "figure", "GB/s", "min", "max", "limit", "share",
                "CPU s/GB");
    for (const Figure& figure : figures_) {
      const double limit = limit_of(figure);
      const double worked = figure.worked[figure.worked.size() / 2];
      std::printf("%-48s %8.3f %8.3f %8.3f %8.3f %6.1f%% %9.3f\n", figure.name.c_str(),
                  figure.median(), figure.rates.front(), figure.rates.back(), limit,
                  100 * figure.median() / limit, worked);
      list.push_back({{"name", figure.name},
                      {"gbps", figure.median()},
                      {"gbps_min", figure.rates.front()},
                      {"gbps_max", figure.rates.back()},
                      {"limit_gbps", limit},
                      {"limit", figure.cold ? "fastest plain read of the disk"
                                            : "fastest plain read of the page cache"},
                      {"processor_seconds_per_gb", worked}});
    }
    return list;
  }

 private:
  void add(Figure figure) {
    const bool known = std::ranges::any_of(
        figures_, [&](const Figure& other) { return other.name == figure.name; });
    if (!known && figure.name.find(only_) != std::string::npos) {
      figures_.push_back(std::move(figure));
    }
  }

  static void once(Figure& figure) {
    if (figure.cold) {
      figure.files->make_cold();
    } else {
      figure.files->make_warm();
    }
    const double gigabytes = static_cast<double>(figure.files->bytes()) / kGiga;
    const double worked = processor_seconds();
    const auto start = std::chrono::steady_clock::now();
    if (!figure.work()) {
      return;
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    figure.rates.push_back(gigabytes / elapsed.count());
    figure.worked.push_back((processor_seconds() - worked) / gigabytes);
  }

  // Over both layouts: it is one disk, and one page cache.
  [[nodiscard]] double limit_of(const Figure& figure) const {
    double limit = 0;
    for (const Figure& other : figures_) {
      // A direct read of a warm file may go to the disk all the same, or be served by it.
      const bool same = other.cold == figure.cold &&
                        (figure.cold || other.name.find("direct") == std::string::npos);
      if (other.plain && same) {
        limit = std::max(limit, other.median());
      }
    }
    return limit > 0 ? limit : figure.median();
  }

  std::string only_;
  std::unique_ptr<Engine> engine_ = make_cpu_engine();
  std::vector<Figure> figures_;
};

using bench::Options;
using bench::text;

int run(const Options& options) {
  const std::uint64_t bytes = std::stoull(text(options, "mib", "1024")) * kMib;
  const std::uint64_t count = std::stoull(text(options, "files", "8"));
  const int repeats = std::stoi(text(options, "repeats", "3"));
  if (bytes == 0 || count == 0 || count > 1000 || repeats < 1) {
    stop("mib, files (up to 1000) and repeats are at least 1");
  }
  const fs::path dir = text(options, "dir", ".");
  const Files one(dir, 1, bytes);
  const Files several(dir, count, bytes / count / kPage * kPage);
  Bench bench(text(options, "only", ""));
  bench.add_layout(one);
  bench.add_layout(several);
  bench.measure(repeats);
  const Json json = {{"cpu", cpu_name()},
                     {"cores", usable_cores()},
                     {"bytes", bytes},
                     {"repeats", repeats},
                     {"commit", text(options, "commit", "unknown")},
                     {"command", text(options, "command", "")},
                     {"figures", bench.report()}};
  const std::string file = text(options, "json", "");
  if (!file.empty()) {
    std::ofstream(file) << json.dump(1) << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace assay::gpu_hash

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return assay::gpu_hash::run(assay::bench::parse_options(argc, argv, "file_read_rate_bench"));
}
