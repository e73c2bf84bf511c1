// SPDX-License-Identifier: Apache-2.0
// The table of event types in schemas/log.md, and whether a record is as its row says.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/log_record.h"

namespace assay::test {

// What a row of the table says of the records of its type.
struct LogPageRow {
  std::string subject;
  std::string documents;
};

// Returns the rows of section 2.1 by event type. Needs ASSAY_SOURCE_DIR.
inline std::map<std::string, LogPageRow> log_page() {
  std::ifstream file(std::filesystem::path(ASSAY_SOURCE_DIR) / "schemas/log.md");
  std::map<std::string, LogPageRow> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    inside = line.starts_with("### ") ? line.starts_with("### 2.1 ") : inside;
    if (!inside || !line.starts_with("| `")) {
      continue;
    }
    std::vector<std::string> cells;
    std::istringstream in(line.substr(2));
    for (std::string cell; std::getline(in, cell, '|');) {
      cells.push_back(cell);
    }
    const std::string type = cells.at(0).substr(1, cells.at(0).rfind('`') - 1);
    rows[type] = {cells.at(2), cells.at(3)};
  }
  return rows;
}

// Returns the words for the subject in a row, of which one must stand there.
inline std::vector<std::string> words_for(std::string_view subject) {
  if (subject.starts_with("assay-tree-")) {
    return {"artifact"};
  }
  if (subject.starts_with("node:") || subject.starts_with("job:") ||
      subject.starts_with("device:")) {
    return {"`" + std::string(subject.substr(0, subject.find(':') + 1)) + "`"};
  }
  if (subject.starts_with("tdx/") || subject.starts_with("nvidia-gpu/")) {
    return {"names of the parts"};
  }
  const std::size_t colon = subject.find(':');
  const bool is_digest =
      colon != std::string_view::npos && subject.size() >= colon + 41 &&
      subject.find_first_not_of("0123456789abcdef", colon + 1) == std::string_view::npos;
  return is_digest ? std::vector<std::string>{"statement", "policy id", "key", "artifact"}
                   : std::vector<std::string>();
}

// Returns what a record has that its row does not name; empty when there is nothing.
inline std::string beyond_log_page(const LogRecord& record) {
  static const std::map<std::string, LogPageRow> kRows = log_page();
  const auto row = kRows.find(record.type);
  if (row == kRows.end()) {
    return record.type.starts_with("test.") ? "" : record.type + " has no row";
  }
  for (const std::string& subject : record.subjects) {
    bool named = false;
    for (const std::string& word : words_for(subject)) {
      named = named || row->second.subject.find(word) != std::string::npos;
    }
    if (!named) {
      return record.type + " is about " + subject;
    }
  }
  const bool none = row->second.documents.find("\xe2\x80\x93") != std::string::npos;
  return none && !record.documents.empty() ? record.type + " has documents" : "";
}

}  // namespace assay::test
