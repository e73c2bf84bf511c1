// SPDX-License-Identifier: Apache-2.0
#include "server/http/memory_budget.h"

namespace assay::server {

void MemoryShare::belong_to(const std::string& caller) {
  const std::scoped_lock lock(budget_.mutex_);
  budget_.bytes_.give_back(caller_, held_);
  caller_ = caller;
  budget_.bytes_.take(caller_, held_);
}

bool MemoryShare::try_hold(std::size_t bytes) {
  const std::scoped_lock lock(budget_.mutex_);
  if (bytes > held_ && !budget_.bytes_.fits(caller_, bytes - held_)) {
    return false;
  }
  budget_.bytes_.give_back(caller_, held_);
  budget_.bytes_.take(caller_, bytes);
  held_ = bytes;
  return true;
}

void MemoryShare::hold(std::size_t bytes) {
  const std::scoped_lock lock(budget_.mutex_);
  budget_.bytes_.give_back(caller_, held_);
  budget_.bytes_.take(caller_, bytes);
  held_ = bytes;
}

bool MemoryShare::others_leave_room() const {
  const std::scoped_lock lock(budget_.mutex_);
  budget_.bytes_.give_back(caller_, held_);
  const bool room = budget_.bytes_.fits(caller_, 1);
  budget_.bytes_.take(caller_, held_);
  return room;
}

}  // namespace assay::server
