// SPDX-License-Identifier: Apache-2.0
#include "attestation/pkcs11/token.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <vector>

// The header's C++ names, without the macros of the compatible ones.
#define CRYPTOKI_GNU
#include <p11-kit/pkcs11.h>

#include "attestation/crypto/ecdsa_signature.h"
#include "attestation/crypto/openssl_handles.h"

namespace assay::attestation::pkcs11 {
namespace {

using Functions = ck_function_list;

constexpr std::size_t kMaxSlots = 256;
constexpr unsigned char kVersion = 2;  // major version of the functions that are used here

// Said of every failure that the caller did not cause.
std::unexpected<Error> failed(const char* what, ck_rv_t code) {
  std::array<char, 20> hex{};
  std::snprintf(hex.data(), hex.size(), "0x%lx", code);
  return fail(ErrorCode::kUnavailable, std::string("the token fails (") + what + ", CKR " +
                                           hex.data() + "); is it there, and connected?");
}

std::unexpected<Error> unusable(std::string why) {
  return fail(ErrorCode::kKeyUnusable, std::move(why));
}

// PKCS#11 pads texts with spaces.
template <std::size_t N>
std::string text_of(const unsigned char (&padded)[N]) {
  std::string text(reinterpret_cast<const char*>(padded), N);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

Result<Functions*> load_module(const std::string& path) {
  // Never closed: modules start threads of their own, and a second key may use the same one.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(ErrorCode::kKeyUnusable,
                "the PKCS#11 module cannot be loaded; module-path names the library of the token",
                path);
  }
  void* const found = ::dlsym(library, "C_GetFunctionList");
  if (found == nullptr) {
    return fail(ErrorCode::kKeyUnusable, "this library is no PKCS#11 module", path);
  }
  using Get = ck_rv_t (*)(Functions**);
  Functions* functions = nullptr;
  const ck_rv_t got = reinterpret_cast<Get>(found)(&functions);
  if (got != CKR_OK || functions == nullptr || functions->version.major != kVersion) {
    return fail(ErrorCode::kKeyUnusable, "this is no PKCS#11 module of version 2", path);
  }
  ck_c_initialize_args arguments{};
  arguments.flags = CKF_OS_LOCKING_OK;
  const ck_rv_t ready = functions->C_Initialize(&arguments);
  if (ready != CKR_OK && ready != CKR_CRYPTOKI_ALREADY_INITIALIZED) {
    return failed("C_Initialize", ready);
  }
  return functions;
}

struct Slot {
  ck_slot_id_t id = 0;
  ck_token_info token{};
};

bool matches(const Uri& uri, const ck_token_info& token) {
  const auto fits = [](const std::string& wanted, const std::string& has) {
    return wanted.empty() || wanted == has;
  };
  return (token.flags & CKF_TOKEN_INITIALIZED) != 0 && fits(uri.token, text_of(token.label)) &&
         fits(uri.manufacturer, text_of(token.manufacturer_id)) &&
         fits(uri.model, text_of(token.model)) && fits(uri.serial, text_of(token.serial_number));
}

Result<Slot> find_slot(Functions& functions, const Uri& uri) {
  std::array<ck_slot_id_t, kMaxSlots> ids{};
  unsigned long count = ids.size();
  const ck_rv_t listed = functions.C_GetSlotList(1, ids.data(), &count);
  if (listed != CKR_OK || count > ids.size()) {
    return failed("C_GetSlotList", listed);
  }
  std::optional<Slot> found;
  for (unsigned long i = 0; i < count; ++i) {
    Slot slot{ids[i], {}};
    if (functions.C_GetTokenInfo(slot.id, &slot.token) != CKR_OK || !matches(uri, slot.token)) {
      continue;
    }
    if (found) {
      return unusable("several tokens match; name one with serial=");
      return unusable("several tokens match; name one with serial=");
    }
    found = slot;
  }
  if (!found) {
    return unusable("no token of this module matches");
  }
  return *found;
}

Status log_in(Functions& functions, ck_session_handle_t session, const Slot& slot,
              const SecretBytes& pin) {
  const unsigned long flags = slot.token.flags;
  if ((flags & CKF_LOGIN_REQUIRED) == 0) {
    return {};
  }
  if (pin.empty()) {
    return unusable(
        "the token wants a PIN: give pin-source=/path of a file of mode 0600 in the URI, or the "
        "PIN "
        "as the passphrase (--passphrase-file of assay, passphrase_file in the configuration of "
        "assayd)");
  }
  if ((flags & CKF_USER_PIN_LOCKED) != 0) {
    return unusable("the PIN of the token is locked; unlock it with the token's own tool");
  }
  if ((flags & CKF_USER_PIN_FINAL_TRY) != 0) {
    return unusable(
        "one more wrong PIN would lock the token; log in once with the token's own tool first");
  }
  Bytes copy(pin.view().begin(), pin.view().end());
  const ck_rv_t done = functions.C_Login(session, CKU_USER, copy.data(), copy.size());
  secure_wipe(copy);
  if (done == CKR_OK || done == CKR_USER_ALREADY_LOGGED_IN) {
    return {};
  }
  if (done == CKR_PIN_INCORRECT || done == CKR_PIN_INVALID || done == CKR_PIN_LEN_RANGE) {
    return unusable(std::string(kPinRefused));
  }
  if (done == CKR_PIN_LOCKED || done == CKR_PIN_EXPIRED || done == CKR_USER_PIN_NOT_INITIALIZED) {
    return unusable("the PIN of the token is locked, expired or not set; see its own tool");
  }
  return failed("C_Login", done);
}

using Handles = std::vector<ck_object_handle_t>;

// The objects of a token, in one session.
class Objects {
 public:
  Objects(Functions& functions, ck_session_handle_t session)
      : functions_(functions), session_(session) {}

  // Finds up to three objects of a class, or of any class, with this label and id.
  [[nodiscard]] Result<Handles> find(std::optional<ck_object_class_t> wanted,
                                     const std::string& label, const Bytes& id) const {
    std::vector<ck_attribute> attributes;
    ck_object_class_t object_class = wanted.value_or(0);
    std::string label_copy = label;
    Bytes id_copy = id;
    if (wanted) {
      attributes.push_back({CKA_CLASS, &object_class, sizeof(object_class)});
    }
    if (!label.empty()) {
      attributes.push_back({CKA_LABEL, label_copy.data(), label_copy.size()});
    }
    if (!id.empty()) {
      attributes.push_back({CKA_ID, id_copy.data(), id_copy.size()});
    }
    const ck_rv_t begun =
        functions_.C_FindObjectsInit(session_, attributes.data(), attributes.size());
    if (begun != CKR_OK) {
      return failed("C_FindObjectsInit", begun);
    }
    Handles found(3);
    unsigned long count = 0;
    const ck_rv_t done = functions_.C_FindObjects(session_, found.data(), found.size(), &count);
    functions_.C_FindObjectsFinal(session_);
    if (done != CKR_OK) {
      return failed("C_FindObjects", done);
    }
    found.resize(std::min<std::size_t>(count, found.size()));
    return found;
  }

  // Empty for an attribute that the object does not have, or does not show.
  [[nodiscard]] Bytes bytes_of(ck_object_handle_t object, ck_attribute_type_t type) const {
    Bytes value(kMaxAttribute);
    ck_attribute attribute{type, value.data(), value.size()};
    const ck_rv_t done = functions_.C_GetAttributeValue(session_, object, &attribute, 1);
    value.resize(done == CKR_OK ? std::min<std::size_t>(attribute.value_len, value.size()) : 0);
    return value;
  }

  template <typename T>
  [[nodiscard]] std::optional<T> number_of(ck_object_handle_t object,
                                           ck_attribute_type_t type) const {
    T value{};
    ck_attribute attribute{type, &value, sizeof(value)};
    const ck_rv_t done = functions_.C_GetAttributeValue(session_, object, &attribute, 1);
    return done == CKR_OK && attribute.value_len == sizeof(value) ? std::optional(value)
                                                                  : std::nullopt;
  }

 private:
  Functions& functions_;
  ck_session_handle_t session_;
};

Result<ck_object_handle_t> find_private(const Objects& objects, const Uri& uri) {
  ASSAY_ASSIGN(const Handles keys, objects.find(CKO_PRIVATE_KEY, uri.object, uri.id));
  if (keys.size() == 1) {
    return keys.front();
  }
  if (!keys.empty()) {
    return unusable(
        "several private keys match; name one with its id=, and give each key an id of "
        "its own");
  }
  ASSAY_ASSIGN(const Handles others, objects.find(std::nullopt, uri.object, uri.id));
  return unusable(others.empty() ? "the token has no such object"
                                 : "the token has such an object, and it is no private key");
}

Status check_usable(const Objects& objects, ck_object_handle_t key) {
  constexpr ck_key_type_t kEdwards = 0x40;  // CKK_EC_EDWARDS of version 3.0
  const auto type = objects.number_of<ck_key_type_t>(key, CKA_KEY_TYPE);
  if (type == kEdwards) {
    return fail(ErrorCode::kUnsupportedKey,
                "Ed25519 keys of tokens are not used here; take a key on P-256 or P-384, or an RSA "
                "key");
  }
  if (type != CKK_EC && type != CKK_RSA) {
    return fail(ErrorCode::kUnsupportedKey, "keys of tokens are ECDSA or RSA");
  }
  if (objects.number_of<unsigned char>(key, CKA_SIGN) != std::optional<unsigned char>(1)) {
    return unusable("the token does not let this key sign (CKA_SIGN)");
  }
  if (objects.number_of<unsigned char>(key, CKA_ALWAYS_AUTHENTICATE).value_or(0) != 0) {
    return unusable("the token wants the PIN for each signature (CKA_ALWAYS_AUTHENTICATE)");
  }
  return {};
}

// The point of CKA_EC_POINT: in DER, as the standard says, or bare, as some tokens have it.
Bytes point_of(const Bytes& value) {
  const unsigned char* next = value.data();
  const Handle<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free> wrapped(
      d2i_ASN1_OCTET_STRING(nullptr, &next, static_cast<long>(value.size())));
  if (wrapped == nullptr || next != value.data() + value.size()) {
    return value;
  }
  const unsigned char* const content = ASN1_STRING_get0_data(wrapped.get());
  return {content, content + ASN1_STRING_length(wrapped.get())};
}

Result<PublicKey> read_ec(const Objects& objects, ck_object_handle_t half) {
  const Bytes point = point_of(objects.bytes_of(half, CKA_EC_POINT));
  const std::size_t size = point.empty() ? 0 : (point.size() - 1) / 2;
  if (size == 0 || point.size() != 1 + 2 * size || point.front() != 0x04) {
    return unusable("the token does not show the public half of the key");
  }
  const ByteView coordinates = ByteView(point).subspan(1);
  auto key = PublicKey::from_point(coordinates.first(size), coordinates.last(size));
  if (!key) {
    return fail(ErrorCode::kUnsupportedKey, "ECDSA keys are on P-256, P-384 or P-521");
  }
  return key;
}

Result<PublicKey> read_rsa(const Objects& objects, ck_object_handle_t half) {
  const ErrorQueueGuard guard;
  const Bytes n = objects.bytes_of(half, CKA_MODULUS);
  const Bytes e = objects.bytes_of(half, CKA_PUBLIC_EXPONENT);
  if (n.empty() || e.empty()) {
    return unusable("the token does not show the public half of the key");
  }
  return PublicKey::from_rsa({n, e});
}

// The public half is an object of its own, under the id or the label of the private key. RSA keys
// often have it in both.
Result<PublicKey> read_public(const Objects& objects, ck_object_handle_t key) {
  const bool rsa = objects.number_of<ck_key_type_t>(key, CKA_KEY_TYPE) == CKK_RSA;
  const Bytes id = objects.bytes_of(key, CKA_ID);
  const Bytes label = objects.bytes_of(key, CKA_LABEL);
  ASSAY_ASSIGN(const Handles halves,
               objects.find(CKO_PUBLIC_KEY, id.empty() ? std::string(as_text(label)) : "", id));
  if (halves.size() > 1) {
    return unusable("several public keys have the id of the private key");
  }
  const ck_object_handle_t half = halves.empty() ? key : halves.front();
  return rsa ? read_rsa(objects, half) : read_ec(objects, half);
}

class OpenKey final : public TokenKey {
 public:
  OpenKey(Functions& functions, ck_session_handle_t session)
      : functions_(functions), session_(session) {}
  OpenKey(const OpenKey&) = delete;
  OpenKey& operator=(const OpenKey&) = delete;
  ~OpenKey() override { functions_.C_CloseSession(session_); }

  // What open() does once there is a session.
  Status begin(const Uri& uri, const Slot& slot, const SecretBytes& pin) {
    ASSAY_TRY(log_in(functions_, session_, slot, pin));
    const Objects objects(functions_, session_);
    ASSAY_ASSIGN(key_, find_private(objects, uri));
    ASSAY_TRY(check_usable(objects, key_));
    ASSAY_ASSIGN(PublicKey half, read_public(objects, key_));
    public_key_ = std::move(half);
    const ByteView message = as_bytes("assay/token-key/v1");
    ASSAY_ASSIGN(const Bytes signature, sign(message));
    if (!public_key_->verify(message, signature)) {
      return unusable("the private and the public half of the key do not belong together");
    }
    return {};
  }

  [[nodiscard]] const PublicKey& public_key() const override { return *public_key_; }

  [[nodiscard]] Result<Bytes> sign(ByteView message) const override {
    const SignatureScheme scheme = public_key_->scheme();
    Bytes hash(size_of(scheme.hash));
    if (EVP_Q_digest(nullptr, openssl_name(scheme.hash), nullptr, message.data(), message.size(),
                     hash.data(), nullptr) != 1) {
      return fail(ErrorCode::kInternal, "the message cannot be hashed");
    }
    // PKCS#11 2.40, section 2.1.10: RSASSA-PSS over a hash, with its salt as long as the hash. The
    // scheme of RSA keys has SHA-256.
    ck_rsa_pkcs_pss_params pss{CKM_SHA256, CKG_MGF1_SHA256, hash.size()};
    const std::size_t scalar_bytes = coordinate_bytes(row_of(scheme.algorithm));
    ck_mechanism mechanism{CKM_ECDSA, nullptr, 0};
    if (scalar_bytes == 0) {
      mechanism = {CKM_RSA_PKCS_PSS, &pss, sizeof(pss)};
    }
    ASSAY_ASSIGN(Bytes signature, sign_hash(mechanism, hash));
    if (scalar_bytes != 0) {
      signature = der_signature(signature, scalar_bytes);
    }
    if (signature.empty()) {
      return fail(ErrorCode::kUnavailable, "the token made no signature");
    }
    return signature;
  }

  [[nodiscard]] Status check() const override {
    const std::lock_guard lock(mutex_);
    ck_session_info info{};
    const ck_rv_t done = functions_.C_GetSessionInfo(session_, &info);
    return done == CKR_OK ? Status() : Status(failed("C_GetSessionInfo", done));
  }

 private:
  [[nodiscard]] Result<Bytes> sign_hash(ck_mechanism& mechanism, Bytes& hash) const {
    const std::lock_guard lock(mutex_);
    const ck_rv_t begun = functions_.C_SignInit(session_, &mechanism, key_);
    if (begun != CKR_OK) {
      return failed("C_SignInit", begun);
    }
    Bytes signature(kRsaMaxBits / 8);
    unsigned long size = signature.size();
    const ck_rv_t done =
        functions_.C_Sign(session_, hash.data(), hash.size(), signature.data(), &size);
    if (done != CKR_OK || size > signature.size()) {
      return failed("C_Sign", done);
    }
    signature.resize(size);
    return signature;
  }

  Functions& functions_;
  ck_session_handle_t session_;
  ck_object_handle_t key_ = 0;
  std::optional<PublicKey> public_key_;
  mutable std::mutex mutex_;
};

}  // namespace

Result<std::unique_ptr<TokenKey>> TokenKey::open(const Uri& uri, const SecretBytes& pin) {
  if (uri.module_path.empty()) {
    return unusable(
        "which library is the token's? Give module-path=/path/of/the/module.so in the URI, or set "
        "PKCS11_MODULE_PATH");
  }
  ASSAY_ASSIGN(Functions* const functions, load_module(uri.module_path));
  ASSAY_ASSIGN(const Slot slot, find_slot(*functions, uri));
  ck_session_handle_t handle = 0;
  const ck_rv_t opened =
      functions->C_OpenSession(slot.id, CKF_SERIAL_SESSION, nullptr, nullptr, &handle);
  if (opened != CKR_OK) {
    return failed("C_OpenSession", opened);
  }
  auto key = std::make_unique<OpenKey>(*functions, handle);
  ASSAY_TRY(key->begin(uri, slot, pin));
  return key;
}

}  // namespace assay::attestation::pkcs11
