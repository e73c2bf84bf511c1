// SPDX-License-Identifier: Apache-2.0
// Which resources may be accelerators.
#pragma once

#include <string_view>

namespace assay::policy {

// True for every name but those of the resources that Kubernetes itself hands out: cpu, memory,
// storage, ephemeral-storage and huge pages. What is not known is taken for an accelerator.
[[nodiscard]] bool is_extended_resource(std::string_view name);

}  // namespace assay::policy
