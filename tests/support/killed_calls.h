// SPDX-License-Identifier: Apache-2.0
// A process that ends before one of its calls that make something durable (rename, fsync,
// fdatasync), as a kill or a power loss has it. killed_calls.cc must be a source of the program
// itself: its functions stand in front of those of the C library.
#pragma once

#include <functional>

namespace assay::test {

// Runs `work` in a child that ends before the call with this number, counted from 0. True when it
// got so far; false when `work` returned before. A test failure when `work` returned false.
[[nodiscard]] bool killed_at(int call, const std::function<bool()>& work);

}  // namespace assay::test
