// SPDX-License-Identifier: Apache-2.0
#include "server/service/jobs/compare_report.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "schemas/core/file_root.h"

namespace assay::server {
namespace {

std::string_view name(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::kChanged:
      return "changed";
    case Difference::Kind::kMissing:
      return "missing";
    case Difference::Kind::kExtra:
      return "extra";
    case Difference::Kind::kSize:
      return "size";
  }
  return "";
}

std::unexpected<Error> unfit(std::string detail, std::string where = {}) {
  return fail(ErrorCode::kReportMismatch, std::move(detail), std::move(where));
}

std::vector<std::uint64_t> tensor_positions(const Artifact& expected) {
  std::vector<std::uint64_t> positions;
  for (std::uint64_t i = 0; i < expected.entries.size(); ++i) {
    if (std::holds_alternative<TensorEntry>(expected.entries[i])) {
      positions.push_back(i);
    }
  }
  return positions;
}

std::vector<std::uint64_t> wanted_positions(const Artifact& expected,
                                            std::span<const std::uint64_t> subset, JobScope scope) {
  if (scope == JobScope::kDeviceMemory) {
    return tensor_positions(expected);
  }
  std::vector<std::uint64_t> wanted(subset.begin(), subset.end());
  if (wanted.empty()) {
    wanted.resize(expected.entries.size());
    std::iota(wanted.begin(), wanted.end(), std::uint64_t{0});
  }
  return wanted;
}

// Positions that the report leaves out: ascending, and wanted.
Result<std::set<std::uint64_t>> left_out(const VerificationReport& report,
                                         std::span<const std::uint64_t> wanted) {
  std::set<std::uint64_t> positions;
  for (const NotCovered& item : report.not_covered) {
    if (!positions.empty() && item.entry <= *positions.rbegin()) {
      return unfit("entries that were not covered stand in ascending order", "/not_covered");
    }
    if (!std::ranges::binary_search(wanted, item.entry)) {
      return unfit("an entry was not covered that the job does not ask for", "/not_covered");
    }
    positions.insert(item.entry);
  }
  return positions;
}

Difference make_difference(Difference::Kind kind, const Entry& entry) {
  EntryName own = name_of(entry);
  return {kind, {}, std::move(own.path), std::move(own.tensor), {}, {}, false, {}, 0};
}

// Nothing when they are the same.
std::optional<Difference> difference_of(std::uint64_t position, const Entry& expected,
                                        const Entry& actual) {
  if (expected == actual) {
    return std::nullopt;
  }
  const bool same_size = size_of(expected) == size_of(actual);
  Difference difference =
      make_difference(same_size ? Difference::Kind::kChanged : Difference::Kind::kSize, expected);
  difference.entry = position;
  difference.expected_size = size_of(expected);
  difference.actual_size = size_of(actual);
  difference.can_localise =
      same_size && own_size(expected) == own_size(actual) && own_root(expected) != own_root(actual);
  return difference;
}

using Found = std::map<EntryName, const Entry*>;

// A file differs although its header is the same, and the tensors that the report has of it lead to
// its root: then its tensors are the place of the difference.
bool tensors_explain(const Artifact& expected, const Difference& difference,
                     const VerificationReport& report, PaddingRoots& padding) {
  if (difference.tensor || difference.kind != Difference::Kind::kChanged || !difference.entry) {
    return false;
  }
  const auto& before = std::get<FileEntry>(expected.entries.at(*difference.entry));
  const std::tuple<int, std::string_view, std::string_view> wanted{0, before.path, {}};
  const auto own = std::ranges::lower_bound(report.entries, wanted, {}, order_of);
  const auto* after = own != report.entries.end() ? std::get_if<FileEntry>(&*own) : nullptr;
  if (after == nullptr || !before.cut || before.cut != after->cut) {
    return false;
  }
  const auto root = cut_file_root(*after, tensors_in(report.entries, before.path), padding);
  return root && *root == after->root;
}

// Takes out the differences of files whose tensors say more exactly what differs. One of each file
// stays.
void name_places(const Artifact& expected, const VerificationReport& report,
                 std::vector<Difference>& differences) {
  std::set<std::string> with_tensors;
  for (const Difference& difference : differences) {
    if (difference.tensor) {
      with_tensors.insert(difference.path);
    }
  }
  PaddingRoots padding(expected.parameters);
  std::erase_if(differences, [&](const Difference& difference) {
    return with_tensors.contains(difference.path) &&
           tensors_explain(expected, difference, report, padding);
  });
}

Result<Found> found_entries(const VerificationReport& report) {
  Found found;
  for (const Entry& entry : report.entries) {
    if (!found.emplace(name_of(entry), &entry).second) {
      return unfit("the report has an entry twice", "/entries");
    }
  }
  return found;
}

// What is left in `found` has no counterpart among the entries that were asked for.
Status add_extras(const Artifact& expected, const Found& found, Comparison& comparison) {
  std::set<EntryName> known;
  if (!found.empty()) {
    for (const Entry& entry : expected.entries) {
      known.insert(name_of(entry));
    }
  }
  for (const auto& [own_name, entry] : found) {
    if (known.contains(own_name)) {
      return unfit(
          "the report has an entry that the job does not ask for, or that it says it did "
          "not cover",
          "/entries");
    }
    Difference difference = make_difference(Difference::Kind::kExtra, *entry);
    difference.actual_size = size_of(*entry);
    comparison.differences.push_back(std::move(difference));
  }
  return {};
}

// Files that no entry covers. A report cannot take a file out of its entries by calling it extra.
Status add_extra_files(const Artifact& expected, const VerificationReport& report,
                       Comparison& comparison) {
  if (report.extra_count == 0) {
    return report.extra.empty() ? Status() : unfit("extra files that do not count", "/extra");
  }
  std::set<std::string_view> covered;
  for (const Entry& entry : expected.entries) {
    if (const auto* file = std::get_if<FileEntry>(&entry)) {
      covered.insert(file->path);
    }
  }
  for (const ExtraFile& file : report.extra) {
    if (covered.contains(file.path)) {
      return unfit("an extra file is an entry of the artifact", "/extra");
    }
    comparison.differences.push_back(
        {Difference::Kind::kExtra, {}, file.path, {}, {}, file.size, false, {}, 0});
  }
  if (report.extra_count > report.extra.size()) {
    comparison.differences.push_back({Difference::Kind::kExtra,
                                      {},
                                      {},
                                      {},
                                      {},
                                      {},
                                      false,
                                      {},
                                      report.extra_count - report.extra.size()});
  }
  return {};
}

// Registered tensors beside the entries: of a name that no entry has, or of one that another
// process registered already. Each is a difference, so a report gains nothing by calling a tensor
// extra.
void add_extra_tensors(const VerificationReport& report, Comparison& comparison) {
  if (!report.memory) {
    return;
  }
  for (const ExtraTensor& tensor : report.memory->extra_tensors) {
    comparison.differences.push_back(
        {Difference::Kind::kExtra, {}, {}, tensor.name, {}, tensor.size, false, {}, 0});
  }
  const std::uint64_t others =
      report.memory->extra_tensor_count - report.memory->extra_tensors.size();
  if (others > 0) {
    comparison.differences.push_back(
        {Difference::Kind::kExtra, {}, {}, std::string(), {}, {}, false, {}, others});
  }
}

}  // namespace

EntryName name_of(const Entry& entry) {
  if (const auto* file = std::get_if<FileEntry>(&entry)) {
    return {file->path, std::nullopt};
  }
  const auto& tensor = std::get<TensorEntry>(entry);
  return {tensor.file, tensor.name};
}

Json to_json(const Difference& difference) {
  Json json = {{"kind", name(difference.kind)}, {"path", difference.path}};
  if (difference.entry) {
    json["entry"] = *difference.entry;
  }
  if (difference.tensor) {
    json["tensor"] = *difference.tensor;
  }
  if (difference.expected_size) {
    json["expected_size"] = *difference.expected_size;
  }
  if (difference.actual_size) {
    json["actual_size"] = *difference.actual_size;
  }
  if (!difference.ranges.empty()) {
    Json ranges = Json::array();
    for (const ByteRange& range : difference.ranges) {
      ranges.push_back(Json::array({range.begin, range.end}));
    }
    json["ranges"] = std::move(ranges);
  }
  if (difference.others > 0) {
    json["others"] = difference.others;
  }
  return json;
}

std::string describe(const Difference& difference) {
  if (difference.others > 0) {
    return std::to_string(difference.others) +
           (difference.tensor ? " tensors that no entry has" : " files that no entry covers");
  }
  std::string text = difference.path;
  if (difference.tensor) {
    text += "#" + *difference.tensor;
  }
  if (difference.ranges.empty()) {
    return text + " " + std::string(name(difference.kind));
  }
  const ByteRange& first = difference.ranges.front();
  text += " bytes " + std::to_string(first.begin) + "-" + std::to_string(first.end);
  return difference.ranges.size() == 1
             ? text
             : text + " and " + std::to_string(difference.ranges.size() - 1) + " more ranges";
}

Result<Comparison> compare_report(const Artifact& expected, std::span<const std::uint64_t> subset,
                                  const VerificationReport& report) {
  if (report.parameters != expected.parameters) {
    return unfit("the report was made with other tree parameters than the manifest", "/parameters");
  }
  const std::vector<std::uint64_t> wanted = wanted_positions(expected, subset, report.scope);
  ASSAY_ASSIGN(const auto skipped, left_out(report, wanted));
  ASSAY_ASSIGN(Found found, found_entries(report));
  Comparison comparison;
  for (const std::uint64_t position : wanted) {
    if (position >= expected.entries.size()) {
      return unfit("the artifact has no such entry", "/entries");
    }
    if (skipped.contains(position)) {
      continue;
    }
    const Entry& entry = expected.entries[position];
    comparison.covered.push_back(position);
    const auto actual = found.find(name_of(entry));
    if (actual == found.end()) {
      Difference missing = make_difference(Difference::Kind::kMissing, entry);
      missing.entry = position;
      missing.expected_size = size_of(entry);
      comparison.differences.push_back(std::move(missing));
      continue;
    }
    if (auto difference = difference_of(position, entry, *actual->second)) {
      comparison.differences.push_back(*std::move(difference));
    }
    found.erase(actual);
  }
  ASSAY_TRY(add_extras(expected, found, comparison));
  name_places(expected, report, comparison.differences);
  ASSAY_TRY(add_extra_files(expected, report, comparison));
  add_extra_tensors(report, comparison);
  return comparison;
}

}  // namespace assay::server
