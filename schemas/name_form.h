// SPDX-License-Identifier: Apache-2.0
// One spelling for names of any form, so that a name is found under whatever spelling it was given.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// Returns the name in lowercase, with percent-encoding undone once, and without empty, "." and ".."
// segments: "Acme//x/../y" is "acme/y". Returns nullopt when the name can be read in more than one
// way: it leads out of itself, or holds a space or a control character of ASCII, a backslash, or an
// escape that is broken or hides another one.
[[nodiscard]] std::optional<std::string> normalised_name(std::string_view name);

// Returns whether the text holds a control character: C0, DEL, or C1 as UTF-8 encodes it. A name
// with one is shown as another name, or moves the cursor of whoever reads it.
[[nodiscard]] bool has_control_character(std::string_view text);

}  // namespace assay
