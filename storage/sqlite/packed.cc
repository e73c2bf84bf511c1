// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/packed.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <zlib.h>

namespace assay::storage::sqlite {
namespace {

// The dictionary of kDeflated and kEnvelope: never change it. zlib finds what is near its end with
// fewer bits.
constexpr std::string_view kDictionary =
    R"("valid_until":"2026-01-01T00:00:00.000Z","warnings":[]},"operation":"UPDATE","serve","bind",)"
    R"("node":"gpu-","ancestor-unknown","image-not-allowed","mount-writable","node-not-enrolled",)"
    R"("predicate-mismatch","reference-unbound","report-missing","report-stale","role-not-granted",)"
    R"("signers-insufficient","stage-missing","statement-missing","statement-stale",)"
    R"("tcb-not-accepted","volume-unaccounted","manifest-missing","no-matching-policy",)"
    R"("release-missing","stage-evidence-missing","key-revoked","condition-undecided",)"
    R"({"actor":"admission","detail":{"decision_id":"0199","namespace":"default","node":"gpu-",)"
    R"("point":"create","reasons":["manifest-missing"],"verdict":"deny"},"documents":["sha256:)"
    R"(","sha256:"],"subject":["assay-tree-v1-sha256:"],"time":"2026-)"
    R"("},"type":"decision.made","v":1}"reasons":[],"verdict":"allow"},"documents":["sha256:)"
    R"({"dry_run":false,"epochs":{"policy":1,"revocation":0,"trust":1},"evaluated_at":"2026-)"
    R"(.000Z","evaluator":7,"facts":"sha256:","format":3,"id":"0199-7","models":[{"artifact":)"
    R"("assay-tree-v1-sha256:","name":"acme/"}],"point":"create","replay_digest":"sha256:)"
    R"(","request":{"kind":"Pod","name":"","namespace":"default","operation":"CREATE","principal":)"
    R"("cluster","uid":"-4-8","user":"system:serviceaccount:kube-system:replicaset-controller",)"
    R"("via":"admission-validate"},"results":"sha256:","tree_size":1,"verdict":{"allowed":false,)"
    R"("reasons":["manifest-missing"],"warnings":[]}}"verdict":{"allowed":true,"reasons":[],)"
    R"("warnings":[]}}","payloadType":"application/vnd.assay.decision+json","signatures":[{"keyid":)"
    R"("","sig":"=="}]})";

constexpr std::string_view kEnvelopeBegins = R"({"payload":")";
constexpr int kWindowBits = -13;  // raw deflate (no header of its own) over 8 KiB
constexpr int kMemoryLevel = 6;
constexpr int kLevel = 6;
constexpr unsigned kDigitBits = 7;
constexpr unsigned kMoreDigits = 0x80;
constexpr unsigned kMaxDigits = 3;  // of a number below 2^21

unsigned char* bytes_of(ByteView view) {
  return const_cast<unsigned char*>(view.data());  // zlib 1.2 writes to neither
}

bool set_dictionary(z_stream& stream, int (*set)(z_stream*, const Bytef*, uInt)) {
  return set(&stream, bytes_of(as_bytes(kDictionary)), static_cast<uInt>(kDictionary.size())) ==
         Z_OK;
}

// A stream for the many small texts that one thread packs: making its 90 KiB anew for each is a
// third of the work.
class Deflater {
 public:
  Deflater()
      : made_(deflateInit2(&stream_, kLevel, Z_DEFLATED, kWindowBits, kMemoryLevel,
                           Z_DEFAULT_STRATEGY) == Z_OK) {}
  ~Deflater() {
    if (made_) {
      deflateEnd(&stream_);
    }
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  // Nothing when zlib fails, such as for want of memory.
  std::optional<Bytes> deflate_whole(ByteView bytes) {
    if (!made_ || deflateReset(&stream_) != Z_OK ||
        !set_dictionary(stream_, deflateSetDictionary)) {
      return std::nullopt;
    }
    Bytes out(deflateBound(&stream_, static_cast<uLong>(bytes.size())));
    stream_.next_in = bytes_of(bytes);
    stream_.avail_in = static_cast<uInt>(bytes.size());
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(out.size());
    const bool done = deflate(&stream_, Z_FINISH) == Z_STREAM_END;
    out.resize(stream_.total_out);
    return done ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  z_stream stream_{};
  bool made_;
};

std::optional<Bytes> deflated(ByteView bytes) {
  thread_local Deflater deflater;
  return deflater.deflate_whole(bytes);
}

// Nothing for anything but one whole stream of at most kMaxPackedBytes.
std::optional<Bytes> inflated(ByteView bytes) {
  z_stream stream{};
  if (bytes.size() > kMaxPackedBytes || inflateInit2(&stream, kWindowBits) != Z_OK) {
    return std::nullopt;
  }
  Bytes out(kMaxPackedBytes);
  stream.next_in = bytes_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = set_dictionary(stream, inflateSetDictionary) &&
                    inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0;
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return done ? std::optional(std::move(out)) : std::nullopt;
}

void append(Bytes& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

Bytes joined(ByteView a, ByteView b) {
  Bytes out;
  out.reserve(a.size() + b.size());
  append(out, a);
  append(out, b);
  return out;
}

// An envelope without the base64 of its payload.
struct Opened {
  Bytes payload;
  ByteView rest;  // from the quotation mark after the payload on
};

// Nothing for what joining the parts again would not give back.
std::optional<Opened> opened(ByteView bytes) {
  const std::string_view text = as_text(bytes);
  if (!text.starts_with(kEnvelopeBegins)) {
    return std::nullopt;
  }
  const std::size_t end = text.find('"', kEnvelopeBegins.size());
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view encoded =
      text.substr(kEnvelopeBegins.size(), end - kEnvelopeBegins.size());
  auto payload = base64_decode(encoded);
  if (!payload || base64_encode(*payload) != encoded) {
    return std::nullopt;
  }
  return Opened{*std::move(payload), bytes.subspan(end)};
}

Bytes digits_of(std::size_t number) {
  Bytes digits;
  for (; number >= kMoreDigits; number >>= kDigitBits) {
    digits.push_back(static_cast<std::uint8_t>((number & (kMoreDigits - 1)) | kMoreDigits));
  }
  digits.push_back(static_cast<std::uint8_t>(number));
  return digits;
}

// Takes the number off the front.
std::optional<std::size_t> take_number(ByteView& bytes) {
  std::size_t number = 0;
  for (unsigned digit = 0; digit < kMaxDigits && !bytes.empty(); ++digit) {
    const std::size_t value = bytes.front();
    bytes = bytes.subspan(1);
    number |= (value & (kMoreDigits - 1)) << (digit * kDigitBits);
    if (value < kMoreDigits) {
      return number;
    }
  }
  return std::nullopt;
}

std::optional<Bytes> packed_envelope(ByteView bytes) {
  const auto parts = opened(bytes);
  const auto stream = parts ? deflated(joined(parts->payload, parts->rest)) : std::nullopt;
  return stream ? std::optional(joined(digits_of(parts->payload.size()), *stream)) : std::nullopt;
}

std::optional<Bytes> unpacked_envelope(ByteView column) {
  const auto length = take_number(column);
  const auto both = length ? inflated(column) : std::nullopt;
  if (!both || *length > both->size()) {
    return std::nullopt;
  }
  const ByteView parts(*both);
  Bytes out;
  append(out, as_bytes(kEnvelopeBegins));
  append(out, as_bytes(base64_encode(parts.first(*length))));
  append(out, parts.subspan(*length));
  return out;
}

Packed packed_or_plain(ByteView bytes, PackedForm form, std::optional<Bytes> (*packed)(ByteView)) {
  auto column = bytes.size() <= kMaxPackedBytes ? packed(bytes) : std::nullopt;
  return column && column->size() < bytes.size() ? Packed{form, *std::move(column)} : Packed{};
}

}  // namespace

Packed pack_document(ByteView bytes) {
  return packed_or_plain(bytes, PackedForm::kEnvelope, packed_envelope);
}

Packed pack_record(ByteView bytes) {
  return packed_or_plain(bytes, PackedForm::kDeflated, deflated);
}

Result<Bytes> unpack(std::int64_t form, ByteView column) {
  std::optional<Bytes> bytes;
  if (form == std::to_underlying(PackedForm::kPlain)) {
    bytes = Bytes(column.begin(), column.end());
  } else if (form == std::to_underlying(PackedForm::kDeflated)) {
    bytes = inflated(column);
  } else if (form == std::to_underlying(PackedForm::kEnvelope)) {
    bytes = unpacked_envelope(column);
  }
  return bytes ? Result<Bytes>(*std::move(bytes))
               : Result<Bytes>(fail(ErrorCode::kDataLoss, "stored bytes cannot be unpacked"));
}

}  // namespace assay::storage::sqlite
