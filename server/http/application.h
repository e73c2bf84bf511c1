// SPDX-License-Identifier: Apache-2.0
// The interface between the HTTP layer and the program. A request becomes an Exchange once its
// header has passed the gate (gate.h). The session (session.h) then takes these steps in order:
//
//   open -> admit (or refuse) -> [body is read] -> handle -> the answer is written -> close
//
// Threading: open, admit_now, on_connection and on_defect run on the io thread of
// their listener and must not block. admit and handle run on the listener's thread pool. After
// admit_now has returned kAtOnce, handle runs on the io thread and must not block there. refuse
// runs on either and must not block. The steps of one exchange never overlap.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "schemas/core/error.h"
#include "server/http/gate.h"
#include "server/http/message.h"

namespace assay::server {

// One request from its header to its answer.
class Exchange {
 public:
  virtual ~Exchange() = default;

  enum class Admission {
    kAdmitted,  // read the body next
    kRefused,   // answer with refusal()
    kAskPool,   // call admit() on the pool
    kAtOnce,    // call handle() without a body, on the io thread
  };
  // Decides without the store whether to admit the request: by its route, method, media type, size
  // of the body, and credential if that is cached. Must not block. Returns kAtOnce for an admitted
  // request without a body whose answer needs nothing of the service: it is given however busy the
  // pool is.
  [[nodiscard]] virtual Admission admit_now() = 0;
  // Reads the store to decide whether to admit the request. Returns kAdmitted or kRefused.
  [[nodiscard]] virtual Admission admit() = 0;
  // Returns the answer to a refused request, which either the exchange itself or the session (with
  // refuse()) has refused.
  [[nodiscard]] virtual Response refusal() = 0;
  // Refuses the request with `error`, for example because of overload. Afterwards, refusal()
  // returns the answer for this error.
  virtual void refuse(Error error) = 0;

  // Returns true when the request waits in a line, and runs on threads, that work of the API never
  // takes: an agent's heartbeat or lease, on whose age decisions depend.
  [[nodiscard]] virtual bool is_vital() const { return false; }

  // Returns true when the sender is known: a principal of the trust store. The session asks before
  // it writes the answer. The connection of a stranger who does not read it ends when another one
  // needs the place.
  [[nodiscard]] virtual bool is_identified() const = 0;

  // Returns the name for which the places and the memory of this request are counted
  // (fair_shares.h): that of its sender, or of whoever held its credential when it was last looked
  // up, however long ago. The name is empty for everybody else: all strangers are one caller.
  [[nodiscard]] virtual std::string caller() const = 0;

  // Tells the exchange that the whole body has arrived. The time limit of the request starts at
  // this call, not at the header, because receiving the body has a time limit of its own.
  virtual void received() = 0;
  // Runs the handler and returns the answer.
  [[nodiscard]] virtual Response handle(Bytes body) = 0;
  // Tells the exchange that the answer was written or could not be written. `bytes` is how much of
  // the answer's body was sent.
  virtual void close(int status, std::size_t bytes) = 0;
};

enum class ConnectionEvent {
  kAccepted,
  kTurnedAway,       // over the limit: the new connection or a silent one was ended
  kHandshakeFailed,  // the handshake failed or took too long
  kClosed,
};

// The program behind the HTTP layer. Implementations must be safe to call from several threads.
class Application {
 public:
  virtual ~Application() = default;

  // Begins an exchange for a header that passed the gate. `client_key` is the SHA-256 of the public
  // key of the client certificate; nullopt without a certificate.
  [[nodiscard]] virtual std::unique_ptr<Exchange> open(Listener listener, Head head,
                                                       std::optional<Digest> client_key) = 0;
  // Returns the answer to a header of the client `peer` (Head::peer) that the gate refused with
  // `error`.
  [[nodiscard]] virtual Response refuse(Listener listener, const std::string& peer,
                                        const Error& error) = 0;

  virtual void on_connection(Listener listener, ConnectionEvent event) = 0;
  // Reports a defect: an exception ended a session or the listener. `what` describes the exception.
  virtual void on_defect(std::string_view what) = 0;
};

}  // namespace assay::server
