// SPDX-License-Identifier: Apache-2.0
#include "server/http/session.h"

#include <algorithm>
#include <array>
#include <exception>
#include <poll.h>

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/http/io_head.h"
#include "server/http/render.h"
#include "server/http/tls.h"

namespace assay::server {
namespace {

namespace net = boost::asio;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 16384;  // one TLS record
// Memory for a body follows what has arrived, not what its header promises.
constexpr std::size_t kFirstBodyBytes = 65536;
constexpr std::chrono::milliseconds kCancelAgain{20};
// How long an answer that ends a connection waits for a peer that is still sending: closing at once
// could reset the connection before the answer is read.
constexpr std::chrono::milliseconds kLinger{2000};

// A request that waited this long for a thread is not begun when its client has gone meanwhile:
// what a load left behind shall not hold up those who come after its end.
constexpr std::chrono::milliseconds kLongWait{250};

// Gives the memory of `text` back. Assigning an empty text would keep it for the next one.
void release(std::string& text) { std::string().swap(text); }

// Whether the peer has closed its side, read or not what it sent before.
bool has_closed(int descriptor) {
  pollfd one{descriptor, POLLRDHUP, 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace

Session::Session(Runtime& runtime, net::ip::tcp::socket socket, net::ssl::context& tls,
                 const std::string& address)
    : runtime_(runtime),
      stream_(std::move(socket), tls),
      timer_(runtime.io),
      peer_(address),
      memory_(runtime.memory),
      turns_(&runtime.turns) {
  runtime_.sessions.insert(this);
  runtime_.connections.add(this, address);
  runtime_.app.on_connection(runtime_.listener, ConnectionEvent::kAccepted);
}

Session::~Session() {
  runtime_.sessions.erase(this);
  runtime_.connections.remove(this);
  runtime_.app.on_connection(runtime_.listener, ConnectionEvent::kClosed);
  if (runtime_.sessions.empty() && runtime_.on_last_session_gone) {
    runtime_.on_last_session_gone();
  }
}

void Session::start(const std::shared_ptr<Session>& session) {
  auto done = [session](const std::exception_ptr& failure) {
    if (failure == nullptr) {
      return;
    }
    Application& app = session->runtime_.app;
    session->disarm();
    session->abort();
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      app.on_defect(error.what());
    } catch (...) {
      app.on_defect("unknown exception in a session");
    }
  };
  net::co_spawn(session->runtime_.io, run(session), std::move(done));
}

void Session::drain() {
  if (idle_) {
    arm(std::chrono::milliseconds(0));
  }
}

void Session::abort() {
  broken_ = true;
  error_code ignored;
  stream_.next_layer().close(ignored);
}

void Session::arm(std::chrono::milliseconds limit) {
  timed_out_ = false;
  const std::uint64_t step = ++step_;
  deadline_ = runtime_.time.now() + limit;
  wait_for_limit(step, runtime_.time.until(deadline_));
}

void Session::disarm() {
  ++step_;
  timer_.cancel();
}

void Session::wait_for_limit(std::uint64_t step, std::chrono::nanoseconds pause) {
  timer_.expires_after(pause);
  auto expired = [self = shared_from_this(), step](const error_code& error) {
    if (error || self->step_ != step) {
      return;
    }
    const SteadyTime& time = self->runtime_.time;
    if (time.now() < self->deadline_) {
      self->wait_for_limit(step, time.until(self->deadline_));
      return;
    }
    self->timed_out_ = true;
    error_code ignored;
    self->stream_.next_layer().cancel(ignored);
    self->wait_for_limit(step, kCancelAgain);
  };
  timer_.async_wait(std::move(expired));
}

net::awaitable<void> Session::run(std::shared_ptr<Session> self) {
  bool alive = co_await self->handshake();
  while (alive) {
    alive = co_await self->serve();
  }
  co_await self->close();
}

net::awaitable<bool> Session::handshake() {
  arm(runtime_.limits.handshake_timeout);
  idle_ = true;
  error_code error;
  co_await stream_.async_handshake(net::ssl::stream_base::server,
                                   net::redirect_error(net::use_awaitable, error));
  disarm();
  idle_ = false;
  if (error) {
    broken_ = true;
    runtime_.app.on_connection(runtime_.listener, ConnectionEvent::kHandshakeFailed);
    co_return false;
  }
  client_key_ = client_key(stream_.native_handle());
  arm(runtime_.limits.header_timeout);
  co_return true;
}

net::awaitable<void> Session::fill() {
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const net::mutable_buffer space(buffer_.data() + before, kReadBytes);
  error_code error;
  const std::size_t got =
      co_await stream_.async_read_some(space, net::redirect_error(net::use_awaitable, error));
  buffer_.resize(before + got);
  ended_ = error == net::error::eof;
  broken_ = broken_ || (error && !timed_out_);
}

net::awaitable<Result<std::size_t>> Session::read_head() {
  bool begun = !buffer_.empty();
  runtime_.connections.silent(this);
  if (begun) {
    arm(runtime_.limits.header_timeout);
  }
  for (;;) {
    const auto end = find_head_end(buffer_);
    if (!end) {
      co_return std::unexpected(end.error());
    }
    if (end->has_value()) {
      runtime_.connections.busy(this);
      co_return end->value();
    }
    idle_ = buffer_.empty();
    if (idle_ && runtime_.stopping) {
      co_return std::size_t{0};
    }
    co_await fill();
    idle_ = false;
    if (timed_out_ && !buffer_.empty()) {
      co_return fail(ErrorCode::kRequestTimeout, "the header did not arrive in time");
    }
    if (timed_out_ || broken_) {
      co_return std::size_t{0};
    }
    if (!begun) {
      begun = true;
      arm(runtime_.limits.header_timeout);
    }
  }
}

Result<Head> Session::take_head(std::size_t size) {
  const Result<RawHead> raw = parse_head(std::string_view(buffer_).substr(0, size));
  buffer_.erase(0, size);
  if (!raw) {
    return std::unexpected(raw.error());
  }
  return check_head(*raw);
}

net::awaitable<bool> Session::serve() {
  const Result<std::size_t> size = co_await read_head();
  disarm();
  if (size && *size == 0) {
    co_return false;
  }
  Result<Head> head = size ? take_head(*size) : Result<Head>(std::unexpected(size.error()));
  RenderOptions options;
  if (!head) {
    runtime_.connections.silent(this);
    options.keep_alive = false;
    options.now = runtime_.clock.now();
    out_ = render(runtime_.app.refuse(runtime_.listener, peer_, head.error()), options);
    unread_ = 1;  // nobody knows where this request ends
    co_await send();
    co_return false;
  }
  options.without_body = head->method == Method::kHead;
  const bool expect_continue = head->expect_continue;
  const bool keep_alive = head->keep_alive;
  unread_ = head->content_length;
  head->peer = peer_;
  const std::unique_ptr<Exchange> exchange =
      runtime_.app.open(runtime_.listener, std::move(*head), client_key_);
  Response response = co_await converse(*exchange, expect_continue);
  if (!exchange->is_identified() || !runtime_.connections.claim(this, exchange->caller())) {
    runtime_.connections.silent(this);
  }
  options.keep_alive = keep_alive && unread_ == 0 && !runtime_.stopping;
  options.now = runtime_.clock.now();
  out_ = render(response, options);
  const std::size_t answered = response.body.size();
  release(response.body);
  memory_.hold(out_.size());
  const bool sent = co_await send();
  release(out_);
  memory_.hold(0);
  exchange->close(response.status, sent ? answered : 0);
  if (sent && options.keep_alive) {
    arm(runtime_.limits.idle_timeout);
  }
  co_return sent&& options.keep_alive;
}

void Session::name_caller(const Exchange& exchange) {
  caller_ = exchange.caller();
  memory_.belong_to(caller_);
}

Status Session::check_load() {
  if (!turns_->queue.has_room(caller_)) {
    return fail(ErrorCode::kOverloaded, "too many requests are waiting");
  }
  if (!runtime_.connections.claim(this, caller_)) {
    return fail(ErrorCode::kOverloaded, "too many requests of the caller are under way");
  }
  return check_memory();
}

Status Session::check_memory() const {
  return memory_.others_leave_room()
             ? Status()
             : fail(ErrorCode::kOverloaded, "bodies and answers under way take all their memory");
}

Response Session::answer(Exchange& exchange, Bytes body) {
  name_caller(exchange);
  // Again: many requests for long answers had all found their memory free.
  Status ready = check_memory();
  if (ready && runtime_.time.now() - queued_at_ > kLongWait && has_closed(descriptor_)) {
    ready = fail(ErrorCode::kOverloaded, "the client has gone while the request waited");
  }
  if (!ready) {
    exchange.refuse(std::move(ready).error());
    return exchange.refusal();
  }
  const std::size_t held = body.size();
  Response response = exchange.handle(std::move(body));
  memory_.hold(held + response.body.size());
  return response;
}

net::awaitable<Response> Session::converse(Exchange& exchange, bool expect_continue) {
  auto admission = exchange.admit_now();
  turns_ = exchange.is_vital() ? &runtime_.vital_turns : &runtime_.turns;
  name_caller(exchange);
  if (admission == Exchange::Admission::kAtOnce) {
    co_return exchange.handle(Bytes());
  }
  const Status load = check_load();
  if (admission != Exchange::Admission::kRefused && !load) {
    exchange.refuse(load.error());
    admission = Exchange::Admission::kRefused;
  }
  Response response;
  if (admission == Exchange::Admission::kAskPool && unread_ == 0) {
    // Nothing to read in between: one trip to the pool does it all.
    auto work = [this, &exchange, &response] {
      response = exchange.admit() == Exchange::Admission::kAdmitted ? answer(exchange, Bytes())
                                                                    : exchange.refusal();
    };
    co_await offload(std::move(work));
    co_return response;
  }
  if (admission == Exchange::Admission::kAskPool) {
    auto ask = [&exchange, &admission] { admission = exchange.admit(); };
    co_await offload(std::move(ask));
    name_caller(exchange);
  }
  if (admission == Exchange::Admission::kRefused) {
    co_return exchange.refusal();
  }
  Bytes body;
  Status ready = co_await read_body(body, expect_continue);
  if (ready) {
    // Again: requests whose bodies end at the same moment had all found the queue empty.
    ready = check_load();
  }
  if (!ready) {
    exchange.refuse(std::move(ready).error());
    co_return exchange.refusal();
  }
  exchange.received();
  auto work = [this, &exchange, &response, &body] { response = answer(exchange, std::move(body)); };
  co_await offload(std::move(work));
  co_return response;
}

Status Session::make_room(Bytes& body, std::size_t more, std::uint64_t later) {
  const std::size_t needed = body.size() + more;
  if (needed <= body.capacity()) {
    return {};
  }
  const std::size_t room = std::max({needed, kFirstBodyBytes, 2 * body.capacity()});
  const std::size_t wanted = std::min<std::size_t>(room, needed + later);
  if (!memory_.try_hold(wanted)) {
    return fail(ErrorCode::kOverloaded, "bodies and answers under way take all their memory");
  }
  body.reserve(wanted);
  return {};
}

net::awaitable<Status> Session::read_body(Bytes& body, bool expect_continue) {
  const auto from_buffer =
      static_cast<std::size_t>(std::min<std::uint64_t>(unread_, buffer_.size()));
  const ByteView first = as_bytes(buffer_).first(from_buffer);
  Status room = make_room(body, from_buffer, unread_ - from_buffer);
  if (!room) {
    co_return room;
  }
  body.assign(first.begin(), first.end());
  buffer_.erase(0, from_buffer);
  unread_ -= from_buffer;
  if (expect_continue && unread_ > 0) {
    out_ = kContinue;
    const bool sent = co_await send();
    if (!sent) {
      co_return fail(ErrorCode::kRequestTimeout, "the connection ended before the body");
    }
  }
  arm(runtime_.limits.body_timeout);
  std::array<std::uint8_t, kReadBytes> piece;
  while (room && unread_ > 0 && !timed_out_ && !broken_) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(unread_, piece.size()));
    const net::mutable_buffer space(piece.data(), most);
    error_code error;
    const std::size_t got =
        co_await stream_.async_read_some(space, net::redirect_error(net::use_awaitable, error));
    unread_ -= got;
    room = make_room(body, got, unread_);
    if (room) {
      body.insert(body.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    }
    broken_ = broken_ || (error && !timed_out_);
  }
  disarm();
  if (room && unread_ > 0) {
    co_return fail(ErrorCode::kRequestTimeout, "the body did not arrive in time");
  }
  co_return room;
}

net::awaitable<bool> Session::send() {
  arm(runtime_.limits.body_timeout);
  std::size_t sent = 0;
  while (sent < out_.size() && !timed_out_ && !broken_) {
    const net::const_buffer rest(out_.data() + sent, out_.size() - sent);
    error_code error;
    const std::size_t wrote =
        co_await stream_.async_write_some(rest, net::redirect_error(net::use_awaitable, error));
    sent += wrote;
    broken_ = broken_ || error;
  }
  disarm();
  broken_ = broken_ || timed_out_;
  co_return !broken_;
}

net::awaitable<void> Session::close() {
  runtime_.connections.silent(this);
  if (!broken_ || ended_) {
    arm(kLinger);
    // With this mark close_notify is sent, and that of the peer is not waited for.
    SSL_set_shutdown(stream_.native_handle(), SSL_RECEIVED_SHUTDOWN);
    error_code error;
    co_await stream_.async_shutdown(net::redirect_error(net::use_awaitable, error));
    if (unread_ > 0 && !timed_out_) {
      co_await swallow();
    }
  }
  disarm();
  error_code ignored;
  stream_.next_layer().close(ignored);
}

net::awaitable<void> Session::swallow() {
  error_code error;
  stream_.next_layer().shutdown(net::ip::tcp::socket::shutdown_send, error);
  std::array<char, kReadBytes> space;
  const net::mutable_buffer trash(space.data(), space.size());
  while (!error && !timed_out_) {
    co_await stream_.next_layer().async_read_some(trash,
                                                  net::redirect_error(net::use_awaitable, error));
  }
}

net::awaitable<void> Session::offload(std::function<void()> work) {
  queued_at_ = runtime_.time.now();
  descriptor_ = stream_.next_layer().native_handle();
  auto begin = [this, task = std::move(work)](auto resume) mutable {
    // The io thread must not end before it has resumed this session.
    auto job = [&io = runtime_.io, kept = net::make_work_guard(runtime_.io), task = std::move(task),
                resume = std::move(resume)]() mutable {
      std::exception_ptr failure;
      try {
        task();
      } catch (...) {
        failure = std::current_exception();
      }
      net::post(io, [resume = std::move(resume), failure]() mutable { resume(failure); });
    };
    turns_->queue.push(caller_, std::move(job));
    // One thread for each piece of work, and not necessarily for this one.
    net::post(turns_->pool, [&queue = turns_->queue] { queue.pop()(); });
  };
  co_await net::async_initiate<const net::use_awaitable_t<>, void(std::exception_ptr)>(
      std::move(begin), net::use_awaitable);
}

}  // namespace assay::server
