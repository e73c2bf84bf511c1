// SPDX-License-Identifier: Apache-2.0
// A piece of canonical JSON (RFC 8785) for code that writes large numbers of documents of one form:
// making a value for each costs far more than the text. Everything else calls canonical_json().
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Appends `text` between quotation marks, in the form of RFC 8785 section 3.2.2.2. The caller must
// write members in the order of section 3.2.3, and must check that the text is UTF-8.
void append_canonical(std::string& out, std::string_view text);

}  // namespace assay
