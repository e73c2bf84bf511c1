// SPDX-License-Identifier: Apache-2.0
#include "schemas/tlog_proof.h"

#include <charconv>

#include "schemas/core/bytes.h"

namespace assay {
namespace {

constexpr std::string_view kFirstLine = "c2sp.org/tlog-proof@v1";
constexpr std::string_view kIndexPrefix = "index ";
constexpr std::size_t kMaxPath = 64;  // of a tree with 2^64 leaves
constexpr std::size_t kMaxProofBytes = 1U << 20;

std::unexpected<Error> no_proof(const char* why) { return fail(ErrorCode::kProofInvalid, why); }

// Takes one line, without its newline, from the front of `text`.
Result<std::string_view> next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) {
    return no_proof("the proof ends before its checkpoint");
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

// Decimal without leading zeros.
Result<LeafIndex> index_in(std::string_view line) {
  if (!line.starts_with(kIndexPrefix)) {
    return no_proof("the second line of a proof is its index");
  }
  line.remove_prefix(kIndexPrefix.size());
  LeafIndex index = 0;
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, index);
  if (error != std::errc() || stop != end || (line.starts_with('0') && line.size() > 1)) {
    return no_proof("the index is not a decimal number");
  }
  return index;
}

}  // namespace

std::string encode(const TlogProof& proof) {
  std::string text(kFirstLine);
  text.append("\n").append(kIndexPrefix).append(std::to_string(proof.index)).append("\n");
  for (const Digest& digest : proof.path) {
    text += base64_encode(digest.bytes()) + "\n";
  }
  return text + "\n" + proof.checkpoint;
}

Result<TlogProof> parse_tlog_proof(std::string_view text) {
  if (text.size() > kMaxProofBytes) {
    return no_proof("the proof is longer than 1 MiB");
  }
  ASSAY_ASSIGN(const std::string_view first, next_line(text));
  if (first != kFirstLine) {
    return no_proof("the first line is not that of a proof");
  }
  TlogProof proof{0, {}, {}};
  ASSAY_ASSIGN(const std::string_view second, next_line(text));
  ASSAY_ASSIGN(proof.index, index_in(second));
  for (;;) {
    ASSAY_ASSIGN(const std::string_view line, next_line(text));
    if (line.empty()) {
      break;
    }
    const auto bytes = base64_decode(line);
    if (!bytes || bytes->size() != digest_size(HashAlgorithm::kSha256) ||
        proof.path.size() == kMaxPath) {
      return no_proof("a line of the path is not the base64 of a SHA-256");
    }
    proof.path.push_back(Digest::wrap(HashAlgorithm::kSha256, bytes->data()));
  }
  proof.checkpoint = std::string(text);
  return proof;
}

}  // namespace assay
