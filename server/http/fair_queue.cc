// SPDX-License-Identifier: Apache-2.0
#include "server/http/fair_queue.h"

namespace assay::server {

bool FairQueue::has_room(const std::string& caller) const {
  const std::scoped_lock lock(mutex_);
  return places_.fits(caller, 1);
}

void FairQueue::push(const std::string& caller, Work work) {
  const std::scoped_lock lock(mutex_);
  auto& line = lines_[caller];
  if (line.empty()) {
    turns_.push_back(caller);
  }
  line.push_back(std::move(work));
  places_.take(caller, 1);
}

FairQueue::Work FairQueue::pop() {
  const std::scoped_lock lock(mutex_);
  std::string caller = std::move(turns_.front());
  turns_.pop_front();
  const auto line = lines_.find(caller);
  Work work = std::move(line->second.front());
  line->second.pop_front();
  places_.give_back(caller, 1);
  if (line->second.empty()) {
    lines_.erase(line);
  } else {
    turns_.push_back(std::move(caller));
  }
  return work;
}

}  // namespace assay::server
