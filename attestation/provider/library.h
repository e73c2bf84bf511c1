// SPDX-License-Identifier: Apache-2.0
// A library of a driver, opened at run time. Internal to this folder.
#pragma once

#include <dlfcn.h>
#include <string>

namespace assay::attestation {

class DriverLibrary {
 public:
  explicit DriverLibrary(const std::string& name)
      : handle_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~DriverLibrary() {
    if (handle_ != nullptr) {
      ::dlclose(handle_);
    }
  }
  DriverLibrary(const DriverLibrary&) = delete;
  DriverLibrary& operator=(const DriverLibrary&) = delete;

  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
  // Finds a function; false when the library has none of this name.
  template <typename Function>
  [[nodiscard]] bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
    return function != nullptr;
  }

 private:
  void* handle_;
};

}  // namespace assay::attestation
