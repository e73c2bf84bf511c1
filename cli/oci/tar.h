// SPDX-License-Identifier: Apache-2.0
// Reads a tar archive piece by piece: ustar and pax (POSIX.1-2017, pax), and what GNU tar adds for
// long names and large files. Whatever else is in an archive is refused: what one reader takes for
// data must not be a file to another.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::oci {

inline constexpr std::size_t kMaxTarPath = 4096;          // bytes
inline constexpr std::size_t kMaxTarHeaders = 64U << 10;  // bytes of one extended header

enum class TarKind : std::uint8_t { kFile, kDirectory, kSymlink, kHardLink, kDevice };

struct TarEntry {
  // As in the archive, without a leading "./" and a trailing '/'. Empty: the root directory.
  std::string path;
  TarKind kind;
  std::uint64_t size = 0;  // of a file
};

// Gets what is in the archive. An error ends reading.
class TarSink {
 public:
  TarSink() = default;
  TarSink(const TarSink&) = delete;
  TarSink& operator=(const TarSink&) = delete;
  virtual ~TarSink() = default;
  // Called once for each entry; for a file then data() until its size is reached, then end().
  [[nodiscard]] virtual Status begin(const TarEntry& entry) = 0;
  [[nodiscard]] virtual Status data(ByteView piece) = 0;
  [[nodiscard]] virtual Status end() = 0;
};

class TarReader {
 public:
  explicit TarReader(TarSink& sink) : sink_(sink) {}

  // Errors: invalid-encoding for what is no such archive; limit-exceeded; those of the sink.
  [[nodiscard]] Status feed(ByteView piece);
  // Errors: invalid-encoding when the archive is not over.
  [[nodiscard]] Status finish() const;

 private:
  static constexpr std::size_t kBlock = 512;
  enum class What : std::uint8_t { kHeader, kFile, kPax, kGlobal, kLongName, kLongLink, kOver };

  [[nodiscard]] Status take_block();
  [[nodiscard]] Status begin_entry(char type, std::uint64_t size);
  [[nodiscard]] Status take_content(ByteView piece);
  [[nodiscard]] Status end_content();
  [[nodiscard]] Status read_pax(bool global);
  [[nodiscard]] Status take_pax(const std::string& key, const std::string& value, bool global);

  TarSink& sink_;
  What what_ = What::kHeader;
  std::array<std::uint8_t, kBlock> block_{};
  std::size_t filled_ = 0;     // bytes of block_
  std::uint64_t left_ = 0;     // bytes of the content
  std::uint64_t padding_ = 0;  // bytes after it
  std::string extended_;       // content of an extended header
  std::string next_path_;      // that an extended header gives the next entry
  bool has_path_ = false;
  std::uint64_t next_size_ = 0;
  bool has_size_ = false;
  int zero_blocks_ = 0;
};

}  // namespace assay::oci
