// SPDX-License-Identifier: Apache-2.0
// Routes: which template wins, what a path allows.

#include "server/http/router.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

using Kind = Router::Match::Kind;

const std::vector<RoutePattern>& patterns() {
  static const std::vector<RoutePattern> all = {
      {Method::kGet, Listener::kApi, "/v1/policies/{id}"},
      {Method::kPost, Listener::kApi, "/v1/policies/{id}:activate"},
      {Method::kPost, Listener::kApi, "/v1/policies"},
      {Method::kGet, Listener::kApi, "/v1/policies"},
      {Method::kPost, Listener::kApi, "/v1/policies:validate"},
      {Method::kGet, Listener::kApi, "/log/tile/{level}/{index...}"},
      {Method::kGet, Listener::kApi, "/log/tile/entries/{index...}"},
      {Method::kPost, Listener::kAdmission, "/v1/admission/validate"},
      {Method::kGet, Listener::kApi, "/v1/entries/{index}/proof"},
  };
  return all;
}

Router::Match find(std::optional<Method> method, std::string_view path,
                   Listener listener = Listener::kApi) {
  static const Router router(patterns());
  return router.find(listener, method, path);
}

TEST(Router, Literal_IsFound) {
  EXPECT_EQ(find(Method::kPost, "/v1/policies").route, 2U);
  EXPECT_EQ(find(Method::kGet, "/v1/policies").route, 3U);
  EXPECT_EQ(find(Method::kPost, "/v1/policies:validate").route, 4U);
}

TEST(Router, Capture_TakesOneSegment) {
  const auto match = find(Method::kGet, "/v1/policies/sha256:ab");
  EXPECT_EQ(match.kind, Kind::kFound);
  EXPECT_EQ(match.captures.at("id"), "sha256:ab");
  EXPECT_EQ(find(Method::kGet, "/v1/policies/a/b").kind, Kind::kNotFound);
}

TEST(Router, Verb_WinsOverCapture) {
  const auto match = find(Method::kPost, "/v1/policies/sha256:ab:activate");
  EXPECT_EQ(match.kind, Kind::kFound);
  EXPECT_EQ(match.route, 1U);
  EXPECT_EQ(match.captures.at("id"), "sha256:ab");
}

TEST(Router, VerbOfAnotherMethod_IsNotTheCapture) {
  const auto match = find(Method::kGet, "/v1/policies/a:activate");
  EXPECT_EQ(match.kind, Kind::kMethodNotAllowed);
  EXPECT_EQ(allow_header(match.allowed), "POST, OPTIONS");
}

TEST(Router, Rest_TakesSeveralSegments) {
  const auto match = find(Method::kGet, "/log/tile/0/x001/234.p/5");
  EXPECT_EQ(match.route, 5U);
  EXPECT_EQ(match.captures.at("level"), "0");
  EXPECT_EQ(match.captures.at("index"), "x001/234.p/5");
  EXPECT_EQ(find(Method::kGet, "/log/tile/entries/000").route, 6U);
  EXPECT_EQ(find(Method::kGet, "/log/tile/0").kind, Kind::kNotFound);
}

TEST(Router, Head_FindsTheRouteOfGet) { EXPECT_EQ(find(Method::kHead, "/v1/policies").route, 3U); }

TEST(Router, WrongMethod_ListsWhatIsAllowed) {
  const auto match = find(Method::kDelete, "/v1/policies");
  EXPECT_EQ(match.kind, Kind::kMethodNotAllowed);
  EXPECT_EQ(allow_header(match.allowed), "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(match.others, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(find(std::nullopt, "/v1/policies").kind, Kind::kMethodNotAllowed);
  EXPECT_EQ(find(Method::kOptions, "/v1/policies").kind, Kind::kMethodNotAllowed);
}

TEST(Router, OtherListener_HasItsOwnRoutes) {
  EXPECT_EQ(find(Method::kPost, "/v1/admission/validate").kind, Kind::kNotFound);
  EXPECT_EQ(find(Method::kPost, "/v1/admission/validate", Listener::kAdmission).kind, Kind::kFound);
  EXPECT_EQ(find(Method::kGet, "/v1/policies", Listener::kAdmission).kind, Kind::kNotFound);
}

class RouterMisses : public testing::TestWithParam<const char*> {};

TEST_P(RouterMisses, Path_HasNoRoute) {
  EXPECT_EQ(find(Method::kGet, GetParam()).kind, Kind::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Paths, RouterMisses,
                         testing::Values("/", "//", "/v1", "/v1/", "/v1/policies/", "//v1/policies",
                                         "/v1//policies", "/V1/policies", "/v1/entries//proof",
                                         "/v1/entries/1/proof/"));

}  // namespace
}  // namespace assay::server
