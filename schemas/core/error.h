// SPDX-License-Identifier: Apache-2.0
// Errors of the whole program: one table of stable codes, one value type, no exceptions across
// folder borders. The verdict "deny" is a value, not an Error. "Could not decide" is an Error, and
// every caller treats it as deny.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace assay {

enum class ErrorCode : std::uint16_t {
#define ASSAY_ERROR(enumerator, code, http_status, retryable, title, next) enumerator,
#include "schemas/core/error_codes.def"
#undef ASSAY_ERROR
};

// One row of the table of codes. The views point at string literals.
struct ErrorInfo {
  std::string_view code;
  int http_status;
  bool retryable;
  std::string_view title;
  std::string_view next;  // what to do about the error, in whole sentences
};

// Returns the row of the table for `code`; every code has a row.
[[nodiscard]] const ErrorInfo& info(ErrorCode code);

// Returns the number of rows. The numbers of the codes are 0 to error_code_count() - 1, so tests
// can check every row.
[[nodiscard]] std::size_t error_code_count();

// Returns the code with this text form; nullopt when the table has none.
[[nodiscard]] std::optional<ErrorCode> error_code_from(std::string_view code);

// Why something was refused. `detail` is for people and says what is wrong. After a semicolon it
// also says what to do, unless the table's `next` says so. `detail` holds no secret, no SQL and no
// path of the server; tests never compare it. `where` says where the fault is: an RFC 6901 pointer
// into a document, or a path inside an artifact. It is empty when the fault has no such place.
struct Error {
  ErrorCode code;
  std::string detail;
  std::string where;
};

// Returns "code: detail (at where)", for terminals and logs.
[[nodiscard]] std::string to_string(const Error& error);

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

// Makes an error for a function that returns Result or Status: `return fail(...);`.
[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string detail,
                                                 std::string where = {}) {
  return std::unexpected(Error{code, std::move(detail), std::move(where)});
}

}  // namespace assay

// Returns the error of `expression` (a Status or Result) from the enclosing function. Expands to
// plain statements, not to a GNU statement expression. Do not use this macro in coroutines.
#define ASSAY_TRY(expression)                                      \
  do {                                                             \
    if (auto assay_try_status = (expression); !assay_try_status)   \
      return std::unexpected(std::move(assay_try_status).error()); \
  } while (false)

#define ASSAY_CONCAT_INNER(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_INNER(a, b)

// `ASSAY_ASSIGN(auto x, f());` stores the value of a Result in `x`, or returns the error from the
// enclosing function.
#define ASSAY_ASSIGN(declaration, expression) \
  ASSAY_ASSIGN_IMPL(ASSAY_CONCAT(assay_result_, __LINE__), declaration, expression)
#define ASSAY_ASSIGN_IMPL(temporary, declaration, expression)           \
  auto temporary = (expression);                                        \
  if (!temporary) return std::unexpected(std::move(temporary).error()); \
  declaration = std::move(*temporary)
