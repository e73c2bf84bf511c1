// SPDX-License-Identifier: Apache-2.0
// Limits of the server: time, connections, the queue; TLS settings; stopping. Time stands still
// until a test moves it.

#include <algorithm>
#include <future>
#include <sys/types.h>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "server/http/self_signed.h"
#include "tests/server/http/server_fixture.h"

namespace assay::server {
namespace {

using std::chrono::milliseconds;
using test::Gate;

// Each limit of time differs from the others, so that a test knows which one the server waits for.
class LimitsTest : public test::ServerTest {
 protected:
  LimitsTest() {
    limits_.handshake_timeout = milliseconds(10'000);
    limits_.header_timeout = milliseconds(11'000);
    limits_.body_timeout = milliseconds(60'000);
    limits_.idle_timeout = milliseconds(70'000);
    limits_.shutdown_timeout = milliseconds(15'000);
  }

  // Has two places. Two clients send `request` and read nothing; returns when both were answered.
  std::vector<std::unique_ptr<TlsClient>> take_both_places(std::string_view request) {
    limits_.max_connections = 2;
    app_.handler = [](const Head& head, const Bytes&) {
      Response response;
      response.body = std::string(head.target.ends_with("/large") ? 16U << 20 : 1, 'z');
      return response;
    };
    serve();
    std::vector<std::unique_ptr<TlsClient>> made;
    for (int i = 1; i <= 2; ++i) {
      made.push_back(client());
      EXPECT_TRUE(made.back()->send(request));
      wait_until([this, i] { return app_.opened == i; });
    }
    return made;
  }

  // Whether a new client gets a place and its answer.
  bool is_answered() {
    TlsClient one({.port = server_->port(Listener::kApi)});
    const auto answer = one.handshake() ? one.exchange("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
                                        : std::optional<HttpAnswer>();
    return answer && answer->status == 200;
  }

  // Sends what begins a header; returns when the server counts the time from there.
  void begin_header(TlsClient& connection, std::string_view bytes) {
    wait_until([this] { return time_.awaited(limits_.header_timeout); });
    time_.advance(milliseconds(1));
    ASSERT_TRUE(connection.send(bytes));
    wait_until([this] { return time_.awaited(limits_.header_timeout); });
  }
};

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kAsk = "GET /ask HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_F(LimitsTest, SilentHandshake_Ends) {
  serve();
  TlsClient silent({.port = server_->port(Listener::kApi)});
  ASSERT_TRUE(silent.connected());
  let_pass(limits_.handshake_timeout);
  EXPECT_TRUE(silent.wait_for_end());
  wait_until([this] { return app_.handshakes_failed == 1; });
}

TEST_F(LimitsTest, SilentConnection_Ends) {
  serve();
  const auto connection = client();
  let_pass(limits_.header_timeout);
  EXPECT_TRUE(connection->wait_for_end());
}

TEST_F(LimitsTest, SlowHeader_IsATimeout) {
  serve();
  const auto connection = client();
  begin_header(*connection, "GET / HTTP/1.1\r\nHost: a\r\n");
  time_.advance(limits_.header_timeout);
  const auto answer = connection->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 408);
}

TEST_F(LimitsTest, HeaderJustInTime_IsAnswered) {
  serve();
  const auto connection = client();
  begin_header(*connection, "GET /a HTTP/1.1\r\nHost: a\r\n");
  time_.advance(limits_.header_timeout - milliseconds(1));
  const auto answer = connection->exchange("\r\n");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST_F(LimitsTest, HeaderThatTrickles_IsATimeout) {
  serve();
  const auto connection = client();
  begin_header(*connection, "G");
  // Each byte is progress; the limit is on the whole header.
  for (int i = 0; i < 4; ++i) {
    time_.advance(limits_.header_timeout / 4);
    ASSERT_TRUE(connection->send("G"));
  }
  const auto answer = connection->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 408);
  connection->close();
  wait_until([this] { return app_.closed == 1; });
  EXPECT_EQ(app_.handled, 0);
}

TEST_F(LimitsTest, SlowBody_IsATimeout) {
  serve();
  const auto connection = client();
  ASSERT_TRUE(connection->send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel"));
  let_pass(limits_.body_timeout);
  const auto answer = connection->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 408);
  EXPECT_EQ(app_.handled, 0);
}

TEST_F(LimitsTest, IdleConnection_Ends) {
  serve();
  const auto connection = client();
  EXPECT_EQ(connection->exchange(kGet)->status, 200);
  let_pass(limits_.idle_timeout);
  EXPECT_TRUE(connection->wait_for_end());
}

TEST_F(LimitsTest, SlowHandler_IsNotAnIdleConnection) {
  app_.handler = [this](const Head&, const Bytes&) {
    time_.advance(std::chrono::hours(1));
    // Every limit is over: the other connection has felt it.
    wait_until([this] { return app_.closed == 1; });
    return Response();
  };
  serve();
  const auto other = client();
  wait_until([this] { return time_.awaited(limits_.header_timeout); });
  const auto connection = client();
  EXPECT_EQ(connection->exchange(kGet)->status, 200);
  EXPECT_TRUE(other->wait_for_end());
  EXPECT_EQ(connection->exchange("GET /refused HTTP/1.1\r\nHost: a\r\n\r\n")->status, 403);
}

TEST_F(LimitsTest, ClientThatDoesNotRead_IsCutOff) {
  test::Count answers;
  app_.handler = [this, &answers](const Head&, const Bytes&) {
    // The limit for the body began before this step, the limit for the answer begins after it.
    time_.advance(milliseconds(1));
    ++answers;
    Response response;
    response.body = std::string(64U << 20, 'z');
    return response;
  };
  serve();
  const auto connection = client();
  ASSERT_TRUE(connection->send(kGet));
  wait_until([&answers] { return answers == 1; });
  let_pass(limits_.body_timeout);
  wait_until([this] { return app_.closed == 1; });
}

TEST_F(LimitsTest, TooManyConnections_ASilentOneEndsForTheNewOne) {
  limits_.max_connections = 2;
  serve();
  const auto first = client();
  const auto second = client();
  EXPECT_EQ(first->exchange(kGet)->status, 200);
  EXPECT_EQ(client()->exchange(kGet)->status, 200);
  EXPECT_EQ(app_.turned_away, 1);
  EXPECT_TRUE(second->wait_for_end()) << "silent for longest";
  EXPECT_EQ(first->exchange(kGet)->status, 200);
}

TEST_F(LimitsTest, SilentConnectionsByTheThousand_LeaveRoomForWhoeverSpeaks) {
  limits_.max_connections = 16;
  limits_.max_connections_per_address = 8;
  serve_both();
  for (const Listener listener : {Listener::kApi, Listener::kAdmission}) {
    const TlsClientOptions options{.port = server_->port(listener)};
    const int before = app_.accepted - app_.closed;
    std::vector<std::unique_ptr<TlsClient>> silent;
    for (int i = 0; i < 200; ++i) {
      silent.push_back(std::make_unique<TlsClient>(options));
      ASSERT_TRUE(silent.back()->connected());
      if (i % 50 == 0) {
        EXPECT_EQ(client(options)->exchange(kGet)->status, 200) << i;
      }
    }
    EXPECT_LE(app_.accepted - app_.closed, before + 17);
  }
}

TEST_F(LimitsTest, AnswersThatStrangersDoNotRead_MakeRoom) {
  const auto unread = take_both_places("GET /public/large HTTP/1.1\r\nHost: a\r\n\r\n");
  for (int i = 0; i < 4; ++i) {
    wait_until([this] { return is_answered(); });
  }
  EXPECT_EQ(app_.defects, 0);
}

TEST_F(LimitsTest, RefusedRequestsWhoseBodiesDoNotCome_MakeRoom) {
  const auto waiting =
      take_both_places("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
  for (int i = 0; i < 4; ++i) {
    wait_until([this] { return is_answered(); });
  }
  EXPECT_EQ(app_.defects, 0);
}

TEST_F(LimitsTest, AnswersToThoseWhoAreKnown_KeepTheirPlaces) {
  const auto reading = take_both_places("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
  wait_until([this] { return app_.handled == 2 && time_.awaited(limits_.body_timeout); });
  TlsClient other({.port = server_->port(Listener::kApi)});
  EXPECT_FALSE(other.handshake());
  EXPECT_EQ(reading.front()->receive()->body.size(), 16U << 20);
  EXPECT_EQ(reading.back()->receive()->body.size(), 16U << 20);
}

TEST_F(LimitsTest, OnlyBusyConnections_TheNewOneIsTurnedAway) {
  limits_.max_connections = 1;
  Gate gate;
  app_.handler = [&gate](const Head&, const Bytes&) {
    gate.wait();
    return Response();
  };
  serve();
  const auto busy = client();
  ASSERT_TRUE(busy->send(kGet));
  wait_until([&gate] { return gate.waiting == 1; });
  TlsClient other({.port = server_->port(Listener::kApi)});
  EXPECT_FALSE(other.handshake());
  EXPECT_EQ(app_.turned_away, 1);
  gate.open();
  EXPECT_EQ(busy->receive()->status, 200);
}

TEST_F(LimitsTest, BodiesBeyondTheBudget_AreOverload) {
  limits_.max_bytes_in_flight = 160'000;
  serve();
  constexpr std::string_view head = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n";
  const std::string most(59'999, 'x');
  std::vector<std::unique_ptr<TlsClient>> unfinished;
  for (int i = 0; i < 2; ++i) {
    unfinished.push_back(client());
    ASSERT_TRUE(unfinished.back()->send(std::string(head) + most));
  }
  // When all of both has arrived is not seen from here: ask until it has.
  int status = 0;
  for (int i = 0; i < 1000 && status != 503; ++i) {
    status = ask(std::string(head) + most + "x")->status;
  }
  EXPECT_EQ(status, 503);
  for (const auto& one : unfinished) {
    EXPECT_EQ(one->exchange("x")->status, 200) << "those under way get their memory";
  }
  wait_until([&] { return ask(std::string(head) + most + "x")->status == 200; });
}

TEST_F(LimitsTest, AnswersThatNobodyReads_CountAsWell) {
  limits_.max_bytes_in_flight = 1U << 20;
  app_.handler = [](const Head& head, const Bytes&) {
    Response response;
    response.body = std::string(head.target == "/large" ? 64U << 20 : 1, 'z');
    return response;
  };
  serve();
  const auto reader = client();
  ASSERT_TRUE(reader->send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n"));
  wait_until([&] { return ask(kGet)->status == 503; });
  reader->close();
  wait_until([&] { return ask(kGet)->status == 200; });
}

// All are in the queue before the first has its answer.
TEST_F(LimitsTest, LongAnswersAskedForTogether_EndAtTheBudget) {
  limits_.worker_threads = 1;
  limits_.max_bytes_in_flight = 20U << 20;
  Gate gate;
  app_.handler = [&gate](const Head&, const Bytes&) {
    gate.wait();
    Response response;
    response.body = std::string(16U << 20, 'z');
    return response;
  };
  serve();
  std::vector<std::unique_ptr<TlsClient>> readers;
  for (int i = 1; i <= 8; ++i) {
    readers.push_back(client());
    ASSERT_TRUE(readers.back()->send(i % 2 == 0 ? kGet : kAsk));
    wait_until([this, i] { return app_.opened == i; });
  }
  gate.open();
  // The second begins while there is room for some more, and all others find none.
  wait_until([this] {
    const std::scoped_lock lock(app_.mutex);
    return std::ranges::count(app_.statuses, 503) == 6;
  });
  EXPECT_EQ(app_.handled, 2);
}

// One request at a time runs, and waits at the gate; one more fits into the queue.
class QueueTest : public LimitsTest {
 protected:
  void serve_one_at_a_time() {
    limits_.worker_threads = 1;
    limits_.max_queued_requests = 1;
    app_.handler = [this](const Head&, const Bytes&) {
      gate_.wait();
      return Response();
    };
    serve();
  }

  Gate gate_;
};

TEST_F(QueueTest, FullQueue_IsOverloadBeforeTheBody) {
  serve_one_at_a_time();
  const auto running = client();
  ASSERT_TRUE(running->send(kGet));
  wait_until([this] { return gate_.waiting == 1; });
  const auto queued = client();
  ASSERT_TRUE(queued->send(kGet));
  // How long the second one takes to reach the queue is not seen from here: ask until it has.
  int status = 0;
  const auto connection = client();
  for (int i = 0; i < 1000 && status != 503; ++i) {
    const auto answer = connection->exchange("GET /refused HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(answer);
    const auto other = client();
    other->send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
    const auto refused = other->receive();
    ASSERT_TRUE(refused);
    status = refused->status;
  }
  EXPECT_EQ(status, 503);
  gate_.open();
  EXPECT_EQ(running->receive()->status, 200);
  EXPECT_EQ(queued->receive()->status, 200);
}

TEST_F(QueueTest, WhatNeedsNoThread_IsAnsweredWhileAllAreBusy) {
  serve_one_at_a_time();
  const auto running = client();
  ASSERT_TRUE(running->send(kGet));
  wait_until([this] { return gate_.waiting == 1; });
  const auto queued = client();
  ASSERT_TRUE(queued->send(kGet));
  wait_until([this] { return app_.received == 2; });
  EXPECT_EQ(ask(kGet)->status, 503) << "the queue is full";
  const auto prober = client();
  for (int i = 0; i < 3; ++i) {
    const auto answer = prober->exchange("GET /at-once HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "/at-once:");
  }
  gate_.open();
  EXPECT_EQ(running->receive()->status, 200);
  EXPECT_EQ(queued->receive()->status, 200);
}

TEST_F(QueueTest, Strangers_FillHalfOfItAndNoMore) {
  limits_.worker_threads = 1;
  limits_.max_queued_requests = 4;
  app_.handler = [this](const Head&, const Bytes&) {
    gate_.wait();
    return Response();
  };
  serve();
  constexpr std::string_view kStranger = "GET /ask/stranger HTTP/1.1\r\nHost: a\r\n\r\n";
  std::vector<std::unique_ptr<TlsClient>> waiting;
  for (const std::string_view request : {kGet, kStranger, kStranger}) {
    waiting.push_back(client());
    ASSERT_TRUE(waiting.back()->send(request));
    const auto begun = static_cast<int>(waiting.size());
    wait_until([this, begun] { return begun == 1 ? gate_.waiting == 1 : app_.opened == begun; });
  }
  EXPECT_EQ(ask(kStranger)->status, 503);
  for (const std::string_view request : {kGet, kAsk}) {
    waiting.push_back(client());
    ASSERT_TRUE(waiting.back()->send(request));
    wait_until([this, &waiting] { return app_.opened == static_cast<int>(waiting.size()) + 1; });
  }
  EXPECT_EQ(ask(kGet)->status, 503) << "all four places are taken";
  gate_.open();
  for (const auto& one : waiting) {
    EXPECT_EQ(one->receive()->status, 200);
  }
  EXPECT_EQ(ask(kStranger)->status, 200) << "their places are free again";
}

TEST_F(QueueTest, RequestsOfClientsThatLeft_AreNotBegun) {
  serve_one_at_a_time();
  const auto running = client();
  ASSERT_TRUE(running->send(kGet));
  wait_until([this] { return gate_.waiting == 1; });
  const auto gone = client();
  ASSERT_TRUE(gone->send(kGet));
  wait_until([this] { return app_.opened == 2; });
  // Answered on the thread that queues the one before.
  EXPECT_EQ(ask("GET /at-once HTTP/1.1\r\nHost: a\r\n\r\n")->status, 200);
  gone->close();
  time_.advance(milliseconds(251));
  gate_.open();
  EXPECT_EQ(running->receive()->status, 200);
  // The place of the one that left is free a moment after this answer.
  wait_until([this] { return ask(kGet)->status == 200; });
  EXPECT_EQ(app_.handled, 3) << "all but the one that left";
}

TEST_F(QueueTest, QueueThatFilledDuringTheBody_IsOverload) {
  serve_one_at_a_time();
  const auto late = client();
  ASSERT_TRUE(late->send(
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(late->receive()->status, 100);
  const auto running = client();
  ASSERT_TRUE(running->send(kGet));
  wait_until([this] { return gate_.waiting == 1; });
  const auto queued = client();
  ASSERT_TRUE(queued->send(kGet));
  wait_until([this] { return app_.received == 2; });
  EXPECT_EQ(late->exchange("hello")->status, 503);
  gate_.open();
  EXPECT_EQ(running->receive()->status, 200);
  EXPECT_EQ(queued->receive()->status, 200);
}

// The API has every thread, its queue and all its connections in use.
TEST_F(LimitsTest, BusyApi_LeavesAdmissionItsOwn) {
  limits_.worker_threads = 1;
  limits_.max_queued_requests = 1;
  limits_.max_connections = 2;
  Gate gate;
  app_.handler = [&gate](const Head& head, const Bytes&) {
    if (head.target != "/review") {
      gate.wait();
    }
    return Response();
  };
  serve_both();
  const auto running = client();
  ASSERT_TRUE(running->send(kGet));
  wait_until([&gate] { return gate.waiting == 1; });
  const auto queued = client();
  ASSERT_TRUE(queued->send(kGet));
  wait_until([this] { return app_.received == 2; });
  for (int i = 0; i < 8; ++i) {
    TlsClient review({.port = server_->port(Listener::kAdmission)});
    ASSERT_TRUE(review.handshake());
    const auto answer = review.exchange("GET /review HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
  }
  gate.open();
  EXPECT_EQ(running->receive()->status, 200);
  EXPECT_EQ(queued->receive()->status, 200);
}

TEST_F(LimitsTest, OldTls_IsRefused) {
  serve();
  TlsClient old({.port = server_->port(Listener::kApi), .max_version = TLS1_2_VERSION});
  EXPECT_FALSE(old.handshake());
}

TEST_F(LimitsTest, Alpn_OtherProtocolIsRefused) {
  serve();
  TlsClient other({.port = server_->port(Listener::kApi), .alpn = "h2"});
  EXPECT_FALSE(other.handshake());
  EXPECT_EQ(client({.alpn = "http/1.1"})->exchange(kGet)->status, 200);
}

TEST_F(LimitsTest, ClientCertificate_KeyIsHandedOn) {
  ASSERT_TRUE(make_self_signed({path("c.crt"), path("c.key"), "127.0.0.1", clock_.now()}));
  serve();
  EXPECT_EQ(client()->exchange(kGet)->status, 200);
  EXPECT_EQ(app_.last_client_key, std::nullopt);
  const auto connection =
      client({.certificate_file = path("c.crt"), .private_key_file = path("c.key")});
  EXPECT_EQ(connection->exchange(kGet)->status, 200);
  EXPECT_EQ(app_.last_client_key, certificate_pin(path("c.crt")));
  EXPECT_EQ(connection->server_pin(), certificate_pin(path("tls.crt"))->hex());
}

TEST_F(LimitsTest, RequiredClientCertificate_WithoutItThereIsNoAnswer) {
  ASSERT_TRUE(make_self_signed({path("c.crt"), path("c.key"), "127.0.0.1", clock_.now()}));
  client_certificate_ = ClientCertificate::kRequired;
  serve();
  EXPECT_FALSE(client()->exchange(kGet));
  EXPECT_EQ(client({.certificate_file = path("c.crt"), .private_key_file = path("c.key")})
                ->exchange(kGet)
                ->status,
            200);
}

TEST_F(LimitsTest, Plaintext_IsNotAnswered) {
  serve();
  TlsClient plain({.port = server_->port(Listener::kApi)});
  ASSERT_TRUE(plain.connected());
  EXPECT_TRUE(plain.connected());
  plain.close();
  EXPECT_EQ(ask(kGet)->status, 200);
}

TEST_F(LimitsTest, Stop_IdleConnectionsEndAtOnce) {
  serve();
  const auto connection = client();
  EXPECT_EQ(connection->exchange(kGet)->status, 200);
  const auto fresh = client();
  server_->stop();
  EXPECT_TRUE(connection->wait_for_end());
  EXPECT_TRUE(fresh->wait_for_end());
}

TEST_F(LimitsTest, Stop_SilentHandshakeEndsAtOnce) {
  serve();
  TlsClient silent({.port = server_->port(Listener::kApi)});
  wait_until([this] { return app_.accepted == 1; });
  server_->stop();
  EXPECT_TRUE(silent.wait_for_end());
}

TEST_F(LimitsTest, Stop_RequestInFlightIsAnswered) {
  Gate gate;
  app_.handler = [&gate](const Head&, const Bytes&) {
    gate.wait();
    return Response();
  };
  serve();
  const std::uint16_t port = server_->port(Listener::kApi);
  const auto connection = client();
  ASSERT_TRUE(connection->send(kAsk));
  wait_until([&gate] { return gate.waiting == 1; });
  std::future<void> stopped = std::async(std::launch::async, [this] { server_->stop(); });
  // No longer listening, and still working.
  wait_until([port] { return !TlsClient({.port = port}).connected(); });
  EXPECT_EQ(stopped.wait_for(milliseconds(0)), std::future_status::timeout);
  gate.open();
  const auto answer = connection->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->header("connection"), "close");
  stopped.get();
}

TEST_F(LimitsTest, Stop_ClientThatStallsIsCutOff) {
  serve();
  const auto connection = client();
  ASSERT_TRUE(connection->send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel"));
  wait_until([this] { return time_.awaited(limits_.body_timeout); });
  std::future<void> stopped = std::async(std::launch::async, [this] { server_->stop(); });
  let_pass(limits_.shutdown_timeout);
  stopped.get();
  EXPECT_FALSE(connection->receive());
}

}  // namespace
}  // namespace assay::server
