// SPDX-License-Identifier: Apache-2.0
// Media types: what a body is said to be, and which answer a client takes (RFC 9110
// section 12.5.1).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay::server {

// Type and subtype in lowercase, without parameters; empty when `content_type` is not one.
[[nodiscard]] std::string media_type(std::string_view content_type);

// The one of `available` that `accept` likes best; the first among equals, and for an empty header.
// Nothing when none is acceptable. Parameters other than q are ignored.
[[nodiscard]] std::optional<std::string_view> negotiate(
    std::string_view accept, std::span<const std::string_view> available);

}  // namespace assay::server
