// SPDX-License-Identifier: Apache-2.0
// What the HTTP layer asks of the program behind it. A request becomes an Exchange once its header
// has passed the gate; the session drives it:
//
//   open -> admit (or refuse) -> [body is read] -> handle -> the answer is written -> close
//
// Threading: open, admit_now, refuse and the events run on the io thread of their listener and must
// not block; admit and handle run on its pool; the steps of one exchange never overlap.
#pragma once

#include <memory>
#include <optional>

#include "schemas/core/error.h"
#include "server/http/gate.h"
#include "server/http/message.h"

namespace assay::server {

// One request from its header to its answer.
class Exchange {
 public:
  virtual ~Exchange() = default;

  enum class Admission {
    kAdmitted,  // go on with the body
    kRefused,   // answer with refusal()
    kAskPool,   // call admit() on the pool
  };
  // What the header alone and what is in memory decide: route, method, media type, size of the
  // body, a credential seen a moment ago.
  [[nodiscard]] virtual Admission admit_now() = 0;
  // Reads the store. kAdmitted or kRefused.
  [[nodiscard]] virtual Admission admit() = 0;
  // Of a request that was refused, also by the session (overload, timeout of the body).
  [[nodiscard]] virtual Response refusal() = 0;
  virtual void refuse(Error error) = 0;

  // The body is here; the time limit of the request counts from now, not from the header: sending a
  // long body has a limit of its own.
  virtual void received() = 0;
  [[nodiscard]] virtual Response handle(Bytes body) = 0;
  // The answer is written, or could not be; `bytes` of body were sent.
  virtual void close(int status, std::size_t bytes) = 0;
};

enum class ConnectionEvent {
  kAccepted,
  kTurnedAway,       // over the limit of connections: a new one, or a silent one for it
  kHandshakeFailed,  // or took too long
  kClosed,
};

class Application {
 public:
  virtual ~Application() = default;

  [[nodiscard]] virtual std::unique_ptr<Exchange> open(Listener listener, Head head,
                                                       std::optional<Digest> client_key) = 0;
  // The answer to a header that is not acceptable.
  [[nodiscard]] virtual Response refuse(Listener listener, const Error& error) = 0;

  virtual void on_connection(Listener listener, ConnectionEvent event) = 0;
  // An exception ended a session or the listener: a defect.
  virtual void on_defect(std::string_view what) = 0;
};

}  // namespace assay::server
