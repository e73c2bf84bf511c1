// SPDX-License-Identifier: Apache-2.0
#include "cli/audit/verifier_flags.h"

#include "client/files.h"

namespace assay::cli {

void add_verifier_options(const Command& verb, VerifierFlags& flags) {
  verb.option("--verifier-key", flags.key, "KEY",
              "the log's public key, name+hash+base64, as 'assayd init' printed it");
  verb.option("--verifier-key-file", flags.file, "FILE", "file with the log's public key");
}

Result<std::optional<attestation::NoteVerifier>> find_verifier(const VerifierFlags& flags) {
  if (!flags.key.empty() && !flags.file.empty()) {
    return fail(ErrorCode::kUsage, "Give --verifier-key or --verifier-key-file, not both");
  }
  std::string text = flags.key;
  if (!flags.file.empty()) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(flags.file, 65536));
    text = as_text(bytes);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
      text.pop_back();
    }
  }
  if (text.empty()) {
    return std::optional<attestation::NoteVerifier>();
  }
  ASSAY_ASSIGN(attestation::NoteVerifier verifier, attestation::parse_verifier_key(text));
  return std::optional(std::move(verifier));
}

}  // namespace assay::cli
