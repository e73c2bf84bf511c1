// SPDX-License-Identifier: Apache-2.0
#include "tests/server/http/server_fixture.h"

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <future>

#include "server/http/self_signed.h"
#include "tests/support/seen_codes.h"

namespace assay::server::test {
namespace {

class StubExchange final : public Exchange {
 public:
  StubExchange(StubApplication& app, Head head, int number)
      : app_(app), head_(std::move(head)), number_(number) {}

  Admission admit_now() override {
    if (head_.target == "/refused") {
      refuse({ErrorCode::kForbidden, "", ""});
      return Admission::kRefused;
    }
    if (head_.content_length > app_.body_limit) {
      refuse({ErrorCode::kPayloadTooLarge, "", ""});
      return Admission::kRefused;
    }
    if (head_.target == "/at-once") {
      return Admission::kAtOnce;
    }
    return head_.target.starts_with("/ask") ? Admission::kAskPool : Admission::kAdmitted;
  }
  Admission admit() override {
    if (app_.before_admit) {
      app_.before_admit();
    }
    if (head_.target == "/ask/refused") {
      refuse({ErrorCode::kUnauthenticated, "", ""});
      return Admission::kRefused;
    }
    return Admission::kAdmitted;
  }
  void refuse(Error error) override { error_ = std::move(error); }
  Response refusal() override { return app_.refuse(Listener::kApi, {}, *error_); }

  bool is_vital() const override { return head_.target.starts_with("/vital"); }

  bool is_identified() const override { return !error_ && !head_.target.starts_with("/public"); }

  std::string caller() const override {
    const auto named = head_.headers.find("caller");
    if (named != head_.headers.end()) {
      return named->second;
    }
    return head_.target.starts_with("/ask/stranger") ? "" : "number " + std::to_string(number_);
  }

  void received() override { ++app_.received; }
  Response handle(Bytes body) override {
    ++app_.handled;
    if (app_.handler && head_.target != "/at-once") {
      return app_.handler(head_, body);
    }
    Response response;
    response.content_type = "text/plain";
    response.body = head_.target + ":" + std::string(as_text(body));
    return response;
  }
  void close(int status, std::size_t /*bytes*/) override {
    const std::scoped_lock lock(app_.mutex);
    app_.statuses.push_back(status);
  }

 private:
  StubApplication& app_;
  Head head_;
  const int number_;
  std::optional<Error> error_;
};

// What wakes wait_until().
std::mutex step_mutex;
std::condition_variable stepped;
std::uint64_t steps = 0;  // guarded by step_mutex

void note_step() {
  {
    const std::scoped_lock lock(step_mutex);
    ++steps;
  }
  stepped.notify_all();
}

std::uint64_t steps_so_far() {
  const std::scoped_lock lock(step_mutex);
  return steps;
}

std::filesystem::path make_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "assay-server-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    std::abort();
  }
  return pattern;
}

}  // namespace

int Count::operator++() {
  const int value = ++value_;
  note_step();
  return value;
}

std::unique_ptr<Exchange> StubApplication::open(Listener /*listener*/, Head head,
                                                std::optional<Digest> client_key) {
  const int number = ++opened;
  const std::scoped_lock lock(mutex);
  last_client_key = std::move(client_key);
  return std::make_unique<StubExchange>(*this, std::move(head), number);
}

Response StubApplication::refuse(Listener /*listener*/, const std::string& /*peer*/,
                                 const Error& error) {
  assay::test::note_seen("error", std::to_underlying(error.code));
  Response response;
  response.status = info(error.code).http_status;
  response.content_type = "text/plain";
  response.body = info(error.code).code;
  return response;
}

void StubApplication::on_connection(Listener /*listener*/, ConnectionEvent event) {
  switch (event) {
    case ConnectionEvent::kAccepted:
      ++accepted;
      return;
    case ConnectionEvent::kTurnedAway:
      ++turned_away;
      return;
    case ConnectionEvent::kHandshakeFailed:
      ++handshakes_failed;
      return;
    case ConnectionEvent::kClosed:
      ++closed;
      return;
  }
}

void StubApplication::on_defect(std::string_view what) {
  ++defects;
  ADD_FAILURE() << what;
}

SteadyTime::Point ManualTime::now() const {
  const std::scoped_lock lock(mutex_);
  return now_;
}

std::chrono::nanoseconds ManualTime::until(Point deadline) const {
  const std::scoped_lock lock(mutex_);
  if (asked_.insert(deadline).second) {
    note_step();
  }
  return deadline <= now_ ? std::chrono::nanoseconds(0) : std::chrono::milliseconds(1);
}

void ManualTime::advance(std::chrono::nanoseconds by) {
  const std::scoped_lock lock(mutex_);
  now_ += by;
}

bool ManualTime::awaited(std::chrono::nanoseconds limit) const {
  const std::scoped_lock lock(mutex_);
  return asked_.contains(now_ + limit);
}

ServerTest::ServerTest() : folder_(make_folder()) {
  // The client writes to connections that the server has closed.
  std::signal(SIGPIPE, SIG_IGN);
  limits_.worker_threads = 2;
  const Status made =
      make_self_signed({path("tls.crt"), path("tls.key"), "127.0.0.1", clock_.now()});
  EXPECT_TRUE(made) << to_string(made.error());
}

ServerTest::~ServerTest() {
  // What a test left in the middle of something ends when the time to shut down is over.
  auto stopped = std::async(std::launch::async, [this] { server_.reset(); });
  while (stopped.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout) {
    time_.advance(std::chrono::hours(1));
  }
  EXPECT_EQ(app_.accepted, app_.closed);
  std::filesystem::remove_all(folder_);
}

void ServerTest::serve() { serve({Listener::kApi}); }

void ServerTest::serve_both() { serve({Listener::kApi, Listener::kAdmission}); }

void ServerTest::serve(const std::vector<Listener>& kinds) {
  std::vector<ListenerOptions> listeners;
  for (const Listener kind : kinds) {
    listeners.push_back({.kind = kind,
                         .address = "127.0.0.1",
                         .tls = {path("tls.crt"), path("tls.key"), client_certificate_}});
  }
  auto server = HttpServer::start(listeners, limits_, app_, clock_, time_);
  ASSERT_TRUE(server) << to_string(server.error());
  server_ = *std::move(server);
}

std::unique_ptr<TlsClient> ServerTest::client(TlsClientOptions options) {
  if (options.port == 0) {
    options.port = server_->port(Listener::kApi);
  }
  auto made = std::make_unique<TlsClient>(std::move(options));
  EXPECT_TRUE(made->handshake());
  return made;
}

std::unique_ptr<TlsClient> ServerTest::client() { return client(TlsClientOptions()); }

std::optional<HttpAnswer> ServerTest::ask(std::string_view bytes) {
  return client()->exchange(bytes);
}

void ServerTest::let_pass(std::chrono::milliseconds limit) {
  wait_until([this, limit] { return time_.awaited(limit); });
  time_.advance(limit);
}

void ServerTest::wait_until(const std::function<bool()>& done) {
  // The server says nothing when it has given back memory or a place: then this looks again soon.
  constexpr std::chrono::milliseconds kSoon{5};
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (true) {
    const std::uint64_t seen = steps_so_far();
    if (done()) {
      return;
    }
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::unique_lock lock(step_mutex);
    stepped.wait_for(lock, kSoon, [seen] { return steps != seen; });
  }
}

}  // namespace assay::server::test
