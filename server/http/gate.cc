// SPDX-License-Identifier: Apache-2.0
#include "server/http/gate.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "server/http/optional_space.h"

namespace assay::server {
namespace {

// Fields of which a second one is an attempt to be read in two ways.
constexpr std::array kSingletons = {std::string_view("authorization"),
                                    std::string_view("content-encoding"),
                                    std::string_view("content-length"),
                                    std::string_view("content-type"),
                                    std::string_view("expect"),
                                    std::string_view("host"),
                                    std::string_view("if-match"),
                                    std::string_view("if-modified-since"),
                                    std::string_view("idempotency-key"),
                                    std::string_view("origin"),
                                    std::string_view("proxy-authorization"),
                                    std::string_view("sec-fetch-site"),
                                    std::string_view("transfer-encoding"),
                                    std::string_view("x-request-id")};

// Lists (RFC 9110 section 5.6.1) that somebody reads here; several fields are one list.
constexpr std::array kLists = {std::string_view("accept"), std::string_view("connection"),
                               std::string_view("if-none-match")};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

// RFC 9110 section 5.5: visible characters, obs-text, and SP or HT between them.
bool is_field_value(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7F);
  });
}

// host[:port] of RFC 3986 section 3.2, without user information.
bool is_host(std::string_view host) {
  static constexpr std::string_view kPunctuation = "-._~!$&'()*+,;=:[]%";
  const auto allowed = [](char c) {
    const char l = lower(c);
    return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || kPunctuation.contains(c);
  };
  return !host.empty() && host.size() <= 255 && std::ranges::all_of(host, allowed);
}

Result<std::uint64_t> content_length(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  // from_chars takes no sign, no white space and no prefix for an unsigned number.
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value > kMaxContentLength) {
    return fail(ErrorCode::kBadRequest, "Content-Length is not a number");
  }
  return value;
}

Status add_field(Headers& headers, const std::string& raw_name, std::string_view raw_value) {
  const std::string name = lowered(raw_name);
  const std::string_view value = without_ows(raw_value);
  if (!is_field_value(value)) {
    return fail(ErrorCode::kBadRequest, "a header field has a control character");
  }
  const auto [place, added] = headers.try_emplace(name, value);
  if (added) {
    return {};
  }
  if (contains(kSingletons, name)) {
    return fail(ErrorCode::kBadRequest, "the header has several " + name + " fields");
  }
  // An empty element of a list says nothing (RFC 9110 section 5.6.1).
  if (contains(kLists, name) && !value.empty()) {
    place->second += place->second.empty() ? "" : ", ";
    place->second += value;
  }
  // Other fields keep their first value: nothing here reads them.
  return {};
}

Status check_target(std::string_view target) {
  if (target.size() > kMaxTargetBytes) {
    return fail(ErrorCode::kUriTooLong,
                "the request target may have " + std::to_string(kMaxTargetBytes) + " bytes");
  }
  const bool printable = std::ranges::all_of(target, [](char c) { return c > 0x20 && c < 0x7F; });
  if (target.empty() || target.front() != '/' || !printable || target.contains('#')) {
    return fail(ErrorCode::kBadRequest, "the request target must be a path with an optional query");
  }
  return {};
}

// Section 6 of RFC 9112, narrowed to Content-Length.
Status check_framing(const Headers& headers, Head& head) {
  const auto length = headers.find("content-length");
  if (const auto coding = headers.find("transfer-encoding"); coding != headers.end()) {
    if (length == headers.end() && lowered(coding->second) == "chunked") {
      return fail(ErrorCode::kLengthRequired, "send the body with a Content-Length, not in chunks");
    }
    return fail(ErrorCode::kBadRequest, "Transfer-Encoding is not supported");
  }
  if (length != headers.end()) {
    ASSAY_ASSIGN(head.content_length, content_length(length->second));
  }
  const bool takes_body = head.method == Method::kPost || head.method == Method::kPut;
  if (takes_body && length == headers.end()) {
    return fail(ErrorCode::kLengthRequired, "send a Content-Length, 0 for no body");
  }
  if (const auto coding = headers.find("content-encoding");
      coding != headers.end() && lowered(coding->second) != "identity") {
    return fail(ErrorCode::kUnsupportedMediaType, "send the body without a content encoding");
  }
  return {};
}

bool lists_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (lowered(without_ows(list.substr(0, comma))) == token) {
      return true;
    }
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

Status check_line_ends(std::string_view text, bool ends) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool last = i + 1 == text.size();
    const bool bare_lf = c == '\n' && (i == 0 || text[i - 1] != '\r');
    const bool bare_cr = c == '\r' && (last ? ends : text[i + 1] != '\n');
    if (c == '\0' || bare_lf || bare_cr) {
      return fail(ErrorCode::kBadRequest, "the header has a control character");
    }
    // RFC 9112 section 5.2: a line that begins with white space continues the one before it.
    if (c == '\n' && !last && (text[i + 1] == ' ' || text[i + 1] == '\t')) {
      return fail(ErrorCode::kBadRequest, "the header has a folded line");
    }
  }
  return {};
}

}  // namespace

Result<std::optional<std::size_t>> find_head_end(std::string_view buffered) {
  const std::string_view window = buffered.substr(0, kMaxHeadBytes);
  const auto end = window.find("\r\n\r\n");
  const bool complete = end != std::string_view::npos;
  const std::string_view head = complete ? window.substr(0, end + 4) : window;
  ASSAY_TRY(check_line_ends(head, complete));
  if (complete) {
    return head.size();
  }
  if (buffered.size() < kMaxHeadBytes) {
    return std::nullopt;
  }
  if (window.find("\r\n") > kMaxTargetBytes) {
    return fail(ErrorCode::kUriTooLong,
                "the request target may have " + std::to_string(kMaxTargetBytes) + " bytes");
  }
  return fail(ErrorCode::kHeadersTooLarge,
              "the header may have " + std::to_string(kMaxHeadBytes) + " bytes");
}

Result<Head> check_head(const RawHead& raw) {
  if (raw.version != 11) {
    return fail(ErrorCode::kBadRequest, "only HTTP/1.1 is spoken here");
  }
  if (raw.fields.size() > kMaxFields) {
    return fail(ErrorCode::kHeadersTooLarge,
                "the header may have " + std::to_string(kMaxFields) + " fields");
  }
  Head head;
  head.method = method_from(raw.method);
  ASSAY_TRY(check_target(raw.target));
  head.target = raw.target;
  for (const auto& [name, value] : raw.fields) {
    ASSAY_TRY(add_field(head.headers, name, value));
  }
  const auto host = head.headers.find("host");
  if (host == head.headers.end() || !is_host(host->second)) {
    return fail(ErrorCode::kBadRequest, "the header needs one Host field");
  }
  ASSAY_TRY(check_framing(head.headers, head));
  if (const auto expect = head.headers.find("expect"); expect != head.headers.end()) {
    if (lowered(expect->second) != "100-continue") {
      return fail(ErrorCode::kBadRequest, "Expect may only ask for 100-continue");
    }
    head.expect_continue = head.content_length != 0;
  }
  if (const auto connection = head.headers.find("connection"); connection != head.headers.end()) {
    head.keep_alive = !lists_token(connection->second, "close");
  }
  return head;
}

}  // namespace assay::server
