// SPDX-License-Identifier: Apache-2.0
#include "server/service/jobs/spot_check.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <utility>

#include "schemas/core/merkle.h"
#include "schemas/posix/files.h"
#include "schemas/statement.h"
#include "server/service/jobs/compare_report.h"

namespace assay::server {
namespace {

std::unexpected<Error> unreadable(std::string_view path) {
  return fail(ErrorCode::kFileUnreadable, "the mirror has no such file", std::string(path));
}

std::uint64_t span_count(const Entry& entry, std::uint64_t span) {
  const std::uint64_t size = own_size(entry);
  return size / span + (size % span == 0 ? 0 : 1);
}

// Uniform below `bound`, which is not 0: the last, incomplete run of numbers is drawn again.
Result<std::uint64_t> draw_below(Random& random, std::uint64_t bound) {
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  for (;;) {
    std::array<std::uint8_t, 8> bytes{};
    ASSAY_TRY(random.fill(bytes));
    std::uint64_t value = 0;
    for (const std::uint8_t byte : bytes) {
      value = (value << 8) | byte;
    }
    if (value < limit) {
      return value % bound;
    }
  }
}

// Each byte is an own byte of one entry.
std::set<std::uint64_t> drawn_from(const Artifact& artifact,
                                   std::span<const std::uint64_t> positions) {
  std::set<std::uint64_t> from(positions.begin(), positions.end());
  std::set<std::string_view> files;
  for (const std::uint64_t position : positions) {
    if (const auto* file = std::get_if<FileEntry>(&artifact.entries.at(position))) {
      files.insert(file->path);
    }
  }
  for (std::uint64_t i = 0; i < artifact.entries.size(); ++i) {
    const auto* tensor = std::get_if<TensorEntry>(&artifact.entries[i]);
    if (tensor != nullptr && files.contains(tensor->file)) {
      from.insert(i);
    }
  }
  return from;
}

// Numbers below `total`, `count` different ones or all.
Result<std::set<std::uint64_t>> draw_distinct(Random& random, std::uint64_t total,
                                              std::uint64_t count) {
  std::set<std::uint64_t> numbers;
  if (count >= total) {
    for (std::uint64_t i = 0; i < total; ++i) {
      numbers.insert(i);
    }
    return numbers;
  }
  // Floyd's way: as many draws as numbers, each set equally likely.
  for (std::uint64_t top = total - count; top < total; ++top) {
    ASSAY_ASSIGN(const std::uint64_t drawn, draw_below(random, top + 1));
    if (!numbers.insert(drawn).second) {
      numbers.insert(top);
    }
  }
  return numbers;
}

Digest span_digest(const TreeParameters& parameters, ByteView bytes) {
  MerkleAccumulator tree(parameters.hash);
  for (std::size_t begin = 0; begin < bytes.size(); begin += parameters.chunk_size) {
    const std::size_t length = std::min<std::size_t>(parameters.chunk_size, bytes.size() - begin);
    tree.append(merkle_leaf(parameters.hash, bytes.subspan(begin, length)));
  }
  return tree.root();
}

struct Region {
  std::string path;
  std::uint64_t offset;                    // of the entry's own bytes in the file
  std::optional<std::uint64_t> file_size;  // known for files
};

Region region_of(const Entry& entry) {
  if (const auto* file = std::get_if<FileEntry>(&entry)) {
    return {file->path, 0, file->size};
  }
  const auto& tensor = std::get<TensorEntry>(entry);
  return {tensor.file, tensor.offset, std::nullopt};
}

Status require_plain_file(const Descriptor& file, const Region& region) {
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) {
    return unreadable(region.path);
  }
  if (!S_ISREG(facts.st_mode)) {
    return fail(ErrorCode::kUnsupportedFileType, "not a regular file", region.path);
  }
  if (region.file_size && std::cmp_not_equal(facts.st_size, *region.file_size)) {
    return fail(ErrorCode::kContentMismatch, "the mirror's file has another size", region.path);
  }
  return {};
}

}  // namespace

bool is_outlined(const Artifact& artifact, std::span<const std::uint64_t> positions) {
  return objects_of(artifact.entries) != Objects::kFiles ||
         std::ranges::all_of(positions, [&](std::uint64_t position) {
           const Entry& entry = artifact.entries.at(position);
           return own_size(entry) == size_of(entry);
         });
}

Result<std::vector<SpotSpan>> draw_spans(Random& random, const Artifact& artifact,
                                         std::span<const std::uint64_t> positions,
                                         std::uint64_t span, std::size_t count) {
  std::vector<SpotSpan> spans;
  if (!check_outline_span(artifact.parameters, span) || span > kMaxSpotBytes) {
    return spans;
  }
  const std::set<std::uint64_t> from = drawn_from(artifact, positions);
  std::uint64_t total = 0;
  for (const std::uint64_t position : from) {
    total += span_count(artifact.entries.at(position), span);
  }
  ASSAY_ASSIGN(const auto numbers,
               draw_distinct(random, total, std::min<std::uint64_t>(count, kMaxSpotBytes / span)));
  auto next = numbers.begin();
  std::uint64_t first = 0;  // number of the entry's first span
  for (const std::uint64_t position : from) {
    const std::uint64_t end = first + span_count(artifact.entries.at(position), span);
    for (; next != numbers.end() && *next < end; ++next) {
      spans.push_back({position, *next - first});
    }
    first = end;
  }
  return spans;
}

Result<Bytes> read_span(const std::string& directory, std::string_view model_name,
                        const Artifact& artifact, const Outline& outline, const SpotSpan& place) {
  if (place.entry >= artifact.entries.size() || outline.span > kMaxSpotBytes ||
      place.index >= outline.entries.at(place.entry).size()) {
    return fail(ErrorCode::kInvalidParameter, "there is no such span");
  }
  ASSAY_TRY(check_model_name(model_name));
  const Entry& entry = artifact.entries[place.entry];
  const Region region = region_of(entry);
  ASSAY_TRY(check_path(region.path));
  // The configured directory itself may be reached through links: whoever configured it chose it.
  const Descriptor base(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base) {
    return fail(ErrorCode::kFileUnreadable, "the mirror's directory cannot be opened");
  }
  const Descriptor file = open_below(base.get(), std::string(model_name) + "/" + region.path,
                                     O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) {
    return unreadable(region.path);
  }
  ASSAY_TRY(require_plain_file(file, region));
  const std::uint64_t begin = place.index * outline.span;
  Bytes bytes(std::min(outline.span, own_size(entry) - begin));
  if (!std::cmp_equal(read_at(file.get(), region.offset + begin, bytes), bytes.size())) {
    return fail(ErrorCode::kFileUnreadable, "the mirror's file ends early", region.path);
  }
  if (span_digest(artifact.parameters, bytes) != outline.entries[place.entry][place.index]) {
    return fail(ErrorCode::kContentMismatch, "the mirror's bytes are not the model's", region.path);
  }
  return bytes;
}

Result<std::vector<Digest>> expected_answers(const std::string& directory,
                                             std::string_view model_name, const ArtifactId& id,
                                             const Artifact& artifact, const Outline& outline,
                                             std::span<const SpotSpan> spans, const Nonce& nonce) {
  std::vector<Digest> answers;
  for (const SpotSpan& place : spans) {
    ASSAY_ASSIGN(const Bytes bytes, read_span(directory, model_name, artifact, outline, place));
    answers.push_back(spot_answer(nonce, id, place, bytes));
  }
  return answers;
}

}  // namespace assay::server
