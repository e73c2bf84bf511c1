// SPDX-License-Identifier: Apache-2.0
// What is looked at again after the full pass of an instance.
#include <algorithm>
#include <utility>

#include "worker/instances/model.h"

namespace assay::worker {

Result<std::vector<Finding>> InstanceModel::recheck(unsigned slice) {
  ASSAY_ASSIGN(Look looked, look({&slice, 1}, 0));
  return std::move(looked.findings);
}

Result<InstanceModel::Shares> InstanceModel::shares_of(std::span<const unsigned> slices) const {
  Shares shares;
  for (unsigned slice : slices) {
    const auto its = std::ranges::find_if(ranks_, [&](const Rank& rank) {
      const bool here = slice < rank.check->slices();
      slice -= here ? 0 : rank.check->slices();
      return here;
    });
    if (its == ranks_.end()) {
      return fail(ErrorCode::kInvalidParameter, "There is no such slice");
    }
    shares[&*its].push_back(slice);
  }
  return shares;
}

Result<InstanceModel::Look> InstanceModel::look(std::span<const unsigned> slices,
                                                std::uint64_t count) {
  const std::scoped_lock lock(mutex_);
  ASSAY_TRY(check_held());
  ASSAY_ASSIGN(const Shares shares, shares_of(slices));
  std::map<const Rank*, std::vector<std::size_t>> tensors;
  for (const auto& [rank, share] : shares) {
    tensors[rank] = {};  // threads only look for their own
  }
  std::vector<Lane> all = lanes();
  at_once(all, [&](Rank& rank, ExportTime& exports) {
    if (const auto share = shares.find(&rank); share != shares.end()) {
      tensors.at(&rank) = look_rank(rank, share->second, count, exports);
    } else if (count > 0) {
      redraw_rank(rank, count, exports);
    }
  });
  Look result;
  for (const auto& [rank, changed_ones] : tensors) {
    for (const std::size_t tensor : changed_ones) {
      result.findings.push_back(changed(*rank, tensor));
    }
  }
  if (!result.findings.empty()) {
    return result;
  }
  for (const auto& [rank, share] : shares) {
    if (rank->error) {
      return std::unexpected(*rank->error);
    }
  }
  if (count > 0) {
    ASSAY_ASSIGN(result.findings, redrawn_findings());
    result.replaced = !result.findings.empty();
  }
  return result;
}

std::vector<std::size_t> InstanceModel::look_rank(Rank& rank, std::span<const unsigned> slices,
                                                  std::uint64_t count, ExportTime& exports) {
  rank.error.reset();
  rank.redrawn = {};
  auto looked = rank.check->look(slices, count, &exports);
  if (!looked) {
    rank.error = std::move(looked).error();
    return {};
  }
  rank.redrawn = std::move(looked->redraw);
  return std::move(looked->changed);
}

Status InstanceModel::check_held() const {
  for (const Rank& rank : ranks_) {
    if (!rank.check || rank.check->is_over()) {
      return fail(ErrorCode::kCancelled, "The memory was let go");
    }
  }
  return {};
}

Status InstanceModel::draw(std::uint64_t count) {
  const std::scoped_lock lock(mutex_);
  ASSAY_TRY(check_held());
  std::vector<Lane> all = lanes();
  at_once(all, [&](Rank& rank, ExportTime& exports) {
    rank.error.reset();
    const Status drawn = rank.check->draw(count, &exports);
    if (!drawn) {
      rank.error = drawn.error();
    }
  });
  for (const Rank& rank : ranks_) {
    if (rank.error) {
      return std::unexpected(*rank.error);
    }
  }
  return {};
}

Result<std::vector<Finding>> InstanceModel::redraw(std::uint64_t count) {
  const std::scoped_lock lock(mutex_);
  ASSAY_TRY(check_held());
  std::vector<Lane> all = lanes();
  at_once(all, [&](Rank& rank, ExportTime& exports) { redraw_rank(rank, count, exports); });
  return redrawn_findings();
}

// Of the last redraw() of each process.
Result<std::vector<Finding>> InstanceModel::redrawn_findings() const {
  std::vector<Finding> findings;
  for (const Rank& rank : ranks_) {
    if (rank.error) {
      return std::unexpected(*rank.error);
    }
    for (const std::size_t tensor : rank.redrawn.changed) {
      findings.push_back(changed(rank, tensor));
    }
  }
  return findings;
}

}  // namespace assay::worker
