// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/registry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/oci/credentials.h"
#include "client/api.h"
#include "client/files.h"
#include "client/web_fetch.h"
#include "schemas/core/json_at.h"
#include "schemas/posix/secret_file.h"

namespace assay::oci {
namespace {

using client::web_get;
using client::WebAnswer;
using client::WebRequest;

constexpr int kMaxRedirects = 5;
constexpr int kMaxPages = 16;
constexpr std::size_t kMaxTokenBytes = 64U << 10;
constexpr std::size_t kMaxConfigBytes = 256U << 10;
constexpr std::uint64_t kAnswerSeconds = 60;  // of everything but blobs
constexpr std::string_view kManifestTypes =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string header(const WebAnswer& answer, const std::string& name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? "" : found->second;
}

// Without its parameters.
std::string media_type_of(const WebAnswer& answer) {
  std::string type = header(answer, "content-type");
  type.resize(std::min(type.find(';'), type.size()));
  type.erase(type.find_last_not_of(' ') + 1);
  return lower_case(type);
}

Error refused(const WebAnswer& answer, const std::string& url) {
  const std::string what = url + " answered with HTTP status " + std::to_string(answer.status);
  switch (answer.status) {
    case 401:
    case 403:
      return {ErrorCode::kUnauthenticated,
              what +
                  ": give a credential that may read this (--registry-auth, "
                  "--registry-token-file)",
              ""};
    case 404:
      return {ErrorCode::kNotFound, what, ""};
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return {ErrorCode::kUnavailable, what, ""};
    default:
      return {ErrorCode::kConnectionFailed, what, ""};
  }
}

// What is asked for.
struct Ask {
  std::string url;
  std::string accept;
  std::uint64_t max_bytes;
  bool blob = false;
};

class Registry final : public Source {
 public:
  Registry(RegistryOptions options, SecretBytes basic, SecretBytes token)
      : options_(std::move(options)), basic_(std::move(basic)) {
    host_ = options_.host == "docker.io" ? "registry-1.docker.io" : options_.host;
    base_ = (options_.plain_http ? "http://" : "https://") + host_;
    if (!token.empty()) {
      authorization_ = "Authorization: Bearer " + std::string(as_text(token.view()));
    }
  }

  Result<RawManifest> manifest(const std::string& reference) override {
    RawManifest raw;
    ASSAY_ASSIGN(const WebAnswer answer,
                 get({base_ + "/v2/" + options_.path + "/manifests/" + reference,
                      std::string(kManifestTypes), kMaxManifestBytes},
                     into(raw.bytes)));
    raw.media_type = media_type_of(answer);
    return raw;
  }

  Status blob(const Digest& digest, std::uint64_t size, const TakePiece& take) override {
    // One byte more, so that a longer body is noticed as such.
    ASSAY_TRY(get(
        {base_ + "/v2/" + options_.path + "/blobs/" + digest.text(), "*/*", size + 1, true}, take));
    return {};
  }

  Result<std::vector<ContentRef>> referrers(const Digest& digest) override {
    std::vector<ContentRef> found;
    std::string url = base_ + "/v2/" + options_.path + "/referrers/" + digest.text();
    for (int page = 0; !url.empty(); ++page) {
      if (page == kMaxPages) {
        return fail(ErrorCode::kLimitExceeded, "The list of referrers has too many pages");
      }
      Bytes bytes;
      const auto answer = get({url, std::string(kImageIndex), kMaxManifestBytes}, into(bytes));
      if (!answer) {
        // A registry without this list: distribution-spec, "Unavailable Referrers API".
        return answer.error().code == ErrorCode::kNotFound && page == 0
                   ? by_tag(digest)
                   : std::unexpected(answer.error());
      }
      ASSAY_ASSIGN(Manifest index, parse_manifest(bytes, kImageIndex));
      std::ranges::move(index.parts, std::back_inserter(found));
      if (found.size() > kMaxDescriptors) {
        return fail(ErrorCode::kLimitExceeded, "The list of referrers is too long");
      }
      ASSAY_ASSIGN(url, next_page(*answer));
    }
    return found;
  }

 private:
  static client::TakeBody into(Bytes& bytes) {
    return [&bytes](ByteView piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return true;
    };
  }

  Result<std::vector<ContentRef>> by_tag(const Digest& digest) {
    const Result<Fetched> fetched = fetch_by_tag(*this, "sha256-" + digest.hex());
    if (!fetched) {
      return fetched.error().code == ErrorCode::kNotFound
                 ? Result<std::vector<ContentRef>>(std::vector<ContentRef>())
                 : std::unexpected(fetched.error());
    }
    if (!fetched->manifest.is_index) {
      return fail(ErrorCode::kUnsupportedMediaType, "The list of referrers is no index",
                  fetched->digest.text());
    }
    return fetched->manifest.parts;
  }

  // The address of the next page, on the same server. Empty: there is none.
  Result<std::string> next_page(const WebAnswer& answer) const {
    const std::string link = header(answer, "link");
    if (link.find("rel=\"next\"") == std::string::npos) {
      return std::string();
    }
    const std::size_t begin = link.find('<');
    const std::size_t end = link.find('>');
    if (begin == std::string::npos || end == std::string::npos || end < begin) {
      return fail(ErrorCode::kSchemaViolation, "The registry's list has no readable next page");
    }
    return resolve(link.substr(begin + 1, end - begin - 1), base_ + "/", false);
  }

  // Where a redirect leads. Blobs may lie elsewhere: their bytes are checked.
  Result<std::string> resolve(const std::string& location, const std::string& from,
                              bool elsewhere) const {
    std::string url = location;
    if (location.starts_with('/') && !location.starts_with("//")) {
      const std::size_t path = from.find('/', from.find("://") + 3);
      url = from.substr(0, path) + location;
    }
    const std::string host = host_of(url);
    const bool https = url.starts_with("https://");
    if (host.empty() || (!https && !(options_.plain_http && client::is_loopback_url(url)))) {
      return fail(ErrorCode::kConnectionFailed, "The registry redirects to what is no https", url);
    }
    if (!elsewhere && host != lower_case(host_)) {
      return fail(ErrorCode::kConnectionFailed,
                  "The registry redirects to another host; that is followed for blobs alone", url);
    }
    return url;
  }

  [[nodiscard]] WebRequest request_of(const Ask& ask, const std::string& url) const {
    const bool own = url.starts_with(base_ + "/");
    WebRequest request{.url = url,
                       .allow_plain_loopback = options_.plain_http,
                       .headers = {"Accept: " + ask.accept},
                       .ca = own ? options_.ca : "",
                       .user_agent = options_.user_agent,
                       .timeout_seconds = ask.blob ? 0 : kAnswerSeconds,
                       .max_bytes = ask.max_bytes};
    if (own && !authorization_.empty()) {
      request.headers.push_back(authorization_);
    }
    return request;
  }

  Result<WebAnswer> get(const Ask& ask, const client::TakeBody& take) {
    std::string url = ask.url;
    bool asked_again = false;
    for (int redirects = 0;;) {
      ASSAY_ASSIGN(WebAnswer answer, web_get(request_of(ask, url), take));
      if (answer.status == 200) {
        return answer;
      }
      if (answer.status == 401 && !asked_again && url.starts_with(base_ + "/")) {
        asked_again = true;
        ASSAY_TRY(authenticate(header(answer, "www-authenticate"), url));
      } else if (is_redirect(answer.status)) {
        if (++redirects > kMaxRedirects) {
          return fail(ErrorCode::kConnectionFailed, "The registry redirects too often", ask.url);
        }
        ASSAY_ASSIGN(url, resolve(header(answer, "location"), url, ask.blob));
      } else {
        return std::unexpected(refused(answer, url));
      }
    }
  }

  Status authenticate(const std::string& said, const std::string& url) {
    ASSAY_ASSIGN(const Challenge challenge, parse_challenge(said));
    if (challenge.scheme == "basic" && !basic_.empty()) {
      authorization_ = "Authorization: Basic " + std::string(as_text(basic_.view()));
      return {};
    }
    if (challenge.scheme != "bearer" || !challenge.values.contains("realm")) {
      return std::unexpected(refused({401, {}}, url));
    }
    return get_token(challenge);
  }

  // May the server that gives out tokens be asked, and be given the credential?
  Status check_realm(const std::string& realm) const {
    const std::string host = host_of(realm);
    const bool https = realm.starts_with("https://");
    const bool plain = options_.plain_http && client::is_loopback_url(realm);
    const bool known = host == lower_case(host_) ||
                       (options_.host == "docker.io" && host == "auth.docker.io") ||
                       std::ranges::find(options_.auth_hosts, host) != options_.auth_hosts.end();
    if (host.empty() || !known || (!https && !plain)) {
      return fail(ErrorCode::kUnauthenticated,
                  "The registry sends for a token to another server. If it is right, name its host "
                  "with --auth-host",
                  realm);
    }
    return {};
  }

  Status get_token(const Challenge& challenge) {
    const std::string& realm = challenge.values.at("realm");
    ASSAY_TRY(check_realm(realm));
    const auto service = challenge.values.find("service");
    std::string url = realm + (realm.find('?') == std::string::npos ? "?" : "&") +
                      "scope=" + client::percent_encode("repository:" + options_.path + ":pull");
    if (service != challenge.values.end()) {
      url += "&service=" + client::percent_encode(service->second);
    }
    WebRequest request{.url = url,
                       .allow_plain_loopback = options_.plain_http,
                       .headers = {"Accept: application/json"},
                       .ca = host_of(realm) == lower_case(host_) ? options_.ca : "",
                       .user_agent = options_.user_agent,
                       .timeout_seconds = kAnswerSeconds,
                       .max_bytes = kMaxTokenBytes};
    if (!basic_.empty()) {
      request.headers.push_back("Authorization: Basic " + std::string(as_text(basic_.view())));
    }
    Bytes bytes;
    ASSAY_ASSIGN(const WebAnswer answer, web_get(request, into(bytes)));
    if (answer.status != 200) {
      return std::unexpected(refused(answer, realm));
    }
    ASSAY_ASSIGN(const Json json, parse_json(ByteView(bytes)));
    std::string token = text_at(json, "token");
    token = token.empty() ? text_at(json, "access_token") : token;
    if (token.empty() || !std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; })) {
      return fail(ErrorCode::kUnauthenticated, "The answer has no token that can be used", realm);
    }
    authorization_ = "Authorization: Bearer " + token;
    return {};
  }

  RegistryOptions options_;
  SecretBytes basic_;
  std::string host_;
  std::string base_;
  std::string authorization_;  // header line; secret
};

}  // namespace

Result<std::unique_ptr<Source>> open_registry(RegistryOptions options) {
  if (options.plain_http && !client::is_loopback_url("http://" + options.host + "/")) {
    return fail(ErrorCode::kUsage, "Plain HTTP is for a registry on this machine alone",
                options.host);
  }
  if (!options.docker_config.empty() && !options.token_file.empty()) {
    return fail(ErrorCode::kUsage, "Give one credential: a file of Docker's, or a token");
  }
  SecretBytes basic;
  SecretBytes token;
  if (!options.docker_config.empty()) {
    client::protect_process();
    ASSAY_ASSIGN(const SecretBytes config, read_guarded(options.docker_config, kMaxConfigBytes));
    ASSAY_ASSIGN(basic, docker_credential(config.view(), options.host));
  }
  if (!options.token_file.empty()) {
    client::protect_process();
    ASSAY_ASSIGN(token, client::read_secret_file(options.token_file));
    if (!std::ranges::all_of(token.view(), [](std::uint8_t c) { return c > 0x20 && c < 0x7f; })) {
      return fail(ErrorCode::kUsage, "The token file holds one token and nothing else",
                  options.token_file);
    }
  }
  if (!options.ca.empty()) {
    ASSAY_TRY(client::read_file(options.ca));  // a better message than the TLS library's
  }
  return std::make_unique<Registry>(std::move(options), std::move(basic), std::move(token));
}

}  // namespace assay::oci
