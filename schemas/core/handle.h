// SPDX-License-Identifier: Apache-2.0
// Owning pointers to objects of C libraries, released by a function of the library.
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

// An owning pointer that is as large as a plain pointer.
// Example: using File = Handle<std::FILE, std::fclose>;
template <typename T, auto Release>
using Handle = std::unique_ptr<T, ReleaseWith<Release>>;

}  // namespace assay
