// SPDX-License-Identifier: Apache-2.0
// Hashes what is on disk as it was hashed before and compares entry by entry.
#include "gpu_hash/artifact_verify.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "gpu_hash/model/hints.h"
#include "gpu_hash/model/plan.h"

namespace assay::gpu_hash {
namespace {

using Kind = Difference::Kind;
using Outlines = std::vector<std::vector<Digest>>;

Difference difference(Kind kind, const Entry& entry, std::string detail,
                      std::vector<ByteRange> ranges = {}) {
  const auto* tensor = std::get_if<TensorEntry>(&entry);
  return {kind, file_of(entry), tensor != nullptr ? std::optional(tensor->name) : std::nullopt,
          std::move(ranges), std::move(detail)};
}

std::vector<ByteRange> whole(const Entry& entry) { return {ByteRange{0, size_of(entry)}}; }

Difference changed(const Entry& expected, const Entry& actual,
                   const std::vector<Digest>* expected_outline,
                   const std::vector<Digest>* actual_outline, std::uint64_t span) {
  if (size_of(expected) != size_of(actual)) {
    return difference(Kind::kChanged, expected,
                      "the size is " + std::to_string(size_of(actual)) + " instead of " +
                          std::to_string(size_of(expected)) + " bytes",
                      whole(expected));
  }
  const auto* before = std::get_if<TensorEntry>(&expected);
  const auto* after = std::get_if<TensorEntry>(&actual);
  if (before != nullptr && after != nullptr && before->root == after->root) {
    return difference(Kind::kChanged, expected,
                      before->offset == after->offset
                          ? "the tensor's dtype or shape is another one"
                          : "the tensor is at another place in its file");
  }
  if (expected_outline == nullptr || actual_outline == nullptr) {
    return difference(Kind::kChanged, expected, "the bytes differ", whole(expected));
  }
  return difference(Kind::kChanged, expected, "the bytes differ",
                    differing_ranges(*expected_outline, *actual_outline, span, size_of(expected)));
}

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

// The tensors of a safetensors file that does not parse cannot be found: they count as changed.
void report_malformed(const ArtifactPlan& plan, std::vector<Difference>& differences) {
  for (const MalformedFile& malformed : plan.malformed) {
    const std::string& path = plan.files[malformed.file].path;
    for (Difference& found : differences) {
      if (found.kind == Kind::kMissing && found.tensor && found.file == path) {
        found.kind = Kind::kChanged;
        found.detail = "the file is no valid safetensors file: " + malformed.error.detail;
      }
    }
  }
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::kMissing:
      return "missing";
    case Kind::kExtra:
      return "extra";
    case Kind::kChanged:
      break;
  }
  return "changed";
}

std::vector<Difference> compare_artifacts(const Artifact& expected,
                                          const Outlines* expected_outlines, const Artifact& actual,
                                          const Outlines* actual_outlines, std::uint64_t span) {
  std::vector<Difference> differences;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < expected.entries.size() || j < actual.entries.size()) {
    const bool only_actual = i == expected.entries.size();
    const bool only_expected = j == actual.entries.size();
    if (only_actual ||
        (!only_expected && order_of(actual.entries[j]) < order_of(expected.entries[i]))) {
      differences.push_back(
          difference(Kind::kExtra, actual.entries[j], "this is not part of the artifact"));
      ++j;
    } else if (only_expected || order_of(expected.entries[i]) < order_of(actual.entries[j])) {
      differences.push_back(difference(Kind::kMissing, expected.entries[i],
                                       "this is part of the artifact and is not there"));
      ++i;
    } else {
      if (expected.entries[i] != actual.entries[j]) {
        const bool outlines = expected_outlines != nullptr && actual_outlines != nullptr;
        differences.push_back(changed(expected.entries[i], actual.entries[j],
                                      outlines ? &(*expected_outlines)[i] : nullptr,
                                      outlines ? &(*actual_outlines)[j] : nullptr, span));
      }
      ++i;
      ++j;
    }
  }
  return differences;
}

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
  ASSAY_ASSIGN(const ArtifactPlan plan,
               plan_artifact(std::move(files), objects_of(expected.entries), stop));
  ASSAY_ASSIGN(const PlannedArtifact actual,
               hash_plan(plan, expected.parameters, span, engine, progress, stop));
  std::vector<Difference> differences =
      compare_artifacts(expected, options.outline != nullptr ? &options.outline->entries : nullptr,
                        actual.artifact, span != 0 ? &actual.outlines : nullptr, span);
  report_malformed(plan, differences);
  differences.insert(differences.end(), extras.begin(), extras.end());
  const ReadProtection protection = read_protection(plan);
  add_hints(plan.files, differences);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return Verified{std::move(differences), actual.bytes, elapsed.count(), engine.info(), protection};
}

}  // namespace assay::gpu_hash
