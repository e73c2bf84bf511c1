// SPDX-License-Identifier: Apache-2.0
// One spelling for the places that hold models. What would need escaping is refused: two escapings
// of one place must not be two places, nor one escaping two places.
#include "schemas/location.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::size_t kMaxLocation = 2048;

// How the part before the first '/' is written.
enum class Authority : std::uint8_t {
  kNone,       // hostpath: the path starts at once
  kHost,       // letters in either case, lowered; optional port
  kLowercase,  // must be lowercase already: names where case could matter
  kAsIs,       // case matters and is kept
};

struct Scheme {
  std::string_view name;
  Authority authority;
  bool needs_path;
  bool opaque;  // the rest is a handle, not a path: empty parts are kept
};

constexpr std::array kSchemes = {
    Scheme{"pvc", Authority::kLowercase, true, false},
    Scheme{"hostpath", Authority::kNone, true, false},
    Scheme{"oci", Authority::kHost, true, false},
    Scheme{"csi", Authority::kLowercase, true, true},
    Scheme{"https", Authority::kHost, true, false},
    Scheme{"s3", Authority::kLowercase, false, false},
    Scheme{"gs", Authority::kLowercase, false, false},
    Scheme{"hf", Authority::kAsIs, true, false},
    Scheme{"nfs", Authority::kHost, true, false},
};

std::unexpected<Error> refuse(const char* why) { return fail(ErrorCode::kSchemaViolation, why); }

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// Printable ASCII without what starts a query or fragment, escapes, or is no URI character.
bool is_plain(char c) {
  return c > ' ' && c < 0x7F && std::string_view("?#%\\\"<>^`{|}").find(c) == std::string::npos;
}

Status check_authority(std::string_view text, Authority kind) {
  const bool port_allowed = kind == Authority::kHost;
  const std::size_t colon = port_allowed ? text.find(':') : std::string_view::npos;
  const std::string_view host = text.substr(0, colon);
  const bool word = !host.empty() && std::all_of(host.begin(), host.end(), [&](char c) {
    return is_lower(c) || is_digit(c) || c == '.' || c == '-' || c == '_' ||
           (is_upper(c) && kind == Authority::kAsIs);
  });
  if (!word || host.front() == '.' || host.back() == '.' || host.find("..") != std::string::npos) {
    return refuse("the host, bucket or namespace of the location is missing or not allowed");
  }
  if (colon != std::string_view::npos) {
    const std::string_view port = text.substr(colon + 1);
    if (port.empty() || port.size() > 5 || port.front() == '0' ||
        !std::all_of(port.begin(), port.end(), is_digit)) {
      return refuse("the port of the location is not a number");
    }
  }
  return {};
}

Status check_path(std::string_view path, const Scheme& scheme) {
  if (path.empty()) {
    return scheme.needs_path ? Status(refuse("the location names nothing below its host"))
                             : Status{};
  }
  if (path.back() == '/') {
    return refuse("a location does not end in '/'");
  }
  for (std::size_t start = 1; start <= path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, slash - start);
    if (part == "." || part == ".." || (part.empty() && !scheme.opaque)) {
      return refuse("a location has no empty, '.' or '..' parts");
    }
    start = slash + 1;
  }
  return {};
}

}  // namespace

Result<std::string> normalise_location(std::string_view uri) {
  if (uri.size() > kMaxLocation) {
    return refuse("a location has at most 2048 bytes");
  }
  if (!std::all_of(uri.begin(), uri.end(), is_plain)) {
    return refuse("a location is printable ASCII without query, fragment and escapes");
  }
  const std::size_t colon = uri.find("://");
  const std::string name = lowered(uri.substr(0, colon));
  const auto scheme = std::find_if(kSchemes.begin(), kSchemes.end(),
                                   [&](const Scheme& known) { return known.name == name; });
  if (colon == std::string_view::npos || scheme == kSchemes.end()) {
    return refuse("a location is a URI: pvc, hostpath, oci, csi, https, s3, gs, hf or nfs");
  }
  const std::string_view rest = uri.substr(colon + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string authority(rest.substr(0, slash));
  if (scheme->authority == Authority::kNone) {
    if (!authority.empty()) {
      return refuse("a hostpath location has three slashes: hostpath:///data/models");
    }
  } else {
    authority = scheme->authority == Authority::kHost ? lowered(authority) : authority;
    ASSAY_TRY(check_authority(authority, scheme->authority));
  }
  ASSAY_TRY(check_path(rest.substr(slash), *scheme));
  return name + "://" + authority + std::string(rest.substr(slash));
}

bool location_covers(std::string_view location, std::string_view place) {
  return !location.empty() && place.starts_with(location) &&
         (place.size() == location.size() || place[location.size()] == '/');
}

}  // namespace assay
