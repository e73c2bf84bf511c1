// SPDX-License-Identifier: Apache-2.0
// Copies the public files of a log (C2SP tlog-tiles) into a directory, and keeps such a copy up to
// date. What is there already is not fetched again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "attestation/signed_note.h"
#include "cli/audit/verify.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay::cli {

// Bytes of a file below the log's address; not-found when there is none.
using FetchLogFile = std::function<Result<Bytes>(const std::string& path)>;

struct MirrorOptions {
  // With it everything is verified before the mirror counts as up to date.
  const attestation::NoteVerifier* verifier = nullptr;
  std::function<void(TreeSize done, TreeSize total)> progress{};
};

struct Mirrored {
  Checkpoint checkpoint;
  TreeSize previous_size = 0;  // of the mirror before; 0 for a new one
  std::uint64_t files = 0;     // fetched
  std::uint64_t bytes = 0;     // fetched
  std::optional<VerifiedLog> verified;
};

// Files of the mirror in `directory`, for verify_log.
[[nodiscard]] ReadMirror read_directory(const std::string& directory);

// The checkpoint is written last, so an interrupted run leaves the mirror as it was, with more
// tiles. log-inconsistent when the log is shorter than the mirror, or (with a verifier) does not
// extend it; malformed-checkpoint; errors of `fetch`; file-unreadable.
[[nodiscard]] Result<Mirrored> mirror_log(const FetchLogFile& fetch, const std::string& directory,
                                          const MirrorOptions& options);

}  // namespace assay::cli
