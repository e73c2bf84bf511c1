// SPDX-License-Identifier: Apache-2.0
// Names of images: one name for one repository.
#include "schemas/image_name.h"

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

const std::string kDigest = "sha256:" + std::string(64, 'a');

std::string repository(const std::string& text) {
  const auto image = parse_image_name(text);
  return image ? image->repository : "refused";
}

TEST(ImageName, ShortNames_AreOfDockerHub) {
  EXPECT_EQ(repository("nginx"), "docker.io/library/nginx");
  EXPECT_EQ(repository("nginx:1.27"), "docker.io/library/nginx");
  EXPECT_EQ(repository("acme/demo"), "docker.io/acme/demo");
  EXPECT_EQ(repository("docker.io/nginx"), "docker.io/library/nginx");
  EXPECT_EQ(repository("docker.io/library/nginx"), "docker.io/library/nginx");
  EXPECT_EQ(repository("index.docker.io/acme/demo"), "docker.io/acme/demo");
}

TEST(ImageName, FirstPart_IsAHostWhenItLooksLikeOne) {
  EXPECT_EQ(repository("registry.example/demo"), "registry.example/demo");
  EXPECT_EQ(repository("Registry.Example:5000/acme/demo"), "registry.example:5000/acme/demo");
  EXPECT_EQ(repository("localhost/demo"), "localhost/demo");
  EXPECT_EQ(repository("registry:5000/demo"), "registry:5000/demo");
}

TEST(ImageName, TagAndDigest_AreTakenApart) {
  const auto image = parse_image_name("registry.example:5000/acme/demo:V1@" + kDigest);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->repository, "registry.example:5000/acme/demo");
  EXPECT_EQ(image->tag, "V1");
  EXPECT_EQ(image->digest, kDigest);
  const auto plain = parse_image_name("demo");
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->tag.empty() && plain->digest.empty());
}

TEST(ImageName, Separators_FollowTheGrammar) {
  for (const char* good : {"a.b/c", "a/b_c", "a/b__c", "a/b---c", "a/b.c-d_e"}) {
    EXPECT_TRUE(parse_image_name(good)) << good;
  }
  for (const char* bad :
       {"a/b..c", "a/b___c", "a/b.-c", "a/.b", "a/b.", "a/b_", "a//b", "/a", "a/"}) {
    EXPECT_EQ(code_of(parse_image_name(bad)), "schema-violation") << bad;
  }
}

TEST(ImageName, WhatNoRuntimeTakes_IsRefused) {
  for (const std::string& text : {std::string(),
                                  std::string("Nginx"),
                                  std::string("acme/Demo"),
                                  std::string("ACME/demo"),
                                  std::string("a b"),
                                  std::string("nginx:"),
                                  std::string("nginx:-a"),
                                  std::string("nginx:a b"),
                                  "nginx:" + std::string(129, 'a'),
                                  std::string("nginx@"),
                                  std::string("nginx@sha256:00"),
                                  "nginx@sha512:" + std::string(128, 'a'),
                                  "nginx@SHA256:" + std::string(64, 'a'),
                                  "nginx@sha256:" + std::string(64, 'A'),
                                  "nginx@" + kDigest + "@" + kDigest,
                                  std::string("a..b/c"),
                                  std::string("a.b:/c"),
                                  std::string("a.b:012/c"),
                                  std::string("a.b:123456/c"),
                                  std::string("-a.b/c"),
                                  std::string("[::1]:5000/a"),
                                  std::string("http://a.b/c"),
                                  std::string("nginx\n"),
                                  "a.b/" + std::string(256, 'a')}) {
    EXPECT_EQ(code_of(parse_image_name(text)), "schema-violation") << text;
  }
}

}  // namespace
}  // namespace assay
