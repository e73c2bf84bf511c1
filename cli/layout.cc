// SPDX-License-Identifier: Apache-2.0
#include "cli/layout.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>

#include <utf8proc.h>

#include "schemas/core/printable.h"

namespace assay::cli {
namespace {

constexpr std::size_t kLeastColumns = 20;
constexpr std::size_t kMostInside =
    40;                          // of a cell that is not the last one, where there is no room
constexpr std::size_t kGap = 2;  // between columns
constexpr std::size_t kShortDigits = 8;  // of a shortened digest
constexpr std::string_view kDots = "...";

using Rows = std::vector<std::vector<std::string>>;

std::size_t width_of(utf8proc_int32_t character) {
  return static_cast<std::size_t>(std::max(0, utf8proc_charwidth(character)));
}

// The bytes and columns of the character at the start of `text`, which is not empty.
std::pair<std::size_t, std::size_t> next_character(std::string_view text) {
  utf8proc_int32_t character = 0;
  const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                      static_cast<utf8proc_ssize_t>(text.size()), &character);
  return bytes > 0 ? std::pair(static_cast<std::size_t>(bytes), width_of(character))
                   : std::pair(std::size_t{1}, std::size_t{1});
}

std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
    }
  }
  return widths;
}

std::size_t total_of(const std::vector<std::size_t>& widths) {
  std::size_t total = widths.empty() ? 0 : kGap * (widths.size() - 1);
  for (const std::size_t width : widths) {
    total += width;
  }
  return total;
}

std::string print(const Rows& rows) {
  const std::vector<std::size_t> widths = widths_of(rows);
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) {
        out.append(widths[i] - columns_of(row[i]) + kGap, ' ');
      }
    }
    out += '\n';
  }
  return out;
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Columns of the last one, when the others take what they need of `columns`.
std::size_t left_for_last(const Rows& rows, std::size_t columns) {
  const std::vector<std::size_t> widths = widths_of(rows);
  const std::size_t others = total_of(widths) - widths.back();
  return columns > others ? columns - others : 0;
}

// The column to leave out next. Nothing when cutting the last one is better, and when only the
// first one is left.
std::optional<std::size_t> next_to_drop(const Rows& rows, const std::vector<std::string>& least,
                                        std::size_t columns) {
  const auto& heads = rows.front();
  for (const std::string& name : least) {
    const auto found = std::ranges::find(heads, name);
    if (found != heads.end() && found != heads.begin()) {
      return static_cast<std::size_t>(found - heads.begin());
    }
  }
  return heads.size() > 1 && left_for_last(rows, columns) < kLeastColumns
             ? std::optional(heads.size() - 1)
             : std::nullopt;
}

// Leaves out columns until the table fits, or until cutting the last one makes it fit.
void drop_columns(Rows& rows, const std::vector<std::string>& least, std::size_t columns,
                  std::vector<std::string>& left_out) {
  while (total_of(widths_of(rows)) > columns) {
    const auto drop = next_to_drop(rows, least, columns);
    if (!drop) {
      return;
    }
    left_out.push_back(rows.front()[*drop]);
    for (auto& row : rows) {
      if (*drop < row.size()) {
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(*drop));
      }
    }
  }
}

}  // namespace

std::size_t terminal_columns(int descriptor) {
  if (::isatty(descriptor) == 0) {
    return 0;
  }
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kPlainColumns;
  }
  return std::max<std::size_t>(size.ws_col, kLeastColumns);
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const auto [bytes, width] = next_character(text);
    columns += width;
    text.remove_prefix(bytes);
  }
  return columns;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) {
      continue;
    }
    const std::size_t width = columns_of(word);
    if (used > 0 && used + 1 + width > columns) {
      lines.emplace_back();
      used = 0;
    }
    lines.back() += (used > 0 ? " " : "") + std::string(word);
    used += width + (used > 0 ? 1 : 0);
  }
  return lines;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) {
    return std::string(text);
  }
  const std::size_t room = columns > kDots.size() ? columns - kDots.size() : 0;
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size();) {
    const auto [bytes, width] = next_character(text.substr(end));
    if (used + width > room) {
      break;
    }
    used += width;
    end += bytes;
  }
  return std::string(text.substr(0, end)) + std::string(kDots.substr(0, columns));
}

std::string with_short_ids(std::string_view text) {
  constexpr std::size_t kDigest = 64;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_hex(text[end])) {
      ++end;
    }
    const bool is_long = end - i >= kDigest;
    const std::size_t taken = std::max<std::size_t>(end - i, 1);
    out += text.substr(i, is_long ? kShortDigits : taken);
    out += is_long ? kDots : "";
    i += taken;
  }
  return out;
}

Table::Fitted Table::fit(std::size_t columns) const {
  Rows rows = rows_;
  for (auto& row : rows) {
    std::ranges::transform(row, row.begin(), [](const auto& cell) { return printable(cell); });
  }
  Fitted fitted;
  if (columns > 0 && total_of(widths_of(rows)) > columns) {
    fitted.shortened = true;
    for (auto& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = with_short_ids(row[i]);
        row[i] = i + 1 < row.size() ? cut(row[i], kMostInside) : row[i];
      }
    }
    drop_columns(rows, least_, columns, fitted.left_out);
    const std::size_t last = left_for_last(rows, columns);
    const std::size_t place = rows.front().size() - 1;
    for (auto& row : rows) {
      if (place < row.size()) {
        row[place] = cut(row[place], last);
      }
    }
  }
  fitted.text = print(rows);
  return fitted;
}

std::string Table::fields(std::size_t columns) const {
  std::size_t names = 0;
  for (const auto& row : rows_) {
    names = std::max(names, columns_of(printable(row.front())));
  }
  const std::size_t indent = names + kGap;
  std::string out;
  for (const auto& row : rows_) {
    const std::string name = printable(row.front());
    const std::string value = printable(row.back());
    out += name + std::string(indent - columns_of(name), ' ');
    const bool fits = columns == 0 || indent + columns_of(value) <= columns || indent >= columns;
    const auto lines = fits ? std::vector{value} : wrapped(with_short_ids(value), columns - indent);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      out += (i == 0 ? "" : std::string(indent, ' ')) + lines[i] + "\n";
    }
  }
  return out;
}

}  // namespace assay::cli
