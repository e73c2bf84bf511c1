// SPDX-License-Identifier: Apache-2.0
// C2SP signed-note and tlog-checkpoint (https://c2sp.org/signed-note,
// https://c2sp.org/tlog-checkpoint).
#include "schemas/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"

namespace assay {
namespace {

constexpr std::size_t kMaxNote = 1'000'000;
constexpr std::size_t kMaxNoteSignatures = 16;
constexpr std::size_t kKeyHashSize = 4;
constexpr std::size_t kMaxSizeDigits = 19;
constexpr std::uint8_t kEd25519Note = 0x01;
constexpr std::string_view kSignaturePrefix = "\u2014 ";  // em dash and a space

// SubjectPublicKeyInfo of an Ed25519 key up to the key itself (RFC 8410 section 4).
constexpr std::array<std::uint8_t, 12> kEd25519Spki = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                       0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
constexpr std::size_t kEd25519KeySize = 32;

std::unexpected<Error> malformed(const char* why) {
  return fail(ErrorCode::kMalformedCheckpoint, why);
}

// signed-note: a key name is not empty and holds neither Unicode spaces nor plus signs.
bool is_key_name(std::string_view name) {
  constexpr std::array<std::string_view, 22> kForbidden = {
      "+",      " ",      "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",
      "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
      "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\x7f"};
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  return !name.empty() && is_utf8(name) && std::none_of(name.begin(), name.end(), is_control) &&
         std::none_of(kForbidden.begin(), kForbidden.end(), [&](std::string_view part) {
           return name.find(part) != std::string_view::npos;
         });
}

// The 0x01 || key of an Ed25519 SubjectPublicKeyInfo.
Result<Bytes> note_key(ByteView public_key) {
  const bool ed25519 = public_key.size() == kEd25519Spki.size() + kEd25519KeySize &&
                       std::equal(kEd25519Spki.begin(), kEd25519Spki.end(), public_key.begin());
  if (!ed25519) {
    return fail(ErrorCode::kUnsupportedKey, "checkpoints are signed with Ed25519 keys");
  }
  Bytes key = {kEd25519Note};
  key.insert(key.end(), public_key.begin() + kEd25519Spki.size(), public_key.end());
  return key;
}

// Takes one line, without its newline, from the front of `text`; nothing when there is none.
bool take_line(std::string_view& text, std::string_view& line) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) {
    return false;
  }
  line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

// Decimal without leading zeros.
Result<TreeSize> parse_size(std::string_view text) {
  TreeSize size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || text.size() > kMaxSizeDigits || error != std::errc{} ||
      end != text.data() + text.size() || (text.front() == '0' && text.size() > 1)) {
    return malformed("the tree size is not a decimal number");
  }
  return size;
}

// tlog-checkpoint: origin, size, root, each on a line; extension lines are refused.
Result<Checkpoint> parse_text(std::string_view text) {
  std::string_view origin;
  std::string_view size_text;
  std::string_view root_text;
  if (!take_line(text, origin) || !take_line(text, size_text) || !take_line(text, root_text) ||
      !text.empty()) {
    return malformed("a checkpoint has exactly the lines origin, size and root");
  }
  if (!is_key_name(origin)) {
    return malformed("the origin is not a key name");
  }
  ASSAY_ASSIGN(const TreeSize size, parse_size(size_text));
  const auto root = base64_decode(root_text);
  if (!root || root->size() != digest_size(HashAlgorithm::kSha256)) {
    return malformed("the root hash is not 32 bytes in base64");
  }
  Checkpoint checkpoint{std::string(origin), size,
                        Digest::wrap(HashAlgorithm::kSha256, root->data())};
  if (size == 0 && checkpoint.root != merkle_empty(HashAlgorithm::kSha256)) {
    return malformed("the root of an empty tree is the hash of nothing");
  }
  return checkpoint;
}

// signed-note: em dash, space, key name, space, base64 of key hash and signature.
Result<NoteSignature> parse_signature(std::string_view line) {
  if (!line.starts_with(kSignaturePrefix)) {
    return malformed("a signature line starts with an em dash and a space");
  }
  line.remove_prefix(kSignaturePrefix.size());
  const std::size_t space = line.find(' ');
  const std::string_view key_name = line.substr(0, space);
  if (space == std::string_view::npos || !is_key_name(key_name)) {
    return malformed("a signature line names no key");
  }
  const auto raw = base64_decode(line.substr(space + 1));
  if (!raw || raw->size() <= kKeyHashSize) {
    return malformed("a signature is not key hash and signature in base64");
  }
  const auto split = raw->begin() + kKeyHashSize;
  return NoteSignature{std::string(key_name), Bytes(raw->begin(), split), Bytes(split, raw->end())};
}

}  // namespace

std::string checkpoint_text(const Checkpoint& checkpoint) {
  return checkpoint.origin + "\n" + std::to_string(checkpoint.size) + "\n" +
         base64_encode(checkpoint.root.bytes()) + "\n";
}

Result<Bytes> note_key_spki(ByteView key) {
  if (key.size() != 1 + kEd25519KeySize || key.front() != kEd25519Note) {
    return fail(ErrorCode::kUnsupportedKey, "checkpoints are signed with Ed25519 keys");
  }
  Bytes spki(kEd25519Spki.begin(), kEd25519Spki.end());
  spki.insert(spki.end(), key.begin() + 1, key.end());
  return spki;
}

Result<Bytes> note_key_hash(std::string_view key_name, ByteView public_key) {
  ASSAY_ASSIGN(const Bytes key, note_key(public_key));
  const Digest digest =
      sha(HashAlgorithm::kSha256, {as_bytes(key_name), as_bytes("\n"), ByteView(key)});
  const ByteView hash = digest.bytes().first(kKeyHashSize);
  return Bytes(hash.begin(), hash.end());
}

Result<std::string> note_verifier_key(std::string_view key_name, ByteView public_key) {
  if (!is_key_name(key_name)) {
    return malformed("a key name is not empty and holds no spaces and no '+'");
  }
  ASSAY_ASSIGN(const Bytes hash, note_key_hash(key_name, public_key));
  ASSAY_ASSIGN(const Bytes key, note_key(public_key));
  return std::string(key_name) + "+" + hex_encode(hash) + "+" + base64_encode(key);
}

Result<std::string> sign_checkpoint(const Checkpoint& checkpoint, const Signer& signer) {
  ASSAY_ASSIGN(Bytes signed_bytes, note_key_hash(checkpoint.origin, signer.public_key()));
  const std::string text = checkpoint_text(checkpoint);
  ASSAY_TRY(parse_text(text));  // nothing is signed that no reader would take
  ASSAY_ASSIGN(const Bytes signature, signer.sign(as_bytes(text)));
  signed_bytes.insert(signed_bytes.end(), signature.begin(), signature.end());
  return text + "\n" + std::string(kSignaturePrefix) + checkpoint.origin + " " +
         base64_encode(signed_bytes) + "\n";
}

Result<SignedCheckpoint> parse_checkpoint(std::string_view note) {
  if (note.size() > kMaxNote || !is_utf8(note)) {
    return malformed("a checkpoint is UTF-8 text of at most 1000000 bytes");
  }
  // signed-note: the text ends in a newline, then an empty line, then the signatures. The text of a
  // checkpoint holds no empty line, so the first one ends it.
  const std::size_t blank = note.find("\n\n");
  if (blank == std::string_view::npos) {
    return malformed("there is no empty line between text and signatures");
  }
  const std::string_view text = note.substr(0, blank + 1);
  ASSAY_ASSIGN(Checkpoint checkpoint, parse_text(text));
  SignedCheckpoint out{std::move(checkpoint), std::string(text), {}};
  std::string_view rest = note.substr(blank + 2);
  std::string_view line;
  while (take_line(rest, line)) {
    if (out.signatures.size() == kMaxNoteSignatures) {
      return malformed("a checkpoint has at most 16 signatures");
    }
    ASSAY_ASSIGN(NoteSignature signature, parse_signature(line));
    out.signatures.push_back(std::move(signature));
  }
  if (!rest.empty() || out.signatures.empty()) {
    return malformed("signature lines are missing or the last one does not end");
  }
  return out;
}

}  // namespace assay
