// SPDX-License-Identifier: Apache-2.0
// The owner of one POSIX file descriptor.
#pragma once

#include <unistd.h>
#include <utility>

namespace assay {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { (void)close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      (void)close();
      number_ = other.release();
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  // Closes the descriptor. Returns false, with errno set, when the system reports an error, because
  // a write may still fail on close. An empty descriptor returns true.
  [[nodiscard]] bool close() {
    const int number = release();
    return number < 0 || ::close(number) == 0;
  }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

}  // namespace assay
