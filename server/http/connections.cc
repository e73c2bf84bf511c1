// SPDX-License-Identifier: Apache-2.0
#include "server/http/connections.h"

namespace assay::server {

Connections::Place Connections::make_room(const std::string& address) {
  const Address* from = nullptr;
  if (const auto own = addresses_.find(address);
      own != addresses_.end() && own->second.count >= per_address_) {
    from = &own->second;
  } else if (entries_.size() < total_) {
    return {true, nullptr};
  } else {
    for (const auto& [name, other] : addresses_) {
      if (!other.silent.empty() && (from == nullptr || other.count > from->count)) {
        from = &other;
      }
    }
  }
  if (from == nullptr || from->silent.empty()) {
    return {false, nullptr};
  }
  Session* const victim = from->silent.front();
  remove(victim);
  return {true, victim};
}

void Connections::add(Session* session, const std::string& address) {
  entries_[session] = {address};
  ++addresses_[address].count;
  silent(session);
}

void Connections::remove(Session* session) {
  busy(session);
  const auto entry = entries_.find(session);
  if (entry == entries_.end()) {
    return;
  }
  const auto address = addresses_.find(entry->second.address);
  if (--address->second.count == 0) {
    addresses_.erase(address);
  }
  release(entry->second);
  entries_.erase(entry);
}

void Connections::silent(Session* session) {
  busy(session);
  const auto entry = entries_.find(session);
  if (entry != entries_.end()) {
    release(entry->second);
    Silent& silent = addresses_.at(entry->second.address).silent;
    entry->second.place = silent.insert(silent.end(), session);
  }
}

void Connections::busy(Session* session) {
  const auto entry = entries_.find(session);
  if (entry != entries_.end() && entry->second.place) {
    addresses_.at(entry->second.address).silent.erase(*entry->second.place);
    entry->second.place.reset();
  }
}

bool Connections::claim(Session* session, const std::string& caller) {
  const auto entry = entries_.find(session);
  if (entry == entries_.end() || entry->second.caller == caller) {
    return true;
  }
  release(entry->second);
  if (!shares_.fits(caller, 1)) {
    return false;
  }
  shares_.take(caller, 1);
  entry->second.caller = caller;
  return true;
}

void Connections::release(Entry& entry) {
  if (entry.caller) {
    shares_.give_back(*entry.caller, 1);
    entry.caller.reset();
  }
}

}  // namespace assay::server
