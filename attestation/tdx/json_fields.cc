// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/json_fields.h"

namespace assay::attestation::tdx::fields {

const Json* find(const Json& object, const char* name) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto member = object.find(name);
  return member == object.end() ? nullptr : &*member;
}

const Json* find_array(const Json& object, const char* name) {
  const Json* member = find(object, name);
  return member != nullptr && member->is_array() ? member : nullptr;
}

std::optional<std::string> text(const Json& object, const char* name) {
  const Json* member = find(object, name);
  if (member == nullptr || !member->is_string()) {
    return std::nullopt;
  }
  return member->get<std::string>();
}

std::optional<std::uint32_t> number(const Json& object, const char* name, std::uint32_t max) {
  const Json* member = find(object, name);
  if (member == nullptr || !member->is_number_unsigned()) {
    return std::nullopt;
  }
  const auto value = member->get<std::uint64_t>();
  return value <= max ? std::optional(static_cast<std::uint32_t>(value)) : std::nullopt;
}

std::optional<Timestamp> time(const Json& object, const char* name) {
  const auto written = text(object, name);
  if (!written) {
    return std::nullopt;
  }
  const auto parsed = parse_rfc3339(*written);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::optional<std::vector<std::string>> texts(const Json& object, const char* name) {
  std::vector<std::string> list;
  const Json* member = find(object, name);
  if (member == nullptr) {
    return list;
  }
  if (!member->is_array()) {
    return std::nullopt;
  }
  for (const Json& element : *member) {
    if (!element.is_string()) {
      return std::nullopt;
    }
    list.push_back(element.get<std::string>());
  }
  return list;
}

std::optional<Bytes> hex_bytes(std::string_view digits) {
  std::string lower(digits);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  auto bytes = hex_decode(lower);
  return bytes ? std::optional(std::move(*bytes)) : std::nullopt;
}

}  // namespace assay::attestation::tdx::fields
