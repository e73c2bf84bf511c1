// SPDX-License-Identifier: Apache-2.0
// Writes and reads an object of JSON by the list of its members (schemas/core/json_members.h).
// Reading is strict: each member is there unless the list says otherwise, has its type, and there
// is no other. `where` of an error is the RFC 6901 pointer of the member. Beside its list, a type
// may have Status together(const T&), which says what members must be together, and, when it has no
// default constructor, T start(json::As<T>), from which reading begins.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schemas/core/json_members.h"

namespace assay::json {

// --- writing

template <typename M>
[[nodiscard]] bool is_unset(const M& value) {
  if constexpr (requires { value.has_value(); }) {
    return !value.has_value();
  } else if constexpr (std::same_as<M, Json>) {
    return value.is_null();
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return value == M();
  }
}

// The value of an optional that is absent without one is written and read as what it holds.
template <There kThere, typename M>
inline constexpr bool kUnwraps =
    kIs<M, std::optional> && (kThere == There::kIfSet || kThere == There::kOrNull);

template <typename T, typename... Entry>
void write_members(const T& value, const std::tuple<Entry...>& list, Json& json);

template <typename T, There kThere, typename C, typename M, typename How>
void write_entry(const T& value, const Member<kThere, C, M, How>& member, Json& json) {
  const M& own = value.*(member.at);
  if constexpr (kThere == There::kIfSet || kThere == There::kOrNull) {
    if (is_unset(own)) {
      if constexpr (kThere == There::kOrNull) {
        json[member.name] = nullptr;
      }
      return;
    }
  }
  if constexpr (kThere == There::kUnlessDefault) {
    if (own == T().*(member.at)) {
      return;
    }
  }
  if constexpr (kUnwraps<kThere, M>) {
    json[member.name] = member.how.put(*own);
  } else {
    json[member.name] = member.how.put(own);
  }
}
template <typename T, typename V>
void write_entry(const T& /*value*/, const Constant<V>& constant, Json& json) {
  json[constant.name] = constant.value;
}
template <typename T, typename C, typename M, typename List>
void write_entry(const T& value, const Among<C, M, List>& part, Json& json) {
  write_members(value.*(part.at), part.list, json);
}
template <typename T, typename There, typename List>
void write_entry(const T& value, const Group<There, List>& group, Json& json) {
  if (group.there(value)) {
    write_members(value, group.list, json[group.name] = Json::object());
  }
}

template <typename T, typename... Entry>
void write_members(const T& value, const std::tuple<Entry...>& list, Json& json) {
  std::apply([&](const auto&... entry) { (write_entry(value, entry, json), ...); }, list);
}

template <typename T, typename... Entry>
[[nodiscard]] Json write_object(const T& value, const std::tuple<Entry...>& list) {
  Json json = Json::object();
  write_members(value, list, json);
  return json;
}
template <Listed T>
Json write(const T& value) {
  return write_object(value, members_of(As<T>{}));
}

// --- reading

[[nodiscard]] std::unexpected<Error> missing(std::string_view member);
// Errors: unknown-member unless `known` has each member of the object.
[[nodiscard]] Status check_known(const Json& json, const std::vector<std::string_view>& known);
// Errors: schema-violation unless the member was found with this value.
[[nodiscard]] Status check_constant(const Json* found, std::string_view member, const Json& value);

template <typename Entry>
void add_names(const Entry& entry, std::vector<std::string_view>& names) {
  if constexpr (requires { entry.name; }) {
    names.push_back(entry.name);
  } else {
    std::apply([&](const auto&... part) { (add_names(part, names), ...); }, entry.list);
  }
}

template <typename T, typename... Entry>
[[nodiscard]] Status read_members(const Json& json, const std::tuple<Entry...>& list, T& value);
template <typename T, typename... Entry>
[[nodiscard]] Status read_object(const Json& json, const std::tuple<Entry...>& list, T& value);

template <typename T, There kThere, typename C, typename M, typename How>
[[nodiscard]] Status read_entry(const Json& json, const Member<kThere, C, M, How>& member,
                                T& value) {
  const auto found = json.find(member.name);
  if (found == json.end()) {
    constexpr bool kNeeded = kThere == There::kAlways || kThere == There::kOrNull;
    return kNeeded ? missing(member.name) : Status();
  }
  constexpr bool kMayBeNull =
      kThere == There::kOrNull || (kThere == There::kOrDefault && kIs<M, std::optional>);
  if (kMayBeNull && found->is_null()) {
    return {};
  }
  auto own = [&] {
    if constexpr (kUnwraps<kThere, M>) {
      return member.how.template get<typename M::value_type>(*found);
    } else {
      return member.how.template get<M>(*found);
    }
  }();
  if (!own) {
    return below(member.name, std::move(own).error());
  }
  value.*(member.at) = *std::move(own);
  return {};
}
template <typename T, typename V>
[[nodiscard]] Status read_entry(const Json& json, const Constant<V>& constant, T& /*value*/) {
  const auto found = json.find(constant.name);
  return check_constant(found == json.end() ? nullptr : &*found, constant.name, constant.value);
}
template <typename T, typename C, typename M, typename List>
[[nodiscard]] Status read_entry(const Json& json, const Among<C, M, List>& part, T& value) {
  return read_members(json, part.list, value.*(part.at));
}
template <typename T, typename There, typename List>
[[nodiscard]] Status read_entry(const Json& json, const Group<There, List>& group, T& value) {
  const auto found = json.find(group.name);
  if (found == json.end()) {
    return {};
  }
  if (auto status = read_object(*found, group.list, value); !status) {
    return below(group.name, std::move(status).error());
  }
  return {};
}

template <typename T, typename... Entry>
Status read_members(const Json& json, const std::tuple<Entry...>& list, T& value) {
  Status status;
  std::apply(
      [&](const auto&... entry) {
        static_cast<void>(((status = read_entry(json, entry, value)).has_value() && ...));
      },
      list);
  return status;
}

// Reads all members of an object, of which `list` names each.
template <typename T, typename... Entry>
Status read_object(const Json& json, const std::tuple<Entry...>& list, T& value) {
  ASSAY_TRY(check_object(json));
  std::vector<std::string_view> known;
  std::apply([&](const auto&... entry) { (add_names(entry, known), ...); }, list);
  ASSAY_TRY(check_known(json, known));
  return read_members(json, list, value);
}

template <Listed T>
Result<T> read(const Json& json) {
  T value = [] {
    if constexpr (std::default_initializable<T>) {
      return T{};
    } else {
      return start(As<T>{});
    }
  }();
  ASSAY_TRY(read_object(json, members_of(As<T>{}), value));
  if constexpr (requires { together(value); }) {
    ASSAY_TRY(together(value));
  }
  return value;
}

}  // namespace assay::json
