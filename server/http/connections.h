// SPDX-License-Identifier: Apache-2.0
// Which connections of a listener may stay when there are too many: those that send requests.
// Whoever opens connections and says nothing loses them to others, and first those of the address
// that has the most. Bookkeeping only: nothing here touches a socket.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>

namespace assay::server {

class Session;

// Threading: the io thread of the listener.
class Connections {
 public:
  // `total` connections in all, `per_address` from one address.
  Connections(std::size_t total, std::size_t per_address)
      : total_(total), per_address_(per_address) {}

  struct Place {
    bool free;     // there is room, or there will be
    Session* end;  // whose connection ends for it; null for nobody's
  };
  // Room for one more from `address`. Forgets the session that it names.
  [[nodiscard]] Place make_room(const std::string& address);

  // A new connection; it counts as silent until its first request is there.
  void add(Session* session, const std::string& address);
  // What is not there, or no longer, changes nothing, in these three.
  void remove(Session* session);
  void silent(Session* session);  // the peer has to say something
  void busy(Session* session);    // a whole request header has arrived

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  using Silent = std::list<Session*>;  // longest silent first
  struct Address {
    std::size_t count = 0;
    Silent silent;
  };
  struct Entry {
    std::string address;
    std::optional<Silent::iterator> place;  // while silent
  };

  std::size_t total_;
  std::size_t per_address_;
  std::map<Session*, Entry> entries_;
  std::map<std::string, Address> addresses_;
};

}  // namespace assay::server
