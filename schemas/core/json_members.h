// SPDX-License-Identifier: Apache-2.0
// The list of an object's members, from which schemas/core/json_object.h writes and reads the
// object. A type has its list in the file of its functions:
//
//   static auto members_of(json::As<JobPod>) {
//     return std::tuple(json::always("uid", &JobPod::uid, json::checked(check_pod_uid)),
//                       json::always("volume", &JobPod::volume, json::checked(check_volume_name)));
//   }
//   Json to_json(const JobPod& pod) { return json::write(pod); }
//   Result<JobPod> read_json(json::As<JobPod>, const Json& json) { return json::read<JobPod>(json);
//   }
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <tuple>

#include "schemas/core/json_values.h"

namespace assay::json {

// --- how a value is written and read, where its type does not say it

// Returns schema-violation unless a list is in order.
[[nodiscard]] Status check_order(bool in_order);

struct Plain {
  template <typename M>
  [[nodiscard]] Json put(const M& value) const {
    return json::put(value);
  }
  template <typename M>
  [[nodiscard]] Result<M> get(const Json& json) const {
    return json::get<M>(json);
  }
};

// As text: `write(value)` makes it, `parse(text)` is the inverse.
template <typename Write, typename Parse>
struct Spelled {
  Write write;
  Parse parse;
  template <typename M>
  [[nodiscard]] Json put(const M& value) const {
    return write(value);
  }
  template <typename M>
  [[nodiscard]] Result<M> get(const Json& json) const {
    return parsed(json, parse);
  }
};
template <typename Write, typename Parse>
[[nodiscard]] constexpr Spelled<Write, Parse> spelled(Write write, Parse parse) {
  return {write, parse};
}
// An enumeration by its name(value).
template <typename Parse>
[[nodiscard]] constexpr auto named(Parse parse) {
  return spelled([](auto value) { return name(value); }, parse);
}

inline constexpr auto kPut = [](const auto& value) { return json::put(value); };

// As `parse(json)` reads it and `write(value)` writes it.
template <typename Parse, typename Write>
struct By {
  Parse parse;
  Write write;
  template <typename M>
  [[nodiscard]] Json put(const M& value) const {
    return write(value);
  }
  template <typename M>
  [[nodiscard]] Result<M> get(const Json& json) const {
    ASSAY_ASSIGN(auto value, parse(json));
    return M(std::move(value));
  }
};
template <typename Parse, typename Write = decltype(kPut)>
[[nodiscard]] constexpr By<Parse, Write> by(Parse parse, Write write = {}) {
  return {parse, write};
}

// A list whose items `parse(json)` reads and `write(item)` writes.
template <typename Parse, typename Write>
struct Each {
  Parse parse;
  Write write;
  template <typename M>
  [[nodiscard]] Json put(const M& list) const {
    Json json = Json::array();
    for (const auto& item : list) {
      json.push_back(write(item));
    }
    return json;
  }
  template <typename M>
  [[nodiscard]] Result<M> get(const Json& json) const {
    return get_list<M>(json, parse);
  }
};
template <typename Parse, typename Write = decltype(kPut)>
[[nodiscard]] constexpr Each<Parse, Write> each(Parse parse, Write write = {}) {
  return {parse, write};
}

// A list of an enumeration's names.
template <typename Parse>
[[nodiscard]] constexpr auto each_named(Parse parse) {
  return each([parse](const Json& json) { return parsed(json, parse); },
              [](auto value) { return Json(name(value)); });
}

// `check(value)` returns the Status of a value that was read.
template <typename Check>
struct Checked : Plain {
  Check check;
  template <typename M>
  [[nodiscard]] Result<M> get(const Json& json) const {
    ASSAY_ASSIGN(M value, json::get<M>(json));
    ASSAY_TRY(check(value));
    return value;
  }
};
template <typename Check>
[[nodiscard]] constexpr Checked<Check> checked(Check check) {
  return {{}, check};
}

// A list whose values, or what `of` makes of them, ascend by `less`, none twice.
template <typename Less = std::less<>, typename Of = std::identity>
[[nodiscard]] constexpr auto ascending(Less less = {}, Of of = {}) {
  return checked([less, of](const auto& list) {
    const auto falls = [less](const auto& a, const auto& b) { return !less(a, b); };
    return check_order(std::ranges::adjacent_find(list, falls, of) == list.end());
  });
}

// A list that is written in the order of what `key` makes of each written item, then of the items.
template <typename Key>
struct Sorted : Plain {
  Key key;
  template <typename M>
  [[nodiscard]] Json put(const M& value) const {
    Json list = json::put(value);
    std::sort(list.begin(), list.end(), [this](const Json& a, const Json& b) {
      const auto left = key(a);
      const auto right = key(b);
      return left != right ? left < right : a < b;
    });
    return list;
  }
};
template <typename Key>
[[nodiscard]] constexpr Sorted<Key> sorted_by(Key key) {
  return {{}, key};
}

// --- members

// When an object has the member.
enum class There : std::uint8_t {
  kAlways,
  kIfSet,          // unless the value is that of M()
  kOrNull,         // always; null stands for the value of M()
  kOrDefault,      // always; when it is absent, the value is left as T() has it
  kUnlessDefault,  // unless the value is that of T()
};

template <There kThere, typename C, typename M, typename How>
struct Member {
  std::string_view name;
  M C::* at;
  How how;
};
template <typename C, typename M, typename How = Plain>
[[nodiscard]] constexpr auto always(std::string_view name, M C::* at, How how = {}) {
  return Member<There::kAlways, C, M, How>{name, at, how};
}
template <typename C, typename M, typename How = Plain>
[[nodiscard]] constexpr auto if_set(std::string_view name, M C::* at, How how = {}) {
  return Member<There::kIfSet, C, M, How>{name, at, how};
}
template <typename C, typename M, typename How = Plain>
[[nodiscard]] constexpr auto or_null(std::string_view name, M C::* at, How how = {}) {
  return Member<There::kOrNull, C, M, How>{name, at, how};
}
template <typename C, typename M, typename How = Plain>
[[nodiscard]] constexpr auto or_default(std::string_view name, M C::* at, How how = {}) {
  return Member<There::kOrDefault, C, M, How>{name, at, how};
}

template <typename C, typename M, typename How = Plain>
[[nodiscard]] constexpr auto unless_default(std::string_view name, M C::* at, How how = {}) {
  return Member<There::kUnlessDefault, C, M, How>{name, at, how};
}

// A member with the same value in every object.
template <typename V>
struct Constant {
  std::string_view name;
  V value;
};
template <typename V>
[[nodiscard]] constexpr auto constant(std::string_view name, V value) {
  return Constant<V>{name, value};
}

// Members of a part of C, which stand among those of C.
template <typename C, typename M, typename List>
struct Among {
  M C::* at;
  List list;
};
template <typename C, typename M, typename List>
[[nodiscard]] constexpr auto among(M C::* at, List list) {
  return Among<C, M, List>{at, list};
}

// Members of C that stand in an object of their own, which is there when `there(value)`.
template <typename There, typename List>
struct Group {
  std::string_view name;
  There there;
  List list;
};
template <typename There, typename List>
[[nodiscard]] constexpr auto group(std::string_view name, There there, List list) {
  return Group<There, List>{name, there, list};
}

}  // namespace assay::json
