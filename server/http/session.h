// SPDX-License-Identifier: Apache-2.0
// One TLS connection: the handshake, then requests one after the other until either side ends the
// connection. Internal to the HTTP layer: only this header, its source, listener.cc and io_head.cc
// use Boost.
//
// Coroutines: GCC 12 destroys some temporaries of co_await expressions twice. Lambdas and
// aggregates are therefore named on a line of their own, and a statement has at most one co_await
// (tests/lint checks both).
#pragma once

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

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "server/http/application.h"
#include "server/http/connections.h"
#include "server/http/fair_queue.h"
#include "server/http/limits.h"
#include "server/http/memory_budget.h"
#include "server/http/steady_time.h"

namespace assay::server {

class Session;

// The threads that handle requests, and what waits for them.
struct Turns {
  Turns(std::size_t places, std::size_t threads) : queue(places), pool(threads) {}
  FairQueue queue;
  boost::asio::thread_pool pool;
};

// State shared by the sessions of one listener. Everything but `memory` and the turns is used only
// on the listener's io thread.
struct Runtime {
  Application& app;
  const Clock& clock;
  const SteadyTime& time;
  ServerLimits limits;
  Listener listener;
  Connections connections;
  MemoryBudget memory;
  Turns turns;
  Turns vital_turns;  // of vital requests (application.h)
  boost::asio::io_context io{1};
  std::set<Session*> sessions = {};
  bool stopping = false;
  std::function<void()> on_last_session_gone = {};
};

// A session owns its connection and runs on the io thread of its listener.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // Takes over a connected socket. `address` is the peer's address in the form by which Connections
  // counts connections.
  Session(Runtime& runtime, boost::asio::ip::tcp::socket socket, boost::asio::ssl::context& tls,
          const std::string& address);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Serves the connection. The session keeps itself alive until the connection ends.
  static void start(const std::shared_ptr<Session>& session);
  // Ends the connection at once if no request is in flight, else after the answer.
  void drain();
  // Ends the connection at once.
  void abort();

 private:
  template <typename T>
  using Awaitable = boost::asio::awaitable<T>;

  static Awaitable<void> run(std::shared_ptr<Session> self);
  Awaitable<bool> handshake();
  // Serves one request. Returns false when the connection must end.
  Awaitable<bool> serve();
  // Waits for a whole header and returns its size in the buffer. Returns 0 when the connection must
  // end because no header arrived.
  Awaitable<Result<std::size_t>> read_head();
  // Runs all steps of an exchange and returns the answer.
  Awaitable<Response> converse(Exchange& exchange, bool expect_continue);
  // Reads the body. Fails when the body did not arrive, or when there is no memory for it.
  Awaitable<Status> read_body(Bytes& body, bool expect_continue);
  // Reserves memory so that `more` bytes can be appended to `body`. `later` bytes come after them.
  [[nodiscard]] Status make_room(Bytes& body, std::size_t more, std::uint64_t later);
  // Waits for bytes and appends them to the buffer.
  Awaitable<void> fill();
  // Writes all of `out_`. Returns false when the connection must end.
  Awaitable<bool> send();
  // Closes TLS and the socket.
  Awaitable<void> close();
  // Reads and drops what the peer still sends, until the peer closes or the time limit has passed.
  Awaitable<void> swallow();
  // Runs `work` on the pool when it is the caller's turn.
  Awaitable<void> offload(std::function<void()> work);
  // Runs the handler and counts the memory of its answer. Runs on the pool.
  Response answer(Exchange& exchange, Bytes body);

  // Removes the header of `size` bytes from the buffer, parses it and checks it.
  Result<Head> take_head(std::size_t size);
  // Takes note of whose request this is.
  void name_caller(const Exchange& exchange);
  // Checks whether one more request of the caller fits, and counts its connection. Errors:
  // overloaded.
  [[nodiscard]] Status check_load();
  [[nodiscard]] Status check_memory() const;
  // Starts the time limit of a step. After the limit, pending socket operations are cancelled
  // repeatedly until the step notices, because one operation may consist of several socket
  // operations.
  void arm(std::chrono::milliseconds limit);
  // Ends the time limit of the current step.
  void disarm();
  // Checks after `pause` whether the time limit of `step` has passed.
  void wait_for_limit(std::uint64_t step, std::chrono::nanoseconds pause);

  Runtime& runtime_;
  boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream_;
  boost::asio::steady_timer timer_;
  const std::string peer_;
  MemoryShare memory_;
  std::optional<Digest> client_key_;
  std::string buffer_;  // received, not yet consumed
  std::string out_;
  std::uint64_t unread_ = 0;     // bytes of the current body that are still to come
  std::uint64_t step_ = 0;       // number of the armed time limit
  SteadyTime::Point deadline_;   // end of the armed time limit
  bool timed_out_ = false;       // the time limit of the current step has passed
  bool broken_ = false;          // the transport failed or the peer closed
  bool ended_ = false;           // the peer sent close_notify and expects one
  bool idle_ = false;            // in the handshake, or waiting for the first byte of a request
  SteadyTime::Point queued_at_;  // when the current work was given to the pool
  int descriptor_ = -1;          // of the socket, then
  std::string caller_;           // of the current request (Exchange::caller)
  Turns* turns_;                 // of the current request
};

}  // namespace assay::server
