// SPDX-License-Identifier: Apache-2.0
#include "server/service/unselected.h"

#include <algorithm>
#include <set>

#include "schemas/core/printable.h"
#include "schemas/log_record.h"
#include "storage/large_workload.h"

namespace assay::server {
namespace {

// Longest name of a group in a record. Kubernetes has names of at most 63 bytes here.
constexpr std::size_t kMaxNameBytes = 64;
// What groups may take in a record, which has less than 64 KiB.
constexpr std::size_t kMaxGroupBytes = 48U << 10;
// What a row takes beside its texts.
constexpr std::size_t kRowBytes = 512;

// Cut between characters.
std::string clipped(const std::string& text) {
  return std::string(utf8_prefix(text, kMaxNameBytes));
}

std::size_t bytes_of(const storage::PodRow& row) {
  return kRowBytes + row.uid.size() + row.name.size() + row.name_space.size() +
         row.workload.dump().size();
}

}  // namespace

void UnselectedWorkloads::count(Counts& counts, const Group& group, std::uint64_t number) {
  const auto found = counts.groups.find(group);
  if (found != counts.groups.end()) {
    found->second += number;
  } else if (counts.groups.size() < kMaxGroups) {
    counts.groups.emplace(group, number);
  } else {
    counts.others += number;
  }
}

bool UnselectedWorkloads::add(Unselected workload) {
  const Timestamp now = clock_.now();
  const std::scoped_lock lock(mutex_);
  counts_.since = counts_.since.value_or(now);
  count(counts_,
        {clipped(workload.cluster), clipped(std::move(workload.name_space)),
         clipped(std::move(workload.kind))},
        1);
  if (!workload.pod) {
    return true;
  }
  if (workload.pod->admitted_at == Timestamp()) {
    workload.pod->admitted_at = now;
  }
  return keep(*std::move(workload.pod), workload.replaces);
}

bool UnselectedWorkloads::mark_forgotten(const PodKey& key) {
  if (forgotten_.size() >= kMaxForgotten && !forgotten_.contains(key)) {
    return false;
  }
  forgotten_[key] = ++version_;
  return true;
}

// False when it replaces a row, and there is no room for one more key.
bool UnselectedWorkloads::forget_oldest() {
  const Waiting& oldest = pods_.front();
  const PodKey key{oldest.row.cluster, oldest.row.uid};
  if (oldest.replaces && !mark_forgotten(key)) {
    return false;
  }
  drop(by_key_.find(key));
  ++counts_.forgotten;
  return true;
}

bool UnselectedWorkloads::keep(storage::PodRow row, bool replaces) {
  const PodKey key{row.cluster, row.uid};
  const auto known = by_key_.find(key);
  const bool waits = known != by_key_.end();
  replaces = replaces || forgotten_.contains(key) || (waits && known->second->replaces);
  // Until it has room the pod is unknown: never what it was before.
  if (replaces && !mark_forgotten(key)) {
    return false;
  }
  if (waits) {
    drop(known);
  }
  const std::size_t bytes = bytes_of(row);
  bool room = bytes <= kMaxPodBytes;
  while (room && (pods_.size() >= kMaxPods || bytes_ + bytes > kMaxPodBytes)) {
    room = forget_oldest();
  }
  if (!room) {
    ++counts_.forgotten;
    return true;
  }
  forgotten_.erase(key);
  pods_.push_back({std::move(row), bytes, ++version_, replaces});
  bytes_ += bytes;
  by_key_.emplace(key, std::prev(pods_.end()));
  return true;
}

void UnselectedWorkloads::drop(std::map<PodKey, std::list<Waiting>::iterator>::iterator found) {
  bytes_ -= found->second->bytes;
  pods_.erase(found->second);
  by_key_.erase(found);
}

std::optional<UnselectedWorkloads::Held> UnselectedWorkloads::find(const std::string& cluster,
                                                                   const std::string& uid) const {
  const std::scoped_lock lock(mutex_);
  if (const auto found = by_key_.find({cluster, uid}); found != by_key_.end()) {
    return Held{found->second->row};
  }
  return forgotten_.contains({cluster, uid}) ? std::optional(Held{}) : std::nullopt;
}

void UnselectedWorkloads::remove(const std::string& cluster, const std::string& uid) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = by_key_.find({cluster, uid}); found != by_key_.end()) {
    drop(found);
  }
  forgotten_.erase({cluster, uid});
}

Json UnselectedWorkloads::detail_of(const Counts& counts, Timestamp until) {
  Json groups = Json::array();
  std::uint64_t others = counts.others;
  std::uint64_t total = counts.others;
  std::size_t bytes = 0;
  for (const auto& [group, number] : counts.groups) {
    const auto& [cluster, name_space, kind] = group;
    Json one = {{"cluster", cluster}, {"namespace", name_space}, {"kind", kind}, {"count", number}};
    bytes += one.dump().size();
    total += number;
    if (bytes > kMaxGroupBytes) {
      others += number;
    } else {
      groups.push_back(std::move(one));
    }
  }
  return {{"since", to_rfc3339(counts.since.value_or(until))},
          {"count", total},
          {"groups", std::move(groups)},
          {"others", others},
          {"pods_forgotten", counts.forgotten}};
}

bool UnselectedWorkloads::is_current(const Waiting& waiting) const {
  const auto found = by_key_.find({waiting.row.cluster, waiting.row.uid});
  return found != by_key_.end() && found->second->version == waiting.version;
}

bool UnselectedWorkloads::is_forgotten(const PodKey& key, std::uint64_t version) const {
  const auto found = forgotten_.find(key);
  return found != forgotten_.end() && found->second == version;
}

std::vector<UnselectedWorkloads::Waiting> UnselectedWorkloads::oldest() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Waiting> rows;
  for (auto it = pods_.begin(); it != pods_.end() && rows.size() < kMaxRows; ++it) {
    rows.push_back(*it);
  }
  return rows;
}

UnselectedWorkloads::Forgotten UnselectedWorkloads::forgotten() const {
  const std::scoped_lock lock(mutex_);
  return forgotten_;
}

// Counts the large workloads that are not stored yet for their namespaces, each once. Forgets the
// pods that have no room.
Result<UnselectedWorkloads::Rooms> UnselectedWorkloads::make_room(std::vector<Waiting>& rows) {
  Rooms rooms;
  std::set<DocumentId> added;
  ASSAY_ASSIGN(const auto snapshot, store_.snapshot());
  std::vector<Waiting> kept;
  kept.reserve(rows.size());
  for (Waiting& waiting : rows) {
    std::optional<storage::LargeWorkload> part;
    if (waiting.bytes > storage::kMaxWorkloadInRow) {
      ASSAY_ASSIGN(part, storage::large_workload(waiting.row.workload));
    }
    if (part && !added.contains(part->id)) {
      ASSAY_ASSIGN(const bool known, snapshot->has_document(part->id));
      auto room = namespace_quota_.reserve(waiting.row.cluster + "/" + waiting.row.name_space,
                                           known ? 0 : part->bytes.size(), clock_.now());
      if (!room) {
        forget(waiting);
        continue;
      }
      added.insert(part->id);
      if (*room) {
        rooms.push_back(*std::move(room));
      }
    }
    kept.push_back(std::move(waiting));
  }
  rows = std::move(kept);
  return rooms;
}

// Said in the next record.
void UnselectedWorkloads::forget(const Waiting& waiting) {
  const std::scoped_lock lock(mutex_);
  const PodKey key{waiting.row.cluster, waiting.row.uid};
  if (is_current(waiting) && (!waiting.replaces || mark_forgotten(key))) {
    drop(by_key_.find(key));
    counts_.since = counts_.since.value_or(clock_.now());
    ++counts_.forgotten;
  }
}

// One write: the record when something was counted, and the oldest rows. True when pods are left.
Result<bool> UnselectedWorkloads::write_some(const Counts& counts) {
  std::vector<Waiting> rows = oldest();
  const bool full = rows.size() == kMaxRows;
  ASSAY_ASSIGN(const Rooms rooms, make_room(rows));
  const Forgotten gone = forgotten();
  if (!counts.since && rows.empty() && gone.empty()) {
    return full;
  }
  const auto written = store_.write([&](storage::Transaction& transaction) -> Status {
    if (counts.since) {
      LogRecord record{.type = std::string(event::kNotApplicable),
                       .time = transaction.now(),
                       .actor = "system",
                       .subjects = {},
                       .documents = {},
                       .detail = detail_of(counts, transaction.now())};
      ASSAY_TRY(transaction.append(std::move(record)));
    }
    for (const Waiting& waiting : rows) {
      {
        const std::scoped_lock lock(mutex_);
        if (!is_current(waiting)) {
          continue;
        }
      }
      ASSAY_TRY(transaction.put_pod(waiting.row));
    }
    for (const auto& [key, version] : gone) {
      {
        const std::scoped_lock lock(mutex_);
        if (!is_forgotten(key, version)) {
          continue;
        }
      }
      ASSAY_TRY(transaction.remove_pod(key.first, key.second));
    }
    return {};
  });
  if (!written) {
    return std::unexpected(written.error());
  }
  for (const auto& room : rooms) {
    room->keep();
  }
  const std::scoped_lock lock(mutex_);
  for (const Waiting& waiting : rows) {
    if (is_current(waiting)) {
      drop(by_key_.find({waiting.row.cluster, waiting.row.uid}));
    }
  }
  for (const auto& [key, version] : gone) {
    if (is_forgotten(key, version)) {
      forgotten_.erase(key);
    }
  }
  return !pods_.empty() && full;
}

void UnselectedWorkloads::restore(Counts counts) {
  const std::scoped_lock lock(mutex_);
  for (const auto& [group, number] : counts_.groups) {
    count(counts, group, number);
  }
  counts.since = counts.since ? counts.since : counts_.since;
  counts.others += counts_.others;
  counts.forgotten += counts_.forgotten;
  counts_ = std::move(counts);
}

Status UnselectedWorkloads::flush() {
  const std::scoped_lock one(flushing_);
  Counts counts;
  {
    const std::scoped_lock lock(mutex_);
    counts = std::exchange(counts_, Counts());
  }
  for (bool more = true; more;) {
    Result<bool> written = write_some(counts);
    if (!written) {
      restore(std::move(counts));
      return std::unexpected(std::move(written).error());
    }
    counts = Counts();  // the first write took them
    more = *written;
  }
  return {};
}

}  // namespace assay::server
