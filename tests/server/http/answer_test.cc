// SPDX-License-Identifier: Apache-2.0
// Media types and the bytes of answers.

#include <gtest/gtest.h>

#include "server/http/negotiate.h"
#include "server/http/render.h"

namespace assay::server {
namespace {

using std::string_view_literals::operator""sv;

std::string chosen(std::string_view accept) {
  static constexpr std::array kTypes = {"application/json"sv, "application/x"sv, "text/plain"sv};
  return std::string(negotiate(accept, kTypes).value_or("none"));
}

TEST(Negotiate, Accept_ChoosesTheBest) {
  EXPECT_EQ(chosen(""), "application/json");
  EXPECT_EQ(chosen("*/*"), "application/json");
  EXPECT_EQ(chosen("application/*"), "application/json");
  EXPECT_EQ(chosen("text/*"), "text/plain");
  EXPECT_EQ(chosen("application/X"), "application/x");
  EXPECT_EQ(chosen("application/x;v=1;q=0.9, text/plain;q=0.95"), "text/plain");
  EXPECT_EQ(chosen("*/*;q=0.1, application/x"), "application/x");
  EXPECT_EQ(chosen("application/json;q=0, */*"), "application/x");
  EXPECT_EQ(chosen("application/*;q=0.2, text/plain;q=0.3"), "text/plain");
}

TEST(Negotiate, NothingAcceptable_IsNothing) {
  EXPECT_EQ(chosen("image/png"), "none");
  EXPECT_EQ(chosen("*/*;q=0"), "none");
  EXPECT_EQ(chosen("application/json;q=2, application/json;q=x"), "none");
  EXPECT_EQ(chosen(",,;"), "none");
}

TEST(MediaType, Parameters_AreLeftOut) {
  EXPECT_EQ(media_type("Application/JSON; charset=utf-8"), "application/json");
  EXPECT_EQ(media_type("  text/plain  "), "text/plain");
  EXPECT_EQ(media_type("json"), "");
  EXPECT_EQ(media_type(""), "");
}

RenderOptions at(std::int64_t seconds) {
  RenderOptions options;
  options.now = Timestamp(std::chrono::seconds(seconds));
  return options;
}

TEST(Render, Date_IsThatOfRfc9110) {
  EXPECT_EQ(http_date(Timestamp(std::chrono::seconds(784111777))), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(Render, Response_IsOneMessage) {
  Response response;
  response.status = 201;
  response.headers.emplace_back("Location", "/v1/x");
  response.body = "{}";
  EXPECT_EQ(render(response, at(784111777)),
            "HTTP/1.1 201 Created\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Content-Type: application/json\r\n"
            "Content-Length: 2\r\n"
            "Cache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Location: /v1/x\r\n"
            "\r\n"
            "{}");
}

TEST(Render, Head_HasLengthWithoutBody) {
  Response response;
  response.body = "abc";
  RenderOptions options = at(0);
  options.without_body = true;
  const std::string text = render(response, options);
  EXPECT_NE(text.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
}

TEST(Render, NotModified_HasNoBody) {
  Response response;
  response.status = 304;
  response.body = "abc";
  const std::string text = render(response, at(0));
  EXPECT_EQ(text.find("Content-Length"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
}

TEST(Render, FieldThatCouldSplitTheHeader_IsLeftOut) {
  Response response;
  response.headers.emplace_back("X-A", "a\r\nSet-Cookie: b");
  response.headers.emplace_back("X-B\r\n", "a");
  const std::string text = render(response, at(0));
  EXPECT_EQ(text.find("Set-Cookie"), std::string::npos);
  EXPECT_EQ(text.find("X-B"), std::string::npos);
}

TEST(Render, LastAnswer_SaysClose) {
  RenderOptions options = at(0);
  options.keep_alive = false;
  EXPECT_NE(render(Response(), options).find("Connection: close\r\n"), std::string::npos);
}

TEST(RequestId, SafeText_IsTaken) {
  EXPECT_TRUE(is_request_id("0198f0aa-1.b_C"));
  EXPECT_FALSE(is_request_id(""));
  EXPECT_FALSE(is_request_id("a b"));
  EXPECT_FALSE(is_request_id("a\"b"));
  EXPECT_FALSE(is_request_id(std::string(kMaxRequestIdBytes + 1, 'a')));
}

}  // namespace
}  // namespace assay::server
