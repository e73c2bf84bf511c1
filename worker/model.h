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
#include "gpu_hash/cut_file.h"
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
  // as not covered. What is verified is what a pod sees that mounts `model` alone, so no link may
  // lead out of it. `repository` says that `model` may be a repository of a Hugging Face cache, of
  // which one revision is the model (find_in_repository() in gpu_hash/walk.h). Errors:
  // unsupported-file-type and invalid-path for a link or pipe; limit-exceeded for too many files;
  // cancelled.
  [[nodiscard]] static Result<NodeModel> find(const std::filesystem::path& model,
                                              const Manifest& manifest,
                                              const std::vector<std::uint64_t>& subset,
                                              const std::stop_token& stop, bool repository = false);
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

  // Hashes the own bytes of the entries at these positions again and returns their outlines: one
  // digest for each `span` bytes (schemas/core/outline.h). Errors: not-found when an entry was not
  // hashed; those of the engine.
  [[nodiscard]] Result<std::vector<OutlineSubmission::Item>> outline(
      gpu_hash::Engine& engine, const std::vector<std::uint64_t>& entries, std::uint64_t span,
      const std::stop_token& stop) const;

  // Returns bytes [offset, offset + size) of the own bytes of an entry, or of a tensor in a file
  // that was found, to be read by an engine. Errors: not-found; content-mismatch when the file has
  // no such bytes of the entry.
  [[nodiscard]] Result<gpu_hash::Region> region(std::uint64_t entry, std::uint64_t offset,
                                                std::uint64_t size) const;

  // Reads the bytes of the span `place` of the own bytes of an entry, or of a tensor in a file that
  // was hashed. Each span has `span` bytes; the last one may be shorter. Errors: not-found;
  // invalid-parameter for a span beyond the end of the own bytes; limit-exceeded for more than 64
  // MiB; file-changed; file-unreadable.
  [[nodiscard]] Result<Bytes> read(const SpotSpan& place, std::uint64_t span) const;

 private:
  // What is hashed as one: a segment of a file, or a tensor without bytes. The objects of one file
  // stand together, in the order of the file.
  struct Object {
    std::shared_ptr<const gpu_hash::SourceFile> source;
    std::uint64_t offset;  // bytes from the start of the file
    std::uint64_t size;    // bytes
    // The entry whose own bytes these are, to be reported; its roots are set by hash(). Absent: the
    // bytes only count to their file.
    std::optional<Entry> entry;
    // Position in the artifact of the entry whose own bytes these are, reported or not. Absent:
    // padding, or a tensor that is extra.
    std::optional<std::uint64_t> position;
  };
  struct Position {
    std::uint64_t position;
    bool wanted;
  };
  using Source = std::shared_ptr<const gpu_hash::SourceFile>;

  explicit NodeModel(const Manifest& manifest)
      : parameters_(manifest.artifact.parameters), rule_(gpu_hash::cut_as_in(manifest.artifact)) {}

  void expect(const Manifest& manifest, const std::vector<std::uint64_t>& subset);
  void note_extra(const std::string& path, std::uint64_t size);
  void add_file(const std::string& path, const Source& source);
  void add_cut_file(const std::string& path, const Source& source, CutFormat format);
  // Adds a file as one segment.
  void add_whole(const std::string& path, const Source& source);
  void add_header(const std::string& path, const Source& source, const Cut& cut);
  // Adds a tensor that is reported, or that counts to its file, which is reported.
  void add_tensor(TensorEntry entry, const Source& source, bool with_file);
  // Returns the position of the entry of the file when it is wanted.
  [[nodiscard]] std::optional<std::uint64_t> wanted_file(const std::string& path) const;
  // Returns the positions of the wanted entries of a file, without the file entry when `with_file`
  // is false.
  [[nodiscard]] std::vector<std::uint64_t> wanted(const std::string& path, bool with_file) const;
  void leave_out(std::uint64_t position, const Error& why);
  [[nodiscard]] Status drop_file(const Error& why);
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> digest(
      gpu_hash::Engine& engine, const gpu_hash::Progress& progress, const std::stop_token& stop);
  [[nodiscard]] Status drop_changed(std::vector<gpu_hash::ObjectDigests>& digests);
  [[nodiscard]] const Object* at(std::uint64_t position) const;
  // Sets the roots of the entry of object `index`.
  void set_roots(std::size_t index, const std::vector<gpu_hash::ObjectDigests>& digests);

  TreeParameters parameters_;
  gpu_hash::CutRule rule_;
  bool all_ = false;      // no subset: tensors not in the manifest are hashed too, as many as fit
  bool tensors_ = false;  // entries of tensors are wanted
  std::set<std::string> covered_;  // paths of all file entries, also outside the subset
  std::vector<ExtraFile> extra_;
  std::uint64_t extra_count_ = 0;
  ExtraRoom room_;
  // Of all entries, by kind, file and name: see key() in the source.
  std::map<std::string, Position> positions_;
  std::vector<Object> objects_;  // in the order in which reading is fastest
  std::map<std::uint64_t, std::string> not_covered_;
};

}  // namespace assay::worker
