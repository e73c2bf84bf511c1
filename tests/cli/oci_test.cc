// SPDX-License-Identifier: Apache-2.0
// What registries say about credentials, and credentials as Docker keeps them. What the program
// does with a registry is tested by running it: tests/cli/verbs/test_fetch.py.
#include <gtest/gtest.h>

#include "cli/oci/credentials.h"
#include "cli/oci/manifest.h"

namespace assay::oci {
namespace {

TEST(Challenges, AreRead) {
  const Challenge got =
      parse_challenge(R"(Bearer realm="https://a.example/t?x=\"1\"", Service=b,scope="r:x:pull")")
          .value();
  EXPECT_EQ(got.scheme, "bearer");
  EXPECT_EQ(got.values.at("realm"), R"(https://a.example/t?x="1")");
  EXPECT_EQ(got.values.at("service"), "b");
  EXPECT_EQ(got.values.at("scope"), "r:x:pull");
  EXPECT_EQ(parse_challenge("Basic").value().scheme, "basic");
}

TEST(Challenges, OtherForms_AreRefused) {
  for (const std::string text :
       {"", " ", "=", "Bearer realm", "Bearer =x", "Bearer realm=\"x", "Bearer realm=\"x\\",
        "Bearer a=\"x\"b=c", "Bearer a=x,a=y", "B\"r a=x"}) {
    EXPECT_FALSE(parse_challenge(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_challenge("Bearer a=" + std::string(5000, 'x')).has_value());
}

TEST(Hosts, OfUrls) {
  EXPECT_EQ(host_of("https://A.example:80/x?y"), "a.example:80");
  EXPECT_EQ(host_of("http://[::1]:5/"), "[::1]:5");
  for (const char* url : {"ftp://a/", "//a/", "https://u@a/", "https://a\\b/", "https:///x", ""}) {
    EXPECT_EQ(host_of(url), "") << url;
  }
}

TEST(DockerCredentials, BelongToTheirHost) {
  const ByteView config = as_bytes(R"({"auths":{"a.example":{"auth":"dTpw"},
    "https://index.docker.io/v1/":{"auth":"ZDpw"},"b.example":{},"c.example":{"auth":"!"}},
    "credHelpers":{"d.example":"x"}})");
  EXPECT_EQ(as_text(docker_credential(config, "a.example").value().view()), "dTpw");
  EXPECT_EQ(as_text(docker_credential(config, "docker.io").value().view()), "ZDpw");
  EXPECT_TRUE(docker_credential(config, "example").value().empty());
  for (const char* host : {"b.example", "c.example", "d.example"}) {
    EXPECT_EQ(docker_credential(config, host).error().code, ErrorCode::kSchemaViolation) << host;
  }
}

TEST(References, HaveADigestOrATag) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const Reference got = parse_reference("oci://r.example:5000/a/b:1@" + digest).value();
  EXPECT_EQ(got.host, "r.example:5000");
  EXPECT_EQ(got.path, "a/b");
  EXPECT_EQ(got.text(), "oci://r.example:5000/a/b@" + digest);
  EXPECT_EQ(parse_reference("oci://llama:1").value().text(), "oci://docker.io/library/llama:1");
  EXPECT_FALSE(parse_reference("oci://r.example/a").has_value());
}

}  // namespace
}  // namespace assay::oci
