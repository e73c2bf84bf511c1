// SPDX-License-Identifier: Apache-2.0
// Bounds of the XML of a RIM. Real ones have 26 KiB, 70 elements in three levels, and tags of 600
// bytes.
#pragma once

#include <cstddef>

namespace assay::attestation::nvidia {

inline constexpr std::size_t kMaxXmlBytes = 1U << 20;
inline constexpr std::size_t kMaxXmlTags = 16'384;        // opening and closing ones
inline constexpr std::size_t kMaxXmlTagBytes = 8U << 10;  // of a tag with the text behind it
inline constexpr std::size_t kMaxXmlDepth = 16;
inline constexpr std::size_t kMaxXmlNamespaces = 64;  // declarations in all of the text

}  // namespace assay::attestation::nvidia
