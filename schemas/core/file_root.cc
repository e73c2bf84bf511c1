// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/file_root.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "schemas/core/merkle.h"

namespace assay {
namespace {

constexpr std::size_t kStep = 1024;
constexpr std::array<std::uint8_t, kStep> kZeros{};
constexpr std::array<std::uint8_t, 1> kLeafBegin = {0x00};

std::unexpected<Error> unbound(std::string detail, std::string where = {}) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}

// Collects the segments of one file, in file order.
class SegmentRoots {
 public:
  SegmentRoots(const FileEntry& file, PaddingRoots& padding)
      : file_(file), padding_(padding), position_(file.cut->size), roots_{file.cut->root} {}

  // Goes on to a tensor or to the end of the file, over padding.
  [[nodiscard]] Status reach(std::uint64_t offset, bool keep) {
    if (offset < position_) {
      return unbound("two tensors share bytes, or one lies in the header");
    }
    const std::uint64_t gap = offset - position_;
    if (gap > (has_padding(file_.cut->format) ? kMaxPadding : 0)) {
      return unbound("bytes of the file belong to no tensor that is listed");
    }
    if (gap > 0 && keep) {
      roots_.push_back(padding_.of(gap));
      position_ = offset;
    }
    return {};
  }

  [[nodiscard]] Status add(const TensorEntry& tensor) {
    ASSAY_TRY(reach(tensor.offset, tensor.size > 0));
    if (tensor.size == 0) {
      return tensor.root == merkle_empty(tensor.root.algorithm())
                 ? Status()
                 : unbound("a tensor without bytes has the root of no bytes");
    }
    roots_.push_back(tensor.root);
    position_ += tensor.size;
    return {};
  }

  [[nodiscard]] Digest root() const { return merkle_root(file_.root.algorithm(), roots_); }

 private:
  const FileEntry& file_;
  PaddingRoots& padding_;
  std::uint64_t position_;  // end of what was added
  std::vector<Digest> roots_;
};

Status check_cut_file(const FileEntry& file, std::vector<const TensorEntry*> tensors,
                      PaddingRoots& padding) {
  ASSAY_ASSIGN(const Digest root, cut_file_root(file, std::move(tensors), padding));
  return root == file.root
             ? Status()
             : unbound("the file's root does not follow from its header and its tensors",
                       file.path);
}

}  // namespace

Digest PaddingRoots::leaf(std::uint64_t size) {
  if (begun_.empty()) {
    begun_.emplace_back(parameters_.hash);
    begun_.back().update(kLeafBegin);
  }
  while (begun_.size() <= size / kStep) {
    begun_.push_back(begun_.back().copy());
    begun_.back().update(kZeros);
  }
  ShaStream rest = begun_[size / kStep].copy();
  rest.update(ByteView(kZeros).first(size % kStep));
  return rest.finish();
}

const Digest& PaddingRoots::of(std::uint64_t size) {
  if (const auto known = roots_.find(size); known != roots_.end()) {
    return known->second;
  }
  const std::uint64_t chunk = parameters_.chunk_size;
  MerkleAccumulator tree(parameters_.hash);
  for (std::uint64_t begin = 0; begin < size; begin += chunk) {
    tree.append(leaf(std::min(chunk, size - begin)));
  }
  return roots_.emplace(size, tree.root()).first->second;
}

Result<Digest> cut_file_root(const FileEntry& file, std::vector<const TensorEntry*> tensors,
                             PaddingRoots& padding) {
  std::ranges::stable_sort(tensors, [](const TensorEntry* a, const TensorEntry* b) {
    return std::pair(a->offset, a->size) < std::pair(b->offset, b->size);
  });
  SegmentRoots segments(file, padding);
  for (const TensorEntry* tensor : tensors) {
    if (auto status = segments.add(*tensor); !status) {
      return unbound(std::move(status).error().detail, label_of(*tensor));
    }
  }
  if (auto status = segments.reach(file.size, true); !status) {
    return unbound(std::move(status).error().detail, file.path);
  }
  return segments.root();
}

std::vector<const TensorEntry*> tensors_in(std::span<const Entry> entries, std::string_view path) {
  const std::tuple<int, std::string_view, std::string_view> first{1, path, {}};
  std::vector<const TensorEntry*> tensors;
  for (auto at = std::ranges::lower_bound(entries, first, {}, order_of);
       at != entries.end() && file_of(*at) == path; ++at) {
    tensors.push_back(&std::get<TensorEntry>(*at));
  }
  return tensors;
}

Status check_cuts(const TreeParameters& parameters, std::span<const Entry> entries) {
  PaddingRoots padding(parameters);
  const auto is_tensor = [](const Entry& entry) {
    return std::holds_alternative<TensorEntry>(entry);
  };
  const auto first = std::ranges::find_if(entries, is_tensor);
  auto next = first;
  // Files and tensors are both in order of paths.
  for (auto at = entries.begin(); at != first; ++at) {
    const auto& file = std::get<FileEntry>(*at);
    std::vector<const TensorEntry*> tensors;
    for (; next != entries.end() && file_of(*next) == file.path; ++next) {
      tensors.push_back(&std::get<TensorEntry>(*next));
    }
    if (!file.cut && !tensors.empty()) {
      return unbound("the tensor's file has no cut, so nothing binds the tensor to it",
                     label_of(*tensors.front()));
    }
    if (file.cut && (first != entries.end() || file.size == file.cut->size)) {
      ASSAY_TRY(check_cut_file(file, std::move(tensors), padding));
    }
  }
  return next == entries.end() || first == entries.begin()
             ? Status()
             : unbound("the tensor's file is not an entry of the artifact", label_of(*next));
}

}  // namespace assay
