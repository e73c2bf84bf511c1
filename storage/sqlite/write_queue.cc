// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/write_queue.h"

#include <algorithm>
#include <utility>

namespace assay::storage::sqlite {
namespace {

WriteClass other(WriteClass of) {
  return of == WriteClass::kApi ? WriteClass::kAdmission : WriteClass::kApi;
}

}  // namespace

void WriteQueue::push(std::shared_ptr<WriteJob> job) {
  of_class(job->of).push_back(std::move(job));
}

WriteGroup WriteQueue::take(std::size_t max) {
  WriteGroup group;
  group.reserve(std::min(size(), max));
  while (!empty() && group.size() < std::max<std::size_t>(max, 1)) {
    const WriteClass next = of_class(turn_).empty() ? other(turn_) : turn_;
    group.push_back(std::move(of_class(next).front()));
    of_class(next).pop_front();
    turn_ = other(next);
  }
  return group;
}

void WriteQueue::put_back(WriteGroup& group, std::size_t first) {
  while (group.size() > first) {
    const WriteClass of = group.back()->of;
    of_class(of).push_front(std::move(group.back()));
    group.pop_back();
    turn_ = of;
  }
}

}  // namespace assay::storage::sqlite
