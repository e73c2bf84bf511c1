// SPDX-License-Identifier: Apache-2.0
// Marks failures of libraries that only a lack of memory causes. Internal to attestation.
#pragma once

// The condition, unchanged, as a bool. Write it only around the failure of a call that allocates
// and that no input makes fail; everything behind it fails closed as behind any other condition. No
// test takes such a branch: tests/attestation/coverage.py leaves out each line that holds the
// marker, so the condition stands on a line of its own.
#define ASSAY_NO_MEMORY(condition) (static_cast<bool>(condition))
