// SPDX-License-Identifier: Apache-2.0
#include "client/web_fetch.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include <curl/curl.h>

#include "schemas/core/handle.h"

namespace assay::client {
namespace {

using Easy = Handle<CURL, curl_easy_cleanup>;

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

constexpr std::size_t kMaxHeaderBytes = 64U << 10;
constexpr long kConnectSeconds = 10;
constexpr std::uint64_t kMaxSeconds = 3600;
// Without a limit for all of it: less than 1 KiB a second for so long is no transfer.
constexpr long kStallSeconds = 60;
constexpr long kStallBytes = 1024;
constexpr long kOk = 200;

// The options are fixed, so only memory can fail.
template <typename Value>
void set(const Easy& easy, CURLoption option, Value value) {
  if (curl_easy_setopt(easy.get(), option, value) != CURLE_OK) {
    std::abort();
  }
}

struct Transfer {
  CURL* easy;
  const TakeBody& take;
  std::uint64_t max_bytes;
  WebAnswer answer{};
  std::uint64_t bytes = 0;
  std::size_t header_bytes = 0;
  bool too_large = false;
  bool ended = false;
};

std::size_t take_piece(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  if (bytes > transfer.max_bytes - transfer.bytes) {
    transfer.too_large = true;
    return 0;
  }
  transfer.bytes += bytes;
  long status = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  if (status == kOk && !transfer.take(as_bytes({data, bytes}))) {
    transfer.ended = true;
    return 0;
  }
  return bytes;
}

std::size_t take_line(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  transfer.header_bytes += bytes;
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.too_large = true;
    return 0;
  }
  const std::string line(data, bytes);
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) {
    return bytes;
  }
  const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
  const std::size_t end = line.find_last_not_of(" \t\r\n");
  transfer.answer.headers[lower_case(line.substr(0, colon))] =
      begin == std::string::npos || end < begin ? "" : line.substr(begin, end - begin + 1);
  return bytes;
}

Error describe(CURLcode code, const std::string& url, const std::string& why) {
  const std::string detail = "No answer from " + url + ": " + why;
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return {ErrorCode::kRequestTimeout, detail, ""};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return {ErrorCode::kConnectionFailed,
              detail +
                  ". A source with a certificate of its own needs --cacert, a registry "
                  "--registry-ca",
              ""};
    default:
      return {ErrorCode::kConnectionFailed, detail, ""};
  }
}

void prepare(const Easy& easy, const WebRequest& request, const HeaderList& headers,
             Transfer& transfer) {
  set(easy, CURLOPT_URL, request.url.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, request.url.starts_with("http://") ? "http" : "https");
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_NOPROXY, is_loopback_url(request.url) ? "*" : "localhost,127.0.0.1,::1");
  set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!request.ca.empty()) {
    set(easy, CURLOPT_CAINFO, request.ca.c_str());
    set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  set(easy, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  if (request.timeout_seconds != 0) {
    set(easy, CURLOPT_TIMEOUT, static_cast<long>(std::min(request.timeout_seconds, kMaxSeconds)));
  } else {
    set(easy, CURLOPT_LOW_SPEED_LIMIT, kStallBytes);
    set(easy, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  }
  if (!request.post.empty()) {
    set(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.post.size()));
    set(easy, CURLOPT_POSTFIELDS, request.post.data());  // borrowed
  }
  set(easy, CURLOPT_USERAGENT, request.user_agent.c_str());
  set(easy, CURLOPT_HTTPHEADER, headers.get());
  set(easy, CURLOPT_WRITEFUNCTION, &take_piece);
  set(easy, CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(easy, CURLOPT_HEADERFUNCTION, &take_line);
  set(easy, CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
}

Result<HeaderList> headers_of(const WebRequest& request) {
  HeaderList headers;
  for (const std::string& line : request.headers) {
    if (line.find_first_of("\r\n") != std::string::npos) {
      return fail(ErrorCode::kUsage, "A header is one line");
    }
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    if (longer == nullptr) {
      std::abort();
    }
    static_cast<void>(headers.release());
    headers.reset(longer);
  }
  return headers;
}

}  // namespace

bool is_loopback_url(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) {
    return false;
  }
  url.remove_prefix(kScheme.size());
  const std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  const bool six = authority.starts_with("[::1]");
  const std::string_view host =
      six ? authority.substr(0, 5) : authority.substr(0, authority.find(':'));
  const std::string_view port = authority.substr(host.size());
  // Nothing but a port may follow: "localhost:80@elsewhere" is elsewhere.
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!port.empty() && (port.size() == 1 || !std::ranges::all_of(port.substr(1), is_digit))) {
    return false;
  }
  const bool numbers = std::ranges::all_of(host, [&](char c) { return is_digit(c) || c == '.'; });
  return six || host == "localhost" ||
         (numbers && host.starts_with("127.") && std::ranges::count(host, '.') == 3);
}

Result<WebAnswer> web_get(const WebRequest& request, const TakeBody& take) {
  const bool plain = request.allow_plain_loopback && is_loopback_url(request.url);
  if (!request.url.starts_with("https://") && !plain) {
    return fail(ErrorCode::kUsage, "The address of a source begins with https://", request.url);
  }
  const Easy easy(curl_easy_init());
  if (easy == nullptr) {
    return fail(ErrorCode::kConnectionFailed, "The HTTPS library does not start");
  }
  ASSAY_ASSIGN(const HeaderList headers, headers_of(request));
  Transfer transfer{easy.get(), take, request.max_bytes};
  std::array<char, CURL_ERROR_SIZE> reason{};
  prepare(easy, request, headers, transfer);
  set(easy, CURLOPT_ERRORBUFFER, reason.data());
  const CURLcode code = curl_easy_perform(easy.get());
  if (transfer.too_large) {
    return fail(ErrorCode::kLimitExceeded, "The answer of " + request.url + " is too large");
  }
  if (transfer.ended) {
    return fail(ErrorCode::kCancelled, "The transfer was ended");
  }
  if (code != CURLE_OK) {
    return std::unexpected(
        describe(code, request.url,
                 reason.front() != '\0' ? std::string(reason.data()) : curl_easy_strerror(code)));
  }
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  transfer.answer.status = static_cast<int>(status);
  return std::move(transfer.answer);
}

}  // namespace assay::client
