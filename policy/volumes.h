// SPDX-License-Identifier: Apache-2.0
// What the containers of a pod mount beside and over the judged models, and which images they run.
// Inside of policy.
#pragma once

#include "policy/reference.h"

namespace assay::policy {

// Condition "volumes", of the pod as a whole:
//   volume-unaccounted  a mounted volume that can hold a model is no location of a judged model and
//                       no other volume that the policy allows
//   mount-overlaps      something else is mounted at, below or above the path of a judged model, or
//                       where `mount_paths` of the policy lets models be mounted, or beside a model
//                       below something that may have links to it; or the model is where the
//                       runtime mounts something of its own
//   mount-path-not-allowed  a judged model is mounted elsewhere than `mount_paths` says
//   mount-writable      a container may write to a judged model, or to what holds it or lies in it,
//                       or may mount again what it has
// Paths are compared with the links of common images resolved (policy/mount_path.h). A volume that
// is filled as the policy allows is a judged model for all but the first; only the init container
// that fills it may write.
[[nodiscard]] ConditionResult judge_volumes(const PolicyDocument& policy, const Workload& workload,
                                            const MountedModels& mounted,
                                            const FilledVolumes& filled);

// Condition "images": the image of every container, as the pod writes it, matches a pattern of the
// policy. Only for policies with `images`.
[[nodiscard]] ConditionResult judge_images(const PolicyDocument& policy, const Workload& workload);

}  // namespace assay::policy
