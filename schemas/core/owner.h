// SPDX-License-Identifier: Apache-2.0
// Owners of objects of C libraries.
#pragma once

#include <memory>

namespace assay {

// A deleter that calls `Release` and takes no space.
template <auto Release>
struct Releases {
  template <typename T>
  void operator()(T* object) const {
    static_cast<void>(Release(object));
  }
};

// Owner<EVP_PKEY, EVP_PKEY_free>
template <typename T, auto Release>
using Owner = std::unique_ptr<T, Releases<Release>>;

}  // namespace assay
