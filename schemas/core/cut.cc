// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/cut.h"

#include "schemas/core/names.h"

namespace assay {
namespace {

constexpr Names<CutFormat, 2> kCutFormats = {
    {{{CutFormat::kSafetensors, "safetensors"}, {CutFormat::kGguf, "gguf"}}}};

// Bytes of the shortest header: length, "{}"; magic, version, two counts.
constexpr std::uint64_t kMinSafetensors = 10;
constexpr std::uint64_t kMinGguf = 24;
// The format's own limit, and the length in front of it; what its reader takes (gpu_hash/gguf.h).
constexpr std::uint64_t kMaxSafetensors = 100'000'008;
constexpr std::uint64_t kMaxGguf = 100'000'000;

bool can_be(const Cut& cut) {
  return cut.format == CutFormat::kSafetensors
             ? cut.size >= kMinSafetensors && cut.size <= kMaxSafetensors
             : cut.size >= kMinGguf && cut.size <= kMaxGguf;
}

}  // namespace

std::string_view name(CutFormat format) { return kCutFormats.of(format); }

Result<CutFormat> cut_format_from(std::string_view name) {
  return kCutFormats.parse(name, "a file is cut as safetensors or gguf",
                           ErrorCode::kSchemaViolation);
}

bool has_padding(CutFormat format) { return format == CutFormat::kGguf; }

Status check(const Cut& cut, std::uint64_t file_size) {
  if (cut.size > file_size) {
    return fail(ErrorCode::kSchemaViolation, "the header is longer than the file");
  }
  if (!can_be(cut)) {
    return fail(ErrorCode::kSchemaViolation, "no header of this format has this size");
  }
  return {};
}

}  // namespace assay
