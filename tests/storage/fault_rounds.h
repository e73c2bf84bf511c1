// SPDX-License-Identifier: Apache-2.0
// The n-th change of a file fails, or the power goes at it, for many n.
#pragma once

#include "tests/storage/fault_vfs.h"

namespace assay::storage {

// Runs a workload (open, write, close, open, write, close) for n = start, start + step, ... with
// `fault` at the n-th change, until it is through without meeting it; start is random below step.
// After each round: the store opens, everything acknowledged is there, the log and the file verify.
void fault_rounds(FaultVfs::Fault fault, std::uint64_t step);

}  // namespace assay::storage
