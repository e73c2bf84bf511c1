// SPDX-License-Identifier: Apache-2.0
// Layers of images: an archive reads as the same whole and byte by byte, every file gets the bytes
// that its size says, and no path ends with '/'. Compressed ones end within their
// limits.
#include <cstdlib>
#include <string>

#include "cli/oci/gunzip.h"
#include "cli/oci/tar.h"

namespace {

using namespace assay;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// Writes down what it gets.
class Notes final : public oci::TarSink {
 public:
  Status begin(const oci::TarEntry& entry) override {
    require(!open_ && !entry.path.ends_with('/'));
    open_ = entry.kind == oci::TarKind::kFile;
    left_ = entry.size;
    require(open_ || left_ == 0);
    text += "\n" + entry.path + "\n" + std::to_string(static_cast<int>(entry.kind)) + " " +
            std::to_string(entry.size) + ":";
    return {};
  }
  Status data(ByteView piece) override {
    require(open_ && piece.size() <= left_);
    left_ -= piece.size();
    text += as_text(piece);
    return {};
  }
  Status end() override {
    require(open_ && left_ == 0);
    open_ = false;
    return {};
  }

  std::string text;

 private:
  bool open_ = false;
  std::uint64_t left_ = 0;
};

bool read(ByteView bytes, std::size_t step, Notes& notes) {
  oci::TarReader reader(notes);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    if (!reader.feed(bytes.subspan(at, std::min(step, bytes.size() - at)))) {
      return false;
    }
  }
  return reader.finish().has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  Notes whole;
  const bool right = read(bytes, std::max<std::size_t>(size, 1), whole);
  for (const std::size_t step : {std::size_t{1}, std::size_t{511}}) {
    Notes pieces;
    require(read(bytes, step, pieces) == right && pieces.text == whole.text);
  }
  oci::Gunzip gunzip;
  std::uint64_t out = 0;
  const Status status = gunzip.feed(bytes, [&out](ByteView piece) {
    out += piece.size();
    return Status();
  });
  require(out <= oci::kFreeBytes + (std::uint64_t{1} << 20) || out / oci::kMaxRatio <= size + 1);
  static_cast<void>(status);
  return 0;
}
