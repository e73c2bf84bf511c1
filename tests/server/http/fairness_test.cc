// SPDX-License-Identifier: Apache-2.0
// One caller takes all that it can get: threads, the queue, memory, connections. Others are
// answered, and admission is not concerned.

#include <gtest/gtest.h>

#include "tests/server/http/server_fixture.h"

namespace assay::server {
namespace {

using test::Gate;
using Clients = std::vector<std::unique_ptr<TlsClient>>;

std::string get_of(const std::string& caller, const std::string& target = "/a") {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" +
         (caller.empty() ? "" : "Caller: " + caller + "\r\n") + "\r\n";
}

std::string post_of(const std::string& caller, std::size_t length) {
  return "POST /a HTTP/1.1\r\nHost: a\r\nCaller: " + caller +
         "\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

class FairnessTest : public test::ServerTest {
 protected:
  // Sends a request on a connection of its own; returns when the server has its header.
  void begin(const std::string& request) {
    const int before = app_.opened;
    clients_.push_back(client());
    ASSERT_TRUE(clients_.back()->send(request));
    wait_until([this, before] { return app_.opened == before + 1; });
  }

  // The status of a request on a new connection; 0 when there was no place for that.
  int status(const std::string& request) {
    TlsClient one({.port = server_->port(Listener::kApi)});
    const auto answer = one.handshake() ? one.exchange(request) : std::optional<HttpAnswer>();
    return answer ? answer->status : 0;
  }

  // Answers of 16 MiB for "/large".
  void answer_at_length() {
    app_.handler = [](const Head& head, const Bytes&) {
      Response response;
      response.body = std::string(head.target == "/large" ? 16U << 20 : 1, 'z');
      return response;
    };
  }

  Clients clients_;
};

TEST_F(FairnessTest, FullLineOfOneCaller_DelaysOthersByOneRequestAThread) {
  limits_.worker_threads = 1;
  limits_.max_queued_requests = 8;
  Gate gate;
  std::vector<std::string> order;  // one thread writes it, and joining that is the end of all
  app_.handler = [&](const Head& head, const Bytes&) {
    const auto caller = head.headers.find("caller");
    order.push_back(caller == head.headers.end() ? "stranger" : caller->second);
    gate.wait();
    return Response();
  };
  serve();
  begin(get_of("busy"));
  wait_until([&gate] { return gate.waiting == 1; });
  for (int i = 0; i < 4; ++i) {
    begin(get_of("busy", i % 2 == 0 ? "/a" : "/ask"));
  }
  EXPECT_EQ(status(get_of("busy")), 503) << "half of the places";
  begin(get_of("node"));
  begin(get_of("admin", "/ask"));
  begin(get_of("", "/ask/stranger"));
  gate.open();
  for (const auto& one : clients_) {
    EXPECT_EQ(one->receive()->status, 200);
  }
  server_->stop();
  EXPECT_EQ(order, (std::vector<std::string>{"busy", "busy", "node", "admin", "stranger", "busy",
                                             "busy", "busy"}));
}

// A heartbeat that is late makes the instances of its node count as unwatched.
TEST_F(FairnessTest, ThreadsAndQueueThatAreFull_LeaveHeartbeatsTheirOwn) {
  limits_.worker_threads = 2;
  limits_.max_queued_requests = 2;
  Gate gate;
  app_.handler = [&](const Head& head, const Bytes&) {
    if (head.target != "/vital") {
      gate.wait();
    }
    return Response();
  };
  serve();
  for (const char* caller : {"a", "b"}) {
    begin(get_of(caller));
  }
  wait_until([&gate] { return gate.waiting == 2; });
  begin(get_of("c"));
  wait_until([this] { return app_.received == 3; });
  EXPECT_EQ(status(get_of("c")), 503);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(status(get_of("node", "/vital")), 200);
  }
  EXPECT_EQ(gate.waiting, 2);
  gate.open();
  for (const auto& one : clients_) {
    EXPECT_EQ(one->receive()->status, 200);
  }
}

TEST_F(FairnessTest, BodiesOfOneCaller_LeaveMemoryForOthers) {
  limits_.max_bytes_in_flight = 240'000;
  serve();
  constexpr std::size_t length = 60'000;
  const std::string body(length, 'x');
  for (int i = 0; i < 2; ++i) {
    begin(post_of("busy", length) + body.substr(1));
  }
  // When the first bytes of both have arrived is not seen from here: ask until they have.
  wait_until([&] { return status(post_of("busy", length) + body) == 503; });
  EXPECT_EQ(status(post_of("node", length) + body), 200);
  EXPECT_EQ(status(get_of("admin")), 200);
  for (const auto& one : clients_) {
    EXPECT_EQ(one->exchange("x")->status, 200) << "those under way get their memory";
  }
  wait_until([&] { return status(post_of("busy", length) + body) == 200; });
}

TEST_F(FairnessTest, AnswersThatOneCallerDoesNotRead_LeaveMemoryForOthers) {
  limits_.max_bytes_in_flight = 24U << 20;
  answer_at_length();
  serve();
  begin(get_of("busy", "/large"));
  wait_until([this] { return status(get_of("busy")) == 503; });
  EXPECT_EQ(status(get_of("node")), 200);
  EXPECT_EQ(status(post_of("admin", 1) + "x"), 200);
  EXPECT_EQ(clients_.front()->receive()->body.size(), 16U << 20);
  wait_until([this] { return status(get_of("busy")) == 200; });
}

TEST_F(FairnessTest, BodiesThatOneCallerDoesNotSend_LeaveConnectionsForOthers) {
  limits_.max_connections = 4;
  serve();
  for (int i = 0; i < 2; ++i) {
    begin(post_of("busy", 5) + "hel");
  }
  EXPECT_EQ(status(get_of("busy")), 503) << "half of the connections";
  for (int i = 0; i < 8; ++i) {
    begin(post_of("busy", 50'000));  // refused, and nobody reads that
    EXPECT_EQ(status(get_of("node")), 200);
  }
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(clients_[i]->exchange("lo")->status, 200) << "those under way keep their places";
  }
  EXPECT_EQ(status(get_of("busy")), 200);
}

TEST_F(FairnessTest, AnswersThatOneCallerDoesNotRead_LeaveConnectionsForOthers) {
  limits_.max_connections = 4;
  answer_at_length();
  serve();
  for (int i = 0; i < 4; ++i) {
    begin(get_of("busy", "/large"));
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(status(get_of("node")), 200);
  }
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(clients_[i]->receive()->body.size(), 16U << 20);
  }
}

TEST_F(FairnessTest, FullMemoryOfTheApi_LeavesAdmissionAQuarterBesideIt) {
  limits_.max_bytes_in_flight = 240'000;
  answer_at_length();
  serve_both();
  begin(get_of("busy", "/large"));
  wait_until([this] { return status(get_of("node")) == 503; });
  const auto review = [this](std::size_t length) {
    return client({.port = server_->port(Listener::kAdmission)})
        ->exchange(post_of("cluster", length) + std::string(length, 'x'))
        ->status;
  };
  EXPECT_EQ(review(60'000), 200);
  EXPECT_EQ(review(60'001), 503);
  EXPECT_EQ(status(get_of("node")), 503) << "the API is full still";
}

}  // namespace
}  // namespace assay::server
