// SPDX-License-Identifier: Apache-2.0
#include "attestation/oms/coverage.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "schemas/core/names.h"

namespace assay::attestation::oms {
namespace {

constexpr Names<Fault, 3> kFaults = {
    {{{Fault::kMissing, "missing"}, {Fault::kExtra, "extra"}, {Fault::kChanged, "changed"}}}};

bool is_at_or_below(std::string_view path, std::string_view above) {
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

// The path under which the files that are there have this resource.
std::string_view path_on_disk(const Resource& resource, std::span<const DiskFile> files,
                              bool only_file) {
  return only_file && resource.path == kOnlyFile && files.size() == 1
             ? std::string_view(files.front().path)
             : std::string_view(resource.path);
}

}  // namespace

std::string_view name(Fault fault) { return kFaults.of(fault); }

std::vector<std::string> left_out(const Statement& statement,
                                  const std::vector<std::string>& more) {
  std::vector<std::string> paths = statement.serialization.ignore_paths;
  for (const std::string_view usual : kDefaultIgnore) {
    const bool is_signed = std::ranges::any_of(
        statement.resources,
        [usual](const Resource& resource) { return is_at_or_below(resource.path, usual); });
    if (!is_signed) {
      paths.emplace_back(usual);
    }
  }
  std::ranges::copy(more, std::back_inserter(paths));
  std::ranges::sort(paths);
  const auto twice = std::ranges::unique(paths);
  paths.erase(twice.begin(), twice.end());
  return paths;
}

Coverage compare_files(const Statement& statement, std::span<const DiskFile> files, bool only_file,
                       Extra extra) {
  Coverage result;
  const bool shards = statement.serialization.method == Method::kShards;
  std::map<std::string_view, std::size_t> there;
  for (std::size_t i = 0; i < files.size(); ++i) {
    there.emplace(files[i].path, i);
  }
  // How far the resources of each file reach.
  std::map<std::size_t, std::uint64_t> covered;
  std::string_view missing;
  for (std::size_t i = 0; i < statement.resources.size(); ++i) {
    const Resource& resource = statement.resources[i];
    const std::string_view path = path_on_disk(resource, files, only_file);
    const auto found = there.find(path);
    if (found == there.end()) {
      if (missing != path) {  // the shards of a file need no line each
        result.findings.push_back({Fault::kMissing, std::string(path), {}});
      }
      missing = path;
      continue;
    }
    const std::uint64_t size = files[found->second].size;
    const std::uint64_t end = shards ? resource.end : size;
    covered[found->second] = std::max(covered[found->second], end);
    if (end <= size) {
      result.parts.push_back({found->second, resource.begin, end, i});
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto reach = covered.find(i);
    if (reach != covered.end()) {
      if (reach->second != files[i].size) {
        result.findings.push_back({Fault::kChanged, files[i].path,
                                   "has " + std::to_string(files[i].size) + " bytes, and " +
                                       std::to_string(reach->second) + " are signed"});
      }
    } else if (shards && files[i].size == 0) {
      result.unsigned_empty.push_back(files[i].path);
    } else if (extra == Extra::kAllowed) {
      result.unsigned_files.push_back(files[i].path);
    } else {
      result.findings.push_back({Fault::kExtra, files[i].path, "no resource covers this file"});
    }
  }
  std::ranges::stable_sort(result.findings, {}, &Finding::path);
  return result;
}

}  // namespace assay::attestation::oms
