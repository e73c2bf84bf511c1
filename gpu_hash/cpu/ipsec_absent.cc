// SPDX-License-Identifier: Apache-2.0
// Stands in for intel-ipsec-mb in builds without it.
#include "gpu_hash/cpu/leaf_hasher.h"

namespace assay::gpu_hash {

ProcessorFeatures ipsec_features() { return {}; }

std::unique_ptr<LeafHasher> make_ipsec_hasher(LeafVariant, HashAlgorithm,
                                              const ProcessorFeatures&) {
  return nullptr;
}

std::string ipsec_version() { return {}; }

}  // namespace assay::gpu_hash
