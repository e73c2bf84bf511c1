// SPDX-License-Identifier: Apache-2.0
// An HTTPS server on a free port with an application of the test's making, whose time limits pass
// when the test says so.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/listener.h"
#include "tests/support/tls_client.h"

namespace assay::server::test {

// A number that only grows. Each step wakes wait_until(), from whatever thread.
class Count {
 public:
  int operator++();
  operator int() const { return value_; }  // NOLINT(google-explicit-constructor): it is a number

 private:
  std::atomic<int> value_ = 0;
};

// Answers "/refused" with 403 before the body, "/at-once" on the io thread with an echo, "/ask"
// after a trip to the pool, "/vital" on the threads for that, everything else with what `handler`
// makes of the body (an echo unless told otherwise). Bodies beyond `body_limit` are refused.
// Whoever asks for "/public..." or is refused is a stranger. The field "Caller" names the caller;
// without it each request has a caller of its own, or is a stranger's when it asks for
// "/ask/stranger".
class StubApplication final : public Application {
 public:
  std::unique_ptr<Exchange> open(Listener listener, Head head,
                                 std::optional<Digest> client_key) override;
  Response refuse(Listener listener, const std::string& peer, const Error& error) override;
  void on_connection(Listener listener, ConnectionEvent event) override;
  void on_defect(std::string_view what) override;

  std::function<Response(const Head& head, const Bytes& body)> handler;
  std::function<void()> before_admit;
  std::uint64_t body_limit = 65536;
  Count opened;    // requests
  Count received;  // bodies
  Count handled;
  Count accepted;
  Count turned_away;
  Count handshakes_failed;
  Count closed;
  Count defects;
  std::mutex mutex;
  std::optional<Digest> last_client_key;  // under `mutex`
  std::vector<int> statuses;              // of closed exchanges, under `mutex`
};

// Handlers wait at this gate until it opens.
class Gate {
 public:
  void wait() {
    ++waiting;
    latch_.wait();
  }
  void open() {
    if (!opened_.exchange(true)) {
      latch_.count_down();
    }
  }
  ~Gate() { open(); }

  Count waiting;

 private:
  std::latch latch_{1};
  std::atomic<bool> opened_ = false;
};

// Stands still until it is moved.
class ManualTime final : public SteadyTime {
 public:
  Point now() const override;
  // The server sleeps a moment and looks again; what it asked for is kept.
  std::chrono::nanoseconds until(Point deadline) const override;
  void advance(std::chrono::nanoseconds by);
  // Does something wait for exactly `limit` from now?
  bool awaited(std::chrono::nanoseconds limit) const;

 private:
  mutable std::mutex mutex_;
  Point now_{std::chrono::hours(1000)};
  mutable std::set<Point> asked_;
};

class ServerTest : public testing::Test {
 protected:
  ServerTest();
  ~ServerTest() override;

  // Serves the API with `limits_`, by `time_`.
  void serve();
  // Serves the API and admission.
  void serve_both();
  // Connected, past the handshake.
  std::unique_ptr<TlsClient> client();
  std::unique_ptr<TlsClient> client(TlsClientOptions options);
  // Sends bytes on a connection of their own.
  std::optional<HttpAnswer> ask(std::string_view bytes);
  // Waits until `done` holds, asked after each step of a Count or of the server's time; a failure
  // after a minute.
  static void wait_until(const std::function<bool()>& done);
  // Once the server waits for `limit` from now, lets just that much time pass.
  void let_pass(std::chrono::milliseconds limit);

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  std::filesystem::path folder_;
  SystemClock clock_;  // the date of answers
  ManualTime time_;
  ServerLimits limits_;
  ClientCertificate client_certificate_ = ClientCertificate::kOptional;
  StubApplication app_;
  std::unique_ptr<HttpServer> server_;

 private:
  void serve(const std::vector<Listener>& kinds);
};

}  // namespace assay::server::test
