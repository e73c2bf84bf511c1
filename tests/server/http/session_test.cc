// SPDX-License-Identifier: Apache-2.0
// Sessions over real TLS connections: framing, keep-alive, pipelining, refusals, HEAD, Expect.

#include <gtest/gtest.h>

#include "server/http/self_signed.h"
#include "tests/server/http/server_fixture.h"

namespace assay::server {
namespace {

using SessionTest = test::ServerTest;

std::string get(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

std::string post(const std::string& target, const std::string& body) {
  return "POST " + target +
         " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

TEST_F(SessionTest, Get_IsAnswered) {
  serve();
  const auto answer = ask(get("/a?b=c"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "/a?b=c:");
  EXPECT_EQ(answer->header("cache-control"), "no-store");
  EXPECT_NE(answer->header("date"), "");
}

TEST_F(SessionTest, Post_BodyArrivesWhole) {
  serve();
  const std::string body(60'000, 'x');
  EXPECT_EQ(ask(post("/a", body))->body, "/a:" + body);
}

TEST_F(SessionTest, PostInSingleBytes_IsTheSame) {
  serve();
  const auto connection = client();
  for (const char byte : post("/ask", "hello")) {
    ASSERT_TRUE(connection->send(std::string_view(&byte, 1)));
  }
  EXPECT_EQ(connection->receive()->body, "/ask:hello");
}

TEST_F(SessionTest, SeveralRequests_ShareAConnection) {
  serve();
  const auto connection = client();
  for (int i = 0; i < 20; ++i) {
    const std::string target = i % 2 == 0 ? "/ask" : "/now";
    EXPECT_EQ(connection->exchange(post(target, std::to_string(i)))->body,
              target + ":" + std::to_string(i));
  }
  EXPECT_EQ(app_.accepted, 1);
}

TEST_F(SessionTest, Pipelined_AreAnsweredInOrder) {
  serve();
  const auto connection = client();
  std::string all;
  for (int i = 0; i < 30; ++i) {
    all += post("/ask", std::to_string(i)) + get("/" + std::to_string(i));
  }
  ASSERT_TRUE(connection->send(all));
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(connection->receive()->body, "/ask:" + std::to_string(i));
    EXPECT_EQ(connection->receive()->body, "/" + std::to_string(i) + ":");
  }
}

TEST_F(SessionTest, BytesBehindTheBody_AreTheNextRequest) {
  serve();
  const auto connection = client();
  ASSERT_TRUE(connection->send(post("/a", "12345") + "67890"));
  EXPECT_EQ(connection->receive()->body, "/a:12345");
  EXPECT_EQ(connection->exchange(" / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")->body,
            "/:");
}

TEST_F(SessionTest, ConnectionClose_Ends) {
  serve();
  const auto connection = client();
  const auto answer =
      connection->exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(answer->header("connection"), "close");
  EXPECT_TRUE(connection->wait_for_end());
}

TEST_F(SessionTest, Head_HasNoBody) {
  serve();
  const auto connection = client();
  ASSERT_TRUE(connection->send("HEAD /abc HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto answer = connection->receive(true);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->header("content-length"), "5");
  EXPECT_EQ(connection->exchange(get("/next"))->body, "/next:");
}

TEST_F(SessionTest, RefusedWithoutBody_KeepsTheConnection) {
  serve();
  const auto connection = client();
  EXPECT_EQ(connection->exchange(get("/refused"))->status, 403);
  EXPECT_EQ(connection->exchange(get("/ask/refused"))->status, 401);
  EXPECT_EQ(connection->exchange(get("/a"))->status, 200);
}

TEST_F(SessionTest, RefusedWithBody_IsAnsweredBeforeTheBodyAndEnds) {
  serve();
  const auto connection = client();
  // Only the header is sent: the answer does not wait for the body.
  const auto answer =
      connection->exchange("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 403);
  EXPECT_EQ(answer->header("connection"), "close");
  EXPECT_EQ(app_.handled, 0);
}

TEST_F(SessionTest, BodyOverTheLimit_ClientThatSendsItAllReadsTheAnswer) {
  serve();
  const auto connection = client();
  const std::string body(4U << 20, 'x');
  const auto answer = connection->exchange(post("/a", body));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(app_.handled, 0);
}

TEST_F(SessionTest, ExpectContinue_IsInvited) {
  serve();
  const auto connection = client();
  ASSERT_TRUE(connection->send(
      "POST /ask HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(connection->receive()->status, 100);
  EXPECT_EQ(connection->exchange("hello")->body, "/ask:hello");
}

TEST_F(SessionTest, ExpectContinueOfARefusedRequest_IsNotInvited) {
  serve();
  const auto answer =
      ask("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(answer->status, 403);
}

TEST_F(SessionTest, ExpectContinueWithTheBodyAlreadyThere_IsNotInvited) {
  serve();
  const auto answer =
      ask("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi");
  EXPECT_EQ(answer->status, 200);
}

TEST_F(SessionTest, LargeAnswer_ArrivesWhole) {
  app_.handler = [](const Head&, const Bytes&) {
    Response response;
    response.body = std::string(5U << 20, 'y');
    return response;
  };
  serve();
  EXPECT_EQ(ask(get("/"))->body.size(), 5U << 20);
}

TEST_F(SessionTest, ClientThatLeavesEarly_HarmsNobody) {
  serve();
  for (int i = 0; i < 10; ++i) {
    const auto connection = client();
    ASSERT_TRUE(
        connection->send("POST /ask HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhalf"));
    connection->close();
  }
  wait_until([this] { return app_.closed == 10; });
  EXPECT_EQ(app_.handled, 0);
  EXPECT_EQ(ask(get("/"))->status, 200);
}

// Whether a body belongs there is for the routes to say: it is never the next request.
TEST_F(SessionTest, BodyOfAGet_EndsWhereItsLengthSays) {
  serve();
  const auto connection = client();
  ASSERT_TRUE(
      connection->send("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 33\r\n\r\n"
                       "GET /inside HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(connection->receive()->status, 200);
  EXPECT_EQ(connection->exchange(get("/next"))->status, 200);
  EXPECT_EQ(app_.handled, 2);
}

struct Shape {
  const char* what;
  std::string bytes;
  int status;
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.what; }

class SmugglingTest : public test::ServerTest, public testing::WithParamInterface<Shape> {};

// Each shape is followed by a request that a server which misreads the end would answer.
TEST_P(SmugglingTest, Shape_IsRefusedAndEndsTheConnection) {
  serve();
  const auto connection = client();
  ASSERT_TRUE(connection->send(GetParam().bytes + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto answer = connection->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, GetParam().status);
  EXPECT_EQ(answer->header("connection"), "close");
  EXPECT_FALSE(connection->receive());
  EXPECT_EQ(app_.handled, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SmugglingTest,
    testing::Values(
        Shape{"other coding then length",
              "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n"
              "Content-Length: 5\r\n\r\nhello",
              400},
        Shape{"length then other coding",
              "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
              "Transfer-Encoding: gzip\r\n\r\nhello",
              400},
        Shape{"length then chunked",
              "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
              "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
              400},
        Shape{"chunked in HTTP/1.0",
              "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
              "5\r\nhello\r\n0\r\n\r\n",
              400},
        Shape{"trailers that add fields",
              "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
              "5\r\nhello\r\n0\r\nAuthorization: forged\r\n\r\n",
              411},
        Shape{"long chunk extension",
              "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;" +
                  std::string(200'000, 'x') + "\r\nhello\r\n0\r\n\r\n",
              411},
        Shape{"two lengths",
              "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
              400},
        Shape{"length with a sign", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello",
              400},
        Shape{"no length", "POST / HTTP/1.1\r\nHost: a\r\n\r\n", 411},
        Shape{"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        Shape{"no host", "GET / HTTP/1.1\r\n\r\n", 400},
        Shape{"folded line", "GET / HTTP/1.1\r\nHost: a\r\nX-Admin: a\r\n b\r\n\r\n", 400},
        Shape{"space before colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        Shape{"bare line feeds", "GET / HTTP/1.1\nHost: a\n\n", 400},
        Shape{"long header",
              "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(9000, 'a') + "\r\n\r\n", 431},
        Shape{"long target", "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n",
              414}));

TEST_F(SessionTest, Start_AddressInUseIsAnError) {
  serve();
  ListenerOptions options;
  options.address = "127.0.0.1";
  options.port = server_->port(Listener::kApi);
  options.tls = {path("tls.crt"), path("tls.key"), ClientCertificate::kOptional};
  const auto second = HttpServer::start({options}, limits_, app_, clock_, time_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInvalidConfig);
}

TEST_F(SessionTest, Start_WrongTlsFilesAreAnError) {
  ASSERT_TRUE(make_self_signed({path("c.crt"), path("c.key"), "127.0.0.1", clock_.now()}));
  for (const auto& [certificate, key] :
       {std::pair("absent.crt", "tls.key"), std::pair("tls.crt", "absent.key"),
        std::pair("tls.key", "tls.key"), std::pair("tls.crt", "c.key")}) {
    const auto context = make_tls_context(
        {path(certificate), path(key), ClientCertificate::kOptional}, clock_.now());
    ASSERT_FALSE(context);
    EXPECT_EQ(context.error().code, ErrorCode::kInvalidConfig);
  }
}

}  // namespace
}  // namespace assay::server
