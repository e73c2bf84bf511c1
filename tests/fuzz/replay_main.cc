// SPDX-License-Identifier: Apache-2.0
// Replays stored inputs through a fuzz target, so that the target never rots in builds without
// libFuzzer. Usage: <target>_replay PATH... (files, or folders read recursively; absent ones are
// skipped). The empty input is always among them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> list_inputs(std::span<char* const> roots) {
  std::vector<fs::path> files;
  for (const char* root : roots) {
    if (fs::is_regular_file(root)) {
      files.emplace_back(root);
    } else if (fs::is_directory(root)) {
      for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (entry.is_regular_file()) {
          files.push_back(entry.path());
        }
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool replay(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    return false;
  }
  // Exactly sized, so that a sanitizer sees every read past the end.
  const std::vector<char> text{std::istreambuf_iterator<char>(in),
                               std::istreambuf_iterator<char>()};
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  std::fprintf(stderr, "%s (%zu bytes)\n", path.c_str(), bytes.size());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) {
    LLVMFuzzerInitialize(&argc, &argv);
  }
  const std::uint8_t nothing = 0;
  LLVMFuzzerTestOneInput(&nothing, 0);
  const auto files =
      list_inputs(std::span<char* const>(argv, static_cast<std::size_t>(argc)).subspan(1));
  const bool read_all = std::all_of(files.begin(), files.end(), replay);
  std::fprintf(stderr, "replayed %zu stored inputs\n", files.size());
  return read_all ? 0 : 1;
}
