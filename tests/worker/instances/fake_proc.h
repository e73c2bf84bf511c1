// SPDX-License-Identifier: Apache-2.0
// A made-up /proc, so that a test runs in whatever pod it likes.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace assay::worker::test {

// A directory in the place of /proc, with the files of this process.
class FakeProc {
 public:
  explicit FakeProc(const std::string& groups, const std::string& stat = "1 (x) S 1") {
    std::filesystem::create_directories(file("cgroup").parent_path());
    set_groups(groups);
    std::ofstream(file("stat")) << stat;
  }
  ~FakeProc() { std::filesystem::remove_all(dir_); }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;
  [[nodiscard]] std::string path() const { return dir_; }
  // A file of this process.
  [[nodiscard]] std::filesystem::path file(const std::string& name) const {
    return dir_ / std::to_string(::getpid()) / name;
  }
  void set_groups(const std::string& groups) const { std::ofstream(file("cgroup")) << groups; }

 private:
  std::filesystem::path dir_ =
      std::filesystem::temp_directory_path() /
      ("assay-proc-" + std::to_string(::getpid()) + std::to_string(++made_));
  static inline int made_ = 0;
};

}  // namespace assay::worker::test
