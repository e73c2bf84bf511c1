// SPDX-License-Identifier: Apache-2.0
// Chooses which connections of a listener end when there are too many. Connections on which a
// request is under way may stay. Silent connections end first, beginning with those of the address
// that has the most connections. A connection that only waits for a stranger to read an answer is
// silent as well, and so is one with a request of a caller who has more than its share under way.
// This class does bookkeeping only; it touches no socket.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "server/http/fair_shares.h"

namespace assay::server {

class Session;

// Not thread-safe: only the io thread of the listener may use it.
class Connections {
 public:
  // Allows at most `total` connections in all, and at most `per_address` connections from one
  // address.
  Connections(std::size_t total, std::size_t per_address)
      : total_(total), per_address_(per_address), shares_(total) {}

  // The answer of make_room().
  struct Place {
    bool free;     // the new connection may stay once `end` (if any) was ended
    Session* end;  // the session whose connection the caller must end; null: none
  };
  // Makes room for one more connection from `address`. The session in `Place::end` is already
  // removed from this object.
  [[nodiscard]] Place make_room(const std::string& address);

  // Adds a new connection. The connection counts as silent until its first request header has
  // arrived.
  void add(Session* session, const std::string& address);
  // The next four functions ignore a session that was never added or was removed.
  void remove(Session* session);
  // The connection waits for its peer: for a request, or, when the peer is a stranger, until it has
  // read an answer.
  void silent(Session* session);
  void busy(Session* session);  // a whole request header has arrived
  // Counts the busy connection among those of `caller`, until it is silent. Returns false, and
  // counts nothing, when the share of `caller` (fair_shares.h) is used up.
  [[nodiscard]] bool claim(Session* session, const std::string& caller);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  using Silent = std::list<Session*>;  // longest silent first
  struct Address {
    std::size_t count = 0;
    Silent silent;
  };
  struct Entry {
    std::string address;
    std::optional<Silent::iterator> place = {};  // while silent
    std::optional<std::string> caller = {};      // for whom it is counted
  };

  void release(Entry& entry);  // counts it for nobody

  std::size_t total_;
  std::size_t per_address_;
  FairShares shares_;
  std::map<Session*, Entry> entries_;
  std::map<std::string, Address> addresses_;
};

}  // namespace assay::server
