// SPDX-License-Identifier: Apache-2.0
// The gate without sockets: what a header may look like. The parser behind it takes several shapes
// that two readers would end in different places; they are all here.

#include "server/http/gate.h"

#include <gtest/gtest.h>

#include "server/http/io_head.h"
#include "tests/support/vectors.h"

namespace assay::server {
namespace {

using test::code_of;

// What the session does with the bytes of a header.
Result<Head> judge(std::string_view bytes) {
  ASSAY_ASSIGN(const auto end, find_head_end(bytes));
  if (!end) {
    return fail(ErrorCode::kInternal, "incomplete");
  }
  ASSAY_ASSIGN(const RawHead raw, parse_head(bytes.substr(0, *end)));
  return check_head(raw);
}

std::string get(const std::string& fields) { return "GET / HTTP/1.1\r\n" + fields + "\r\n"; }
std::string post(const std::string& fields) {
  return "POST /v1/x HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

TEST(Gate, PlainGet_Passes) {
  const auto head = judge(get("Host: example.com:8443\r\nAccept: */*\r\n"));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, Method::kGet);
  EXPECT_EQ(head->target, "/");
  EXPECT_EQ(head->content_length, 0U);
  EXPECT_TRUE(head->keep_alive);
  EXPECT_EQ(head->headers.at("accept"), "*/*");
}

TEST(Gate, PostWithLength_Passes) {
  const auto head = judge(post("Content-Length: 5\r\nConnection: Close\r\n"));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->content_length, 5U);
  EXPECT_FALSE(head->keep_alive);
}

TEST(Gate, UnknownMethod_PassesWithoutMethod) {
  const auto head = judge("BREW / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, std::nullopt);
}

struct Refused {
  const char* what;
  std::string bytes;
  const char* code;
};

void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.what; }

class GateRefuses : public testing::TestWithParam<Refused> {};

TEST_P(GateRefuses, Shape_HasItsCode) {
  EXPECT_EQ(code_of(judge(GetParam().bytes)), GetParam().code);
}

std::string many_fields(std::size_t count) {
  std::string fields = "Host: a\r\n";
  for (std::size_t i = 1; i < count; ++i) {
    fields += "X-" + std::to_string(i) + ": a\r\n";
  }
  return get(fields);
}

INSTANTIATE_TEST_SUITE_P(
    Smuggling, GateRefuses,
    testing::Values(
        Refused{"other coding, then length",
                post("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"), "bad-request"},
        Refused{"length, then other coding",
                post("Content-Length: 5\r\nTransfer-Encoding: gzip\r\n"), "bad-request"},
        Refused{"length, then chunked", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
                "bad-request"},
        Refused{"chunked, then length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
                "bad-request"},
        Refused{"chunked twice",
                post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
                "bad-request"},
        Refused{"coding list", post("Transfer-Encoding: gzip, chunked\r\n"), "bad-request"},
        Refused{"coding identity", post("Transfer-Encoding: identity\r\n"), "bad-request"},
        Refused{"coding with vertical tab", post("Transfer-Encoding: \vchunked\r\n"),
                "bad-request"},
        Refused{"chunked", post("Transfer-Encoding: chunked\r\n"), "length-required"},
        Refused{"chunked in HTTP/1.0",
                "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "bad-request"},
        Refused{"two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n"), "bad-request"},
        Refused{"the same length twice", post("Content-Length: 5\r\nContent-Length: 5\r\n"),
                "bad-request"},
        Refused{"length list", post("Content-Length: 5, 5\r\n"), "bad-request"},
        Refused{"length with sign", post("Content-Length: +5\r\n"), "bad-request"},
        Refused{"length in hex", post("Content-Length: 0x5\r\n"), "bad-request"},
        Refused{"empty length", post("Content-Length: \r\n"), "bad-request"},
        Refused{"negative length", post("Content-Length: -1\r\n"), "bad-request"},
        Refused{"length beyond 64 bits", post("Content-Length: 99999999999999999999\r\n"),
                "bad-request"},
        Refused{"length with space inside", post("Content-Length: 1 1\r\n"), "bad-request"},
        Refused{"no length", post(""), "length-required"},
        Refused{"length of two numbers", get("Host: a\r\nContent-Length: 5, 5\r\n"),
                "bad-request"}));

INSTANTIATE_TEST_SUITE_P(
    Fields, GateRefuses,
    testing::Values(
        Refused{"no Host", get("Accept: a/b\r\n"), "bad-request"},
        Refused{"two Hosts", get("Host: a\r\nHost: b\r\n"), "bad-request"},
        Refused{"the same Host twice", get("Host: a\r\nHost: a\r\n"), "bad-request"},
        Refused{"empty Host", get("Host: \r\n"), "bad-request"},
        Refused{"Host with a path", get("Host: a/b\r\n"), "bad-request"},
        Refused{"Host with user", get("Host: u@a\r\n"), "bad-request"},
        Refused{"two Authorizations",
                get("Host: a\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n"),
                "bad-request"},
        Refused{"two Origins", get("Host: a\r\nOrigin: https://a\r\nOrigin: https://b\r\n"),
                "bad-request"},
        Refused{"two Sec-Fetch-Sites",
                get("Host: a\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n"),
                "bad-request"},
        Refused{"two media types",
                post("Content-Length: 0\r\nContent-Type: a/b\r\n"
                     "Content-Type: a/c\r\n"),
                "bad-request"},
        Refused{"folded line", get("Host: a\r\nX-A: a\r\n b\r\n"), "bad-request"},
        Refused{"folded line with tab", get("Host: a\r\nX-A: a\r\n\tb\r\n"), "bad-request"},
        Refused{"folded first line", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "bad-request"},
        Refused{"space before colon", get("Host : a\r\n"), "bad-request"},
        Refused{"space in name", get("Host: a\r\nX A: b\r\n"), "bad-request"},
        Refused{"no name", get("Host: a\r\n: b\r\n"), "bad-request"},
        Refused{"no colon", get("Host: a\r\nX-A\r\n"), "bad-request"},
        Refused{"NUL in a value", get(std::string("Host: a\r\nX-A: b\0c\r\n", 20)), "bad-request"},
        Refused{"bare CR in a value", get("Host: a\r\nX-A: b\rc\r\n"), "bad-request"},
        Refused{"bare LF", "GET / HTTP/1.1\nHost: a\n\n", "bad-request"},
        Refused{"bell in a value", get("Host: a\r\nX-A: b\ac\r\n"), "bad-request"},
        Refused{"DEL in a value", get("Host: a\r\nX-A: b\x7F\r\n"), "bad-request"},
        Refused{"encoded body", post("Content-Length: 5\r\nContent-Encoding: gzip\r\n"),
                "unsupported-media-type"},
        Refused{"unknown expectation", post("Content-Length: 5\r\nExpect: 200-ok\r\n"),
                "bad-request"}));

INSTANTIATE_TEST_SUITE_P(
    RequestLine, GateRefuses,
    testing::Values(
        Refused{"HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\n\r\n", "bad-request"},
        Refused{"HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "bad-request"},
        Refused{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\n", "bad-request"},
        Refused{"HTTP/0.9", "GET /\r\n\r\n", "bad-request"},
        Refused{"absolute target", "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request"},
        Refused{"authority target", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request"},
        Refused{"asterisk target", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request"},
        Refused{"fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request"},
        Refused{"space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request"},
        Refused{"bytes beyond ASCII", "GET /\xC3\xA9 HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request"},
        Refused{"long target",
                "GET /" + std::string(kMaxTargetBytes, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n",
                "uri-too-long"},
        Refused{"endless target", "GET /" + std::string(kMaxHeadBytes, 'a'), "uri-too-long"},
        Refused{"long header", get("Host: a\r\nX: " + std::string(kMaxHeadBytes, 'a') + "\r\n"),
                "headers-too-large"},
        Refused{"empty first line", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request"}));

TEST(Gate, Fields_PassUpToTheLimitAndNotOnePast) {
  EXPECT_TRUE(judge(many_fields(kMaxFields)));
  EXPECT_EQ(code_of(judge(many_fields(kMaxFields + 1))), "headers-too-large");
}

TEST(Gate, ListFields_AreJoined) {
  const auto head = judge(get("Host: a\r\nAccept: a/b\r\nAccept: c/d;q=0.5\r\n"));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers.at("accept"), "a/b, c/d;q=0.5");
}

// What is written out again must be read as the same.
TEST(Gate, EmptyElementsOfAList_SayNothing) {
  const auto head = judge(get("Host: a\r\nAccept:\r\nAccept: a/b\r\nAccept: \r\nAccept: c/d\r\n"));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers.at("accept"), "a/b, c/d");
}

TEST(Gate, ExpectContinue_IsSeenWithABodyOnly) {
  EXPECT_TRUE(judge(post("Content-Length: 5\r\nExpect: 100-Continue\r\n"))->expect_continue);
  EXPECT_FALSE(judge(post("Content-Length: 0\r\nExpect: 100-continue\r\n"))->expect_continue);
}

TEST(FindHeadEnd, PartOfAHeader_WantsMore) {
  const std::string whole = get("Host: a\r\n");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto end = find_head_end(std::string_view(whole).substr(0, size));
    ASSERT_TRUE(end) << size;
    EXPECT_EQ(*end, std::nullopt) << size;
  }
  EXPECT_EQ(find_head_end(whole + "more"), whole.size());
}

TEST(FindHeadEnd, HeaderOfTheLargestSize_Passes) {
  const auto with = [](std::size_t bytes) {
    const std::size_t rest = get("Host: a\r\nX: \r\n").size();
    return get("Host: a\r\nX: " + std::string(bytes - rest, 'a') + "\r\n");
  };
  const std::string longest = with(kMaxHeadBytes);
  ASSERT_EQ(longest.size(), kMaxHeadBytes);
  EXPECT_EQ(find_head_end(longest), longest.size());
  EXPECT_TRUE(judge(longest));
  EXPECT_EQ(code_of(judge(with(kMaxHeadBytes + 1))), "headers-too-large");
}

TEST(ParseHead, BytesBehindTheHeader_AreRefused) {
  EXPECT_EQ(code_of(parse_head(get("Host: a\r\n") + "x")), "bad-request");
  EXPECT_EQ(code_of(parse_head("GET / HTTP/1.1\r\nHost: a\r\n")), "bad-request");
  EXPECT_EQ(code_of(parse_head("")), "bad-request");
}

}  // namespace
}  // namespace assay::server
