// SPDX-License-Identifier: Apache-2.0
// Authentication: finds the principal (a caller in the trust store) for a bearer token or for the
// key of a client certificate. Credentials are looked up by their hash, so the time of a look-up
// does not show how much of a guessed credential is right.
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

// Returns the credential of `request`: its bearer token, else the key of its client certificate.
// Errors: unauthenticated when the request has neither, or when its Authorization field is not a
// bearer token.
[[nodiscard]] Result<Credential> credential_of(const Request& request);

// Looks principals up and caches them for up to kMaxAge. Thread-safe.
class Authenticator {
 public:
  using PrincipalPtr = std::shared_ptr<const Principal>;
  // Maximum age of a cached principal.
  static constexpr std::chrono::milliseconds kMaxAge{1000};
  static constexpr std::size_t kMaxEntries = 4096;

  // Returns the cached principal. Returns nullopt when the store must be asked. Errors:
  // unauthenticated when the principal has expired since it was cached.
  [[nodiscard]] std::optional<Result<PrincipalPtr>> remembered(const Credential& credential,
                                                               Timestamp now);
  // Reads the principal from `store` and caches it. Errors: unauthenticated when nobody holds the
  // credential, or when the principal has expired; the errors of the store.
  [[nodiscard]] Result<PrincipalPtr> look_up(storage::Store& store, const Credential& credential,
                                             Timestamp now);
  // Returns the name of whoever held `credential` when the store was last asked, empty when nobody
  // did. That says nothing about now.
  [[nodiscard]] std::string last_holder(const Credential& credential);
  // Uses no cached principal any more. The caller must do so when trust has changed.
  void forget();

 private:
  struct Entry {
    PrincipalPtr principal;  // null: must be read again
    std::string name;
    Timestamp read_at;
  };
  void remember(const Digest& key, Entry entry, std::uint64_t generation);
  void drop(const Digest& key);

  std::mutex mutex_;
  std::uint64_t generation_ = 0;  // incremented by forget(); principals read before are not cached
  std::unordered_map<Digest, Entry> entries_;  // keyed by credential_key()
};

}  // namespace assay::server
