// SPDX-License-Identifier: Apache-2.0
// Text from outside, made fit to be shown to people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

// Returns `text` with control characters, deceptive ones, and bytes that are not UTF-8, written as
// \xNN: UTF-8 on one line, of characters that XML can say. Printable text stays as it is.
[[nodiscard]] std::string printable(std::string_view text);

// Returns the word of a shell that stands for `text`: as it is when it is plain, else quoted.
[[nodiscard]] std::string shell_word(const std::string& text);

// Returns the longest beginning of `text`, which is UTF-8, that has at most `size` bytes and ends
// between characters.
[[nodiscard]] std::string_view utf8_prefix(std::string_view text, std::size_t size);

// Bytes of the UTF-8 sequence at the start of `text`, or 0 when there is none.
[[nodiscard]] std::size_t utf8_sequence_length(std::string_view text);

// Whether one UTF-8 sequence is a C1 control, a line or paragraph separator, has no width, changes
// the direction of text, or is a noncharacter of the first plane or the byte order mark: valid
// UTF-8 that can still make a line look like another one, or that XML refuses. Such a sequence has
// two or three bytes.
[[nodiscard]] bool is_deceptive(std::string_view sequence);

}  // namespace assay
