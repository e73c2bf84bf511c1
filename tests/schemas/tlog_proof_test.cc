// SPDX-License-Identifier: Apache-2.0
// Proofs of the log in the text form of C2SP.
#include "schemas/tlog_proof.h"

#include <gtest/gtest.h>

#include "schemas/core/sha.h"

namespace assay {
namespace {

TlogProof proof_of(std::size_t steps) {
  TlogProof proof{42, {}, "example.com/log\n43\nroot\n\nsignature\n"};
  for (std::size_t i = 0; i < steps; ++i) {
    proof.path.push_back(sha256(as_bytes(std::to_string(i))));
  }
  return proof;
}

TEST(TlogProof, WrittenProof_IsReadAgain) {
  for (const std::size_t steps : {0U, 1U, 64U}) {
    EXPECT_EQ(parse_tlog_proof(encode(proof_of(steps))).value(), proof_of(steps));
  }
}

TEST(TlogProof, OtherForms_AreRefused) {
  const std::string good = encode(proof_of(2));
  const auto with = [&](const std::string& old, const std::string& text) {
    std::string changed = good;
    changed.replace(changed.find(old), old.size(), text);
    return changed;
  };
  const std::string one(44, 'A');
  for (const std::string& text :
       {std::string(), with("@v1", "@v2"), with("index 42", "index 042"),
        with("index 42", "index "), with("index 42", "index -1"),
        with("index 42", "index 18446744073709551616"), with("index 42", "extra AAAA\nindex 42"),
        with("index 42\n", "index 42\nAAAA\n"), with("index 42\n", "index 42\n" + one + "\n"),
        good.substr(0, good.find("\n\n") + 1), encode(proof_of(65))}) {
    const auto parsed = parse_tlog_proof(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kProofInvalid);
  }
}

}  // namespace
}  // namespace assay
