// SPDX-License-Identifier: Apache-2.0
// The files of a model beside a signature of it by another tool (attestation/oms/coverage.h).
#pragma once

#include <string>
#include <vector>

#include "attestation/oms/coverage.h"
#include "cli/command.h"
#include "gpu_hash/flat_hash.h"
#include "gpu_hash/walk.h"

namespace assay::cli {

namespace oms = attestation::oms;

struct SignedFilesFlags {
  std::string path;       // of the model
  std::string signature;  // its file, which is never part of the model
  std::vector<std::string> ignore;
  bool ignore_unsigned = false;
  bool allow_symlinks = false;
};
// Adds --ignore-path, --ignore-unsigned-files and --allow-symlinks.
void add_signed_files_options(const Command& verb, SignedFilesFlags& flags);

struct SignedFiles {
  std::vector<gpu_hash::WalkedFile> files;
  bool only_file = false;             // the model is a file
  bool followed_links = false;        // there were links, and they were followed
  std::vector<std::string> left_out;  // paths that no signature covers, whether there or not
};

// Lists the files that `statement` is about. Links are an error unless the statement or the flags
// allow them; no link leads out of the model. Errors: those of walk(); invalid-path for
// --ignore-path.
[[nodiscard]] Result<SignedFiles> find_signed_files(const SignedFilesFlags& flags,
                                                    const oms::Statement& statement);

// Lists the files of a model that is to be signed. `left_out` are paths in the model.
[[nodiscard]] Result<SignedFiles> list_files(const std::string& path,
                                             std::vector<std::string> left_out,
                                             bool follow_symlinks);

// Returns the path of `file` in the model at `path`; empty when it does not lie there.
[[nodiscard]] Result<std::string> path_in_model(const std::string& path, const std::string& file);

// Checks that no two names of a signature differ only by the case of letters or the normal form of
// Unicode: some file systems take them for one, and then one of the files stands for both. Errors:
// invalid-path.
[[nodiscard]] Status check_alike_names(const oms::Statement& statement);

// Checks that `out` may be written while the model at `path` is read: it lies elsewhere, or nothing
// is there, or a signature. Errors: usage.
[[nodiscard]] Status keep_files_of(const std::string& path, const std::string& out);

[[nodiscard]] std::vector<oms::DiskFile> on_disk(const SignedFiles& found);

// Compares digests that were computed of `parts`, one each, with those of the statement. Returns a
// finding for each file that differs, with the bytes of the shards.
[[nodiscard]] std::vector<oms::Finding> compare_digests(const oms::Statement& statement,
                                                        const std::vector<oms::DiskFile>& files,
                                                        const std::vector<oms::Part>& parts,
                                                        const std::vector<Bytes>& digests);

[[nodiscard]] Json findings_json(const std::vector<oms::Finding>& findings);

// Returns whether an error about files means that the model is not as signed, and not that nobody
// could look.
[[nodiscard]] bool is_about_the_model(ErrorCode code);

}  // namespace assay::cli
