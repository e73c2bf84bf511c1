// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/gunzip.h"

#include <cstdlib>

#include <zlib.h>

namespace assay::oci {
namespace {

constexpr std::size_t kOutBytes = std::size_t{256} << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;

}  // namespace

struct Gunzip::State {
  z_stream stream{};
  Bytes out = Bytes(kOutBytes);
  std::uint64_t in_bytes = 0;
  std::uint64_t out_bytes = 0;
  bool between = true;  // members
  bool any = false;
};

Gunzip::Gunzip() : state_(std::make_unique<State>()) {
  if (inflateInit2(&state_->stream, kGzipOnly) != Z_OK) {
    std::abort();  // memory
  }
}

Gunzip::~Gunzip() { inflateEnd(&state_->stream); }

Status Gunzip::feed(ByteView piece, const Take& take) {
  State& state = *state_;
  z_stream& stream = state.stream;
  stream.next_in = const_cast<Bytef*>(piece.data());  // zlib does not write there
  stream.avail_in = static_cast<uInt>(piece.size());
  state.in_bytes += piece.size();
  bool more = true;
  while (stream.avail_in > 0 || (more && !state.between)) {
    if (state.between) {
      if (state.any && inflateReset(&stream) != Z_OK) {
        return fail(ErrorCode::kInvalidEncoding, "The gzip stream cannot be read");
      }
      state.between = false;
      state.any = true;
    }
    stream.next_out = state.out.data();
    stream.avail_out = static_cast<uInt>(state.out.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      return fail(ErrorCode::kInvalidEncoding, "The gzip stream cannot be read");
    }
    const std::size_t got = state.out.size() - stream.avail_out;
    more = stream.avail_out == 0;
    state.out_bytes += got;
    if (state.out_bytes > kFreeBytes && state.out_bytes / kMaxRatio > state.in_bytes) {
      return fail(ErrorCode::kLimitExceeded, "The layer decompresses to more than " +
                                                 std::to_string(kMaxRatio) + " times its size");
    }
    if (got != 0) {
      ASSAY_TRY(take(ByteView(state.out).first(got)));
    }
    state.between = code == Z_STREAM_END;
    if (code == Z_BUF_ERROR && got == 0) {
      break;
    }
  }
  return {};
}

Status Gunzip::finish() const {
  return state_->any && state_->between
             ? Status()
             : fail(ErrorCode::kInvalidEncoding, "The gzip stream ends too early");
}

}  // namespace assay::oci
