// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/json_advice.h"

#include <algorithm>

#include "schemas/core/printable.h"

namespace assay {
namespace {

// The first line that is neither empty nor a comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (!line.empty() && line.front() != '#') {
      return line;
    }
  }
  return {};
}

bool is_yaml(std::string_view text) {
  const std::string_view line = first_line(text);
  if (line.starts_with("---") || line.starts_with("%YAML") || line.starts_with("- ")) {
    return true;
  }
  // "name:" or "name: value". In JSON a text or a bracket stands first.
  const std::size_t colon = line.find(':');
  const bool ends = colon != std::string_view::npos &&
                    (colon + 1 == line.size() || line[colon + 1] == ' ' || line[colon + 1] == '\r');
  return ends && line.substr(0, colon).find_first_of("{}[]\"") == std::string_view::npos;
}

}  // namespace

Error with_json_advice(Error error, std::string_view text, const std::string& path) {
  if (error.code != ErrorCode::kMalformedJson || !is_yaml(text)) {
    return error;
  }
  std::string stem = path;
  for (const std::string_view suffix : {".yaml", ".yml"}) {
    if (stem.ends_with(suffix)) {
      stem.resize(stem.size() - suffix.size());
    }
  }
  // Two programs have this name; Debian's takes other options.
  const std::string from = path == "-" ? "" : " " + shell_word(path);
  const std::string to = path == "-" ? "" : " >" + shell_word(stem + ".json");
  error.detail = "this is YAML, and JSON is expected; type: yq -o json" + from + to +
                 " (with Debian's yq: yq ." + from + to + ")";
  if (text.find("apiVersion:") != std::string_view::npos) {
    error.detail += ". Of an object in a cluster: kubectl get KIND NAME -o json";
  }
  return error;
}

}  // namespace assay
