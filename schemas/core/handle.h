// SPDX-License-Identifier: Apache-2.0
// The owner of an object of a C library, which the library's own function releases.
#pragma once

#include <memory>

namespace assay {

template <auto Release>
struct ReleaseWith {
  template <typename T>
  void operator()(T* object) const {
    static_cast<void>(Release(object));
  }
};

// Takes no more room than the pointer: using File = Handle<std::FILE, std::fclose>;
template <typename T, auto Release>
using Handle = std::unique_ptr<T, ReleaseWith<Release>>;

}  // namespace assay
