// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/packed.h"

#include <optional>
#include <string>
#include <utility>

#include <zlib.h>

#include "storage/sqlite/set_apart.h"

namespace assay::storage::sqlite {
namespace {

// The dictionary of kDeflated and kEnvelope, with the marks of set_apart.h and of this file: never
// change it. zlib finds what is near its end with fewer bits.
constexpr std::string_view kDictionary =
    R"("ancestor-unknown","image-not-allowed","mount-writable","node-not-enrolled",)"
    R"("predicate-mismatch","report-missing","report-stale","role-not-granted",)"
    R"("signers-insufficient","stage-missing","statement-stale","tcb-not-accepted",)"
    R"("no-matching-policy","release-missing","stage-evidence-missing","key-revoked",)"
    R"("condition-undecided","manifest-missing","node":"gpu-","point":"serve","point":"bind",)"
    R"("operation":"UPDATE","valid_until":"2026-01-01T00:00:00.000Z","warnings":[]},)"
    R"("point":"create","reasons":[],"verdict":"allow"},"documents":["{"actor":"admission",)"
    R"("detail":{"decision_id":")"
    "\x02"
    R"(","namespace":"default","point":"create","reasons":["statement-missing",)"
    R"("reference-unbound","volume-unaccounted"],"verdict":"deny"},"documents":["sha256:)"
    "\x01"
    R"(","sha256:)"
    "\x01"
    R"("],"subject":["assay-tree-v1-sha256:)"
    "\x01"
    R"("],"time":"2026-12-01T00:00:00.000Z","type":"decision.made","v":1}"tree_size":1,)"
    R"("verdict":{"allowed":false,"reasons":["reference-unbound","volume-unaccounted"],)"
    R"("warnings":[]}})"
    "\x04"
    R"(","payloadType":{"dry_run":false,"epochs":{"policy":1,"revocation":0,"trust":1},)"
    R"("evaluated_at":"2026-12-01T00:00:00.000Z","evaluator":9,"facts":"sha256:)"
    "\x01"
    R"(","format":3,"id":")"
    "\x02"
    R"(","models":[{"artifact":"assay-tree-v1-sha256:)"
    "\x01"
    R"(","name":"default/","reference":"assay:"}],"point":"create","replay_digest":"sha256:)"
    "\x01"
    R"(","request":{"kind":"Pod","name":"server-0","namespace":"default",)"
    R"("operation":"CREATE","principal":"cluster","uid":")"
    "\x02"
    R"(","user":"system:serviceaccount:kube-system:replicaset-controller",)"
    R"("via":"admission-validate"},"results":"sha256:)"
    "\x01"
    R"(","tree_size":1,"verdict":{"allowed":true,"reasons":[],"warnings":[]}})"
    "\x04"
    R"(","payloadType":"application/vnd.assay.decision+json","signatures":[{"keyid":")"
    "\x01"
    R"(","sig":")"
    "\x03"
    R"("}]})";

constexpr std::string_view kEnvelopeBegins = R"({"payload":")";
constexpr int kWindowBits = -13;  // raw deflate (no header of its own) over 8 KiB
constexpr int kMemoryLevel = 6;
constexpr int kLevel = 6;
// Between the payload of an envelope and what follows it.
constexpr char kPayloadEnds = '\x04';

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
  // When memory is short, no stream is made, and deflateReset() returns an error later.
  Deflater() {
    deflateInit2(&stream_, kLevel, Z_DEFLATED, kWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY);
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  // Nothing when zlib fails, such as for want of memory.
  std::optional<Bytes> deflate_whole(ByteView bytes) {
    if (deflateReset(&stream_) != Z_OK || !set_dictionary(stream_, deflateSetDictionary)) {
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
};

std::optional<Bytes> deflated(ByteView bytes) {
  thread_local Deflater deflater;
  return deflater.deflate_whole(bytes);
}

struct Inflated {
  Bytes bytes;
  ByteView rest;  // what follows the stream
};

// Nothing for what does not begin with a whole stream of at most kMaxPackedBytes.
std::optional<Inflated> inflated(ByteView bytes) {
  z_stream stream{};
  if (bytes.size() > kMaxPackedBytes || inflateInit2(&stream, kWindowBits) != Z_OK) {
    return std::nullopt;
  }
  Bytes out(kMaxPackedBytes);
  stream.next_in = bytes_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done =
      set_dictionary(stream, inflateSetDictionary) && inflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  const ByteView rest = bytes.last(stream.avail_in);
  inflateEnd(&stream);
  return done ? std::optional(Inflated{std::move(out), rest}) : std::nullopt;
}

// The text deflated, then its binary values.
std::optional<Bytes> packed_text(ByteView bytes) {
  const auto parts = set_apart(as_text(bytes));
  auto column = parts ? deflated(as_bytes(parts->text)) : std::nullopt;
  if (column) {
    column->insert(column->end(), parts->values.begin(), parts->values.end());
  }
  return column;
}

std::optional<std::string> unpacked_text(ByteView column) {
  const auto parts = inflated(column);
  return parts ? put_back(as_text(parts->bytes), parts->rest) : std::nullopt;
}

// The payload as it is, a mark, and what follows the payload. Nothing for what could not be joined
// again.
std::optional<std::string> opened(std::string_view envelope) {
  if (!envelope.starts_with(kEnvelopeBegins) || envelope.contains(kPayloadEnds)) {
    return std::nullopt;
  }
  const std::string_view after = envelope.substr(kEnvelopeBegins.size());
  const std::size_t end = after.find('"');
  const auto payload =
      end == after.npos ? Result<Bytes>(Bytes()) : base64_decode(after.substr(0, end));
  if (end == after.npos || !payload || as_text(*payload).contains(kPayloadEnds)) {
    return std::nullopt;
  }
  return std::string(as_text(*payload)) + kPayloadEnds + std::string(after.substr(end));
}

std::optional<std::string> closed(std::string_view opened) {
  const std::size_t end = opened.find(kPayloadEnds);
  if (end == opened.npos) {
    return std::nullopt;
  }
  return std::string(kEnvelopeBegins) + base64_encode(as_bytes(opened.substr(0, end))) +
         std::string(opened.substr(end + 1));
}

std::optional<Bytes> packed_envelope(ByteView bytes) {
  const auto text = opened(as_text(bytes));
  return text ? packed_text(as_bytes(*text)) : std::nullopt;
}

std::optional<std::string> unpacked_envelope(ByteView column) {
  const auto text = unpacked_text(column);
  return text ? closed(*text) : std::nullopt;
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
  return packed_or_plain(bytes, PackedForm::kDeflated, packed_text);
}

Result<Bytes> unpack(std::int64_t form, ByteView column) {
  if (form == std::to_underlying(PackedForm::kPlain)) {
    return Bytes(column.begin(), column.end());
  }
  std::optional<std::string> text;
  if (form == std::to_underlying(PackedForm::kDeflated)) {
    text = unpacked_text(column);
  } else if (form == std::to_underlying(PackedForm::kEnvelope)) {
    text = unpacked_envelope(column);
  }
  return text ? Result<Bytes>(to_bytes(*text))
              : Result<Bytes>(fail(ErrorCode::kDataLoss, "stored bytes cannot be unpacked"));
}

}  // namespace assay::storage::sqlite
