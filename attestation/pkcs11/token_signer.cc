// SPDX-License-Identifier: Apache-2.0
#include "attestation/pkcs11/token_signer.h"

#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "attestation/keys.h"
#include "attestation/pkcs11/token.h"
#include "schemas/posix/secret_file.h"

namespace assay::attestation::pkcs11 {
namespace {

constexpr std::size_t kMaxPinFile = 4096;
constexpr std::size_t kMaxPin = 255;

class WatchedSigner final : public TokenSigner {
 public:
  WatchedSigner(Uri uri, SecretBytes pin, std::unique_ptr<TokenKey> key)
      : uri_(std::move(uri)),
        pin_(std::move(pin)),
        key_(std::move(key)),
        algorithm_(key_->public_key().algorithm()),
        key_id_(key_->public_key().id()),
        public_key_(key_->public_key().der()) {}

  [[nodiscard]] SignatureAlgorithm algorithm() const override { return algorithm_; }
  [[nodiscard]] const KeyId& key_id() const override { return key_id_; }
  [[nodiscard]] const Bytes& public_key() const override { return public_key_; }

  [[nodiscard]] Result<Bytes> sign(ByteView message) const override {
    const std::lock_guard lock(mutex_);
    if (broken_) {
      return std::unexpected(*broken_);
    }
    Result<Bytes> signature = key_->sign(message);
    if (!signature) {
      broken_ = gone(signature.error().detail);
      return std::unexpected(*broken_);
    }
    return signature;
  }

  [[nodiscard]] Status look() override {
    const std::lock_guard lock(mutex_);
    if (!broken_) {
      if (const Status alive = key_->check(); !alive) {
        broken_ = gone(alive.error().detail);
      }
    } else if (!pin_refused_) {
      reconnect();
    }
    return broken_ ? Status(std::unexpected(*broken_)) : Status();
  }

  [[nodiscard]] Status state() const override {
    const std::lock_guard lock(mutex_);
    return broken_ ? Status(std::unexpected(*broken_)) : Status();
  }

 private:
  [[nodiscard]] Error gone(const std::string& why) const {
    return {ErrorCode::kUnavailable, "signing key: " + why, path_of(uri_)};
  }

  void reconnect() {
    key_.reset();
    Result<std::unique_ptr<TokenKey>> fresh = TokenKey::open(uri_, pin_);
    if (!fresh) {
      pin_refused_ = fresh.error().detail == kPinRefused;
      broken_ = gone(fresh.error().detail);
      return;
    }
    if ((*fresh)->public_key().der() != public_key_) {
      broken_ = gone("the token holds another key now");
      return;
    }
    key_ = std::move(*fresh);
    broken_.reset();
  }

  const Uri uri_;
  const SecretBytes pin_;
  std::unique_ptr<TokenKey> key_;  // null after a token did not come back
  const SignatureAlgorithm algorithm_;
  const KeyId key_id_;
  const Bytes public_key_;
  mutable std::mutex mutex_;
  mutable std::optional<Error> broken_;
  bool pin_refused_ = false;
};

Result<SecretBytes> read_pin(const std::string& path) {
  ASSAY_ASSIGN(const SecretBytes file, read_guarded(path, kMaxPinFile));
  const std::string_view text = as_text(file.view());
  return SecretBytes(to_bytes(text.substr(0, text.find_first_of("\r\n"))));
}

}  // namespace

Result<std::unique_ptr<TokenSigner>> load_token_key(const std::string& uri,
                                                    const SecretBytes& pin) {
  ASSAY_ASSIGN(Uri parsed, parse_uri(uri));
  if (const char* const module = ::secure_getenv("PKCS11_MODULE_PATH");
      parsed.module_path.empty() && module != nullptr) {
    parsed.module_path = module;
  }
  SecretBytes own(Bytes(pin.view().begin(), pin.view().end()));
  if (!parsed.pin_source.empty()) {
    ASSAY_ASSIGN(own, read_pin(parsed.pin_source));
  }
  if (own.view().size() > kMaxPin || as_text(own.view()).contains('\0')) {
    return fail(ErrorCode::kKeyUnusable, "a PIN has at most 255 bytes, and none of them is zero");
  }
  Result<std::unique_ptr<TokenKey>> key = TokenKey::open(parsed, own);
  if (!key) {
    Error error = std::move(key).error();
    error.where = error.where.empty() ? path_of(parsed) : error.where;
    return std::unexpected(std::move(error));
  }
  return std::make_unique<WatchedSigner>(std::move(parsed), std::move(own), std::move(*key));
}

Result<std::unique_ptr<Signer>> load_signing_key(const std::string& file_or_uri,
                                                 const SecretBytes& passphrase) {
  if (!is_uri(file_or_uri)) {
    return load_private_key(file_or_uri, passphrase);
  }
  return load_token_key(file_or_uri, passphrase);
}

}  // namespace assay::attestation::pkcs11
