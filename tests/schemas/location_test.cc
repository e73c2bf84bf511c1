// SPDX-License-Identifier: Apache-2.0
// Locations: one spelling for one place.
#include "schemas/location.h"

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

TEST(Location, OneSpelling_IsKept) {
  for (const char* uri :
       {"pvc://serving/models", "pvc://serving/models/demo/v1", "hostpath:///data/models",
        "oci://registry.example.com/acme/demo:v1", "oci://registry.example.com:5000/acme/demo",
        "oci://r.example/acme/demo@sha256:0123456789abcdef", "csi://model.example.com/handle-1",
        "csi://model.example.com/s3://bucket/key", "https://example.com/models/demo.tar",
        "https://example.com:8443/x", "s3://bucket", "s3://bucket/Path/With_Case",
        "gs://b.u_c-ket/x", "hf://Meta-Org/Model-7B", "nfs://server.example/export/models"}) {
    EXPECT_EQ(normalise_location(uri), uri);
  }
}

TEST(Location, SchemeAndHost_AreLowered) {
  EXPECT_EQ(normalise_location("HTTPS://Example.COM/Path"), "https://example.com/Path");
  EXPECT_EQ(normalise_location("OCI://Registry.Example/acme/Demo:V1"),
            "oci://registry.example/acme/Demo:V1");
  EXPECT_EQ(normalise_location("S3://bucket/Key"), "s3://bucket/Key");
  EXPECT_EQ(normalise_location("HF://Org/Model"), "hf://Org/Model");
}

TEST(Location, Normalising_IsIdempotent) {
  for (const char* uri : {"HTTPS://Example.COM/Path", "PVC://a/b", "csi://d/x//y"}) {
    const auto once = normalise_location(uri);
    ASSERT_TRUE(once) << uri;
    EXPECT_EQ(normalise_location(*once), *once);
  }
}

TEST(Location, AnythingAmbiguous_IsRefused) {
  for (const std::string& uri : {std::string(),
                                 std::string("models"),
                                 std::string("/data/models"),
                                 std::string("file:///x"),
                                 std::string("http://example.com/x"),
                                 std::string("pvc:/a/b"),
                                 std::string("pvc:a/b"),
                                 std::string("pvc://"),
                                 std::string("pvc://a"),
                                 std::string("pvc://a/"),
                                 std::string("pvc://a/b/"),
                                 std::string("pvc://a//b"),
                                 std::string("pvc://a/./b"),
                                 std::string("pvc://a/../b"),
                                 std::string("pvc://a/b/.."),
                                 std::string("pvc:///b"),
                                 std::string("pvc://A/b"),
                                 std::string("s3://Bucket/x"),
                                 std::string("s3://"),
                                 std::string("s3://bucket/"),
                                 std::string("hostpath://data/models"),
                                 std::string("hostpath:///"),
                                 std::string("hostpath://"),
                                 std::string("hostpath:////data"),
                                 std::string("https://example.com"),
                                 std::string("https://example.com/"),
                                 std::string("https://user@example.com/x"),
                                 std::string("https://example.com:/x"),
                                 std::string("https://example.com:0443/x"),
                                 std::string("https://example.com:x/y"),
                                 std::string("https://example.com:123456/y"),
                                 std::string("https://example.com./x"),
                                 std::string("https://.example.com/x"),
                                 std::string("https://a..b/x"),
                                 std::string("https://[::1]/x"),
                                 std::string("https://example.com/a?b"),
                                 std::string("https://example.com/a#b"),
                                 std::string("https://example.com/a%20b"),
                                 std::string("https://example.com/a b"),
                                 std::string("https://example.com/\xC3\xA9"),
                                 std::string("https://example.com/a\\b"),
                                 std::string("hostpath:///a\n"),
                                 std::string("hostpath:///a\0b", 15),
                                 std::string("csi://driver/"),
                                 std::string("csi://driver/../x"),
                                 std::string("csi://Driver/x"),
                                 std::string(" pvc://a/b"),
                                 "hostpath:///" + std::string(2048, 'a')}) {
    EXPECT_EQ(code_of(normalise_location(uri)), "schema-violation") << uri;
  }
}

TEST(Location, LongestOne_IsTaken) {
  const std::string uri = "hostpath:///" + std::string(2048 - 12, 'a');
  EXPECT_EQ(normalise_location(uri), uri);
  EXPECT_FALSE(normalise_location(uri + "a"));
}

TEST(Location, Covers_ItselfAndWhatLiesBelow) {
  EXPECT_TRUE(location_covers("pvc://a/b", "pvc://a/b"));
  EXPECT_TRUE(location_covers("pvc://a/b", "pvc://a/b/c/d"));
  EXPECT_FALSE(location_covers("pvc://a/b", "pvc://a/bc"));
  EXPECT_FALSE(location_covers("pvc://a/b/c", "pvc://a/b"));
  EXPECT_FALSE(location_covers("pvc://a/b", "oci://a/b"));
  EXPECT_FALSE(location_covers("oci://r/m", "oci://r/m:v1"));
  EXPECT_FALSE(location_covers("oci://r/m", "oci://r/m@sha256:00"));
  EXPECT_FALSE(location_covers("", "pvc://a/b"));
}

}  // namespace
}  // namespace assay
