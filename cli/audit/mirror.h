// SPDX-License-Identifier: Apache-2.0
// Copies the public files of a log (C2SP tlog-tiles) into a directory and keeps the copy up to
// date. Files that the directory already contains are not fetched again.
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

// Returns the bytes of the file at `path`, relative to the address of the log. Errors: not-found
// when the file does not exist.
using FetchLogFile = std::function<Result<Bytes>(const std::string& path)>;

struct MirrorOptions {
  // When not null, the new state of the mirror is verified before its checkpoint is written.
  const attestation::NoteVerifier* verifier = nullptr;
  std::function<void(TreeSize done, TreeSize total)> progress{};
};

struct Mirrored {
  Checkpoint checkpoint;
  TreeSize previous_size = 0;  // size of the mirror before the update; 0: a new mirror
  std::uint64_t files = 0;     // number of files fetched
  std::uint64_t bytes = 0;     // number of bytes fetched
  std::optional<VerifiedLog> verified;
};

// Returns a function that reads files of the mirror in `directory`, for verify_log().
[[nodiscard]] ReadMirror read_directory(const std::string& directory);

// Updates the mirror. Writes the checkpoint last, so an interrupted run leaves a valid mirror of
// the old size; some newer tiles may lie in it. Errors: log-inconsistent when the log is shorter
// than the mirror, when the mirror is of another log, or (with a verifier) when the log does not
// extend the mirror; malformed-checkpoint; those of `fetch`; file-unreadable.
[[nodiscard]] Result<Mirrored> mirror_log(const FetchLogFile& fetch, const std::string& directory,
                                          const MirrorOptions& options);

}  // namespace assay::cli
