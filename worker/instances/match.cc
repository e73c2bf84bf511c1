// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/match.h"

#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/report_size.h"

namespace assay::worker {

namespace {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t length : shape) {
    text += (text.size() > 1 ? "," : "") + std::to_string(length);
  }
  return text + "]";
}

std::string form_text(const std::string& dtype, const std::vector<std::uint64_t>& shape,
                      std::uint64_t size) {
  return dtype + " " + shape_text(shape) + ", " + std::to_string(size) + " bytes";
}

class Matcher {
 public:
  Matcher(const Artifact& artifact, bool by_rank) : artifact_(artifact), by_rank_(by_rank) {
    for (std::uint64_t i = 0; i < artifact.entries.size(); ++i) {
      if (const auto* tensor = std::get_if<TensorEntry>(&artifact.entries[i])) {
        positions_.emplace(tensor->name, i);
      }
    }
    covered_.resize(artifact.entries.size());
  }

  void add(std::size_t rank, std::size_t position, const InstanceTensor& tensor) {
    MatchedTensor matched{rank, position, {}};
    bool known = false;
    for (const std::string& name : tensor.names) {
      const auto [begin, end] = positions_.equal_range(name);
      for (auto at = begin; at != end; ++at) {
        const auto& expected = std::get<TensorEntry>(artifact_.entries[at->second]);
        if (by_rank_ && expected.file != rank_file(rank)) {
          continue;
        }
        known = true;
        if (!covered_[at->second]) {
          covered_[at->second] = true;
          compare(name, expected, tensor);
          // What is larger is not hashed: its owner may have made the size up, and it differs
          // anyhow.
          (size_of(tensor) > expected.size ? result_.missing : matched.entries)
              .push_back(at->second);
        } else {
          taken_ = name;
        }
      }
    }
    if (!known || !taken_.empty()) {
      add_extra(rank, tensor);
    }
    taken_.clear();
    if (!matched.entries.empty()) {
      std::ranges::sort(matched.entries);
      result_.tensors.push_back(std::move(matched));
    }
  }

  TensorMatch take() {
    for (std::uint64_t i = 0; i < artifact_.entries.size(); ++i) {
      const auto* tensor = std::get_if<TensorEntry>(&artifact_.entries[i]);
      if (tensor != nullptr && !covered_[i]) {
        result_.missing.push_back(i);
        find(Finding::Kind::kMissing, tensor->name,
             by_rank_ ? tensor->file + " did not register it" : "no process registered it");
      }
    }
    std::ranges::sort(result_.missing);
    return std::move(result_);
  }

 private:
  void compare(const std::string& name, const TensorEntry& expected, const InstanceTensor& tensor) {
    const std::uint64_t size = size_of(tensor);
    if (expected.dtype != tensor.dtype || expected.shape != tensor.shape || expected.size != size) {
      find(Finding::Kind::kMismatch, name,
           "registered as " + form_text(tensor.dtype, tensor.shape, size) + "; the manifest says " +
               form_text(expected.dtype, expected.shape, expected.size));
    }
  }

  void add_extra(std::size_t rank, const InstanceTensor& tensor) {
    const std::string& name = taken_.empty() ? tensor.names.front() : taken_;
    ++result_.extra_count;
    if (result_.extra.size() < kMaxExtraTensors && room_.take_name(name)) {
      result_.extra.push_back({name, size_of(tensor)});
    }
    find(Finding::Kind::kExtra, name,
         taken_.empty() ? by_rank_ ? rank_file(rank) + " has no tensor of this name in the layout"
                                   : "the manifest has no tensor of this name"
                        : "rank " + std::to_string(rank) + " registers it once more");
  }

  void find(Finding::Kind kind, const std::string& tensor, std::string detail) {
    if (result_.findings.size() < kMaxFindings) {
      result_.findings.push_back({kind, tensor, std::move(detail)});
    }
  }

  const Artifact& artifact_;
  bool by_rank_;
  std::multimap<std::string_view, std::uint64_t> positions_;
  std::vector<bool> covered_;  // by position in the artifact
  ExtraRoom room_;
  std::string taken_;  // a name of the tensor at hand that another tensor has already
  TensorMatch result_;
};

}  // namespace

std::uint64_t size_of(const InstanceTensor& tensor) {
  return std::accumulate(
      tensor.parts.begin(), tensor.parts.end(), std::uint64_t{0},
      [](std::uint64_t sum, const InstancePart& part) { return sum + part.size; });
}

Status check_ranks(const ArtifactId& artifact, Ranks ranks) {
  const std::uint64_t world = ranks.empty() ? 1 : ranks.front()->world;
  for (std::uint64_t i = 0; i < ranks.size(); ++i) {
    const InstanceRegistration& rank = *ranks[i];
    if (rank.artifact != artifact) {
      return fail(ErrorCode::kConflict,
                  "rank " + std::to_string(rank.rank) + " is registered under another artifact",
                  rank.instance);
    }
    if (rank.world != world || (i > 0 && rank.rank <= ranks[i - 1]->rank)) {
      return fail(ErrorCode::kConflict, "the processes of the instance disagree on their ranks",
                  rank.instance);
    }
  }
  for (std::uint64_t i = 0; i < world; ++i) {
    if (i >= ranks.size() || ranks[i]->rank != i) {
      return fail(ErrorCode::kNotFound, "rank " + std::to_string(i) + " of " +
                                            std::to_string(world) + " is not registered");
    }
  }
  return {};
}

std::string rank_file(std::uint64_t rank) {
  const std::string number = std::to_string(rank);
  return "rank-" + std::string(number.size() < 4 ? 4 - number.size() : 0, '0') + number;
}

TensorMatch match_tensors(const Artifact& artifact, Ranks ranks, bool by_rank) {
  Matcher matcher(artifact, by_rank);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<InstanceTensor>& tensors = ranks[rank]->tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      matcher.add(rank, i, tensors[i]);
    }
  }
  return matcher.take();
}

TensorEntry found_entry(const TensorEntry& expected, const InstanceTensor& tensor,
                        const Digest& root) {
  return {expected.name,   tensor.dtype,    tensor.shape, expected.file,
          expected.offset, size_of(tensor), root};
}

}  // namespace assay::worker
