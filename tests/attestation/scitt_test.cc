// SPDX-License-Identifier: Apache-2.0
// Signed statements of SCITT, own and of others, with one mutation a case; receipts of our log.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "attestation/scitt/receipt.h"
#include "attestation/scitt/statement.h"
#include "schemas/core/merkle.h"
#include "tests/attestation/support.h"

namespace assay::attestation::scitt {
namespace {

using assay::test::code_of;
using assay::test::flip;
using assay::test::kAlgorithms;
using assay::test::signer;

PublicKey half_of(const Signer& key) {
  return std::move(PublicKey::from_der(key.public_key())).value();
}

using Pairs = std::vector<std::pair<std::int64_t, Bytes>>;

Bytes encoded(const std::function<void(cbor::Writer&)>& write) {
  cbor::Writer writer;
  write(writer);
  return writer.out();
}

Bytes claims() {
  return encoded([](cbor::Writer& out) {
    out.map(3).integer(1).text("https://issuer.example").integer(2).text("acme/llama");
    out.integer(6).integer(1'700'000'000);
  });
}

Bytes statement_with(Pairs more, Pairs unprotected = {},
                     const Signer& key = signer(SignatureAlgorithm::kEcdsaP256)) {
  return cose::sign1(as_bytes("payload"),
                     {.content_type = "text/plain",
                      .corim_meta = {},
                      .more = std::move(more),
                      .unprotected = std::move(unprotected)},
                     key)
      .value();
}

// --- statements

TEST(SignedStatement, EachAlgorithm_VerifiesWithItsKeyAlone) {
  for (const auto algorithm : kAlgorithms) {
    const auto statement =
        parse_statement(statement_with({{kClaims, claims()}}, {}, signer(algorithm)));
    ASSERT_TRUE(statement) << statement.error().detail;
    EXPECT_EQ(statement->issuer, "https://issuer.example");
    EXPECT_EQ(statement->subject, "acme/llama");
    EXPECT_EQ(statement->issued_at, 1'700'000'000);
    EXPECT_EQ(as_text(statement->message.payload), "payload");
    EXPECT_EQ(code_of(verify_by_key(*statement, half_of(signer(algorithm)))), "ok");
    EXPECT_EQ(code_of(verify_by_key(*statement, half_of(signer(algorithm, 1)))),
              "signature-invalid");
    EXPECT_EQ(code_of(verify_by_chain(*statement, {}, {.time = {}, .purpose = x509::kAnyPurpose})),
              "signature-missing");
  }
}

TEST(SignedStatement, HeadersOfAnotherForm_AreRefused) {
  const auto text = [](const char* value) {
    return encoded([value](cbor::Writer& out) { out.text(value); });
  };
  const auto claims_of = [](const std::function<void(cbor::Writer&)>& write) {
    return Pairs{{kClaims, encoded(write)}};
  };
  const std::pair<const char*, Pairs> rows[] = {
      {"no claims", {}},
      {"claims are a text", {{kClaims, text("x")}}},
      {"no sub", claims_of([](cbor::Writer& out) { out.map(1).integer(1).text("a"); })},
      {"no iss", claims_of([](cbor::Writer& out) { out.map(1).integer(2).text("a"); })},
      {"iss is empty",
       claims_of([](cbor::Writer& out) { out.map(2).integer(1).text("").integer(2).text("a"); })},
      {"iss has two lines", claims_of([](cbor::Writer& out) {
         out.map(2).integer(1).text("a\nb").integer(2).text("a");
       })},
      {"iss is a number",
       claims_of([](cbor::Writer& out) { out.map(2).integer(1).integer(7).integer(2).text("a"); })},
      {"iat is a text", claims_of([](cbor::Writer& out) {
         out.map(3).integer(1).text("a").integer(2).text("a").integer(6).text("now");
       })},
      {"x5chain is a text", {{kClaims, claims()}, {kChain, text("x")}}},
      {"x5chain is a list of one", {{kClaims, claims()}, {kChain, encoded([](cbor::Writer& out) {
                                                            out.array(1).bytes(Bytes(1));
                                                          })}}},
      {"x5chain has too many", {{kClaims, claims()}, {kChain, encoded([](cbor::Writer& out) {
                                                        out.array(kMaxChain + 1);
                                                        for (std::size_t i = 0; i <= kMaxChain;
                                                             ++i) {
                                                          out.bytes(Bytes(1));
                                                        }
                                                      })}}},
      {"the payload's hash is a text", {{kClaims, claims()}, {kPayloadHash, text("x")}}}};
  for (const auto& [what, more] : rows) {
    EXPECT_EQ(code_of(parse_statement(statement_with(more))), "malformed-cose") << what;
  }
  const Pairs good = {{kClaims, claims()}};
  EXPECT_EQ(code_of(parse_statement(statement_with(good, {{kReceipts, text("x")}}))),
            "malformed-cose");
  EXPECT_EQ(code_of(parse_statement(statement_with(good))), "ok");
  EXPECT_EQ(code_of(parse_statement(statement_with({}, {{kClaims, claims()}}))), "malformed-cose")
      << "claims that nobody signed";
}

// Every bit. Of what may change, nobody vouches for anything that is reported.
TEST(SignedStatement, NoMutation_KeepsOtherClaims) {
  const Bytes bytes = statement_with({{kClaims, claims()}});
  const PublicKey half = half_of(signer(SignatureAlgorithm::kEcdsaP256));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto statement = parse_statement(flip(bytes, bit));
    if (statement && verify_by_key(*statement, half)) {
      EXPECT_EQ(statement->issuer, "https://issuer.example") << bit;
      EXPECT_EQ(statement->subject, "acme/llama") << bit;
      EXPECT_EQ(as_text(statement->message.payload), "payload") << bit;
    }
  }
}

// --- statements of others

struct Foreign {
  const char* file;
  const char* time;
  const char* issuer;
  const char* subject;
};
const Foreign kForeign[] = {
    {"hash-envelope.cose", "2025-03-03T17:40:00Z",
     "did:x509:0:sha256:HnwZ4lezuxq_GVcl_Sk7YWW170qAD0DZBLXilXet0jg::eku:1.3.6.1.4.1.311.10.3.13",
     "test.submission-1"},
    {"transparent.cose", "2025-12-22T21:15:00Z",
     "did:x509:0:sha256:I__iuL25oXEVFdTP_aBLx_eT1RPHbCQ_ECBQfYZpt9s::eku:1.3.6.1.4.1.311.76.59.1.2",
     "ContainerPlat-AMD-UVM"}};

Bytes foreign(const char* file) {
  return to_bytes(assay::test::read_file(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                         "tests/vectors/scitt" / file));
}

// The last certificate of the statement, which somebody chose to trust.
std::vector<x509::Certificate> anchors_of(const SignedStatement& statement) {
  return {statement.chain.back()};
}

x509::PathOptions at_time(const char* time) {
  return {.time = assay::test::at(time), .purpose = x509::kAnyPurpose, .require_key_usage = false};
}

TEST(ForeignStatement, Chain_LeadsToTheAnchorAtItsTime) {
  for (const Foreign& row : kForeign) {
    const auto statement = parse_statement(foreign(row.file));
    ASSERT_TRUE(statement) << row.file << statement.error().detail;
    EXPECT_EQ(statement->issuer, row.issuer);
    EXPECT_EQ(statement->subject, row.subject);
    ASSERT_GE(statement->chain.size(), 2U);
    const auto path = verify_by_chain(*statement, anchors_of(*statement), at_time(row.time));
    EXPECT_EQ(code_of(path), "ok") << row.file << (path ? "" : path.error().detail);
    EXPECT_EQ(code_of(verify_by_chain(*statement, anchors_of(*statement),
                                      at_time("2001-01-01T00:00:00Z"))),
              "certificate-not-yet-valid");
    EXPECT_EQ(code_of(verify_by_chain(*statement, {}, at_time(row.time))), "certificate-untrusted");
    const PublicKey leaf =
        PublicKey::from_der(statement->chain.front().key_der(), SignatureAlgorithm::kRsaPss)
            .value();
    EXPECT_EQ(code_of(verify_by_key(*statement, leaf)), "ok");
    const PublicKey other_way =
        PublicKey::from_der(statement->chain.front().key_der(), SignatureAlgorithm::kRsaPkcs1)
            .value();
    EXPECT_EQ(code_of(verify_by_key(*statement, other_way)), "signature-invalid");
  }
  EXPECT_EQ(parse_statement(foreign("transparent.cose"))->receipts.size(), 1U);
  EXPECT_EQ(parse_statement(foreign("transparent.cose"))->payload_hash, -43);
}

TEST(ForeignStatement, ChangedPayloadOrAnotherLeaf_IsRefused) {
  for (const Foreign& row : kForeign) {
    auto statement = parse_statement(foreign(row.file)).value();
    const auto anchors = anchors_of(statement);
    statement.message.payload.front() ^= 1U;
    EXPECT_EQ(code_of(verify_by_chain(statement, anchors, at_time(row.time))), "signature-invalid");
    auto swapped = parse_statement(foreign(row.file)).value();
    std::swap(swapped.chain[0], swapped.chain[1]);
    EXPECT_FALSE(verify_by_chain(swapped, anchors, at_time(row.time)));
  }
}

// Those whose critical parameters are of one service alone are refused.
TEST(ForeignStatement, WholeFolder_IsJudged) {
  ASSAY_SHARED_VECTORS_OR_SKIP(folder, "scitt");
  for (const auto& entry : std::filesystem::directory_iterator(folder / "payloads")) {
    const std::string name = entry.path().filename();
    const auto statement = parse_statement(to_bytes(assay::test::read_file(entry.path())));
    EXPECT_EQ(code_of(statement), name.starts_with("css-attested") ? "malformed-cose" : "ok")
        << name << (statement ? "" : statement.error().detail);
    if (statement) {
      const PublicKey leaf = PublicKey::from_der(statement->chain.front().key_der(),
                                                 statement->message.scheme.algorithm)
                                 .value();
      EXPECT_EQ(code_of(verify_by_key(*statement, leaf)), "ok") << name;
    }
  }
}

// --- receipts

std::vector<Digest> leaves_of(std::size_t size) {
  std::vector<Digest> leaves;
  for (std::size_t i = 0; i < size; ++i) {
    leaves.push_back(merkle_leaf(HashAlgorithm::kSha256, as_bytes(std::to_string(i))));
  }
  return leaves;
}

Result<Bytes> receipt_of(const std::vector<Digest>& leaves, std::uint64_t index) {
  return make_receipt(
      "log.example/one",
      {leaves.size(), index, inclusion_path(HashAlgorithm::kSha256, leaves, index).value()},
      leaves[index], merkle_root(HashAlgorithm::kSha256, leaves),
      signer(SignatureAlgorithm::kEd25519));
}

TEST(CoseReceipt, EachLeafOfEachTree_IsProven) {
  const PublicKey key = half_of(signer(SignatureAlgorithm::kEd25519));
  for (std::size_t size = 1; size <= 17; ++size) {
    const auto leaves = leaves_of(size);
    for (std::uint64_t index = 0; index < size; ++index) {
      const Bytes receipt = receipt_of(leaves, index).value();
      const auto verified = verify_receipt(receipt, leaves[index], key);
      ASSERT_EQ(code_of(verified), "ok") << size << " " << index;
      EXPECT_EQ(verified->issuer, "log.example/one");
      EXPECT_EQ(verified->tree_size, size);
      EXPECT_EQ(verified->leaf_index, index);
      EXPECT_EQ(verified->root, merkle_root(HashAlgorithm::kSha256, leaves));
      const Digest other = merkle_leaf(HashAlgorithm::kSha256, as_bytes("other"));
      EXPECT_NE(code_of(verify_receipt(receipt, other, key)), "ok");
    }
  }
}

// Made with Python's cbor2 and cryptography, with keys as tests/fuzz/scitt_fuzz.cc has them.
TEST(CoseReceipt, OfAnotherImplementation_Verifies) {
  const auto made = [](const char* name) {
    return to_bytes(assay::test::read_file(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                           "tests/fuzz/corpus/scitt" / name));
  };
  const PublicKey key =
      PublicKey::from_der(
          *hex_decode("302a300506032b6570032100"
                      "86853fc52670859c8625bb0ea9bf3a68e29522df8645b15c4485f9fc3bba2c2a"))
          .value();
  const Digest leaf = merkle_leaf(HashAlgorithm::kSha256, as_bytes("leaf"));
  const auto receipt = verify_receipt(made("receipt"), leaf, key);
  ASSERT_EQ(code_of(receipt), "ok");
  EXPECT_EQ(receipt->tree_size, 3U);
  EXPECT_EQ(receipt->leaf_index, 1U);
  const auto statement = parse_statement(made("hash_envelope"));
  ASSERT_EQ(code_of(statement), "ok");
  EXPECT_EQ(code_of(verify_by_key(*statement, key)), "ok");
  EXPECT_EQ(statement->payload_hash, -16);
}

// Every bit: what is proven stays, or nothing is.
TEST(CoseReceipt, NoMutation_ProvesAnotherPlace) {
  const auto leaves = leaves_of(11);
  const Bytes receipt = receipt_of(leaves, 6).value();
  const PublicKey key = half_of(signer(SignatureAlgorithm::kEd25519));
  for (std::size_t bit = 0; bit < 8 * receipt.size(); ++bit) {
    const auto verified = verify_receipt(flip(receipt, bit), leaves[6], key);
    if (verified) {
      EXPECT_EQ(verified->issuer, "log.example/one") << bit;
      EXPECT_EQ(verified->root, merkle_root(HashAlgorithm::kSha256, leaves)) << bit;
    }
  }
  EXPECT_EQ(
      code_of(verify_receipt(receipt, leaves[6], half_of(signer(SignatureAlgorithm::kEd25519, 1)))),
      "signature-invalid");
}

TEST(CoseReceipt, ProofThatDoesNotLeadToTheRoot_IsNotSigned) {
  const auto leaves = leaves_of(5);
  const auto path = inclusion_path(HashAlgorithm::kSha256, leaves, 2).value();
  const Digest root = merkle_root(HashAlgorithm::kSha256, leaves);
  const Signer& key = signer(SignatureAlgorithm::kEd25519);
  EXPECT_EQ(code_of(make_receipt("log", {5, 2, path}, leaves[2], root, key)), "ok");
  EXPECT_EQ(code_of(make_receipt("log", {5, 3, path}, leaves[2], root, key)), "proof-invalid");
  EXPECT_EQ(code_of(make_receipt("log", {6, 2, path}, leaves[1], root, key)), "proof-invalid");
  EXPECT_EQ(code_of(make_receipt("log", {5, 2, {}}, leaves[2], root, key)), "proof-invalid");
}

// A receipt whose signature is right and whose proof has another form.
TEST(CoseReceipt, ProofsOfAnotherForm_AreRefused) {
  const auto leaves = leaves_of(1);
  const auto signed_with = [&](std::int64_t type, const Bytes& proofs) {
    return cose::sign1(leaves[0].bytes(),
                       {.content_type = {},
                        .corim_meta = {},
                        .more = {{kProofType, encoded([&](auto& out) { out.integer(type); })}},
                        .unprotected = {{kProofs, proofs}},
                        .detached = true},
                       signer(SignatureAlgorithm::kEd25519))
        .value();
  };
  const auto proofs_with = [](std::size_t count, std::int64_t size, std::int64_t index) {
    return encoded([&](cbor::Writer& out) {
      out.map(1).integer(kInclusionProofs).array(count);
      for (std::size_t i = 0; i < count; ++i) {
        out.bytes(encoded([&](auto& in) { in.array(3).integer(size).integer(index).array(0); }));
      }
    });
  };
  const PublicKey key = half_of(signer(SignatureAlgorithm::kEd25519));
  EXPECT_EQ(code_of(verify_receipt(signed_with(1, proofs_with(1, 1, 0)), leaves[0], key)), "ok");
  const std::pair<Bytes, const char*> rows[] = {
      {signed_with(2, proofs_with(1, 1, 0)), "malformed-cose"},
      {signed_with(1, proofs_with(0, 1, 0)), "malformed-cose"},
      {signed_with(1, proofs_with(2, 1, 0)), "malformed-cose"},
      {signed_with(1, proofs_with(1, 1, 1)), "proof-invalid"},
      {signed_with(1, proofs_with(1, 2, 0)), "proof-invalid"},
      {signed_with(1, proofs_with(1, -1, 0)), "malformed-cose"},
      {signed_with(1, encoded([](auto& out) { out.array(0); })), "malformed-cose"}};
  for (const auto& [receipt, code] : rows) {
    EXPECT_EQ(code_of(verify_receipt(receipt, leaves[0], key)), code);
  }
}

}  // namespace
}  // namespace assay::attestation::scitt
