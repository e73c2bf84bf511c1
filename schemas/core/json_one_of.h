// SPDX-License-Identifier: Apache-2.0
// Writes and reads a std::variant as an object of JSON with one member, whose name says which type
// its value has.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "schemas/core/json_values.h"

namespace assay::json {

[[nodiscard]] std::unexpected<Error> none_of_them();

// `at` is the only member of T when the value in JSON is that member, else null.
template <typename T, typename M = T>
struct Alternative {
  std::string_view name;
  M T::* at;
};
template <typename T, typename M>
[[nodiscard]] constexpr Alternative<T, M> alternative(std::string_view name, M T::* at) {
  return {name, at};
}
template <typename T>
[[nodiscard]] constexpr Alternative<T> alternative(std::string_view name) {
  return {name, nullptr};
}

template <typename Variant, typename... Entry>
[[nodiscard]] Json write_one(const Variant& value, const std::tuple<Entry...>& all) {
  Json json;
  const auto try_one = [&]<typename T, typename M>(const Alternative<T, M>& one) {
    if (const T* held = std::get_if<T>(&value)) {
      if constexpr (std::same_as<T, M>) {
        json[one.name] = put(*held);
      } else {
        json[one.name] = put(held->*(one.at));
      }
    }
  };
  std::apply([&](const auto&... one) { (try_one(one), ...); }, all);
  return json;
}

// Returns whether the object has one of these members.
template <typename... Entry>
[[nodiscard]] bool is_one(const Json& json, const std::tuple<Entry...>& all) {
  return std::apply([&](const auto&... one) { return (json.contains(one.name) || ...); }, all);
}

template <typename Variant, typename... Entry>
[[nodiscard]] Result<Variant> read_one(const Json& json, const std::tuple<Entry...>& all) {
  ASSAY_TRY(check_object(json));
  Result<Variant> found = none_of_them();
  const auto try_one = [&]<typename T, typename M>(const Alternative<T, M>& one) {
    const auto member = json.find(one.name);
    if (member == json.end()) {
      return false;
    }
    auto value = get<M>(*member);
    if (value) {
      found = T{*std::move(value)};
    } else {
      found = below(one.name, std::move(value).error());
    }
    return true;
  };
  std::apply([&](const auto&... one) { static_cast<void>((try_one(one) || ...)); }, all);
  return found;
}

}  // namespace assay::json
