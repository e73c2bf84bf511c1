// SPDX-License-Identifier: Apache-2.0
// Columns that hold packed bytes: what goes in comes out bit for bit, and what was altered does
// not.
#include "storage/sqlite/packed.h"

#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"

namespace assay::storage::sqlite {
namespace {

std::string hex_of(std::string_view label) { return sha256(as_bytes(label)).hex(); }

// A decision as it is signed, about one model.
std::string decision(int number) {
  const std::string own = std::to_string(number);
  return R"({"dry_run":false,"epochs":{"policy":2,"revocation":0,"trust":1},"evaluated_at":)"
         R"("2026-11-23T03:58:21.123Z","evaluator":7,"facts":"sha256:)" +
         hex_of("facts") + R"(","format":3,"id":"0199f0a2-7c3e-7bbb-8123-)" +
         hex_of(own).substr(0, 12) + R"(","models":[{"artifact":"assay-tree-v1-sha256:)" +
         hex_of("model") + R"("}],"point":"create","replay_digest":"sha256:)" + hex_of(own + "r") +
         R"(","request":{"kind":"Pod","name":"server-)" + own +
         R"(","namespace":"inference","operation":"CREATE","principal":"cluster-a","uid":)"
         R"("0198f0a2-7c3e-7bbb-8123-)" +
         hex_of(own + "u").substr(0, 12) +
         R"(","user":"system:serviceaccount:kube-system:replicaset-controller","via":)"
         R"("admission-validate"},"results":"sha256:)" +
         hex_of("results") +
         R"(","tree_size":1000,"verdict":{"allowed":true,"reasons":[],"warnings":[]}})";
}

std::string envelope(std::string_view payload) {
  const std::string signature = hex_of(payload) + hex_of(hex_of(payload));
  return R"({"payload":")" + base64_encode(as_bytes(payload)) +
         R"(","payloadType":"application/vnd.assay.decision+json","signatures":[{"keyid":"","sig":")" +
         base64_encode(hex_decode(signature).value()) + R"("}]})";
}

Bytes column(const Packed& packed, ByteView bytes) {
  return packed.form == PackedForm::kPlain ? Bytes(bytes.begin(), bytes.end()) : packed.bytes;
}

void expect_same(Packed (*pack)(ByteView), const std::string& text) {
  const Packed packed = pack(as_bytes(text));
  const auto back = unpack(std::to_underlying(packed.form), column(packed, as_bytes(text)));
  ASSERT_TRUE(back) << text.substr(0, 100);
  EXPECT_EQ(as_text(*back), text);
}

TEST(Packed, DecisionsTakeLittleRoom) {
  const std::string text = envelope(decision(1));
  const Packed packed = pack_document(as_bytes(text));
  EXPECT_EQ(packed.form, PackedForm::kEnvelope);
  EXPECT_LT(packed.bytes.size(), 320U) << "of " << text.size();
}

TEST(Packed, EverythingComesBackBitForBit) {
  const std::string good = envelope(decision(2));
  const std::string payload = good.substr(0, good.find(R"(","payloadType")"));
  for (const std::string& text : {good,
                                  envelope(""),
                                  envelope("x"),
                                  envelope(std::string(12'000, 'y')),
                                  decision(3),
                                  std::string(),
                                  std::string("{"),
                                  std::string(R"({"payload":")"),
                                  std::string(R"({"payload":""})"),
                                  std::string(R"({"payload":"AA"})"),
                                  std::string(R"({"payload":"AA=="})"),
                                  std::string(R"({"payload":"AB=="})"),
                                  std::string(R"({"payload":"_-8="})"),
                                  R"({ "payload":"AA=="})" + good,
                                  payload,
                                  payload + "=\"}",
                                  good + "\n",
                                  good + std::string(1, '\0'),
                                  good + "\x01",
                                  good + "\x04",
                                  envelope("\x02"),
                                  envelope("a\x04" + decision(3)),
                                  envelope(decision(3) + "\x03"),
                                  std::string(kMaxPackedBytes, 'z'),
                                  std::string(kMaxPackedBytes + 1, 'z'),
                                  envelope(std::string(kMaxPackedBytes, 'z'))}) {
    expect_same(pack_document, text);
    expect_same(pack_record, text);
  }
}

TEST(Packed, DocumentsThatAreNoEnvelopesStayAsTheyAre) {
  EXPECT_EQ(pack_document(as_bytes(decision(4))).form, PackedForm::kPlain);
  EXPECT_EQ(pack_record(as_bytes(decision(4))).form, PackedForm::kDeflated);
}

// Readers compare what comes out with its digest: it must be something else, or nothing.
TEST(Packed, AlteredColumns_GiveSomethingElseOrNothing) {
  const std::string text = envelope(decision(5));
  const Packed packed = pack_document(as_bytes(text));
  const auto form = std::to_underlying(packed.form);
  const auto gives_other = [&](const Bytes& altered) {
    const auto back = unpack(form, altered);
    return !back || as_text(*back) != text;
  };
  std::set<std::size_t> without_meaning;
  for (std::size_t i = 0; i < packed.bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes altered = packed.bytes;
      altered[i] ^= static_cast<std::uint8_t>(1U << bit);
      if (!gives_other(altered)) {
        without_meaning.insert(i);
      }
    }
    EXPECT_TRUE(gives_other(
        Bytes(packed.bytes.begin(), packed.bytes.begin() + static_cast<std::ptrdiff_t>(i))));
  }
  EXPECT_LE(without_meaning.size(), 1U) << "the last byte of a stream may have bits to spare";
  Bytes longer = packed.bytes;
  longer.push_back(0);
  EXPECT_FALSE(unpack(form, longer));
}

TEST(Packed, WhatPackNeverWrote_IsDataLoss) {
  const auto code_of = [](std::int64_t form, const Bytes& bytes) {
    const auto back = unpack(form, bytes);
    return back ? std::string("read") : std::string(info(back.error().code).code);
  };
  const Bytes zeros(100, 0);
  const Bytes ones(100, 0xFF);  // a number without an end
  for (const std::int64_t form : {-1, 1, 2, 3, 1000}) {
    EXPECT_EQ(code_of(form, {}), "data-loss") << form;
    EXPECT_EQ(code_of(form, zeros), "data-loss") << form;
    EXPECT_EQ(code_of(form, ones), "data-loss") << form;
  }
  EXPECT_EQ(code_of(0, {}), "read");
  // A record as an envelope: nothing says where its payload ends.
  EXPECT_EQ(
      code_of(std::to_underlying(PackedForm::kEnvelope), pack_record(as_bytes(decision(6))).bytes),
      "data-loss");
}

}  // namespace
}  // namespace assay::storage::sqlite
