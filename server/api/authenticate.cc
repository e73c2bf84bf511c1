// SPDX-License-Identifier: Apache-2.0
#include "server/api/authenticate.h"

#include <algorithm>

#include "schemas/core/sha.h"

namespace assay::server {
namespace {

constexpr std::size_t kMaxTokenBytes = 512;

// RFC 6750 section 2.1: b64token.
bool is_token(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~+/=").contains(c);
  };
  return !text.empty() && text.size() <= kMaxTokenBytes && std::ranges::all_of(text, allowed);
}

bool is_bearer(std::string_view scheme) {
  constexpr std::string_view kScheme = "bearer";
  return std::ranges::equal(scheme, kScheme, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// One key for both kinds of credential.
Digest credential_key(const Credential& credential) {
  const auto kind = static_cast<std::uint8_t>(credential.kind);
  return sha(HashAlgorithm::kSha256, {ByteView(&kind, 1), credential.sha256.bytes()});
}

Status check_time(const Principal& principal, Timestamp now) {
  if (principal.not_after && now > *principal.not_after) {
    return fail(ErrorCode::kUnauthenticated, "the credential is no longer valid");
  }
  return {};
}

}  // namespace

Result<Credential> credential_of(const Request& request) {
  const std::string_view header = request.header("authorization");
  if (!header.empty()) {
    const std::string_view scheme = header.substr(0, header.find(' '));
    std::string_view token = header.substr(scheme.size());
    token.remove_prefix(std::min(token.size(), token.find_first_not_of(' ')));
    if (!is_bearer(scheme) || !is_token(token)) {
      return fail(ErrorCode::kUnauthenticated, "Authorization must be a bearer token");
    }
    return Credential{CredentialKind::kToken, sha256(as_bytes(token))};
  }
  if (request.client_key) {
    return Credential{CredentialKind::kClientCertificate, *request.client_key};
  }
  return fail(ErrorCode::kUnauthenticated, "send a bearer token, or use a client certificate");
}

std::optional<Result<Authenticator::PrincipalPtr>> Authenticator::remembered(
    const Credential& credential, Timestamp now) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(credential_key(credential));
  if (found == entries_.end() || found->second.principal == nullptr) {
    return std::nullopt;
  }
  const Timestamp read_at = found->second.read_at;
  if (now < read_at || now - read_at > kMaxAge) {
    found->second.principal = nullptr;
    return std::nullopt;
  }
  if (const Status valid = check_time(*found->second.principal, now); !valid) {
    return std::unexpected(valid.error());
  }
  return found->second.principal;
}

Result<Authenticator::PrincipalPtr> Authenticator::look_up(storage::Store& store,
                                                           const Credential& credential,
                                                           Timestamp now) {
  std::uint64_t generation = 0;
  {
    const std::scoped_lock lock(mutex_);
    generation = generation_;
  }
  ASSAY_ASSIGN(const auto snapshot, store.snapshot());
  Result<Principal> principal = snapshot->principal_by(credential);
  if (!principal && principal.error().code == ErrorCode::kNotFound) {
    drop(credential_key(credential));
    return fail(ErrorCode::kUnauthenticated, "nobody holds this credential");
  }
  if (!principal) {
    return std::unexpected(std::move(principal).error());
  }
  ASSAY_TRY(check_time(*principal, now));
  auto shared = std::make_shared<const Principal>(*std::move(principal));
  remember(credential_key(credential), {shared, shared->name, now}, generation);
  return shared;
}

void Authenticator::remember(const Digest& key, Entry entry, std::uint64_t generation) {
  const std::scoped_lock lock(mutex_);
  if (generation != generation_) {
    return;
  }
  if (entries_.size() >= kMaxEntries) {
    entries_.clear();
  }
  entries_.insert_or_assign(key, std::move(entry));
}

void Authenticator::drop(const Digest& key) {
  const std::scoped_lock lock(mutex_);
  entries_.erase(key);
}

std::string Authenticator::last_holder(const Credential& credential) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(credential_key(credential));
  return found == entries_.end() ? std::string() : found->second.name;
}

void Authenticator::forget() {
  const std::scoped_lock lock(mutex_);
  ++generation_;
  for (auto& [key, entry] : entries_) {
    entry.principal = nullptr;
  }
}

}  // namespace assay::server
