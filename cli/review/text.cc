// SPDX-License-Identifier: Apache-2.0
#include "cli/review/text.h"

#include <algorithm>
#include <map>
#include <set>

#include "schemas/core/json_foreign.h"

namespace assay::cli {

namespace {

std::string joined(const std::string& path, const std::string& member) {
  // Names of members are anybody's, too: what is no plain name is quoted.
  const bool plain = !member.empty() && std::all_of(member.begin(), member.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return path + (path.empty() ? "" : ".") + (plain ? member : quoted(Json(member)));
}

bool is_plain_list(const Json& value) {
  return value.is_array() && std::none_of(value.begin(), value.end(),
                                          [](const Json& item) { return item.is_structured(); });
}

const std::string* id_of(const Json& item) {
  const auto id = item.is_object() ? item.find("id") : item.end();
  return item.is_object() && id != item.end() && id->is_string()
             ? &id->get_ref<const std::string&>()
             : nullptr;
}

bool have_ids(const Json& list) {
  return std::all_of(list.begin(), list.end(),
                     [](const Json& item) { return id_of(item) != nullptr; });
}

std::map<std::string, Json> by_id(const Json& list) {
  std::map<std::string, Json> items;
  for (const Json& item : list) {
    items.emplace(*id_of(item), item);
  }
  return items;
}

void compare(const Json& old_value, const Json& new_value, const std::string& path,
             std::vector<Difference>& out);

void compare_objects(const Json& before, const Json& after, const std::string& path,
                     std::vector<Difference>& out) {
  std::set<std::string> names;
  for (const Json* side : {&before, &after}) {
    for (const auto& [name, value] : side->items()) {
      names.insert(name);
    }
  }
  for (const std::string& name : names) {
    const Json none;
    compare(before.contains(name) ? before.at(name) : none,
            after.contains(name) ? after.at(name) : none, joined(path, name), out);
  }
}

void compare_items_by_id(const Json& before, const Json& after, const std::string& path,
                         std::vector<Difference>& out) {
  const auto old_items = by_id(before);
  const auto new_items = by_id(after);
  for (const auto& [id, item] : old_items) {
    const auto now = new_items.find(id);
    const std::string place = path + "[" + quoted(Json(id)) + "]";
    if (now == new_items.end()) {
      out.push_back({place, item, nullptr, before.size(), after.size()});
    } else {
      compare(item, now->second, place, out);
    }
  }
  for (const auto& [id, item] : new_items) {
    if (!old_items.contains(id)) {
      out.push_back(
          {path + "[" + quoted(Json(id)) + "]", nullptr, item, before.size(), after.size()});
    }
  }
}

void compare_sets(const Json& before, const Json& after, const std::string& path,
                  std::vector<Difference>& out) {
  std::map<std::string, std::pair<Json, int>> items;  // by text, with how many more there are now
  for (const Json& item : before) {
    --items.try_emplace(item.dump(), item, 0).first->second.second;
  }
  for (const Json& item : after) {
    ++items.try_emplace(item.dump(), item, 0).first->second.second;
  }
  for (const auto& [text, item] : items) {
    if (item.second < 0) {
      out.push_back({path + "[]", item.first, nullptr, before.size(), after.size()});
    } else if (item.second > 0) {
      out.push_back({path + "[]", nullptr, item.first, before.size(), after.size()});
    }
  }
}

// A list or object that is not there is compared like an empty one, so that its items show.
Json like(const Json& absent, const Json& other) {
  if (absent.is_null() && other.is_array() && !other.empty()) {
    return Json::array();
  }
  return absent.is_null() && other.is_object() && !other.empty() ? Json::object() : absent;
}

void compare(const Json& old_value, const Json& new_value, const std::string& path,
             std::vector<Difference>& out) {
  if (old_value == new_value) {
    return;
  }
  const Json before = like(old_value, new_value);
  const Json after = like(new_value, old_value);
  if (before.is_object() && after.is_object()) {
    compare_objects(before, after, path, out);
  } else if (before.is_array() && after.is_array()) {
    const bool ids = have_ids(before) && have_ids(after);
    (ids ? compare_items_by_id : compare_sets)(before, after, path, out);
  } else {
    out.push_back({path, before, after, 0, 0});
  }
}

void add_leaves(const Json& value, const std::string& path, std::size_t limit,
                std::vector<std::string>& out) {
  if (is_plain_list(value)) {
    out.push_back(path + " = " + (value.empty() ? "[]" : list_text(value, limit)));
  } else if (value.is_array()) {
    std::size_t number = 0;
    for (const Json& item : value) {
      if (number++ == limit) {
        out.push_back(path + ": ... and " + std::to_string(value.size() - limit) + " more");
        return;
      }
      const std::string* id = id_of(item);
      add_leaves(item,
                 path + "[" + (id != nullptr ? quoted(Json(*id)) : std::to_string(number)) + "]",
                 limit, out);
    }
  } else if (value.is_object() && !value.empty()) {
    for (const auto& [name, part] : value.items()) {
      add_leaves(part, joined(path, name), limit, out);
    }
  } else {
    out.push_back(path + " = " + quoted(value));
  }
}

}  // namespace

std::string text_of(const Json& object, const char* member) {
  const auto found = object.is_object() ? object.find(member) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : std::string();
}

const Json& list_of(const Json& object, const char* member) {
  static const Json none = Json::array();
  const auto found = object.is_object() ? object.find(member) : object.end();
  return object.is_object() && found != object.end() && found->is_array() ? *found : none;
}

std::string quoted(const Json& value) {
  if (auto digits = large_integer(value)) {
    return *std::move(digits);
  }
  return large_integers_as_text(value).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string list_text(const Json& list, std::size_t limit) {
  std::string text;
  std::size_t number = 0;
  for (const Json& item : list) {
    if (number++ == limit) {
      return text + ", ... and " + std::to_string(list.size() - limit) + " more";
    }
    text += (text.empty() ? "" : ", ") + quoted(item);
  }
  return text;
}

std::vector<std::string> leaves(const Json& value, const std::string& path, std::size_t limit) {
  std::vector<std::string> out;
  add_leaves(value, path, limit, out);
  return out;
}

std::vector<Difference> differences(const Json& before, const Json& after,
                                    const std::string& path) {
  std::vector<Difference> out;
  compare(before, after, path, out);
  return out;
}

std::string last_member(const std::string& path) {
  std::string text = path;
  while (text.ends_with(']')) {
    const std::size_t open = text.rfind('[');
    if (open == std::string::npos) {
      break;
    }
    text.resize(open);
  }
  const std::size_t dot = text.rfind('.');
  return dot == std::string::npos ? text : text.substr(dot + 1);
}

std::vector<std::string> dangerous_members(const Json& value, const std::string& path) {
  std::vector<std::string> found;
  const auto add = [&found](const Json& part, const std::string& place) {
    for (std::string& one : dangerous_members(part, place)) {
      found.push_back(std::move(one));
    }
  };
  if (value.is_object()) {
    for (const auto& [name, part] : value.items()) {
      const std::string place = joined(path, name);
      const bool off = part.is_boolean() && !part.get<bool>();
      if (name.starts_with("dangerous_") && !off && !(part.is_structured() && part.empty())) {
        found.push_back(place);
      }
      add(part, place);
    }
  } else if (value.is_array()) {
    std::size_t number = 0;
    for (const Json& item : value) {
      add(item, path + "[" + std::to_string(++number) + "]");
    }
  }
  return found;
}

}  // namespace assay::cli
