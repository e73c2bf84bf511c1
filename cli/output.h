// SPDX-License-Identifier: Apache-2.0
// Results go to stdout, everything else to stderr. Text from documents and from the service is
// escaped before it reaches a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "schemas/core/error.h"
#include "schemas/core/error_json.h"
#include "schemas/core/json.h"

namespace assay::cli {

// `text` with control characters, and bytes that are not UTF-8, written as \xNN: nothing that a
// file name or a server says can move the cursor or hide a line.
[[nodiscard]] std::string printable(std::string_view text);

// stdout, as it is: for text that is printable already.
void print_text(std::string_view text);
// stdout, byte for byte, so that a document can be piped and stored; on a terminal the lines are
// made printable, because what is in it may be anybody's.
void print_document(std::string_view text);
// stdout, printable, one line.
void print_line(std::string_view line);
// stdout, two spaces of indentation, members in alphabetical order. What printable() would escape
// is escaped as JSON does: \u009b.
void print_json(const Json& value);
// stdout, one line of compact JSON.
void print_json_line(const Json& value);

// stderr, printable, one line; silent with --quiet.
void message(const Context& context, std::string_view line);
// stderr, printable, also with --quiet: something that the user must know.
void warning(std::string_view line);

// stderr: "error: code: detail", or {"error":{...}} with -o json.
void report_error(const Context& context, const Error& error);

// The answer "no" of a verification: what was refused goes to stderr, and with -o json `result`
// with "error" added goes to stdout.
[[nodiscard]] Exit refuse(const Context& context, const Error& error, Json result);
// For an error that the service answered with: a document that it read and refused (422) is an
// answer, exit 1; anything else stays an error.
[[nodiscard]] bool is_refusal(const Error& error);
[[nodiscard]] Result<Exit> refuse_or_fail(const Context& context, Error error);

// Flushes stdout. `status`, or 2 with a message when the result could not be written.
[[nodiscard]] int finish_output(int status);

// Columns that line up. Cells are made printable.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "12.3 GB": decimal units, three digits.
[[nodiscard]] std::string human_bytes(double bytes);
// "3 files", "1 file".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view noun);

}  // namespace assay::cli
