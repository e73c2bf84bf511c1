// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/credentials.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/core/json_at.h"

namespace assay::oci {
namespace {

constexpr std::size_t kMaxChallenge = 4096;

bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::unexpected<Error> no_challenge() {
  return fail(ErrorCode::kSchemaViolation,
              "The registry asks for credentials in a form that cannot be read");
}

// One name="value" or name=value at the start of `text`, which moves behind it.
Result<std::pair<std::string, std::string>> take_value(std::string_view& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos ||
      !std::ranges::all_of(text.substr(0, equals), is_token_char)) {
    return no_challenge();
  }
  std::string name = lower_case(text.substr(0, equals));
  text.remove_prefix(equals + 1);
  std::string value;
  if (!text.starts_with('"')) {
    const auto end = std::ranges::find_if_not(text, is_token_char);
    const auto length = static_cast<std::size_t>(end - text.begin());
    value = text.substr(0, length);
    text.remove_prefix(length);
    return std::pair(std::move(name), std::move(value));
  }
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return std::pair(std::move(name), std::move(value));
    }
    if (text[i] == '\\' && ++i == text.size()) {
      break;
    }
    value += text[i];
  }
  return no_challenge();
}

void skip(std::string_view& text, std::string_view what) {
  const std::size_t next = text.find_first_not_of(what);
  text.remove_prefix(next == std::string_view::npos ? text.size() : next);
}

}  // namespace

Result<SecretBytes> docker_credential(ByteView config, const std::string& host) {
  ASSAY_ASSIGN(const Json json, parse_json(config));
  if (member_at(object_at(json, "credHelpers"), host).is_string()) {
    return fail(ErrorCode::kSchemaViolation,
                "A helper program keeps the credential of this registry, and none is run: give a "
                "file with the credential itself, or a token");
  }
  const Json& auths = object_at(json, "auths");
  // Docker's own registry stands under an address of its first version.
  const std::array<std::string, 3> names = {
      host, "https://" + host, host == "docker.io" ? "https://index.docker.io/v1/" : host};
  for (const std::string& name : names) {
    if (!auths.contains(name)) {
      continue;
    }
    const std::string auth = text_at(auths[name], "auth");
    const auto plain = base64_decode(auth);
    if (!plain || as_text(*plain).find(':') == std::string_view::npos) {
      return fail(ErrorCode::kSchemaViolation,
                  "The file has no user and password for this registry; a program may keep them "
                  "(credsStore)",
                  name);
    }
    return SecretBytes(to_bytes(auth));
  }
  return SecretBytes();
}

Result<Challenge> parse_challenge(std::string_view header) {
  const std::size_t space = std::min(header.find(' '), header.size());
  Challenge challenge{lower_case(header.substr(0, space)), {}};
  if (header.size() > kMaxChallenge || challenge.scheme.empty() ||
      !std::ranges::all_of(challenge.scheme, is_token_char)) {
    return no_challenge();
  }
  std::string_view rest = header.substr(space);
  for (skip(rest, " "); !rest.empty(); skip(rest, " ,")) {
    ASSAY_ASSIGN(auto value, take_value(rest));
    if (!challenge.values.insert(std::move(value)).second ||
        (!rest.empty() && rest.front() != ',' && rest.front() != ' ')) {
      return no_challenge();
    }
  }
  return challenge;
}

std::string host_of(std::string_view url) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (url.starts_with(scheme)) {
      url.remove_prefix(scheme.size());
      const std::string host = lower_case(url.substr(0, url.find_first_of("/?#")));
      const bool plain = std::ranges::all_of(host, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               std::string_view(".-_:[]").find(c) != std::string_view::npos;
      });
      return plain ? host : "";
    }
  }
  return "";
}

}  // namespace assay::oci
