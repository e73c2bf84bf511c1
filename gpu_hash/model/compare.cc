// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/compare.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gpu_hash/model/plan.h"
#include "schemas/core/file_root.h"

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

// Two artifacts, and what their outlines say.
class Comparer {
 public:
  Comparer(const Artifact& expected, const Outlines* expected_outlines, const Artifact& actual,
           const Outlines* actual_outlines, std::uint64_t span)
      : expected_(expected),
        expected_outlines_(actual_outlines != nullptr ? expected_outlines : nullptr),
        actual_(actual),
        actual_outlines_(actual_outlines),
        span_(span),
        padding_(expected.parameters) {}

  [[nodiscard]] std::vector<Difference> compare() {
    std::vector<Difference> found;
    const auto& left = expected_.entries;
    const auto& right = actual_.entries;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < left.size() || j < right.size()) {
      if (i == left.size() || (j < right.size() && order_of(right[j]) < order_of(left[i]))) {
        found.push_back(difference(Kind::kExtra, right[j++], "this is not part of the artifact"));
      } else if (j == right.size() || order_of(left[i]) < order_of(right[j])) {
        found.push_back(
            difference(Kind::kMissing, left[i++], "this is part of the artifact and is not there"));
      } else {
        if (left[i] != right[j]) {
          changed(i, j, found);
        }
        ++i;
        ++j;
      }
    }
    keep_unexplained(found);
    return found;
  }

 private:
  // The own bytes that differ.
  [[nodiscard]] std::vector<ByteRange> own_ranges(std::size_t i, std::size_t j) const {
    const Entry& entry = expected_.entries[i];
    return expected_outlines_ == nullptr
               ? std::vector{ByteRange{0, own_size(entry)}}
               : differing_ranges((*expected_outlines_)[i], (*actual_outlines_)[j], span_,
                                  own_size(entry));
  }

  void changed(std::size_t i, std::size_t j, std::vector<Difference>& found) {
    const Entry& expected = expected_.entries[i];
    const Entry& actual = actual_.entries[j];
    const std::vector<ByteRange> whole = {ByteRange{0, size_of(expected)}};
    if (size_of(expected) != size_of(actual)) {
      found.push_back(difference(Kind::kChanged, expected,
                                 "the size is " + std::to_string(size_of(actual)) + " instead of " +
                                     std::to_string(size_of(expected)) + " bytes",
                                 whole));
      return;
    }
    const auto* before = std::get_if<TensorEntry>(&expected);
    if (before == nullptr) {
      changed_file(i, j, found);
    } else if (root_of(expected) != root_of(actual)) {
      found.push_back(difference(Kind::kChanged, expected, "the bytes differ", own_ranges(i, j)));
    } else {
      found.push_back(difference(Kind::kChanged, expected,
                                 before->offset == std::get<TensorEntry>(actual).offset
                                     ? "the tensor's dtype or shape is another one"
                                     : "the tensor is at another place in its file"));
    }
  }

  // Two files of one size.
  void changed_file(std::size_t i, std::size_t j, std::vector<Difference>& found) {
    const auto& before = std::get<FileEntry>(expected_.entries[i]);
    const auto& after = std::get<FileEntry>(actual_.entries[j]);
    const ByteRange data{own_size(before), before.size};
    if (before.cut.has_value() != after.cut.has_value() ||
        (before.cut && before.cut->size != after.cut->size)) {
      found.push_back(
          difference(Kind::kChanged, before, "the header differs", {ByteRange{0, before.size}}));
    } else if (before.cut == after.cut && before.cut) {
      // The header is the same; most often tensors say where the rest differs.
      Difference one =
          difference(Kind::kChanged, before, "the bytes behind the header differ", {data});
      (tensors_explain(after) ? explained_ : found).push_back(std::move(one));
    } else {
      std::vector<ByteRange> ranges = own_ranges(i, j);
      if (before.cut && data.begin < data.end && !lists_tensors()) {
        ranges.push_back(data);  // nothing says that it is the same
      }
      found.push_back(difference(Kind::kChanged, before,
                                 before.cut ? "the header differs" : "the bytes differ",
                                 std::move(ranges)));
    }
  }

  // No difference goes without another one of its file that stands for it.
  void keep_unexplained(std::vector<Difference>& found) const {
    std::set<std::string_view> reported;
    for (const Difference& difference : found) {
      reported.insert(difference.file);
    }
    std::vector<Difference> kept;
    std::ranges::copy_if(explained_, std::back_inserter(kept), [&](const Difference& difference) {
      return !reported.contains(difference.file);
    });
    found.insert(found.end(), kept.begin(), kept.end());
  }

  [[nodiscard]] bool lists_tensors() const {
    return objects_of(expected_.entries) != Objects::kFiles;
  }

  // The roots of the tensors on disk lead to that of their file, as the expected ones do to theirs:
  // what differs is reported at a tensor.
  [[nodiscard]] bool tensors_explain(const FileEntry& file) {
    if (!lists_tensors()) {
      return false;
    }
    const auto root = cut_file_root(file, tensors_in(actual_.entries, file.path), padding_);
    return root && *root == file.root;
  }

  const Artifact& expected_;
  const Outlines* expected_outlines_;
  const Artifact& actual_;
  const Outlines* actual_outlines_;
  std::uint64_t span_;
  PaddingRoots padding_;
  std::vector<Difference> explained_;  // of files, by differences of their tensors
};

// The tensors of a file that does not parse cannot be found: they count as changed.
void report_malformed(const ArtifactPlan& plan, std::vector<Difference>& differences) {
  std::map<std::string_view, const MalformedFile*> by_path;
  for (const MalformedFile& malformed : plan.malformed) {
    by_path.emplace(plan.files[malformed.file].path, &malformed);
  }
  for (Difference& found : differences) {
    const auto at = by_path.find(found.file);
    if (at != by_path.end() && found.kind == (found.tensor ? Kind::kMissing : Kind::kChanged)) {
      found.kind = Kind::kChanged;
      found.detail = "the file is no valid " + std::string(name(at->second->format)) +
                     " file: " + at->second->error.detail;
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
  return Comparer(expected, expected_outlines, actual, actual_outlines, span).compare();
}

Result<Verified> verify_files(std::vector<WalkedFile> files, const Expected& expected,
                              Engine& engine, const Progress& progress,
                              const std::stop_token& stop) {
  const Artifact& artifact = expected.artifact;
  ASSAY_ASSIGN(const ArtifactPlan plan, plan_artifact(std::move(files), cut_as_in(artifact),
                                                      objects_of(artifact.entries), stop));
  ASSAY_ASSIGN(const PlannedArtifact actual,
               hash_plan(plan, artifact.parameters, expected.span, engine, progress, stop));
  Verified verified{
      compare_artifacts(artifact, expected.outlines, actual.artifact,
                        expected.span != 0 ? &actual.outlines : nullptr, expected.span),
      actual.bytes, 0, engine.info(), read_protection(plan)};
  report_malformed(plan, verified.differences);
  return verified;
}

}  // namespace assay::gpu_hash
