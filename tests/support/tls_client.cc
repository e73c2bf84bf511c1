// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tls_client.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "schemas/core/sha.h"

namespace assay {
namespace {

int connect_to(std::uint16_t port, std::chrono::milliseconds timeout) {
  const int number = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{timeout.count() / 1000, (timeout.count() % 1000) * 1000};
  const int one = 1;
  ::setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  ::setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  sockaddr generic{};
  static_assert(sizeof(generic) == sizeof(address));
  std::copy_n(reinterpret_cast<const char*>(&address), sizeof(address),
              reinterpret_cast<char*>(&generic));
  if (::connect(number, &generic, sizeof(address)) != 0) {
    ::close(number);
    return -1;
  }
  return number;
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

HttpAnswer parse(std::string_view head) {
  HttpAnswer answer;
  answer.status = std::atoi(std::string(head.substr(9, 3)).c_str());
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty() && !head.starts_with("\r\n")) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const auto colon = line.find(": ");
    answer.headers[lowered(line.substr(0, colon))] = line.substr(colon + 2);
    head.remove_prefix(line.size() + 2);
  }
  return answer;
}

}  // namespace

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

void TlsClient::FreeContext::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void TlsClient::FreeConnection::operator()(ssl_st* connection) const { SSL_free(connection); }

TlsClient::TlsClient(TlsClientOptions options)
    : options_(std::move(options)),
      socket_(connect_to(options_.port, options_.timeout)),
      context_(SSL_CTX_new(TLS_client_method())) {
  if (options_.max_version != 0) {
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_max_proto_version(context_.get(), options_.max_version);
  }
  if (!options_.certificate_file.empty()) {
    SSL_CTX_use_certificate_chain_file(context_.get(), options_.certificate_file.c_str());
    SSL_CTX_use_PrivateKey_file(context_.get(), options_.private_key_file.c_str(),
                                SSL_FILETYPE_PEM);
  }
  if (!options_.alpn.empty()) {
    std::string wire(1, static_cast<char>(options_.alpn.size()));
    wire += options_.alpn;
    const ByteView bytes = as_bytes(wire);
    SSL_CTX_set_alpn_protos(context_.get(), bytes.data(), static_cast<unsigned>(bytes.size()));
  }
}

TlsClient::~TlsClient() { close(); }

void TlsClient::close() {
  if (socket_ >= 0) {
    ::close(socket_);
    socket_ = -1;
  }
}

bool TlsClient::handshake() {
  if (socket_ < 0) {
    return false;
  }
  ERR_clear_error();
  tls_.reset(SSL_new(context_.get()));
  SSL_set_fd(tls_.get(), socket_);
  return SSL_connect(tls_.get()) == 1;
}

bool TlsClient::send(std::string_view bytes) {
  ERR_clear_error();
  while (!bytes.empty()) {
    const int part = static_cast<int>(std::min<std::size_t>(bytes.size(), 1U << 20));
    const int wrote = SSL_write(tls_.get(), bytes.data(), part);
    if (wrote <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool TlsClient::fill() {
  ERR_clear_error();
  std::array<char, 16384> space;
  const int got = SSL_read(tls_.get(), space.data(), static_cast<int>(space.size()));
  if (got <= 0) {
    return false;
  }
  buffer_.append(space.data(), static_cast<std::size_t>(got));
  return true;
}

std::optional<HttpAnswer> TlsClient::receive(bool without_body) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) {
      return std::nullopt;
    }
  }
  HttpAnswer answer = parse(std::string_view(buffer_).substr(0, end + 4));
  buffer_.erase(0, end + 4);
  const std::string length = answer.header("content-length");
  const std::size_t size =
      without_body || length.empty() ? 0 : static_cast<std::size_t>(std::atoll(length.c_str()));
  while (buffer_.size() < size) {
    if (!fill()) {
      return std::nullopt;
    }
  }
  answer.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return answer;
}

std::optional<HttpAnswer> TlsClient::exchange(std::string_view bytes) {
  // A server may answer and close before it has read everything.
  send(bytes);
  return receive();
}

bool TlsClient::wait_for_end() {
  if (!buffer_.empty()) {
    return false;
  }
  ERR_clear_error();
  char byte = 0;
  const int got = tls_ == nullptr ? static_cast<int>(::recv(socket_, &byte, 1, 0))
                                  : SSL_read(tls_.get(), &byte, 1);
  const bool timed_out = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  return got <= 0 && !timed_out;
}

std::string TlsClient::server_pin() const {
  X509* const certificate = SSL_get0_peer_certificate(tls_.get());
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  const std::string pin = sha256({der, static_cast<std::size_t>(size)}).hex();
  OPENSSL_free(der);
  return pin;
}

}  // namespace assay
