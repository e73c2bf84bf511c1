// SPDX-License-Identifier: Apache-2.0
#include "server/http/listener.h"

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

class Acceptor {
 public:
  Acceptor(Runtime& runtime, Listener kind, TlsContext tls)
      : runtime_(runtime),
        kind_(kind),
        tls_(tls.release()),
        acceptor_(runtime.io),
        pause_(runtime.io) {}

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

  void close() {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  }

  [[nodiscard]] Listener kind() const { return kind_; }
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
    if (runtime_.open.at(static_cast<std::size_t>(kind_)) >= runtime_.limits.max_connections) {
      runtime_.app.on_connection(kind_, ConnectionEvent::kTurnedAway);
      return;
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    try {
      Session::start(std::make_shared<Session>(runtime_, std::move(socket), tls_, kind_));
    } catch (const std::exception& error) {
      runtime_.app.on_defect(error.what());
    }
  }

  Runtime& runtime_;
  Listener kind_;
  net::ssl::context tls_;
  tcp::acceptor acceptor_;
  net::steady_timer pause_;
};

}  // namespace

struct HttpServer::Impl {
  Impl(const ServerLimits& limits, Application& app, const Clock& clock)
      : runtime{.app = app,
                .clock = clock,
                .limits = limits,
                .pool = net::thread_pool(limits.worker_threads)},
        shutdown(runtime.io) {}

  void serve() {
    // Sessions report their own exceptions; what arrives here comes from the library.
    for (;;) {
      try {
        runtime.io.run();
        return;
      } catch (const std::exception& error) {
        runtime.app.on_defect(error.what());
      }
    }
  }

  void begin_stop() {
    runtime.stopping = true;
    for (const auto& acceptor : acceptors) {
      acceptor->close();
    }
    if (runtime.sessions.empty()) {
      return;
    }
    runtime.on_last_session_gone = [this] { shutdown.cancel(); };
    shutdown.expires_after(runtime.limits.shutdown_timeout);
    shutdown.async_wait([this](const error_code& error) {
      if (!error) {
        abort_all();
      }
    });
    for (Session* const session : runtime.sessions) {
      session->drain();
    }
  }

  void abort_all() {
    for (Session* const session : runtime.sessions) {
      session->abort();
    }
  }

  Runtime runtime;
  net::steady_timer shutdown;
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  std::thread thread;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// NOLINTNEXTLINE(bugprone-exception-escape): a server that cannot stop ends the program
HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::vector<ListenerOptions>& listeners,
                                                      const ServerLimits& limits, Application& app,
                                                      const Clock& clock) {
  auto impl = std::make_unique<Impl>(limits, app, clock);
  for (const ListenerOptions& options : listeners) {
    ASSAY_ASSIGN(TlsContext tls, make_tls_context(options.tls));
    auto acceptor = std::make_unique<Acceptor>(impl->runtime, options.kind, std::move(tls));
    ASSAY_TRY(acceptor->bind(options));
    impl->acceptors.push_back(std::move(acceptor));
  }
  for (const auto& acceptor : impl->acceptors) {
    acceptor->start();
  }
  impl->thread = std::thread([raw = impl.get()] { raw->serve(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port(Listener kind) const {
  for (const auto& acceptor : impl_->acceptors) {
    if (acceptor->kind() == kind) {
      return acceptor->port();
    }
  }
  return 0;
}

void HttpServer::stop() {
  if (!impl_->thread.joinable()) {
    return;
  }
  net::post(impl_->runtime.io, [impl = impl_.get()] { impl->begin_stop(); });
  // Returns once no session and no job is left: each keeps work on the io thread.
  impl_->thread.join();
  impl_->runtime.pool.join();
}

}  // namespace assay::server
