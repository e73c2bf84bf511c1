// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/signed_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attestation/oms/bundle.h"
#include "cli/verbs/alike_names.h"
#include "client/files.h"

namespace assay::cli {

namespace {

namespace fs = std::filesystem;
bool is_at_or_below(std::string_view path, const std::vector<std::string>& above) {
  return std::ranges::any_of(above, [path](const std::string& one) {
    return path.starts_with(one) && (path.size() == one.size() || path[one.size()] == '/');
  });
}

// Paths are literal, patterns are not: a path with their special characters is left to the sieve
// behind the walk.
std::vector<std::string> patterns_of(const std::vector<std::string>& paths) {
  std::vector<std::string> patterns;
  for (const std::string& path : paths) {
    if (path.find_first_of("*?") == std::string::npos && path.size() + 1 <= kMaxPatternLength) {
      patterns.push_back("/" + path);
    }
  }
  return patterns;
}

Result<std::vector<gpu_hash::WalkedFile>> walk_model(const std::string& path,
                                                     const std::vector<std::string>& left_out,
                                                     bool follow) {
  ASSAY_ASSIGN(auto files, gpu_hash::walk(path, {.ignore = patterns_of(left_out),
                                                 .follow_symlinks = follow,
                                                 .snapshots = false}));
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    std::erase_if(files, [&](const gpu_hash::WalkedFile& file) {
      return is_at_or_below(file.path, left_out);
    });
  }
  return files;
}

}  // namespace

void add_signed_files_options(const Command& verb, SignedFilesFlags& flags) {
  verb.option("--ignore-path", flags.ignore, "PATH",
              "a file or directory in the model that is not looked at; a path from its top, "
              "without wildcards; may be given again");
  verb.flag("--ignore-unsigned-files", flags.ignore_unsigned,
            "files that the signature does not cover are named, and are no difference");
  verb.flag("--allow-symlinks", flags.allow_symlinks,
            "follow links that stay inside the model, although the signature does not allow them");
}

Result<std::string> path_in_model(const std::string& path, const std::string& file) {
  std::error_code ignored;
  if (file.empty() || file == "-" || !fs::is_directory(path, ignored)) {
    return std::string();
  }
  ASSAY_ASSIGN(const auto pattern, gpu_hash::output_pattern(path, file));
  return pattern ? pattern->substr(1) : std::string();
}

Result<SignedFiles> list_files(const std::string& path, std::vector<std::string> left_out,
                               bool follow_symlinks) {
  SignedFiles found;
  std::error_code ignored;
  found.only_file = !fs::is_directory(path, ignored);
  found.left_out = std::move(left_out);
  auto files = walk_model(path, found.left_out, false);
  if (!files && follow_symlinks && files.error().code == ErrorCode::kUnsupportedFileType) {
    found.followed_links = true;
    files = walk_model(path, found.left_out, true);
  }
  ASSAY_ASSIGN(found.files, std::move(files));
  return found;
}

Result<SignedFiles> find_signed_files(const SignedFilesFlags& flags,
                                      const oms::Statement& statement) {
  std::vector<std::string> more;
  for (std::string path : flags.ignore) {
    while (path.size() > 1 && path.ends_with('/')) {
      path.pop_back();
    }
    ASSAY_TRY(check_path(path));
    more.push_back(std::move(path));
  }
  ASSAY_ASSIGN(std::string own, path_in_model(flags.path, flags.signature));
  if (!own.empty()) {
    more.push_back(std::move(own));
  }
  return list_files(flags.path, oms::left_out(statement, more),
                    flags.allow_symlinks || statement.serialization.allow_symlinks);
}

Status check_alike_names(const oms::Statement& statement) {
  std::vector<std::string_view> paths;
  for (const oms::Resource& resource : statement.resources) {
    paths.push_back(resource.path);
  }
  std::ranges::sort(paths);
  const auto twice = std::ranges::unique(paths);  // shards of one file
  paths.erase(twice.begin(), twice.end());
  const auto alike = alike_names(paths);
  return alike.empty()
             ? Status{}
             : fail(ErrorCode::kInvalidPath,
                    "some file systems take this name for the same as " + alike.front().first,
                    alike.front().second);
}

Status keep_files_of(const std::string& path, const std::string& out) {
  ASSAY_ASSIGN(const std::string own, path_in_model(path, out));
  std::error_code ignored;
  const bool is_model = !out.empty() && fs::equivalent(path, out, ignored);
  if (!is_model && (own.empty() || !fs::exists(out, ignored))) {
    return {};
  }
  const auto bytes = client::read_file(out, oms::kMaxBundleBytes);
  return bytes && oms::parse_bundle(*bytes)
             ? Status{}
             : fail(ErrorCode::kUsage, "This would write over a file of the model", out);
}

std::vector<oms::DiskFile> on_disk(const SignedFiles& found) {
  std::vector<oms::DiskFile> files;
  for (const gpu_hash::WalkedFile& file : found.files) {
    files.push_back({file.path, file.source->size()});
  }
  return files;
}

std::vector<oms::Finding> compare_digests(const oms::Statement& statement,
                                          const std::vector<oms::DiskFile>& files,
                                          const std::vector<oms::Part>& parts,
                                          const std::vector<Bytes>& digests) {
  std::vector<oms::Finding> findings;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (digests[i] == statement.resources[parts[i].resource].digest) {
      continue;
    }
    const bool shards = statement.serialization.method == oms::Method::kShards;
    findings.push_back({oms::Fault::kChanged, files[parts[i].file].path,
                        shards ? "bytes [" + std::to_string(parts[i].begin) + ", " +
                                     std::to_string(parts[i].end) + ")"
                               : ""});
  }
  return findings;
}

Json findings_json(const std::vector<oms::Finding>& findings) {
  Json list = Json::array();
  for (const oms::Finding& finding : findings) {
    list.push_back(
        {{"kind", oms::name(finding.fault)}, {"file", finding.path}, {"detail", finding.detail}});
  }
  return list;
}

bool is_about_the_model(ErrorCode code) {
  return code == ErrorCode::kUnsupportedFileType || code == ErrorCode::kInvalidPath ||
         code == ErrorCode::kLimitExceeded || code == ErrorCode::kMalformedSafetensors ||
         code == ErrorCode::kMalformedGguf;
}

}  // namespace assay::cli
