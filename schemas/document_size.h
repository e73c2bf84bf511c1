// SPDX-License-Identifier: Apache-2.0
// How long signed documents may be. Writers and readers look at the same limits, so that nobody
// signs what its readers refuse.
#pragma once

#include <cstddef>

namespace assay {

// Largest number of entries of a manifest. manifest.schema.json says the same.
inline constexpr std::size_t kMaxManifestEntries = 131072;
// Bytes of a statement, which is the payload of an envelope. So many entries fit when they take 320
// bytes each; those of large mixtures of experts take 277 with SHA-256.
inline constexpr std::size_t kMaxStatementBytes = std::size_t{40} << 20;
// Memory of a parsed statement or report, as JsonLimits counts it. So many entries of four
// dimensions take 253 MiB.
inline constexpr std::size_t kMaxStatementMemory = std::size_t{320} << 20;
// Bytes of a verification report, which has the entries of the manifest as they were found, and
// lists files and tensors that the manifest does not have.
inline constexpr std::size_t kMaxReportPayload = std::size_t{44} << 20;
// Bytes of any envelope: base64 of the longest payload, and signatures.
inline constexpr std::size_t kMaxEnvelopeBytes = std::size_t{60} << 20;
static_assert(kMaxEnvelopeBytes >= (kMaxReportPayload + 2) / 3 * 4 + (std::size_t{1} << 20));
// Bytes of an envelope that the service takes with anything but a manifest, a report or an
// enrolment in it, and of one with the withdrawal of a statement.
inline constexpr std::size_t kMaxOtherEnvelopeBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxWithdrawalEnvelopeBytes = std::size_t{64} << 10;

}  // namespace assay
