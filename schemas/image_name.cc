// SPDX-License-Identifier: Apache-2.0
// The grammar of github.com/distribution/reference, without IPv6 hosts.
#include "schemas/image_name.h"

#include <algorithm>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"

namespace assay {
namespace {

constexpr std::size_t kMaxRepository = 255;
constexpr std::size_t kMaxTag = 128;
constexpr std::size_t kMaxPort = 5;
constexpr std::string_view kDefaultHost = "docker.io";

std::unexpected<Error> refuse(const char* why) { return fail(ErrorCode::kSchemaViolation, why); }

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || is_digit(c); }

// Words of lowercase letters and digits between single '.', one or two '_', or any number of '-'.
bool is_path_part(std::string_view part) {
  if (part.empty() || !is_lower_or_digit(part.front()) || !is_lower_or_digit(part.back())) {
    return false;
  }
  for (std::size_t at = 0; at < part.size();) {
    if (is_lower_or_digit(part[at])) {
      ++at;
      continue;
    }
    const char separator = part[at];
    const std::size_t end = std::min(part.find_first_not_of(separator, at), part.size());
    const std::size_t most = separator == '.' ? 1 : separator == '_' ? 2 : part.size();
    if ((separator != '.' && separator != '_' && separator != '-') || end - at > most ||
        !is_lower_or_digit(part[end])) {
      return false;
    }
    at = end;
  }
  return true;
}

bool is_host(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view host = text.substr(0, colon);
  const bool name = !host.empty() && is_lower_or_digit(host.front()) &&
                    is_lower_or_digit(host.back()) && host.find("..") == std::string_view::npos &&
                    std::all_of(host.begin(), host.end(), [](char c) {
                      return is_lower_or_digit(c) || c == '.' || c == '-';
                    });
  if (!name || colon == text.size()) {
    return name;
  }
  const std::string_view port = text.substr(colon + 1);
  return !port.empty() && port.size() <= kMaxPort && port.front() != '0' &&
         std::all_of(port.begin(), port.end(), is_digit);
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= kMaxTag && tag.front() != '.' && tag.front() != '-' &&
         std::all_of(tag.begin(), tag.end(), [](char c) {
           return is_lower_or_digit(c) || is_upper(c) || c == '_' || c == '.' || c == '-';
         });
}

// With its host.
Result<std::string> canonical_repository(std::string_view name) {
  const std::size_t slash = name.find('/');
  const std::string_view first = name.substr(0, slash);
  const bool has_host =
      slash != std::string_view::npos &&
      (first.find_first_of(".:") != std::string_view::npos || first == "localhost");
  std::string host(has_host ? first : kDefaultHost);
  host = lower_case(host);
  if (host == "index.docker.io") {
    host = kDefaultHost;
  }
  std::string path(has_host ? name.substr(slash + 1) : name);
  if (host == kDefaultHost && path.find('/') == std::string::npos) {
    path = "library/" + path;
  }
  bool good = is_host(host);
  for (std::size_t start = 0; good && start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    good = is_path_part(std::string_view(path).substr(start, end - start));
    start = end + 1;
  }
  std::string repository = host + "/" + path;
  if (!good || repository.size() > kMaxRepository) {
    return refuse(std::ranges::any_of(path, is_upper)
                      ? "the name of an image has no capital letters behind its host"
                      : "the image has no valid name");
  }
  return repository;
}

}  // namespace

Result<ImageName> parse_image_name(std::string_view text) {
  ImageName image;
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    image.digest = std::string(text.substr(at + 1));
    if (!image.digest.starts_with("sha256:") || !Digest::parse(image.digest)) {
      return refuse("an image is pinned by a digest sha256:<64 hexadecimal digits>");
    }
  }
  std::string_view name = text.substr(0, at);
  const std::size_t last = name.rfind('/');
  const std::size_t colon = name.find(':', last == std::string_view::npos ? 0 : last + 1);
  if (colon != std::string_view::npos) {
    image.tag = std::string(name.substr(colon + 1));
    if (!is_tag(image.tag)) {
      return refuse("the image has no valid tag");
    }
    name = name.substr(0, colon);
  }
  ASSAY_ASSIGN(image.repository, canonical_repository(name));
  return image;
}

}  // namespace assay
