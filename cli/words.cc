// SPDX-License-Identifier: Apache-2.0
#include "cli/words.h"

namespace assay::cli {
namespace {

std::string inner(const Json& value) {
  return value.is_object() && !value.empty() ? "(" + in_words(value) + ")" : in_words(value);
}

std::string list_in_words(const Json& list) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    text += i == 0 ? "" : (i + 1 == list.size() ? " and " : ", ");
    text += inner(list[i]);
  }
  return text.empty() ? "none" : text;
}

std::string object_in_words(const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    text += (text.empty() ? "" : ", ") + name + " " + inner(value);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::string in_words(const Json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_boolean()) {
    return value.get<bool>() ? "yes" : "no";
  }
  if (value.is_null()) {
    return "nothing";
  }
  if (value.is_array()) {
    return list_in_words(value);
  }
  return value.is_object() ? object_in_words(value)
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace assay::cli
