// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <unistd.h>

#include "schemas/core/printable.h"

namespace assay::cli {

namespace {

bool reader_left = false;  // the other end of the pipe that standard output is was closed

// The character of a sequence of at most three bytes, as JSON escapes it.
void escape_json(std::string& out, std::string_view sequence) {
  const auto bits = [&sequence](std::size_t i, std::uint8_t mask) -> unsigned {
    return static_cast<std::uint8_t>(sequence[i]) & mask;
  };
  unsigned code = bits(0, 0x7f);
  if (sequence.size() == 2) {
    code = (bits(0, 0x1f) << 6U) | bits(1, 0x3f);
  } else if (sequence.size() == 3) {
    code = (bits(0, 0x0f) << 12U) | (bits(1, 0x3f) << 6U) | bits(2, 0x3f);
  }
  std::array<char, 8> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "\\u%04x", code & 0xffffU));
  out += text.data();
}

// `json`, which is UTF-8, with escapes for what printable() would not let through.
std::string escape_deceptive(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (true) {
    const auto odd =
        std::ranges::find_if(json, [](char c) { return static_cast<std::uint8_t>(c) >= 0x7f; });
    const auto plain = static_cast<std::size_t>(odd - json.begin());
    out += json.substr(0, plain);
    json.remove_prefix(plain);
    if (json.empty()) {
      return out;
    }
    const std::size_t length = std::max<std::size_t>(utf8_sequence_length(json), 1);
    const std::string_view sequence = json.substr(0, length);
    if (sequence == "\x7f" || is_deceptive(sequence)) {
      escape_json(out, sequence);
    } else {
      out += sequence;
    }
    json.remove_prefix(length);
  }
}

// JSON escapes the controls below U+0020 itself. All others stand inside of texts, where an escape
// means the same.
std::string dump(const Json& value, int indent) {
  return escape_deceptive(value.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void print_text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    reader_left = reader_left || errno == EPIPE;
  }
}

void print_document(std::string_view text) {
  if (::isatty(STDOUT_FILENO) == 0) {
    print_text(text);
    return;
  }
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    print_line(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
}

void print_line(std::string_view line) { print_text(printable(line) + "\n"); }

void print_words(const Context& context, std::string_view text, std::size_t indent,
                 std::size_t hanging) {
  const std::size_t columns = context.wide ? 0 : terminal_columns(STDOUT_FILENO);
  const std::string whole = printable(text);
  if (columns <= hanging || indent + columns_of(whole) <= columns) {
    print_text(std::string(indent, ' ') + whole + "\n");
    return;
  }
  for (const std::string& line :
       wrapped(with_short_ids(whole), columns - std::max(indent, hanging))) {
    print_text(std::string(indent, ' ') + line + "\n");
    indent = hanging;
  }
}

void print_json(const Json& value) { print_text(dump(value, 2) + "\n"); }

void print_json_line(const Json& value) { print_text(dump(value, -1) + "\n"); }

void message(const Context& context, std::string_view line) {
  if (!context.quiet) {
    warning(line);
  }
}

void warning(std::string_view line) {
  const std::string text = printable(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void report_error(const Context& context, const Error& error) {
  if (context.json()) {
    const std::string text = dump(Json{{"error", error_json(error)}}, -1) + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  warning("error: " + to_string(error));
}

Exit refuse(const Context& context, const Error& error, Json result) {
  if (context.json()) {
    result["error"] = error_json(error);
    print_json(result);
  } else {
    warning("refused: " + to_string(error));
  }
  return Exit::kNo;
}

bool is_refusal(const Error& error) { return info(error.code).http_status == 422; }

Result<Exit> refuse_or_fail(const Context& context, Error error) {
  if (is_refusal(error)) {
    return refuse(context, error, Json::object());
  }
  return std::unexpected(std::move(error));
}

int finish_output(int status) {
  const bool flushed = std::fflush(stdout) == 0;
  if (reader_left || (!flushed && errno == EPIPE)) {
    return status;  // as in `assay ... | head`: the reader has what it wanted
  }
  if (!flushed || std::ferror(stdout) != 0) {
    warning("error: the result could not be written to standard output");
    return static_cast<int>(Exit::kTrouble);
  }
  return status;
}

void print_table(const Context& context, const Table& table) {
  const Table::Fitted fitted = table.fit(context.wide ? 0 : terminal_columns(STDOUT_FILENO));
  print_text(fitted.text);
  std::string left_out;
  for (const std::string& head : fitted.left_out) {
    left_out += (left_out.empty() ? "" : ", ") + head;
  }
  if (!left_out.empty()) {
    message(context, "no room for " + left_out + "; --wide shows all");
  } else if (fitted.shortened) {
    message(context, "shortened to fit; --wide shows all");
  }
}

void print_fields(const Context& context, const Table& table) {
  print_text(table.fields(context.wide ? 0 : terminal_columns(STDOUT_FILENO)));
}

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  std::array<char, 48> text{};
  const int digits = unit == 0 || bytes >= 99.95 ? 0 : (bytes >= 9.995 ? 1 : 2);
  static_cast<void>(
      std::snprintf(text.data(), text.size(), "%.*f %s", digits, bytes, kUnits.at(unit)));
  return text.data();
}

std::string counted(std::uint64_t number, std::string_view noun) {
  std::string text = std::to_string(number) + " ";
  text += noun;
  if (number == 1) {
    return text;
  }
  constexpr std::string_view kVowels = "aeiou";  // a vowel before the y: keys, but entries
  if (noun.size() > 1 && noun.ends_with("y") && !kVowels.contains(noun[noun.size() - 2])) {
    text.replace(text.size() - 1, 1, "ies");
  } else {
    text += "s";
  }
  return text;
}

}  // namespace assay::cli
