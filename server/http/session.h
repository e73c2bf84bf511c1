// SPDX-License-Identifier: Apache-2.0
// One TLS connection: handshake, then requests one after the other until either side ends it.
// Internal to the HTTP layer: with listener.cc and io_head.cc the only place that sees Boost.
//
// Coroutines: GCC 12 destroys some temporaries of co_await expressions twice. Lambdas and
// aggregates are named on a line of their own, one co_await a statement (tests/lint checks it).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "server/http/connections.h"
#include "server/http/listener.h"
#include "server/http/memory_budget.h"
#include "server/http/steady_time.h"

namespace assay::server {

class Session;

// What the sessions of one listener share. Everything but `queued` belongs to its io thread.
struct Runtime {
  Application& app;
  const Clock& clock;
  const SteadyTime& time;
  ServerLimits limits;
  Listener listener;
  Connections connections;
  MemoryBudget memory;
  boost::asio::io_context io{1};
  boost::asio::thread_pool pool;
  std::atomic<std::size_t> queued = 0;  // jobs that wait for a thread of the pool
  std::set<Session*> sessions = {};
  bool stopping = false;
  std::function<void()> on_last_session_gone = {};
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  // `address` is the peer's, as Connections counts it.
  Session(Runtime& runtime, boost::asio::ip::tcp::socket socket, boost::asio::ssl::context& tls,
          const std::string& address);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Serves the connection; it lives until it ends.
  static void start(const std::shared_ptr<Session>& session);
  // Ends the connection now if no request is in flight, else after its answer.
  void drain();
  // Ends the connection now.
  void abort();

 private:
  template <typename T>
  using Awaitable = boost::asio::awaitable<T>;

  static Awaitable<void> run(std::shared_ptr<Session> self);
  Awaitable<bool> handshake();
  // One request and its answer; false when the connection ends.
  Awaitable<bool> serve();
  // Size of the header at the front of the buffer; 0 when the connection ends instead.
  Awaitable<Result<std::size_t>> read_head();
  // From an open exchange to its answer.
  Awaitable<Response> converse(Exchange& exchange, bool expect_continue);
  // An error when the body did not arrive, or there is no memory for it.
  Awaitable<Status> read_body(Bytes& body, bool expect_continue);
  // Room for `more` bytes behind those of `body`.
  [[nodiscard]] Status make_room(Bytes& body, std::size_t more);
  // Reads what has arrived into the buffer.
  Awaitable<void> fill();
  // Writes all of `out_`.
  Awaitable<bool> send();
  Awaitable<void> close();
  Awaitable<void> swallow();
  // Runs `work` on the pool.
  Awaitable<void> offload(std::function<void()> work);

  Result<Head> take_head(std::size_t size);
  // overloaded when a request more would be too many.
  [[nodiscard]] Status check_load() const;
  // Starts the time limit of a step: when it is over, what is pending on the socket is cancelled
  // again and again until the step has noticed, because a composed operation may start anew.
  void arm(std::chrono::milliseconds limit);
  void disarm();
  // Looks after `pause` whether the limit of `step` is over.
  void wait_for_limit(std::uint64_t step, std::chrono::nanoseconds pause);

  Runtime& runtime_;
  boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream_;
  boost::asio::steady_timer timer_;
  MemoryShare memory_;
  std::optional<Digest> client_key_;
  std::string buffer_;  // arrived, not yet consumed
  std::string out_;
  std::uint64_t unread_ = 0;    // bytes of the current body that are still to come
  std::uint64_t step_ = 0;      // number of the armed time limit
  SteadyTime::Point deadline_;  // of that limit
  bool timed_out_ = false;      // the limit of the current step is over
  bool broken_ = false;         // the transport failed or the peer closed
  bool ended_ = false;          // the peer closed as TLS wants it, and expects the same
  bool idle_ = false;           // in the handshake, or waits for the first byte of a request
};

}  // namespace assay::server
