// SPDX-License-Identifier: Apache-2.0
// Checkpoints of Rekor.
#include "attestation/sigstore/log_checkpoint.h"

#include <algorithm>
#include <charconv>

#include "schemas/core/sha.h"

namespace assay::attestation::sigstore {
namespace {

constexpr std::size_t kKeyHashBytes = 4;
constexpr std::size_t kMaxSizeDigits = 19;
constexpr std::string_view kSignatureMark = "\u2014 ";  // em dash and a space
constexpr std::string_view kShardMark = " - ";

std::unexpected<Error> bad_note(const char* why) {
  return fail(ErrorCode::kMalformedCheckpoint, why);
}

// Takes one line, without its newline, from the front of `text`, which ends with a newline.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool is_printable_line(std::string_view line) {
  return !line.empty() && is_utf8(line) &&
         std::ranges::none_of(line, [](char c) { return c >= 0 && (c < ' ' || c == 0x7f); });
}

// Decimal without leading zeros.
Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || text.size() > kMaxSizeDigits || error != std::errc{} ||
      end != text.data() + text.size() || (text.front() == '0' && text.size() > 1)) {
    return bad_note("the tree size is not a decimal number");
  }
  return size;
}

Result<NoteSignature> parse_note_signature(std::string_view line) {
  if (!line.starts_with(kSignatureMark)) {
    return bad_note("a signature line starts with an em dash and a space");
  }
  line.remove_prefix(kSignatureMark.size());
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || !is_printable_line(line.substr(0, space))) {
    return bad_note("a signature line names no key");
  }
  const auto raw = base64_decode(line.substr(space + 1));
  if (!raw || raw->size() <= kKeyHashBytes) {
    return bad_note("a signature is not key hash and signature in base64");
  }
  const auto split = raw->begin() + kKeyHashBytes;
  return NoteSignature{std::string(line.substr(0, space)), Bytes(raw->begin(), split),
                       Bytes(split, raw->end())};
}

// signed-note: of an Ed25519 key, the hash binds name and key; of an ECDSA key (type 0x02), it is
// that of the SubjectPublicKeyInfo alone.
Result<Bytes> key_hash(std::string_view name, const PublicKey& key) {
  if (key.algorithm() == SignatureAlgorithm::kEd25519) {
    return note_key_hash(name, key.der());
  }
  const Digest digest = sha256(key.der());
  const ByteView hash = digest.bytes().first(kKeyHashBytes);
  return Bytes(hash.begin(), hash.end());
}

bool is_origin_of(std::string_view origin, std::string_view name) {
  return origin == name ||
         (origin.starts_with(name) && origin.substr(name.size()).starts_with(kShardMark));
}

}  // namespace

Result<LogCheckpoint> parse_log_checkpoint(std::string_view note) {
  // tlog-checkpoint: no line of the text is empty, so the first empty one ends it.
  constexpr std::string_view kBlank = "\n\n";
  const std::size_t blank = note.find(kBlank);
  if (blank == std::string_view::npos || !note.ends_with('\n')) {
    return bad_note("a note has a text, an empty line and signatures");
  }
  const std::string_view text = note.substr(0, blank + 1);
  std::string_view lines = text;
  const std::string_view origin = take_line(lines);
  const std::string_view size_text = take_line(lines);
  const std::string_view root_text = take_line(lines);
  if (!is_printable_line(origin)) {
    return bad_note("the origin is empty or not printable");
  }
  ASSAY_ASSIGN(const std::uint64_t size, parse_size(size_text));
  const auto root = base64_decode(root_text);
  if (!root || root->size() != digest_size(HashAlgorithm::kSha256)) {
    return bad_note("the root hash is not 32 bytes in base64");
  }
  while (!lines.empty()) {
    if (!is_printable_line(take_line(lines))) {
      return bad_note("a further line is empty or not printable");
    }
  }
  LogCheckpoint checkpoint{std::string(origin),
                           size,
                           Digest::wrap(HashAlgorithm::kSha256, root->data()),
                           std::string(text),
                           {}};
  std::string_view signatures = note.substr(blank + kBlank.size());
  while (!signatures.empty()) {
    if (checkpoint.signatures.size() == kMaxNoteSignatures) {
      return bad_note("a note has too many signatures");
    }
    ASSAY_ASSIGN(NoteSignature signature, parse_note_signature(take_line(signatures)));
    checkpoint.signatures.push_back(std::move(signature));
  }
  return checkpoint;
}

Status verify_log_checkpoint(const LogCheckpoint& checkpoint, const Log& log) {
  if (log.key == nullptr) {
    return fail(ErrorCode::kUnsupportedKey,
                "the log's key is of an algorithm that is not supported");
  }
  const std::string_view name = log.host();
  if (!is_origin_of(checkpoint.origin, name)) {
    return fail(ErrorCode::kSignatureMissing,
                "the checkpoint is of another log than " + log.base_url);
  }
  ASSAY_ASSIGN(const Bytes hash, key_hash(name, *log.key));
  bool is_signed = false;
  for (const NoteSignature& signature : checkpoint.signatures) {
    if (signature.key_name != name || signature.key_hash != hash) {
      continue;
    }
    if (!log.key->verify(as_bytes(checkpoint.text), signature.signature)) {
      return fail(ErrorCode::kSignatureInvalid,
                  "the log's signature of the checkpoint does not verify");
    }
    is_signed = true;
  }
  if (!is_signed) {
    return fail(ErrorCode::kSignatureMissing, "the checkpoint has no signature of " + log.base_url);
  }
  return {};
}

}  // namespace assay::attestation::sigstore
