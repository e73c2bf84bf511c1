// SPDX-License-Identifier: Apache-2.0
// Output of verbs: results go to stdout, everything else to stderr. Text from documents and from
// the service is escaped before it reaches a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/context.h"
#include "cli/layout.h"
#include "schemas/core/error.h"
#include "schemas/core/error_json.h"
#include "schemas/core/json.h"
#include "schemas/core/printable.h"

namespace assay::cli {

// Prints `text` to stdout unchanged. The text must already be printable.
void print_text(std::string_view text);
// Prints `text` to stdout byte for byte, so that a document can be piped and stored. On a terminal
// the lines are made printable, because the document may come from anybody.
void print_document(std::string_view text);
// Prints one line to stdout, made printable.
void print_line(std::string_view line);
// Prints `text` to stdout after `indent` spaces, made printable. On a terminal without room for it,
// its ids are shortened and it goes on in lines after `hanging` spaces; --wide prints it whole.
void print_words(const Context& context, std::string_view text, std::size_t indent = 0,
                 std::size_t hanging = 2);
// Prints JSON to stdout with two spaces of indentation and members in alphabetical order.
// Characters that printable() would escape are escaped as JSON does: \u009b.
void print_json(const Json& value);
// Prints one line of compact JSON to stdout.
void print_json_line(const Json& value);

// Prints one line to stderr, made printable. Prints nothing with --quiet.
void message(const Context& context, std::string_view line);
// Prints one line to stderr, made printable, also with --quiet. For facts that the user must know.
void warning(std::string_view line);

// Prints "error: code: detail" to stderr, or {"error":{...}} with -o json.
void report_error(const Context& context, const Error& error);

// Reports the answer "no" of a verification and returns kNo. Without -o json prints to stderr what
// was refused. With -o json prints `result` with "error" added to stdout.
[[nodiscard]] Exit refuse(const Context& context, const Error& error, Json result);
// Returns true when the HTTP status of `error`'s code is 422, with which the service says that it
// read a document and refused it. A verb ends with exit status 1 after such an answer, and with 2
// after other errors.
[[nodiscard]] bool is_refusal(const Error& error);
// Calls refuse() when is_refusal(error) is true, and returns `error` otherwise.
[[nodiscard]] Result<Exit> refuse_or_fail(const Context& context, Error error);

// Flushes stdout. Returns `status`, or prints a message and returns 2 when the result could not be
// written. A reader that closed the pipe early is no error.
[[nodiscard]] int finish_output(int status);

// Prints a table. On a terminal it is made as wide as this, and a message says what was left out;
// --wide prints all of it. Elsewhere it is printed whole.
void print_table(const Context& context, const Table& table);
// Prints names and values; on a terminal those that do not fit are wrapped, with short ids.
void print_fields(const Context& context, const Table& table);

// Returns "12.3 GB": decimal units, three digits.
[[nodiscard]] std::string human_bytes(double bytes);
// Returns "3 files" or "1 file".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view noun);

}  // namespace assay::cli
