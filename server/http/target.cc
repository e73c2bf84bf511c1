// SPDX-License-Identifier: Apache-2.0
#include "server/http/target.h"

#include <algorithm>

#include "schemas/core/bytes.h"

namespace assay::server {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return -1;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

Result<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += plus_is_space && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) {
      return fail(ErrorCode::kBadRequest, "a '%' in the target needs two hex digits");
    }
    result += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (!is_utf8(result) || has_control(result)) {
    return fail(ErrorCode::kBadRequest, "the target must be UTF-8 text without control characters");
  }
  return result;
}

Status check_segments(std::string_view path) {
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    if (segment == "." || segment == "..") {
      return fail(ErrorCode::kBadRequest, "the path may have no '.' or '..' segment");
    }
    path.remove_prefix(std::min(path.size(), segment.size() + 1));
  }
  return {};
}

Result<std::string> decode_path(std::string_view raw) {
  ASSAY_ASSIGN(std::string path, decode(raw, false));
  if (std::ranges::count(path, '/') != std::ranges::count(raw, '/') || path.contains('\\')) {
    return fail(ErrorCode::kBadRequest, "the path may have no encoded '/' and no '\\'");
  }
  ASSAY_TRY(check_segments(path));
  return path;
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
  const auto mark = target.find('?');
  Target result;
  ASSAY_ASSIGN(result.path, decode_path(target.substr(0, mark)));
  if (result.path.empty() || result.path.front() != '/') {
    return fail(ErrorCode::kBadRequest, "the request target must begin with '/'");
  }
  std::string_view query = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!query.empty()) {
    const std::string_view piece = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), piece.size() + 1));
    if (piece.empty()) {
      continue;
    }
    if (result.query.size() == kMaxQueryParameters) {
      return fail(ErrorCode::kBadRequest, "the query has too many parameters");
    }
    const auto equals = piece.find('=');
    ASSAY_ASSIGN(std::string name, decode(piece.substr(0, equals), true));
    ASSAY_ASSIGN(std::string value,
                 decode(equals == std::string_view::npos ? "" : piece.substr(equals + 1), true));
    result.query.emplace_back(std::move(name), std::move(value));
  }
  return result;
}

std::string percent_encode(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  static constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string result;
  for (const char c : text) {
    if (kUnreserved.contains(c)) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += '%';
      result += kDigits[byte >> 4];
      result += kDigits[byte & 15];
    }
  }
  return result;
}

}  // namespace assay::server
