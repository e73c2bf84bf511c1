// SPDX-License-Identifier: Apache-2.0
// How long a verification report may be. Reports are kept for ever, so a report is bounded by the
// entries that it is about. The node agent keeps to what is listed here, and the service refuses
// what is longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/core/artifact.h"
#include "schemas/document_size.h"

namespace assay {

// Bytes for one entry, found or not covered, without its path and name. A tensor with 64 dimensions
// of 16 digits stays below.
inline constexpr std::size_t kReportEntryBytes = 1536;
// Bytes for what a node found that no entry of the manifest is about: files, tensors in files or in
// memory. What does not fit is not listed; files and tensors in memory are counted all the same.
inline constexpr std::size_t kMaxExtraBytes = 256U << 10;
// Bytes for everything else in a report: job, device, containers and devices of an instance.
inline constexpr std::size_t kReportOtherBytes = 256U << 10;
// Bytes of the envelope around the payload: signature, key id, names of members.
inline constexpr std::size_t kReportEnvelopeBytes = 4096;

// Bytes of a report as it is sent: its envelope, in base64 once more, and its evidence, for which
// 16 MiB remain.
inline constexpr std::size_t kMaxReportBody = std::size_t{96} << 20;
static_assert(kMaxEnvelopeBytes / 3 * 4 + (std::size_t{16} << 20) <= kMaxReportBody);
// A report has all entries of its manifest, and as many others as ExtraRoom lets in.
// verification-report.schema.json says the same.
inline constexpr std::size_t kMaxReportEntries =
    kMaxManifestEntries + kMaxExtraBytes / kReportEntryBytes;

// Counts what is listed against kMaxExtraBytes. Not thread-safe.
class ExtraRoom {
 public:
  // Takes room for a file or a tensor that no entry is about. Returns false, and takes nothing,
  // when there is not enough; after that nothing fits.
  [[nodiscard]] bool take_name(std::string_view name);
  // The same for an entry that the manifest does not have.
  [[nodiscard]] bool take_entry(const Entry& entry);

 private:
  [[nodiscard]] bool take(std::size_t bytes);
  std::size_t left_ = kMaxExtraBytes;
};

// Checks the length of the payload of a report and the memory of its values (JsonLimits), by the
// limits of parse_verification_report(). Errors: limit-exceeded.
[[nodiscard]] Status check_report_length(std::size_t bytes, std::size_t memory);

// Returns the largest number of bytes that the envelope of a report about the entries of `artifact`
// at the positions in `subset`, or about all entries when `subset` is empty, may have. Positions
// beyond the last entry count for nothing.
[[nodiscard]] std::size_t max_report_bytes(const Artifact& artifact,
                                           std::span<const std::uint64_t> subset);

}  // namespace assay
