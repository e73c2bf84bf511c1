// SPDX-License-Identifier: Apache-2.0
// How values are written in JSON and read from it, by their types. schemas/core/json_members.h
// makes objects of them.
//
// A value is text, true or false, a number from 0, an instant, bytes (base64), what has text() and
// parse() as ids do, an optional value, a list, a map of text to values, a type for which
// to_json(value) and read_json(As<T>, json) are declared in its namespace, or a type with a list of
// members.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::json {

// A type with a list of members (schemas/core/json_members.h).
template <typename T>
concept Listed = requires { members_of(As<T>{}); };
// Overloads of the types alone are meant below, not those of namespaces around this one.
void to_json() = delete;
void read_json() = delete;

template <Listed T>
[[nodiscard]] Json write(const T& value);
template <Listed T>
[[nodiscard]] Result<T> read(const Json& json);

// Returns `error` with `step`, a member or a position in a list, put before its place.
[[nodiscard]] std::unexpected<Error> below(std::string_view step, Error error);

// Parse one value. Errors: schema-violation.
[[nodiscard]] Result<std::string> text(const Json& json);
[[nodiscard]] Result<bool> flag(const Json& json);
[[nodiscard]] Result<std::uint64_t> number(const Json& json, std::uint64_t most);
[[nodiscard]] Result<double> real(const Json& json);
[[nodiscard]] Status check_object(const Json& json);
[[nodiscard]] Status check_array(const Json& json);

template <typename T>
concept HasText = requires(const T& value, std::string_view text) {
  { value.text() } -> std::same_as<std::string>;
  { T::parse(text) } -> std::same_as<Result<T>>;
};
template <typename T, template <typename...> class Of>
inline constexpr bool kIs = false;
template <template <typename...> class Of, typename... T>
inline constexpr bool kIs<Of<T...>, Of> = true;
// A std::vector, and what is made from one.
template <typename T>
concept List = requires { typename T::value_type; } &&
               std::constructible_from<T, std::vector<typename T::value_type>> &&
               !std::same_as<T, Bytes> && !std::same_as<T, Json>;

// An id, or a digest, that is not read yet.
template <std::constructible_from<Digest> Id>
[[nodiscard]] Id unread() {
  constexpr std::array<std::uint8_t, Digest::kMaxSize> kZeros{};
  return Id(Digest::wrap(HashAlgorithm::kSha256, kZeros.data()));
}

template <typename T>
[[nodiscard]] Json put(const T& value) {
  if constexpr (requires { to_json(value); }) {
    return to_json(value);
  } else if constexpr (Listed<T>) {
    return write(value);
  } else if constexpr (std::same_as<T, Timestamp>) {
    return to_rfc3339(value);
  } else if constexpr (std::same_as<T, Bytes>) {
    return base64_encode(value);
  } else if constexpr (HasText<T>) {
    return value.text();
  } else if constexpr (kIs<T, std::optional>) {
    return value ? put(*value) : Json();
  } else if constexpr (List<T>) {
    Json list = Json::array();
    for (const auto& item : value) {
      list.push_back(put(item));
    }
    return list;
  } else {
    return value;
  }
}

template <typename T>
[[nodiscard]] Result<T> get(const Json& json);

// Reads a list with `parse`, which reads one item.
template <typename T, typename Parse>
[[nodiscard]] Result<T> get_list(const Json& json, Parse parse) {
  ASSAY_TRY(check_array(json));
  std::vector<typename T::value_type> list;
  list.reserve(json.size());
  for (const Json& item : json) {
    auto value = parse(item);
    if (!value) {
      return below(std::to_string(list.size()), std::move(value).error());
    }
    list.push_back(*std::move(value));
  }
  return T(std::move(list));
}

template <typename T>
[[nodiscard]] Result<T> get_map(const Json& json) {
  ASSAY_TRY(check_object(json));
  T map;
  for (const auto& [key, item] : json.items()) {
    auto value = get<typename T::mapped_type>(item);
    if (!value) {
      return below(key, std::move(value).error());
    }
    map.emplace(key, *std::move(value));
  }
  return map;
}

// Reads a text and parses it.
template <typename Parse>
[[nodiscard]] auto parsed(const Json& json, Parse parse) -> decltype(parse(std::string_view())) {
  ASSAY_ASSIGN(const std::string value, text(json));
  return parse(value);
}

template <typename T>
[[nodiscard]] Result<T> get(const Json& json) {
  if constexpr (requires { read_json(As<T>{}, json); }) {
    return read_json(As<T>{}, json);
  } else if constexpr (Listed<T>) {
    return read<T>(json);
  } else if constexpr (std::same_as<T, std::string>) {
    return text(json);
  } else if constexpr (std::same_as<T, bool>) {
    return flag(json);
  } else if constexpr (std::unsigned_integral<T>) {
    ASSAY_ASSIGN(const std::uint64_t value, number(json, std::numeric_limits<T>::max()));
    return static_cast<T>(value);
  } else if constexpr (std::same_as<T, double>) {
    return real(json);
  } else if constexpr (std::same_as<T, Json>) {
    return json;
  } else if constexpr (std::same_as<T, Timestamp>) {
    return parsed(json, parse_rfc3339);
  } else if constexpr (std::same_as<T, Bytes>) {
    return parsed(json, [](std::string_view base64) { return base64_decode(base64); });
  } else if constexpr (HasText<T>) {
    return parsed(json, T::parse);
  } else if constexpr (kIs<T, std::optional>) {
    ASSAY_ASSIGN(auto value, get<typename T::value_type>(json));
    return T(std::move(value));
  } else if constexpr (kIs<T, std::map>) {
    return get_map<T>(json);
  } else {
    return get_list<T>(json, get<typename T::value_type>);
  }
}

}  // namespace assay::json
