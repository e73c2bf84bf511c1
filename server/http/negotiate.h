// SPDX-License-Identifier: Apache-2.0
// Media types: of a request's body, and of the answer that a client accepts (RFC 9110 section
// 12.5.1).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay::server {

// Returns type and subtype in lowercase, without parameters. Empty when `content_type` is not a
// media type.
[[nodiscard]] std::string media_type(std::string_view content_type);

// Returns the element of `available` that `accept` prefers. If `accept` prefers several elements
// equally, or is empty, returns the first of them. Returns nullopt when no element is acceptable.
// Parameters other than q are ignored.
[[nodiscard]] std::optional<std::string_view> negotiate(
    std::string_view accept, std::span<const std::string_view> available);

}  // namespace assay::server
