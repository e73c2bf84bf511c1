// SPDX-License-Identifier: Apache-2.0
// What lies in a repository of a Hugging Face cache beside the revision that is the model.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "gpu_hash/files/walker.h"
#include "gpu_hash/walk.h"
#include "schemas/core/bytes.h"

namespace assay::gpu_hash {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSnapshots = "snapshots/";
constexpr std::string_view kRefs = "refs/";

// The revision of which most files are in `artifact`; empty when none has any.
std::string revision_of(const std::vector<WalkedFile>& files, const Artifact& artifact) {
  std::set<std::string_view> known;
  for (const Entry& entry : artifact.entries) {
    known.insert(file_of(entry));
  }
  std::map<std::string_view, std::size_t> counts;
  for (const WalkedFile& file : files) {
    std::string_view rest = file.path;
    const std::size_t end = rest.find('/', kSnapshots.size());
    if (rest.starts_with(kSnapshots) && end != std::string_view::npos &&
        known.contains(rest.substr(end + 1))) {
      ++counts[rest.substr(kSnapshots.size(), end - kSnapshots.size())];
    }
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& revision) { return revision.second; });
  return most == counts.end() ? std::string() : std::string(most->first);
}

bool is_repository(const fs::path& path) {
  std::error_code error;
  return std::ranges::all_of(std::array{"snapshots", "blobs"}, [&](const char* name) {
    return fs::is_directory(fs::symlink_status(path / name, error));
  });
}

// huggingface_hub writes no line end; people do.
Result<bool> names(const SourceFile& ref, const std::string& revision) {
  if (ref.size() != revision.size() && ref.size() != revision.size() + 1) {
    return false;
  }
  Bytes content(ref.size());
  ASSAY_ASSIGN(const auto opened, ref.open());
  ASSAY_TRY(opened->read(0, content));
  return as_text(content) == revision || as_text(content) == revision + "\n";
}

}  // namespace

Result<RepositoryFiles> find_in_repository(const fs::path& path, const Artifact& artifact) {
  if (!is_repository(path)) {
    ASSAY_ASSIGN(std::vector<WalkedFile> files, find_model(path, artifact, false));
    return RepositoryFiles{std::move(files), {}};
  }
  ASSAY_ASSIGN(IgnoreRules none, IgnoreRules::parse({}));
  ASSAY_ASSIGN(IgnoreRules rules, IgnoreRules::parse(artifact.parameters.ignore));
  ASSAY_ASSIGN(const std::shared_ptr<const Directory> base, Directory::open(path));
  ASSAY_ASSIGN(std::vector<WalkedFile> all, walk_below(base, "", std::move(none), Links::kHub));
  const std::string revision = revision_of(all, artifact);
  if (revision.empty()) {
    return RepositoryFiles{{}, std::move(all)};
  }
  const std::string top = std::string(kSnapshots) + revision;
  RepositoryFiles found;
  ASSAY_ASSIGN(found.model, walk_below(base, top, std::move(rules), Links::kHub));
  std::set<std::string_view> blobs;
  for (const WalkedFile& file : found.model) {
    blobs.insert(file.source->path());
  }
  for (WalkedFile& file : all) {
    bool known = file.path.starts_with(top + "/") || blobs.contains(file.path);
    if (!known && file.path.starts_with(kRefs)) {
      ASSAY_ASSIGN(known, names(*file.source, revision));
    }
    if (!known) {
      found.others.push_back(std::move(file));
    }
  }
  return found;
}

}  // namespace assay::gpu_hash
