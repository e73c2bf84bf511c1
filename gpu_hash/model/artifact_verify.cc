// SPDX-License-Identifier: Apache-2.0
// Finds what is on disk, has it hashed as it was hashed before, and adds what names of files show.
#include "gpu_hash/artifact_verify.h"

#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "gpu_hash/model/compare.h"
#include "gpu_hash/model/hints.h"

namespace assay::gpu_hash {
namespace {

using Kind = Difference::Kind;

// Files that no file entry covers. Those without any entry are taken out of `files`: there is
// nothing to hash them for.
std::vector<Difference> take_extras(const Artifact& expected, std::vector<WalkedFile>& files) {
  std::set<std::string_view> covered;
  std::set<std::string_view> known;
  for (const Entry& entry : expected.entries) {
    known.insert(file_of(entry));
    if (std::holds_alternative<FileEntry>(entry)) {
      covered.insert(file_of(entry));
    }
  }
  std::vector<Difference> extras;
  for (const WalkedFile& file : files) {
    if (!covered.contains(file.path)) {
      extras.push_back({Kind::kExtra,
                        file.path,
                        std::nullopt,
                        {},
                        known.contains(file.path) ? "no entry covers the file, only tensors in it"
                                                  : "this is not part of the artifact"});
    }
  }
  std::erase_if(files, [&](const WalkedFile& file) { return !known.contains(file.path); });
  return extras;
}

}  // namespace

Result<Verified> verify_artifact(const std::filesystem::path& path, const Artifact& expected,
                                 const VerifyOptions& options, Engine& engine,
                                 const Progress& progress, const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  ASSAY_TRY(check(expected));
  if (options.outline != nullptr) {
    ASSAY_TRY(check(*options.outline, expected));
  }
  const std::uint64_t span = options.outline != nullptr ? options.outline->span : 0;
  ASSAY_ASSIGN(std::vector<WalkedFile> files, find_model(path, expected));
  const std::vector<Difference> extras = take_extras(expected, files);
  const std::vector<WalkedFile> seen = files;
  const Expected what{expected, span != 0 ? &options.outline->entries : nullptr, span};
  ASSAY_ASSIGN(Verified verified, verify_files(std::move(files), what, engine, progress, stop));
  verified.differences.insert(verified.differences.end(), extras.begin(), extras.end());
  add_hints(seen, verified.differences);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  verified.seconds = elapsed.count();
  return verified;
}

}  // namespace assay::gpu_hash
