// SPDX-License-Identifier: Apache-2.0
#include "client/http_client.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include <curl/curl.h>

#include "client/answers.h"
#include "client/files.h"
#include "schemas/core/handle.h"
#include "schemas/core/json.h"
#include "schemas/tls/credentials.h"

namespace assay::client {

namespace {

using Easy = Handle<CURL, curl_easy_cleanup>;
using Headers = Handle<curl_slist, curl_slist_free_all>;

constexpr std::uint64_t kMaxWaitSeconds = 10;

// Reason enough to stop: the options are fixed, only memory can fail.
template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  if (curl_easy_setopt(easy, option, value) != CURLE_OK) {
    std::abort();
  }
}

void add_header(Headers& headers, const std::string& line) {
  curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
  if (longer == nullptr) {
    std::abort();
  }
  (void)headers.release();
  headers.reset(longer);
}

struct Receiver {
  HttpResponse response;
  bool too_large = false;
};

std::size_t receive(char* data, std::size_t size, std::size_t count, void* user) {
  auto* receiver = static_cast<Receiver*>(user);
  const std::size_t bytes = size * count;
  Bytes& body = receiver->response.body;
  if (body.size() + bytes > kMaxResponseBytes) {
    receiver->too_large = true;
    return 0;
  }
  const ByteView view = as_bytes({data, bytes});
  body.insert(body.end(), view.begin(), view.end());
  return bytes;
}

// Called by the library about once a second and with every piece of data; anything but 0 ends the
// transfer.
int end_when_stopped(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(user)->stop_requested() ? 1 : 0;
}

// The request cannot have reached the service.
bool never_sent(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;
}

bool is_transient(CURLcode code) {
  return never_sent(code) || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
         code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE;
}

// Wildcards would switch proxies off altogether; an own entry for this machine is always right.
std::string no_proxy_list() {
  std::string list = "localhost,127.0.0.1,::1";
  for (const char* name : {"no_proxy", "NO_PROXY"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      list += std::string(",") + value;
      break;
    }
  }
  return list;
}

ErrorCode code_of_status(int status) {
  switch (status) {
    case 401:
      return ErrorCode::kUnauthenticated;
    case 403:
      return ErrorCode::kForbidden;
    case 404:
      return ErrorCode::kNotFound;
    case 405:
      return ErrorCode::kMethodNotAllowed;
    case 406:
      return ErrorCode::kNotAcceptable;
    case 409:
      return ErrorCode::kConflict;
    case 413:
      return ErrorCode::kPayloadTooLarge;
    case 415:
      return ErrorCode::kUnsupportedMediaType;
    case 503:
      return ErrorCode::kUnavailable;
    default:
      return status >= 500 ? ErrorCode::kInternal : ErrorCode::kBadRequest;
  }
}

Result<Json> problem_of(const HttpResponse& response) {
  if (!response.content_type.starts_with("application/problem+json") &&
      !response.content_type.starts_with(kJsonType)) {
    return fail(ErrorCode::kMalformedJson, "Not JSON");
  }
  Result<Json> json = parse_json(ByteView(response.body));
  if (json && !json->is_object()) {
    return fail(ErrorCode::kMalformedJson, "Not an object");
  }
  return json;
}

}  // namespace

Error error_from(const HttpResponse& response) {
  const std::string status = "HTTP status " + std::to_string(response.status);
  const Result<Json> problem = problem_of(response);
  if (!problem) {
    return {
        code_of_status(response.status),
        "The service answered with " + status + " and no explanation; is this an Assay service?",
        ""};
  }
  const std::string code = text_at(*problem, "code");
  const ErrorCode known = error_code_from(code).value_or(code_of_status(response.status));
  std::string detail = text_at(*problem, "detail");
  if (detail.empty()) {
    detail = text_at(*problem, "title");
  }
  if (detail.empty()) {
    detail = status;
  }
  if (!code.empty() && info(known).code != code) {
    detail = code + ": " + detail;
  }
  if (known == ErrorCode::kUnauthenticated) {
    detail += "; check --token-file or --cert";
  }
  if (const std::string id = text_at(*problem, "request_id"); !id.empty()) {
    detail += " [request " + id + "]";
  }
  return {known, detail, text_at(*problem, "where")};
}

bool is_retryable(const HttpResponse& response) {
  if (response.status == 429) {
    return true;
  }
  if (response.status != 503) {
    return false;
  }
  const Result<Json> problem = problem_of(response);
  if (!problem) {
    return true;  // a proxy in front of the service
  }
  const auto found = problem->find("retryable");
  return found == problem->end() || !found->is_boolean() || found->get<bool>();
}

bool says_not_done(const HttpResponse& response) {
  const Result<Json> problem = problem_of(response);
  const std::string code = problem ? text_at(*problem, "code") : std::string();
  return code == info(ErrorCode::kOverloaded).code || code == info(ErrorCode::kBusy).code;
}

struct HttpClient::Impl {
  Impl(Caller who, Connection where) : caller(std::move(who)), connection(std::move(where)) {}
  Caller caller;
  Connection connection;
  std::string address;
  std::string no_proxy;
  std::string authorization;  // header line; secret
  Easy easy;
  std::array<char, CURL_ERROR_SIZE> reason{};

  ~Impl() {
    secure_wipe({reinterpret_cast<std::uint8_t*>(authorization.data()), authorization.size()});
  }

  void prepare(const HttpRequest& request, Headers& headers, Receiver& receiver);
  [[nodiscard]] Result<HttpResponse> attempt(const HttpRequest& request, CURLcode& code);
  [[nodiscard]] Error describe(CURLcode code) const;
  void wait_before_retry(std::uint64_t attempt, std::uint64_t retry_after, const Error& error);
};

void HttpClient::Impl::prepare(const HttpRequest& request, Headers& headers, Receiver& receiver) {
  CURL* handle = easy.get();
  curl_easy_reset(handle);  // options only: connections and TLS sessions stay
  const std::string url = address + request.path;
  set(handle, CURLOPT_URL, url.c_str());  // copied
  set(handle, CURLOPT_PROTOCOLS_STR, "https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_NOPROXY, no_proxy.c_str());
  set(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_3));
  set(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  set(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!connection.ca.empty()) {
    set(handle, CURLOPT_CAINFO, connection.ca.c_str());
    set(handle, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (request.authenticated && !connection.cert.empty()) {
    set(handle, CURLOPT_SSLCERT, connection.cert.c_str());
    set(handle, CURLOPT_SSLKEY, connection.cert_key.c_str());
  }
  const std::uint64_t limit =
      request.timeout_seconds != 0 ? request.timeout_seconds : connection.timeout_seconds;
  set(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(std::min<std::uint64_t>(10, limit)));
  set(handle, CURLOPT_TIMEOUT, static_cast<long>(limit));
  if (request.stop.stop_possible()) {
    set(handle, CURLOPT_NOPROGRESS, 0L);
    set(handle, CURLOPT_XFERINFOFUNCTION, &end_when_stopped);
    set(handle, CURLOPT_XFERINFODATA, static_cast<const void*>(&request.stop));
  }
  set(handle, CURLOPT_ERRORBUFFER, reason.data());
  set(handle, CURLOPT_WRITEFUNCTION, &receive);
  set(handle, CURLOPT_WRITEDATA, static_cast<void*>(&receiver));
  add_header(headers, "Accept: " + request.accept);
  add_header(headers, "User-Agent: assay/" + caller.version);
  if (request.authenticated && !authorization.empty()) {
    add_header(headers, authorization);
  }
  if (request.method != "GET") {
    set(handle, CURLOPT_POST, 1L);
    set(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(handle, CURLOPT_POSTFIELDS,
        request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
    // Without a type the header is taken out: curl has one of its own otherwise.
    add_header(headers, request.content_type.empty() ? "Content-Type:"
                                                     : "Content-Type: " + request.content_type);
    add_header(headers, "Expect:");  // bodies are sent at once
  }
  set(handle, CURLOPT_HTTPHEADER, headers.get());
}

Error HttpClient::Impl::describe(CURLcode code) const {
  std::string why = reason.front() != '\0' ? std::string(reason.data()) : curl_easy_strerror(code);
  const std::string to = "No answer from " + address + ": " + why;
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return {ErrorCode::kConnectionFailed,
              to + ". Give the service's certificate or its CA with --ca", ""};
    case CURLE_SSL_CERTPROBLEM:
      return {ErrorCode::kConnectionFailed, to + ". Check --cert and --cert-key", ""};
    case CURLE_ABORTED_BY_CALLBACK:
      return {ErrorCode::kCancelled, "The request was stopped", ""};
    case CURLE_OPERATION_TIMEDOUT:
      return {ErrorCode::kRequestTimeout, to + ". Try again, or give a longer --timeout", ""};
    default:
      return {ErrorCode::kConnectionFailed, to + ". Check the address, and that the service runs",
              ""};
  }
}

Result<HttpResponse> HttpClient::Impl::attempt(const HttpRequest& request, CURLcode& code) {
  Headers headers;
  Receiver receiver;
  reason.fill('\0');
  prepare(request, headers, receiver);
  code = curl_easy_perform(easy.get());
  if (receiver.too_large) {
    return fail(ErrorCode::kLimitExceeded, "The service's answer is too large");
  }
  if (code != CURLE_OK) {
    return std::unexpected(describe(code));
  }
  long status = 0;
  const char* type = nullptr;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy.get(), CURLINFO_CONTENT_TYPE, &type);
  curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &retry_after);
  receiver.response.status = static_cast<int>(status);
  receiver.response.content_type = type == nullptr ? "" : type;
  receiver.response.retry_after_seconds =
      retry_after > 0 ? static_cast<std::uint64_t>(retry_after) : 0;
  curl_header* said = nullptr;
  receiver.response.retry_at_once =
      retry_after == 0 &&
      curl_easy_header(easy.get(), "Retry-After", 0, CURLH_HEADER, -1, &said) == CURLHE_OK;
  return std::move(receiver.response);
}

void HttpClient::Impl::wait_before_retry(std::uint64_t attempt, std::uint64_t retry_after,
                                         const Error& error) {
  std::chrono::milliseconds wait(200U << std::min<std::uint64_t>(attempt, 5));
  wait = std::max(wait, std::chrono::milliseconds(std::min(retry_after, kMaxWaitSeconds) * 1000));
  std::array<std::uint8_t, 1> noise{};
  if (caller.random.fill(noise)) {
    wait += wait * noise.front() / 1024;  // up to a quarter, so that clients do not march in step
  }
  if (caller.tell) {
    caller.tell("trying again in " + std::to_string(wait.count()) + " ms: " + error.detail);
  }
  std::this_thread::sleep_for(wait);
}

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::open(Caller caller, const Connection& connection,
                                    Endpoint endpoint) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto impl = std::make_unique<Impl>(std::move(caller), connection);
  impl->address =
      endpoint == Endpoint::kAdmission ? connection.admission_server : connection.server;
  impl->no_proxy = no_proxy_list();
  impl->easy.reset(curl_easy_init());
  if (started != CURLE_OK || !impl->easy) {
    return fail(ErrorCode::kInternal, "The HTTP library cannot be started");
  }
  for (const std::string* path : {&connection.ca, &connection.cert}) {
    if (!path->empty()) {
      ASSAY_TRY(read_file(*path));  // a better message than the TLS library's
    }
  }
  if (!connection.cert_key.empty()) {
    protect_process();  // the TLS library keeps it in memory
    ASSAY_TRY(check_client_credentials({connection.cert, connection.cert_key}));
  }
  if (!connection.token_file.empty()) {
    protect_process();
    ASSAY_ASSIGN(const SecretBytes token, read_secret_file(connection.token_file));
    if (!std::ranges::all_of(token.view(), [](std::uint8_t c) { return c > 0x20 && c < 0x7f; })) {
      return fail(ErrorCode::kUsage, "The token file must hold one token and nothing else",
                  connection.token_file);
    }
    constexpr std::string_view kScheme = "Authorization: Bearer ";
    impl->authorization.reserve(kScheme.size() + token.view().size() + 1);
    impl->authorization = kScheme;
    impl->authorization += as_text(token.view());
  }
  return HttpClient(std::move(impl));
}

Result<HttpResponse> HttpClient::send(const HttpRequest& request) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    CURLcode code = CURLE_OK;
    Result<HttpResponse> response = impl_->attempt(request, code);
    const bool last = attempt >= impl_->connection.retries;
    if (!response) {
      if (last || !is_transient(code) || (!request.repeatable && !never_sent(code))) {
        return response;
      }
      impl_->wait_before_retry(attempt, 0, response.error());
      continue;
    }
    if (response->status >= 200 && response->status < 300) {
      return response;
    }
    Error error = error_from(*response);
    if (error.code == ErrorCode::kForbidden || error.code == ErrorCode::kUnauthenticated) {
      const std::string& shown = impl_->connection.credential;
      error.detail += shown.empty() ? "; no credential was sent" : "; sent was " + shown;
    }
    const bool may_repeat = request.repeatable || says_not_done(*response);
    if (last || !may_repeat || !is_retryable(*response)) {
      return std::unexpected(std::move(error));
    }
    impl_->wait_before_retry(attempt, response->retry_after_seconds, error);
  }
}

}  // namespace assay::client
