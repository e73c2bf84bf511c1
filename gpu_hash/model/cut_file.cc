// SPDX-License-Identifier: Apache-2.0
// Where the segments of files lie.
#include "gpu_hash/cut_file.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "gpu_hash/gguf.h"

namespace assay::gpu_hash {

std::optional<CutFormat> cut_format_of(std::string_view path) {
  if (is_safetensors_path(path)) {
    return CutFormat::kSafetensors;
  }
  return is_gguf_path(path) ? std::optional(CutFormat::kGguf) : std::nullopt;
}

CutRule cut_by_name(std::vector<std::string> whole) {
  std::ranges::sort(whole);
  return [whole = std::move(whole)](const std::string& path) {
    return std::ranges::binary_search(whole, path) ? std::nullopt : cut_format_of(path);
  };
}

CutRule cut_as_in(const Artifact& expected) {
  if (objects_of(expected.entries) == Objects::kTensors) {
    return [](const std::string& path) { return cut_format_of(path); };
  }
  std::map<std::string, CutFormat, std::less<>> cuts;
  for (const Entry& entry : expected.entries) {
    const auto* file = std::get_if<FileEntry>(&entry);
    if (file != nullptr && file->cut) {
      cuts.emplace(file->path, file->cut->format);
    }
  }
  return [cuts = std::move(cuts)](const std::string& path) {
    const auto found = cuts.find(path);
    return found == cuts.end() ? std::nullopt : std::optional(found->second);
  };
}

ErrorCode malformed_code(CutFormat format) {
  return format == CutFormat::kSafetensors ? ErrorCode::kMalformedSafetensors
                                           : ErrorCode::kMalformedGguf;
}

Result<CutHeader> read_cut(const SourceFile& file, CutFormat format) {
  if (format == CutFormat::kGguf) {
    ASSAY_ASSIGN(Gguf parsed, read_gguf(file));
    return CutHeader{parsed.header_size, std::move(parsed.tensors)};
  }
  ASSAY_ASSIGN(Safetensors parsed, read_safetensors(file));
  return CutHeader{parsed.data_start, std::move(parsed.tensors)};
}

std::vector<FileSegment> segments_of(const CutHeader& header, std::uint64_t file_size) {
  using Kind = FileSegment::Kind;
  std::vector<std::size_t> order(header.tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::pair(header.tensors[i].offset, header.tensors[i].size);
  });
  std::vector<FileSegment> segments;
  segments.reserve(order.size() + 1);
  segments.push_back({Kind::kHeader, 0, header.size});
  std::uint64_t position = header.size;
  const auto pad = [&](std::uint64_t end) {
    if (end > position) {
      segments.push_back({Kind::kPadding, position, end - position});
    }
    position = end;
  };
  for (const std::size_t i : order) {
    const Tensor& tensor = header.tensors[i];
    if (tensor.size > 0) {
      pad(tensor.offset);
      position += tensor.size;
    }
    segments.push_back({Kind::kTensor, tensor.offset, tensor.size, i});
  }
  pad(file_size);
  return segments;
}

}  // namespace assay::gpu_hash
