// SPDX-License-Identifier: Apache-2.0
// Removes from a workload everything that no policy reads. Workloads that differ only in unread
// parts become equal. Their decisions can therefore share one stored case, which holds the facts
// and the workload of a decision (Decision::facts in schemas/decision.h).
#pragma once

#include <cstddef>
#include <span>

#include "policy/evaluate.h"

namespace assay::policy {

// Largest number of resource names that as_read() keeps. The same limit applies separately to the
// ways to an accelerator (such as a device plugin or a resource claim; Workload::accelerators in
// policy/facts.h). Beyond this number, as_read() keeps a name only if the `match` part of some
// policy looks for this name, and for none of the names before it.
inline constexpr std::size_t kMaxReadNames = 16;

// Returns a copy of `workload`. Of the labels, resources and ways to an accelerator, the copy keeps
// only those that the `match` part of at least one policy looks for. When no policy has `images` or
// `fill_at_run`, the image names in the copy are empty. Of what init containers run, the copy keeps
// the lists that some policy's `fillers` compare. Of the requester, the copy keeps what some
// policy asks for, and the groups that some pattern matches. With `policies`, evaluate() gives the
// same verdict about the copy as about `workload`.
[[nodiscard]] Workload as_read(Workload workload, std::span<const ActivePolicy> policies);

// Returns true when `read`, which as_read() returned under `policies`, still has everything that
// evaluate() with `policy` reads. When it returns false, nobody can say what the verdict of
// `policy` about the original workload would have been.
[[nodiscard]] bool reads_enough(const PolicyDocument& policy, const Workload& read,
                                std::span<const ActivePolicy> policies);

}  // namespace assay::policy
