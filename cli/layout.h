// SPDX-License-Identifier: Apache-2.0
// Text and the width of terminals: the one place that measures, wraps, shortens and cuts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

inline constexpr std::size_t kPlainColumns = 80;  // of text whose terminal is not known

// Returns the number of columns of the terminal `descriptor`, or 0 when it is none.
[[nodiscard]] std::size_t terminal_columns(int descriptor);

// Returns how many columns `text`, which is printable, takes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

// Returns the lines of `text`, broken at spaces so that each has at most `columns`. A longer word
// keeps its line to itself. There is always one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

// Returns `text` cut to `columns`, with "..." at its end when something was cut off.
[[nodiscard]] std::string cut(std::string_view text, std::size_t columns);

// Returns `text` with each digest of 64 or more hexadecimal digits shortened: sha256:9f86d081...
[[nodiscard]] std::string with_short_ids(std::string_view text);

// A table with aligned columns. Cells are made printable.
class Table {
 public:
  // `least` names the columns that are left out first where there is no room, the least important
  // one first. The first column always stays.
  explicit Table(std::vector<std::string> heads, std::vector<std::string> least = {})
      : rows_{std::move(heads)}, least_(std::move(least)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }

  struct Fitted {
    std::string text;
    std::vector<std::string> left_out;  // heads of columns
    bool shortened = false;             // ids or cells
  };
  // Returns the table in at most `columns`: ids and long cells are shortened first, then the
  // columns of `least` are left out, then the last column is cut or left out. 0: as wide as it is.
  [[nodiscard]] Fitted fit(std::size_t columns) const;
  // Returns names and values, one pair a row. A value that does not fit in `columns` is wrapped,
  // with short ids. 0: as wide as they are.
  [[nodiscard]] std::string fields(std::size_t columns) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> least_;
};

}  // namespace assay::cli
