// SPDX-License-Identifier: Apache-2.0
// Who is asking: from a bearer token or a client certificate's key to a principal. Credentials are
// looked up by their hash, so comparing them takes the same time whatever was guessed right.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "schemas/trust.h"
#include "server/http/message.h"
#include "storage/store.h"

namespace assay::server {

// The credential that a request shows: its bearer token, else its client certificate's key.
// unauthenticated when there is none, or the Authorization field is no bearer token.
[[nodiscard]] Result<Credential> credential_of(const Request& request);

// Looks principals up and remembers them for a moment. Thread-safe.
class Authenticator {
 public:
  using PrincipalPtr = std::shared_ptr<const Principal>;
  // How old an answer from memory may be.
  static constexpr std::chrono::milliseconds kMaxAge{1000};
  static constexpr std::size_t kMaxEntries = 4096;

  // What is remembered; nothing when the store must be asked. unauthenticated when the principal's
  // time has run out since.
  [[nodiscard]] std::optional<Result<PrincipalPtr>> remembered(const Credential& credential,
                                                               Timestamp now);
  // Asks the store. unauthenticated when nobody holds the credential, or its principal's time has
  // run out.
  [[nodiscard]] Result<PrincipalPtr> look_up(storage::Store& store, const Credential& credential,
                                             Timestamp now);
  // Forgets everything: trust has changed.
  void forget();

 private:
  struct Entry {
    PrincipalPtr principal;
    Timestamp read_at;
  };
  void remember(const Digest& key, Entry entry, std::uint64_t generation);

  std::mutex mutex_;
  std::uint64_t generation_ = 0;  // moves with forget(): answers read before it are not kept
  std::unordered_map<Digest, Entry> entries_;  // by credential_key
};

}  // namespace assay::server
