// SPDX-License-Identifier: Apache-2.0
// Processes that read memory as tests play them. The test program itself is that process when its
// first argument is kPlay: right, or dying, stopping and lying at a message of its own choice.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

#include "tests/worker/instances/fake_owner.h"
#include "worker/instances/model.h"
#include "worker/reader/readers.h"

namespace assay::worker::test {

inline constexpr const char* kPlay = "play-reader";
inline constexpr const char* kBuild = "a test";
// Ways to play, with an argument:
inline constexpr const char* kRight = "right";      // (ignored)
inline constexpr const char* kDies = "dies";        // N: killed at its Nth message, in or out
inline constexpr const char* kStops = "stops";      // N: stopped there
inline constexpr const char* kLies = "lies";        // name of a lie: answers to a full pass
inline constexpr const char* kVariant = "variant";  // (ignored): right, by the CPU engine's variant
                                                    // that the test program does not use
inline constexpr const char* kCompiles = "compiles";  // MILLISECONDS: its first pass is right, and
                                                      // begins so much later, as it says meanwhile
inline constexpr const char* kBreaks = "breaks";      // N: the Nth call of its engine fails with
                                                      // device-failed; the process lives on. 0: the
                                                      // first after PlayedReaders::break_now()
inline constexpr const char* kSeveral = "several";    // (ignored): right, with several_devices()
inline constexpr const char* kForeign = "foreign";    // (ignored): says that it is of another build

// Ends the name of the file beside the marker that break_now() makes.
inline constexpr const char* kNow = "-now";

// Plays; the arguments are those after kPlay: way, argument, marker, id of the device. Where the
// marker exists already, it plays right, so that the process after the first one does.
[[nodiscard]] int play_reader(const std::vector<std::string>& arguments);
// An engine with the devices GPU-a and GPU-b (several_devices.h), the same in each process.
[[nodiscard]] std::unique_ptr<gpu_hash::Engine> several_devices();
// Names of lies.
[[nodiscard]] std::vector<std::string> lies();

// Hears what becomes of the processes.
class News {
 public:
  void tell(const ReaderNews& news) {
    const std::scoped_lock lock(mutex_);
    news_.push_back(news);
    changed_.notify_all();
  }
  // Number of the process that began last.
  pid_t pid() {
    const std::scoped_lock lock(mutex_);
    for (auto news = news_.rbegin(); news != news_.rend(); ++news) {
      if (!news->error) {
        return static_cast<pid_t>(news->pid);
      }
    }
    return -1;
  }
  std::size_t count(bool failures) {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(
        news_, [=](const ReaderNews& news) { return news.error.has_value() == failures; }));
  }
  void await_failure() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return std::ranges::any_of(news_,
                                 [](const ReaderNews& news) { return news.error.has_value(); });
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ReaderNews> news_;
};

// Processes that play, for as long as a test needs.
class PlayedReaders {
 public:
  PlayedReaders(gpu_hash::Engine& engine, const std::string& way, const std::string& argument,
                ReaderTimes times = {})
      : marker_(std::filesystem::temp_directory_path() /
                ("assay-played-" + std::to_string(::getpid()) + "-" + std::to_string(number()))) {
    ReadersSetup setup;
    setup.arguments = {kPlay, way, argument, marker_};
    setup.build = kBuild;
    setup.times = times;
    setup.tell = [this](const ReaderNews& one) { news.tell(one); };
    readers = std::make_unique<Readers>(engine, std::move(setup));
  }
  ~PlayedReaders() {
    readers.reset();
    std::filesystem::remove(marker_);
    std::filesystem::remove(now());
  }
  PlayedReaders(const PlayedReaders&) = delete;
  PlayedReaders& operator=(const PlayedReaders&) = delete;
  // True when a process has played what it should, and those after it are right.
  [[nodiscard]] bool is_played() const { return std::filesystem::exists(marker_); }
  void break_now() const { std::ofstream file(now()); }

  News news;
  std::unique_ptr<Readers> readers;

 private:
  [[nodiscard]] std::string now() const { return marker_ + kNow; }
  static int number() {
    static int last = 0;
    return ++last;
  }
  std::string marker_;
};

}  // namespace assay::worker::test
