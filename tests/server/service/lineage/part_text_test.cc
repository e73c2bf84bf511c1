// SPDX-License-Identifier: Apache-2.0
// The text of a statement's part is what canonical_json() makes of its document.
#include "server/service/lineage/part_text.h"

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "server/service/facts/case_parts.h"
#include "tests/support/vectors.h"

namespace assay::server {
namespace {

using assay::test::code_of;

policy::SignerFact signer(const std::string& name, int seconds) {
  return {{.id = KeyId(sha256(as_bytes(name))),
           .algorithm = SignatureAlgorithm::kEd25519,
           .public_key = {},
           .purpose = KeyPurpose::kSigner,
           .identity = name,
           .roles = {},
           .not_before = {},
           .not_after = {},
           .revoked = {}},
          Timestamp(std::chrono::seconds(seconds))};
}

policy::LineageStatement sample() {
  policy::StatementFact fact{.id = StatementId(sha256(as_bytes("statement"))),
                             .predicate_type = "https://slsa.dev/provenance/v1",
                             .stage = "train",
                             .predicate = nullptr,
                             .signers = {signer("b", 7), signer("a", 9), signer("a", 8)},
                             .accepted_at = Timestamp(std::chrono::milliseconds(1'700'000'000'123)),
                             .log_index = 9'007'199'254};
  policy::LineageStatement statement{std::move(fact), false, {}, {}};
  statement.subjects = {{"sha256:aa", {"", "acme/\"quoted\"\\"}}, {"sha512:bb", {}}};
  return statement;
}

std::string by_value(const policy::LineageStatement& statement) {
  Json json = policy::to_json(statement);
  Json keys = Json::object();
  part_signers(json["fact"], keys);
  const auto text = canonical_json(json);
  EXPECT_TRUE(text);
  return text.value_or("");
}

std::string text_of(const policy::LineageStatement& statement) {
  const auto text = part_text(statement);
  EXPECT_TRUE(text) << to_string(text.error());
  return text.value_or("");
}

using Change = void (*)(policy::LineageStatement&);
const std::vector<Change> kChanges = {
    [](auto&) {},
    [](auto& one) { one.subjects.clear(); },
    [](auto& one) { one.fact.signers.clear(); },
    [](auto& one) {
      policy::SignerFact& keyless = one.fact.signers.emplace_back(signer("c", 1));
      keyless.key.algorithm.reset();
      keyless.key.certificate =
          CertificateIdentity{.issuer = "https://issuer",
                              .trusted_root = "sigstore",
                              .subject = {SubjectKind::kUri, "https://host/a@refs/heads/main"}};
      keyless.certificate = CertificateUse{"https://issuer", "a \"quoted\" name", Timestamp(),
                                           KeyId(sha256(as_bytes("leaf")))};
    },
    [](auto& one) { one.fact.stage = "own \x01\x1f\b\t\n\v\f\r\x7f stage"; },
    [](auto& one) { one.fact.log_index = 0; },
    [](auto& one) { one.inputs = {{"dataset", "", {}, {}}}; },
    [](auto& one) {
      one.inputs = {
          {"dataset", "\u00dcbung/\U0001F600", {"sha1:cc", "sha256:dd"}, {"https://x", "\u2028"}},
          {"code", "a", {}, {"b"}}};
    },
    [](auto& one) { one.manifest = true; },
    [](auto& one) { one.unread = true; },
    [](auto& one) { one.licence = ""; },
    [](auto& one) { one.licence = "MIT OR Apache-2.0"; },
    [](auto& one) { one.together = {{"sha1:cc", "sha256:aa"}, {}}; },
    [](auto& one) { one.fact.names = {"b", "a"}; },
    [](auto& one) { one.fact.predicate = {{"z", 1}, {"a", {1.5, nullptr}}}; },
    [](auto& one) { one.fact.withdrawn = policy::WithdrawnFact{"other", {}, {"b", "a"}, false}; },
    [](auto& one) {
      one.fact.evidence.push_back(
          {.key = KeyId(sha256(as_bytes("k"))), .type = "tdx", .accepted_at = {}});
    },
};

TEST(PartText, IsTheCanonicalDocument) {
  for (std::size_t i = 0; i < kChanges.size(); ++i) {
    policy::LineageStatement one = sample();
    kChanges[i](one);
    EXPECT_EQ(text_of(one), by_value(one)) << i;
    for (std::size_t k = 0; k < kChanges.size(); ++k) {  // and with another one
      policy::LineageStatement two = one;
      kChanges[k](two);
      EXPECT_EQ(text_of(two), by_value(two)) << i << " and " << k;
    }
  }
}

TEST(PartText, OfBytesThatAreNotUtf8_IsRefused) {
  policy::LineageStatement statement = sample();
  statement.subjects[0].names[0] = "\xff";
  EXPECT_EQ(code_of(part_text(statement)), "malformed-json");
  statement.fact.names = {"a"};
  EXPECT_EQ(code_of(part_text(statement)), "malformed-json");
}

}  // namespace
}  // namespace assay::server
