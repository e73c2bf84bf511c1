// SPDX-License-Identifier: Apache-2.0
// Anchors of evidence: each kind has text and stored forms of its own.
#include "schemas/anchor.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"

namespace assay {
namespace {

Digest digest() { return sha256(as_bytes("one file")); }

TEST(Anchor, TextForms_LeadBackToTheAnchor) {
  const Anchor root = Anchor::root(digest());
  const Anchor plugin = Anchor::plugin(digest());
  EXPECT_EQ(root.text(), "sha256:" + digest().hex());
  EXPECT_EQ(plugin.text(), "plugin:" + digest().hex());
  EXPECT_EQ(Anchor::parse(root.text()), root);
  EXPECT_EQ(Anchor::parse(plugin.text()), plugin);
}

TEST(Anchor, KeySet_HasAFormOfItsOwn) {
  const Anchor keys = Anchor::key_set(digest());
  EXPECT_EQ(keys.text(), "jwks:" + digest().hex());
  EXPECT_EQ(Anchor::parse(keys.text()), keys);
  EXPECT_EQ(Anchor::from_stored(keys.stored()), keys);
  for (const Anchor& other : {Anchor::root(digest()), Anchor::plugin(digest())}) {
    EXPECT_NE(keys, other);
    EXPECT_NE(keys.stored(), other.stored());
  }
  EXPECT_FALSE(keys.is_root());
  EXPECT_FALSE(keys.is_plugin());
}

TEST(Anchor, RootAndPluginOfOneDigest_NeverMeet) {
  const Anchor root = Anchor::root(digest());
  const Anchor plugin = Anchor::plugin(digest());
  EXPECT_NE(root, plugin);
  EXPECT_NE(root.text(), plugin.text());
  EXPECT_NE(root.stored(), plugin.stored());
  EXPECT_FALSE(root.is_plugin());
  EXPECT_TRUE(plugin.is_plugin());
}

TEST(Anchor, StoredForms_LeadBackToTheAnchor) {
  for (const Anchor& anchor : {Anchor::root(digest()), Anchor::plugin(digest())}) {
    EXPECT_EQ(Anchor::from_stored(anchor.stored()), anchor);
  }
  // What a root was stored as before there were plug-ins.
  const Digest plain_digest = digest();
  const ByteView bytes = plain_digest.bytes();
  const Bytes plain(bytes.begin(), bytes.end());
  EXPECT_EQ(Anchor::from_stored(plain), Anchor::root(digest()));
  EXPECT_EQ(Anchor::from_stored(ByteView(plain).first(31)).error().code, ErrorCode::kDataLoss);
  Bytes other = Anchor::plugin(digest()).stored();
  other.front() = 'q';
  EXPECT_EQ(Anchor::from_stored(other).error().code, ErrorCode::kDataLoss);
}

TEST(Anchor, OtherTexts_AreRefused) {
  const std::string hex = digest().hex();
  for (const std::string& text : std::vector<std::string>{
           "", hex, "plugin:", "plugin:sha256:" + hex, "plugin:" + hex + "0",
           "plugin:" + hex.substr(2), "plugin: " + hex.substr(1), "Plugin:" + hex,
           "sha256:" + hex + " ", "plugin:" + std::string(64, 'A')}) {
    EXPECT_EQ(Anchor::parse(text).error().code, ErrorCode::kInvalidDigest) << text;
  }
}

}  // namespace
}  // namespace assay
