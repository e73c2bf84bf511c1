// SPDX-License-Identifier: Apache-2.0
// Locations: one spelling for one place.
#include "schemas/location.h"

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

const std::string kHex = std::string(64, 'a');
const std::string kDigest = "@sha256:" + kHex;

TEST(Location, OneSpelling_IsKept) {
  for (const std::string& uri :
       {std::string("pvc://serving/models"), std::string("pvc://serving/models.v1/demo/v1"),
        std::string("pvc://serving/models/With_Case"), std::string("hostpath:///data/models"),
        "oci://registry.example:5000/acme/demo" + kDigest,
        "oci://docker.io/library/demo" + kDigest + "/models",
        "csi://model.example.com/prod/" + kHex, "csi://Driver.example/prod/" + kHex + "/sub",
        std::string("nfs://server.example/export/models"), std::string("nfs://10.0.0.1/export")}) {
    EXPECT_EQ(normalise_location(uri), uri);
  }
}

TEST(Location, SchemeAndHost_AreLowered) {
  EXPECT_EQ(normalise_location("NFS://Server.Example/Export"), "nfs://server.example/Export");
  EXPECT_EQ(normalise_location("OCI://Registry.Example/acme/demo" + kDigest),
            "oci://registry.example/acme/demo" + kDigest);
  EXPECT_EQ(normalise_location("HostPath:///Data"), "hostpath:///Data");
}

TEST(Location, ShortImageNames_AreWrittenOut) {
  EXPECT_EQ(normalise_location("oci://demo" + kDigest), "oci://docker.io/library/demo" + kDigest);
  EXPECT_EQ(normalise_location("oci://acme/demo" + kDigest), "oci://docker.io/acme/demo" + kDigest);
}

TEST(Location, Normalising_IsIdempotent) {
  for (const std::string& uri :
       {std::string("NFS://Example.COM/Path"), std::string("PVC://a/b"), "oci://demo" + kDigest,
        "oci://Localhost/demo" + kDigest, "csi://D/prod/" + kHex}) {
    const auto once = normalise_location(uri);
    if (once) {
      EXPECT_EQ(normalise_location(*once), *once) << uri;
    }
  }
}

TEST(Location, AnythingAmbiguous_IsRefused) {
  for (const std::string& uri : {std::string(),
                                 std::string("models"),
                                 std::string("/data/models"),
                                 std::string("file:///x"),
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
                                 std::string("pvc://a/b/c//d"),
                                 std::string("pvc:///b"),
                                 std::string("pvc://A/b"),
                                 std::string("pvc://a/B"),
                                 std::string("pvc://a/b_c"),
                                 std::string("pvc://-a/b"),
                                 "pvc://" + std::string(64, 'a') + "/b",
                                 "pvc://a/" + std::string(254, 'b'),
                                 std::string("hostpath://data/models"),
                                 std::string("hostpath:///"),
                                 std::string("hostpath://"),
                                 std::string("hostpath:////data"),
                                 std::string("hostpath:///data/../etc"),
                                 std::string("nfs://server"),
                                 std::string("nfs://server/"),
                                 std::string("nfs:///export"),
                                 std::string("nfs://server:2049/export"),
                                 std::string("nfs://server./export"),
                                 std::string("nfs://a..b/export"),
                                 std::string("nfs://[::1]/export"),
                                 std::string("nfs://user@server/export"),
                                 std::string("hostpath:///a?b"),
                                 std::string("hostpath:///a#b"),
                                 std::string("hostpath:///a%20b"),
                                 std::string("hostpath:///a b"),
                                 std::string("hostpath:///\xC3\xA9"),
                                 std::string("hostpath:///a\\b"),
                                 std::string("hostpath:///a\n"),
                                 std::string("hostpath:///a\0b", 15),
                                 std::string(" pvc://a/b"),
                                 "hostpath:///" + std::string(2048, 'a')}) {
    EXPECT_EQ(code_of(normalise_location(uri)), "schema-violation") << uri;
  }
}

// A tag can be moved to other bytes after the manifest was signed.
TEST(Location, ImageByTag_IsNoLocation) {
  for (const std::string& uri :
       {std::string("oci://registry.example/acme/demo"),
        std::string("oci://registry.example/acme/demo:v1"),
        "oci://registry.example/acme/demo:v1" + kDigest, "oci://registry.example/Acme" + kDigest,
        std::string("oci://registry.example/demo@sha256:0123"),
        "oci://registry.example/demo@sha512:" + std::string(128, 'a'),
        "oci://registry.example/demo" + kDigest + "/", "oci://" + kDigest}) {
    EXPECT_EQ(code_of(normalise_location(uri)), "schema-violation") << uri;
  }
}

// What a driver's attribute says is the word of whoever wrote the pod.
TEST(Location, AttributeOfADriver_IsNoLocation) {
  for (const std::string& uri :
       {std::string("csi://model.example.com/handle-1"),
        std::string("csi://model.example.com/s3://bucket/key"), std::string("csi://driver/"),
        "csi://driver_x/prod/" + kHex, "csi://driver/prod/" + std::string(64, 'A'),
        "csi://driver/prod/" + kHex + "a", "csi://" + std::string(64, 'd') + "/prod/" + kHex,
        "csi://driver/" + kHex, "csi://driver/" + kHex + "/sub", "csi://driver//" + kHex,
        "csi://driver/Prod/" + kHex}) {
    EXPECT_EQ(code_of(normalise_location(uri)), "schema-violation") << uri;
  }
}

TEST(Location, PlacesThatAreNotMounted_AreNoLocations) {
  for (const char* uri : {"https://example.com/models/demo.tar", "http://example.com/x",
                          "s3://bucket/key", "gs://bucket/key", "hf://org/model"}) {
    EXPECT_EQ(code_of(normalise_location(uri)), "schema-violation") << uri;
  }
}

TEST(Location, LongestOne_IsTaken) {
  const std::string uri = "hostpath:///" + std::string(2048 - 12, 'a');
  EXPECT_EQ(normalise_location(uri), uri);
  EXPECT_FALSE(normalise_location(uri + "a"));
}

TEST(Location, LocationsOfOneStatement_AreBoundedTogether) {
  std::vector<std::string> locations;
  for (int i = 0; i < 32; ++i) {
    const std::string start = "hostpath:///" + std::to_string(i);
    locations.push_back(start + std::string(2048 - start.size(), 'x'));
  }
  EXPECT_TRUE(check_locations(locations)) << "32 of 2 KiB are 64 KiB";
  locations.push_back("nfs://h/p");
  EXPECT_EQ(code_of(check_locations(locations)), "limit-exceeded");
  locations.front().resize(2048 - locations.back().size());
  EXPECT_TRUE(check_locations(locations));
  locations.front() += "y";
  EXPECT_EQ(code_of(check_locations(locations)), "limit-exceeded");
}

TEST(Location, Covers_ItselfAndWhatLiesBelow) {
  EXPECT_TRUE(location_covers("pvc://a/b", "pvc://a/b"));
  EXPECT_TRUE(location_covers("pvc://a/b", "pvc://a/b/c/d"));
  EXPECT_FALSE(location_covers("pvc://a/b", "pvc://a/bc"));
  EXPECT_FALSE(location_covers("pvc://a/b/c", "pvc://a/b"));
  EXPECT_FALSE(location_covers("pvc://a/b", "oci://a/b"));
  EXPECT_FALSE(location_covers("oci://r/m", "oci://r/m@sha256:00"));
  EXPECT_FALSE(location_covers("", "pvc://a/b"));
}

TEST(Location, Image_IsWhatItsDigestSays) {
  EXPECT_EQ(image_location("demo" + kDigest), "oci://docker.io/library/demo" + kDigest);
  EXPECT_EQ(image_location("Registry.Example/demo:v1" + kDigest),
            "oci://registry.example/demo" + kDigest);
  EXPECT_EQ(code_of(image_location("registry.example/demo:v1")), "schema-violation");
  EXPECT_EQ(code_of(image_location("")), "schema-violation");
}

TEST(Location, CsiVolume_IsTheDigestOfItsAttributes) {
  const Json attributes = {{"uri", "s3://models/demo"}, {"region", "eu"}};
  const std::string canonical = R"({"region":"eu","uri":"s3://models/demo"})";
  EXPECT_EQ(csi_location("model.example.com", "prod", attributes),
            "csi://model.example.com/prod/" + sha256(as_bytes(canonical)).hex());
  EXPECT_EQ(csi_location("d", "n", Json::object()), "csi://d/n/" + sha256(as_bytes("{}")).hex());
  EXPECT_NE(csi_location("d", "n", {{"uri", "a"}}).value(),
            csi_location("d", "n", {{"uri", "a"}, {"key", "b"}}).value());
  EXPECT_EQ(code_of(csi_location("d", "n", {{"uri", 1}})), "schema-violation");
  EXPECT_EQ(code_of(csi_location("d", "n", nullptr)), "schema-violation");
}

// A name with slashes would be another volume, and the rest a directory in it.
TEST(Location, CsiVolume_HasNamesOfOnePart) {
  const Json none = Json::object();
  for (const std::string& driver : {std::string(), std::string("d/e"), "d/n/" + kHex}) {
    EXPECT_EQ(code_of(csi_location(driver, "n", none)), "schema-violation") << driver;
    EXPECT_EQ(code_of(csi_location("d", driver, none)), "schema-violation") << driver;
  }
}

}  // namespace
}  // namespace assay
