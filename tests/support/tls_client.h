// SPDX-License-Identifier: Apache-2.0
// A small blocking TLS client that sends exactly the bytes it is given: for tests of what a server
// does with them.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace assay {

struct TlsClientOptions {
  std::uint16_t port = 0;             // on 127.0.0.1
  std::string certificate_file = {};  // client certificate and key, PEM; empty for none
  std::string private_key_file = {};
  int max_version = 0;                        // a TLS version constant of OpenSSL; 0 for the newest
  std::string alpn = {};                      // "h2"; empty for none
  std::chrono::milliseconds timeout{20'000};  // of one blocking call
};

// An answer taken apart.
struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // lowercase names
  std::string body;
  [[nodiscard]] std::string header(const std::string& name) const;
};

class TlsClient {
 public:
  // Connects TCP only. Check connected().
  explicit TlsClient(TlsClientOptions options);
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient();

  // False when the server ended the handshake. In TLS 1.3 a server that misses a client certificate
  // says so only after it: the first read fails then.
  bool handshake();
  [[nodiscard]] bool connected() const { return socket_ >= 0; }

  // Writes all bytes; false when the connection is gone.
  bool send(std::string_view bytes);
  // One response, framed by its Content-Length; nothing when the connection ends before, or time is
  // up. `without_body` after a HEAD request.
  std::optional<HttpAnswer> receive(bool without_body = false);
  // Sends and receives.
  std::optional<HttpAnswer> exchange(std::string_view bytes);
  // True when the server ends the connection (and sends nothing more).
  bool wait_for_end();
  // SHA-256 over the public key of the server's certificate, in hex.
  [[nodiscard]] std::string server_pin() const;
  void close();

 private:
  struct FreeContext {
    void operator()(ssl_ctx_st* context) const;
  };
  struct FreeConnection {
    void operator()(ssl_st* connection) const;
  };
  bool fill();

  TlsClientOptions options_;
  int socket_ = -1;
  std::unique_ptr<ssl_ctx_st, FreeContext> context_;
  std::unique_ptr<ssl_st, FreeConnection> tls_;
  std::string buffer_;
};

}  // namespace assay
