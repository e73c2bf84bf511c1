// SPDX-License-Identifier: Apache-2.0
#include "schemas/report_size.h"

#include <string>
#include <variant>

namespace assay {
namespace {

constexpr std::size_t kExtraNameBytes = 64;  // members, punctuation and size

// As JSON writes the text.
std::size_t written(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace).size();
}

std::size_t entry_bytes(const Entry& entry) {
  if (const auto* file = std::get_if<FileEntry>(&entry)) {
    return kReportEntryBytes + written(file->path);
  }
  const auto& tensor = std::get<TensorEntry>(entry);
  return kReportEntryBytes + written(tensor.file) + written(tensor.name);
}

}  // namespace

bool ExtraRoom::take(std::size_t bytes) {
  const bool fits = bytes <= left_;
  left_ = fits ? left_ - bytes : 0;
  return fits;
}

bool ExtraRoom::take_name(std::string_view name) { return take(kExtraNameBytes + written(name)); }

bool ExtraRoom::take_entry(const Entry& entry) { return take(entry_bytes(entry)); }

Status check_report_length(std::size_t bytes, std::size_t memory) {
  return bytes <= kMaxReportPayload && memory <= kMaxStatementMemory
             ? Status()
             : fail(ErrorCode::kLimitExceeded,
                    "a report has at most " + std::to_string(kMaxReportPayload >> 20) + " MiB");
}

std::size_t max_report_bytes(const Artifact& artifact, std::span<const std::uint64_t> subset) {
  std::size_t payload = kMaxExtraBytes + kReportOtherBytes;
  if (subset.empty()) {
    for (const Entry& entry : artifact.entries) {
      payload += entry_bytes(entry);
    }
  }
  for (const std::uint64_t position : subset) {
    if (position < artifact.entries.size()) {
      payload += entry_bytes(artifact.entries[position]);
    }
  }
  return (payload + 2) / 3 * 4 + kReportEnvelopeBytes;
}

}  // namespace assay
