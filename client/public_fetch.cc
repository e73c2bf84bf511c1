// SPDX-License-Identifier: Apache-2.0
#include "client/public_fetch.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <curl/curl.h>

#include "schemas/core/handle.h"

namespace assay::client {
namespace {

using Easy = Handle<CURL, curl_easy_cleanup>;

constexpr std::size_t kMaxHeaderBytes = 64U << 10;
constexpr long kConnectSeconds = 10;
constexpr std::uint64_t kMaxSeconds = 3600;  // 0 would be for ever
constexpr long kOk = 200;

// The options are fixed, so only memory can fail.
template <typename Value>
void set(const Easy& easy, CURLoption option, Value value) {
  if (curl_easy_setopt(easy.get(), option, value) != CURLE_OK) {
    std::abort();
  }
}

struct Download {
  PublicDocument document;
  std::size_t max_bytes;
  std::size_t header_bytes = 0;
  bool too_large = false;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& download = *static_cast<Download*>(user);
  const std::size_t bytes = size * count;
  Bytes& body = download.document.body;
  if (bytes > download.max_bytes - body.size()) {
    download.too_large = true;
    return 0;
  }
  const ByteView view = as_bytes({data, bytes});
  body.insert(body.end(), view.begin(), view.end());
  return bytes;
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& download = *static_cast<Download*>(user);
  const std::size_t bytes = size * count;
  download.header_bytes += bytes;
  if (download.header_bytes > kMaxHeaderBytes) {
    download.too_large = true;
    return 0;
  }
  const std::string line(data, bytes);
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) {
    return bytes;
  }
  std::string name = line.substr(0, colon);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
  const std::size_t end = line.find_last_not_of(" \t\r\n");
  download.document.headers[name] =
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
              detail + ". A cache with a certificate of its own needs --cacert", ""};
    default:
      return {ErrorCode::kConnectionFailed, detail, ""};
  }
}

void prepare(const Easy& easy, const PublicRequest& request, Download& download) {
  set(easy, CURLOPT_URL, request.url.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, "https");
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
  set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!request.ca.empty()) {
    set(easy, CURLOPT_CAINFO, request.ca.c_str());
    set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  set(easy, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(easy, CURLOPT_TIMEOUT,
      static_cast<long>(std::clamp<std::uint64_t>(request.timeout_seconds, 1, kMaxSeconds)));
  set(easy, CURLOPT_USERAGENT, request.user_agent.c_str());
  set(easy, CURLOPT_WRITEFUNCTION, &take_body);
  set(easy, CURLOPT_WRITEDATA, static_cast<void*>(&download));
  set(easy, CURLOPT_HEADERFUNCTION, &take_header);
  set(easy, CURLOPT_HEADERDATA, static_cast<void*>(&download));
}

}  // namespace

Result<PublicDocument> fetch_public(const PublicRequest& request) {
  if (!request.url.starts_with("https://")) {
    return fail(ErrorCode::kUsage, "The address of a source begins with https://");
  }
  const Easy easy(curl_easy_init());
  if (easy == nullptr) {
    return fail(ErrorCode::kConnectionFailed, "The HTTPS library does not start");
  }
  Download download{{}, request.max_bytes};
  std::array<char, CURL_ERROR_SIZE> reason{};
  prepare(easy, request, download);
  set(easy, CURLOPT_ERRORBUFFER, reason.data());
  const CURLcode code = curl_easy_perform(easy.get());
  if (download.too_large) {
    return fail(ErrorCode::kLimitExceeded, "The answer of " + request.url + " is too large");
  }
  if (code != CURLE_OK) {
    return std::unexpected(
        describe(code, request.url,
                 reason.front() != '\0' ? std::string(reason.data()) : curl_easy_strerror(code)));
  }
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != kOk) {
    return fail(ErrorCode::kCollateralUnavailable,
                request.url + " answered with HTTP status " + std::to_string(status));
  }
  return std::move(download.document);
}

}  // namespace assay::client
