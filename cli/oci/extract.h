// SPDX-License-Identifier: Apache-2.0
// The files of a model from the layers of an image: of KServe's modelcars, whose models lie below
// /models of a container image, and of ModelPack (media types application/vnd.cncf.model.*).
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "cli/oci/source.h"
#include "cli/oci/staging.h"
#include "cli/oci/tar.h"

namespace assay::oci {

inline constexpr std::uint64_t kMaxModelFiles = 100000;
inline constexpr std::uint64_t kMaxModelBytes = std::uint64_t{1} << 41;  // 2 TiB; --max-size

struct ExtractOptions {
  // Directory of the image that is the model: "models". Empty: all of it. Not for ModelPack, whose
  // layers hold nothing else.
  std::string below;
  std::uint64_t max_bytes = kMaxModelBytes;
};

struct Extracted {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool model_pack = false;
};

// Writes the files below `directory` of the staging. Layers are applied in their order, and a file
// of a later one replaces that of an earlier one. Errors: unsupported-media-type for layers of
// other types; unsupported-file-type for a link or device below the model's directory, or in place
// of it; invalid-path for a path that leads out, is there twice in one layer, or is a file here and
// a directory there; invalid-encoding for archives that cannot be read, and for layers that delete
// what others have; limit-exceeded; not-found when there is no file; those of save_blob().
[[nodiscard]] Result<Extracted> extract_model(Source& source, const Manifest& manifest,
                                              const ExtractOptions& options, Staging& staging,
                                              const std::string& directory);

// What receives the entries of one layer. Here for its fuzz target and tests.
class LayerSink final : public TarSink {
 public:
  LayerSink(int base, const ExtractOptions& options, Extracted& so_far)
      : base_(base), options_(options), so_far_(so_far) {}

  [[nodiscard]] Status begin(const TarEntry& entry) override;
  [[nodiscard]] Status data(ByteView piece) override;
  [[nodiscard]] Status end() override;

  // Makes room for a file of the model, and opens it.
  [[nodiscard]] Result<Descriptor> place(const std::string& path, std::uint64_t size);

 private:
  // The path below the model's directory; nothing when the entry lies elsewhere.
  [[nodiscard]] Result<std::string> path_of(const TarEntry& entry) const;

  int base_;
  const ExtractOptions& options_;
  Extracted& so_far_;
  std::set<std::string> paths_;  // of this layer
  std::uint64_t directories_ = 0;
  Descriptor file_;  // empty: the entry is skipped
};

}  // namespace assay::oci
