// SPDX-License-Identifier: Apache-2.0
// What would need escaping is refused: two escapings of one place must not be two places, nor one
// escaping two places.
#include "schemas/location.h"

#include <algorithm>
#include <array>

#include "schemas/core/digest.h"
#include "schemas/core/sha.h"
#include "schemas/image_name.h"
#include "schemas/members.h"

namespace assay {
namespace {

constexpr std::size_t kMaxLocation = 2048;
constexpr std::size_t kMaxNamespace = 63;
constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxDriver = 63;
constexpr std::size_t kDigestDigits = 64;

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

// Letters, digits, '-' and '.', the dots between other characters.
bool is_name(std::string_view text, std::size_t limit, bool uppercase) {
  return !text.empty() && text.size() <= limit && text.front() != '.' && text.back() != '.' &&
         text.front() != '-' && text.back() != '-' && text.find("..") == std::string::npos &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_lower(c) || is_digit(c) || c == '-' || c == '.' || (uppercase && is_upper(c));
         });
}

bool is_hex_digest(std::string_view text) {
  return text.size() == kDigestDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'f');
         });
}

// `path` is empty, or parts that each follow a '/'.
Status check_path(std::string_view path) {
  for (std::size_t start = 1; !path.empty() && start <= path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, slash - start);
    if (part.empty() || part == "." || part == "..") {
      return refuse("a location has no empty, '.' or '..' parts and does not end in '/'");
    }
    start = slash + 1;
  }
  return {};
}

// `rest` is what follows "://". Each returns the one spelling of it.

Result<std::string> claim(std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::size_t end = std::min(rest.find('/', slash + 1), rest.size());
  if (!is_name(rest.substr(0, slash), kMaxNamespace, false) || slash == rest.size() ||
      !is_name(rest.substr(slash + 1, end - slash - 1), kMaxName, false)) {
    return refuse("a claim is written as pvc://namespace/claim, in lowercase");
  }
  ASSAY_TRY(check_path(rest.substr(end)));
  return std::string(rest);
}

Result<std::string> host_path(std::string_view rest) {
  if (rest.size() < 2 || rest.front() != '/') {
    return refuse("a hostpath location has three slashes: hostpath:///data/models");
  }
  ASSAY_TRY(check_path(rest));
  return std::string(rest);
}

Result<std::string> nfs_export(std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string host = lowered(rest.substr(0, slash));
  if (!is_name(host, kMaxName, false) || rest.size() < slash + 2) {
    return refuse("an export is written as nfs://host/path");
  }
  ASSAY_TRY(check_path(rest.substr(slash)));
  return host + std::string(rest.substr(slash));
}

Result<std::string> inline_volume(std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::size_t next = std::min(rest.find('/', slash + 1), rest.size());
  const std::size_t end = std::min(rest.find('/', next + 1), rest.size());
  if (!is_name(rest.substr(0, slash), kMaxDriver, true) || next == rest.size() ||
      !is_name(rest.substr(slash + 1, next - slash - 1), kMaxNamespace, false) ||
      !is_hex_digest(rest.substr(next + 1, end - next - 1))) {
    return refuse(
        "an inline volume is written as csi://driver/namespace/<SHA-256 of its attributes in hex>: "
        "no attribute of a driver is believed");
  }
  ASSAY_TRY(check_path(rest.substr(end)));
  return std::string(rest);
}

Result<std::string> image(std::string_view rest) {
  const std::size_t at = rest.find('@');
  if (at == std::string_view::npos) {
    return refuse("an image is named by digest: oci://name@sha256:<hex>");
  }
  const std::size_t end = std::min(rest.find('/', at), rest.size());
  ASSAY_ASSIGN(const ImageName name, parse_image_name(rest.substr(0, end)));
  if (!name.tag.empty()) {
    return refuse("an image is named by digest alone: a tag can be moved");
  }
  ASSAY_TRY(check_path(rest.substr(end)));
  return name.repository + "@" + name.digest + std::string(rest.substr(end));
}

struct Scheme {
  std::string_view name;
  Result<std::string> (*spell)(std::string_view rest);
};

constexpr std::array kSchemes = {Scheme{"pvc", claim}, Scheme{"hostpath", host_path},
                                 Scheme{"nfs", nfs_export}, Scheme{"oci", image},
                                 Scheme{"csi", inline_volume}};

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
    return refuse("a location is something that pods mount: pvc, hostpath, nfs, oci or csi");
  }
  ASSAY_ASSIGN(const std::string spelled, scheme->spell(uri.substr(colon + 3)));
  std::string location = name + "://" + spelled;
  if (location.size() > kMaxLocation) {
    return refuse("a location has at most 2048 bytes");
  }
  return location;
}

Status check_locations(const std::vector<std::string>& locations) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    bytes += locations[i].size();
    if (bytes > kMaxLocationsBytes) {
      return fail(ErrorCode::kLimitExceeded,
                  "the locations of one statement have at most 65536 bytes together",
                  "/predicate/locations");
    }
    const std::string where = "/predicate/locations/" + std::to_string(i);
    auto normal = normalise_location(locations[i]);
    if (!normal) {
      return members::under(where, std::move(normal).error());
    }
    if (*normal != locations[i]) {
      return fail(ErrorCode::kSchemaViolation, "write the location as " + *normal, where);
    }
  }
  return {};
}

bool location_covers(std::string_view location, std::string_view place) {
  return !location.empty() && place.starts_with(location) &&
         (place.size() == location.size() || place[location.size()] == '/');
}

Result<std::string> image_location(std::string_view image) {
  ASSAY_ASSIGN(const ImageName name, parse_image_name(image));
  if (name.digest.empty()) {
    return refuse("an image without digest is no location");
  }
  return "oci://" + name.repository + "@" + name.digest;
}

Result<std::string> csi_location(std::string_view driver, std::string_view name_space,
                                 const Json& attributes) {
  if (!attributes.is_object() ||
      !std::all_of(attributes.begin(), attributes.end(),
                   [](const Json& value) { return value.is_string(); })) {
    return refuse("attributes of a volume are texts");
  }
  if (!is_name(driver, kMaxDriver, true) || !is_name(name_space, kMaxNamespace, false)) {
    return refuse("a driver and a namespace are names, without '/'");
  }
  ASSAY_ASSIGN(const std::string canonical, canonical_json(attributes));
  return normalise_location("csi://" + std::string(driver) + "/" + std::string(name_space) + "/" +
                            sha256(as_bytes(canonical)).hex());
}

}  // namespace assay
