// SPDX-License-Identifier: Apache-2.0
#include "server/http/listener.h"

#include <algorithm>
#include <exception>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/http/session.h"

namespace assay::server {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

// How long to wait when the process has run out of descriptors.
constexpr std::chrono::milliseconds kAcceptAgain{50};

// The peer as Connections counts it: an IPv6 network of 64 bits belongs to one customer.
std::string address_of(const tcp::socket& socket) {
  error_code error;
  const net::ip::address address = socket.remote_endpoint(error).address();
  if (error || !address.is_v6() || address.to_v6().is_v4_mapped()) {
    return address.to_string();
  }
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
  return net::ip::address_v6(bytes).to_string();
}

class Acceptor {
 public:
  Acceptor(Runtime& runtime, TlsContext tls)
      : runtime_(runtime), tls_(tls.release()), acceptor_(runtime.io), pause_(runtime.io) {}

  Status bind(const ListenerOptions& options) {
    error_code error;
    const net::ip::address address = net::ip::make_address(options.address, error);
    if (error) {
      return fail(ErrorCode::kInvalidConfig, "a listener's address is no IP address",
                  options.address);
    }
    const tcp::endpoint endpoint(address, options.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) {
      acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
      acceptor_.bind(endpoint, error);
    }
    if (!error) {
      acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    }
    if (error) {
      return fail(ErrorCode::kInvalidConfig, "a listener cannot be bound: " + error.message(),
                  options.address + ":" + std::to_string(options.port));
    }
    return {};
  }

  void start() {
    auto done = [this](const std::exception_ptr& failure) {
      if (failure != nullptr) {
        runtime_.app.on_defect("unexpected exception in a listener");
      }
    };
    net::co_spawn(runtime_.io, run(), std::move(done));
  }

  // On the io thread. Connections that are open keep what they were made with.
  void set_tls(TlsContext tls) { tls_ = net::ssl::context(tls.release()); }

  void close() {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  }

  [[nodiscard]] std::uint16_t port() const {
    error_code ignored;
    return acceptor_.local_endpoint(ignored).port();
  }

 private:
  net::awaitable<void> run() {
    while (!runtime_.stopping) {
      error_code error;
      tcp::socket socket =
          co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, error));
      if (!error) {
        take(std::move(socket));
      } else if (!runtime_.stopping) {
        pause_.expires_after(kAcceptAgain);
        co_await pause_.async_wait(net::redirect_error(net::use_awaitable, error));
      }
    }
  }

  void take(tcp::socket socket) {
    const std::string address = address_of(socket);
    const Connections::Place place = runtime_.connections.make_room(address);
    if (place.end != nullptr) {
      place.end->abort();
    }
    if (!place.free || place.end != nullptr) {
      runtime_.app.on_connection(runtime_.listener, ConnectionEvent::kTurnedAway);
    }
    if (!place.free) {
      return;
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    try {
      Session::start(std::make_shared<Session>(runtime_, std::move(socket), tls_, address));
    } catch (const std::exception& error) {
      runtime_.app.on_defect(error.what());
    }
  }

  Runtime& runtime_;
  net::ssl::context tls_;
  tcp::acceptor acceptor_;
  net::steady_timer pause_;
};

// One listener with everything it needs: whoever keeps one busy keeps no other waiting.
class Lane {
 public:
  Lane(Listener listener, const ServerLimits& limits, Application& app, const Clock& clock,
       const SteadyTime& time, TlsContext tls)
      : runtime_{.app = app,
                 .clock = clock,
                 .time = time,
                 .limits = limits,
                 .listener = listener,
                 .connections = {limits.max_connections, limits.max_connections_per_address},
                 .memory =
                     MemoryBudget(listener == Listener::kAdmission ? limits.max_bytes_in_flight / 4
                                                                   : limits.max_bytes_in_flight),
                 .turns = {limits.max_queued_requests, listener == Listener::kAdmission
                                                           ? limits.admission_threads
                                                           : limits.worker_threads},
                 .vital_turns = {limits.max_queued_requests, limits.vital_threads}},
        shutdown_(runtime_.io),
        acceptor_(runtime_, std::move(tls)) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  Status bind(const ListenerOptions& options) { return acceptor_.bind(options); }
  void start() {
    acceptor_.start();
    thread_ = std::thread([this] { serve(); });
  }
  void set_tls(TlsContext tls) {
    net::post(runtime_.io, [this, context = std::move(tls)]() mutable {
      acceptor_.set_tls(std::move(context));
    });
  }
  void ask_to_stop() {
    if (thread_.joinable()) {
      net::post(runtime_.io, [this] { begin_stop(); });
    }
  }
  void join() {
    // Returns once no session and no job is left: each keeps work on the io thread.
    if (thread_.joinable()) {
      thread_.join();
      runtime_.turns.pool.join();
      runtime_.vital_turns.pool.join();
    }
  }
  [[nodiscard]] Listener listener() const { return runtime_.listener; }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.port(); }

 private:
  void serve() {
    // Sessions report their own exceptions; what arrives here comes from the library.
    for (;;) {
      try {
        runtime_.io.run();
        return;
      } catch (const std::exception& error) {
        runtime_.app.on_defect(error.what());
      }
    }
  }

  void begin_stop() {
    runtime_.stopping = true;
    acceptor_.close();
    if (runtime_.sessions.empty()) {
      return;
    }
    runtime_.on_last_session_gone = [this] { shutdown_.cancel(); };
    wait_for_shutdown(runtime_.time.now() + runtime_.limits.shutdown_timeout);
    for (Session* const session : runtime_.sessions) {
      session->drain();
    }
  }

  void wait_for_shutdown(SteadyTime::Point deadline) {
    shutdown_.expires_after(runtime_.time.until(deadline));
    shutdown_.async_wait([this, deadline](const error_code& error) {
      if (error) {
        return;
      }
      if (runtime_.time.now() < deadline) {
        wait_for_shutdown(deadline);
      } else {
        abort_all();
      }
    });
  }

  void abort_all() {
    for (Session* const session : runtime_.sessions) {
      session->abort();
    }
  }

  Runtime runtime_;
  net::steady_timer shutdown_;
  Acceptor acceptor_;
  std::thread thread_;
};

}  // namespace

struct HttpServer::Impl {
  const Clock& clock;
  std::vector<std::unique_ptr<Lane>> lanes;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// NOLINTNEXTLINE(bugprone-exception-escape): a server that cannot stop ends the program
HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::vector<ListenerOptions>& listeners,
                                                      const ServerLimits& limits, Application& app,
                                                      const Clock& clock, const SteadyTime& time) {
  auto impl = std::make_unique<Impl>(clock);
  for (const ListenerOptions& options : listeners) {
    ASSAY_ASSIGN(TlsContext tls, make_tls_context(options.tls, clock.now()));
    auto lane = std::make_unique<Lane>(options.kind, limits, app, clock, time, std::move(tls));
    ASSAY_TRY(lane->bind(options));
    impl->lanes.push_back(std::move(lane));
  }
  for (const auto& lane : impl->lanes) {
    lane->start();
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port(Listener kind) const {
  for (const auto& lane : impl_->lanes) {
    if (lane->listener() == kind) {
      return lane->port();
    }
  }
  return 0;
}

Status HttpServer::reload(const std::vector<ListenerOptions>& listeners) {
  std::vector<TlsContext> contexts;
  for (const auto& lane : impl_->lanes) {
    const auto options =
        std::find_if(listeners.begin(), listeners.end(),
                     [&lane](const ListenerOptions& one) { return one.kind == lane->listener(); });
    if (options == listeners.end()) {
      return fail(ErrorCode::kInvalidConfig, "a listener is missing");
    }
    ASSAY_ASSIGN(TlsContext context, make_tls_context(options->tls, impl_->clock.now()));
    contexts.push_back(std::move(context));
  }
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    impl_->lanes[i]->set_tls(std::move(contexts[i]));
  }
  return {};
}

void HttpServer::stop() {
  for (const auto& lane : impl_->lanes) {
    lane->ask_to_stop();
  }
  for (const auto& lane : impl_->lanes) {
    lane->join();
  }
}

}  // namespace assay::server
