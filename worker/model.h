// SPDX-License-Identifier: Apache-2.0
// The model of a job as files on this node: finds and hashes the files, and reads single spans
// (byte ranges of equal length) of them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/engine.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/read_protection.h"
#include "schemas/manifest.h"
#include "schemas/report_size.h"
#include "schemas/verification_report.h"

namespace assay::worker {

class NodeModel {
 public:
  // Looks for the entries of `manifest` at the positions in `subset`, or for all entries when
  // `subset` is empty. Also looks for files that have no file entry in the manifest, whatever
  // `subset` is. Only the tree parameters of the manifest decide which files belong to the model,
  // because the artifact's root covers these parameters. An entry that cannot be read is reported
  // as not covered. Errors: unsupported-file-type and invalid-path for a link or pipe;
  // limit-exceeded for too many files; cancelled.
  [[nodiscard]] static Result<NodeModel> find(const std::filesystem::path& model,
                                              const Manifest& manifest,
                                              const std::vector<std::uint64_t>& subset,
                                              const std::stop_token& stop);
  // Makes the model of a node that has none of its files.
  [[nodiscard]] static NodeModel absent(const Manifest& manifest);

  struct Hashed {
    std::vector<Entry> entries;  // in the order of artifacts; others than the manifest's, as many
                                 // as ExtraRoom has room for
    std::vector<NotCovered> not_covered;
    std::vector<ExtraFile> extra;  // by path; as many as a report can list
    std::uint64_t extra_count = 0;
    std::uint64_t bytes = 0;
    ReadProtection read_protection{};  // of the files that were read
  };
  // Hashes everything that find() found, except extra files. The entries of a file that changes or
  // cannot be read during hashing are reported as not covered. Errors: those of the engine that are
  // not about a file.
  [[nodiscard]] Result<Hashed> hash(gpu_hash::Engine& engine, const gpu_hash::Progress& progress,
                                    const std::stop_token& stop);

  // Hashes the entries at these positions again and returns their outlines: one digest for each
  // `span` bytes (schemas/core/outline.h). Errors: not-found when an entry was not hashed; those of
  // the engine.
  [[nodiscard]] Result<std::vector<OutlineSubmission::Item>> outline(
      gpu_hash::Engine& engine, const std::vector<std::uint64_t>& entries, std::uint64_t span,
      const std::stop_token& stop) const;

  // Reads the bytes of the span `place` of an entry. Each span has `span` bytes; the last span of
  // an entry may be shorter. Errors: not-found; invalid-parameter for a span beyond the entry's
  // end; limit-exceeded for more than 64 MiB; file-changed; file-unreadable.
  [[nodiscard]] Result<Bytes> read(const SpotSpan& place, std::uint64_t span) const;

 private:
  // A file, or a tensor in a file.
  struct Object {
    Entry entry;  // its root is set by hash()
    std::shared_ptr<const gpu_hash::SourceFile> source;
    std::uint64_t offset;                   // bytes from the start of the file
    std::optional<std::uint64_t> position;  // in the artifact; absent: extra
  };

  explicit NodeModel(const Manifest& manifest) : parameters_(manifest.artifact.parameters) {}

  void expect(const Manifest& manifest, const std::vector<std::uint64_t>& subset);
  void note_extra(const std::string& path, std::uint64_t size);
  [[nodiscard]] Status add_file(const std::string& path,
                                const std::shared_ptr<const gpu_hash::SourceFile>& source);
  [[nodiscard]] Status add_tensors(const std::string& path,
                                   const std::shared_ptr<const gpu_hash::SourceFile>& source);
  void add(Entry entry, const std::shared_ptr<const gpu_hash::SourceFile>& source,
           std::uint64_t offset);
  // Returns the positions of the wanted entries of a file, without the file entry when `with_file`
  // is false.
  [[nodiscard]] std::vector<std::uint64_t> wanted(const std::string& path, bool with_file) const;
  void leave_out(std::uint64_t position, const Error& why);
  [[nodiscard]] Status drop_file(const Error& why);
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> digest(
      gpu_hash::Engine& engine, const gpu_hash::Progress& progress, const std::stop_token& stop);
  [[nodiscard]] Status drop_changed(std::vector<gpu_hash::ObjectDigests>& digests);
  [[nodiscard]] const Object* at(std::uint64_t position) const;

  TreeParameters parameters_;
  bool all_ = false;      // no subset: tensors not in the manifest are hashed too, as many as fit
  bool files_ = false;    // entries of files are wanted
  bool tensors_ = false;  // entries of tensors are wanted
  std::set<std::string> covered_;  // paths of all file entries, also outside the subset
  std::vector<ExtraFile> extra_;
  std::uint64_t extra_count_ = 0;
  ExtraRoom room_;
  // Positions of the wanted entries, by kind, file and name: see key() in the source.
  std::map<std::string, std::uint64_t> positions_;
  std::vector<Object> objects_;  // in the order in which reading is fastest
  std::map<std::uint64_t, std::string> not_covered_;
};

}  // namespace assay::worker
