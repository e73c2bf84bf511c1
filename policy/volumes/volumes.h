// SPDX-License-Identifier: Apache-2.0
// Judges what the containers of a pod mount beside and over the judged models, and which images the
// containers run. Internal to policy.
#pragma once

#include "policy/locations.h"

namespace assay::policy {

// Judges the condition "volumes" for the pod as a whole. The condition fails with these codes:
//   volume-unaccounted  a mounted volume can hold a model, but is neither a location of a judged
//                       model nor another volume that the policy allows; or a container other than
//                       its fillers mounts a part of a filled volume that does not count
//                       (FilledVolumes::parts)
//   mount-overlaps      one of these: another volume is mounted at, below or above the path of a
//                       judged model; another volume is mounted at a path that `mount_paths`
//                       reserve for models; in a container with a model, another volume is mounted
//                       below a volume that may have links to the model; a model is mounted where
//                       the container runtime mounts something of its own
//   mount-path-not-allowed  a judged model is mounted at a path that `mount_paths` does not allow
//   mount-writable      a container may write to a judged model, to a volume that holds the model,
//                       to a volume inside the model, or to a volume that may be one of these
//                       (below); or a container may remount its volumes as writable; or the pod has
//                       a filled volume, and a container other than its fillers sees processes of
//                       other containers (policy/processes.h)
// Paths are compared after resolving the links of common images (policy/volumes/mount_path.h). A
// volume that is filled as the policy allows is treated as a judged model. Only the init containers
// that fill such a volume may write to it.
//
// Two kinds of writable volume are treated as if they held any model of the pod, because nothing
// shows the contrary. The first is a volume that can hold a model but has no location, such as the
// root of a host or of an export, unless its source makes a new volume ("ephemeral"). The second is
// a hostPath at, above or below a directory where the kubelet and the runtimes keep the mounts of
// pods (kNodePlaces in host_path.h).
[[nodiscard]] ConditionResult judge_volumes(const PolicyDocument& policy, const Workload& workload,
                                            const MountedModels& mounted,
                                            const FilledVolumes& filled);

// Returns false for an image that is no reference, or that has several digests (`x@A@B`), because
// programs differ in which of the digests they use. Such an image matches no pattern of `images`,
// and fills no volume.
[[nodiscard]] bool has_one_name(std::string_view image);

// Judges the condition "images": the image of every container, as the pod writes it, has one name
// (has_one_name()) and matches a pattern of the policy. The caller must pass a policy that has
// `images`.
[[nodiscard]] ConditionResult judge_images(const PolicyDocument& policy, const Workload& workload);

}  // namespace assay::policy
