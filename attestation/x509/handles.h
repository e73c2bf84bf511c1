// SPDX-License-Identifier: Apache-2.0
// Owners of OpenSSL's X.509 objects, and the object inside a Certificate. Internal to this folder
// and to rooms that verify with OpenSSL (attestation/sigstore): included by their .cc files only.
#pragma once

#include <optional>
#include <string>

#include <openssl/asn1.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "attestation/crypto/openssl_handles.h"
#include "attestation/x509/certificate.h"

namespace assay::attestation::x509 {

using X509Handle = Handle<X509, X509_free>;
using StoreHandle = Handle<X509_STORE, X509_STORE_free>;
using StoreContextHandle = Handle<X509_STORE_CTX, X509_STORE_CTX_free>;
using VerifyParamHandle = Handle<X509_VERIFY_PARAM, X509_VERIFY_PARAM_free>;
using ObjectHandle = Handle<ASN1_OBJECT, ASN1_OBJECT_free>;
using StringHandle = Handle<ASN1_STRING, ASN1_STRING_free>;
using ExtendedKeyUsageHandle = Handle<EXTENDED_KEY_USAGE, EXTENDED_KEY_USAGE_free>;
using GeneralNamesHandle = Handle<GENERAL_NAMES, GENERAL_NAMES_free>;

// A stack that borrows its certificates.
inline void free_stack(STACK_OF(X509) * stack) { sk_X509_free(stack); }
using BorrowedStack = Handle<STACK_OF(X509), free_stack>;

// Returns OpenSSL's object, borrowed. OpenSSL counts references and caches extensions in an object
// that is otherwise not changed, hence no const.
[[nodiscard]] X509* x509_of(const Certificate& certificate);
// The same without the key, which takes longer to decode than all the rest: for names and
// extensions.
[[nodiscard]] X509* bare_x509_of(const Certificate& certificate);

// While it lives, OpenSSL has no decoders on this thread: what is parsed keeps its keys undecoded.
// Only for calls of d2i functions; afterwards the objects are used as any others.
class WithoutDecoders {
 public:
  WithoutDecoders();
  ~WithoutDecoders();
  WithoutDecoders(const WithoutDecoders&) = delete;
  WithoutDecoders& operator=(const WithoutDecoders&) = delete;

 private:
  OSSL_LIB_CTX* previous_;
};

// Parses exactly one certificate without its key. Null when it cannot be read.
[[nodiscard]] X509Handle parse_without_key(ByteView der);

// Makes a certificate of `x509`, from its encoding. Errors: as Certificate::from_der().
[[nodiscard]] Result<Certificate> certificate_of(const X509* x509);

// Returns a time in whole seconds. Nothing when it is not well-formed.
[[nodiscard]] std::optional<Timestamp> to_timestamp(const ASN1_TIME* time);

// Returns the dotted form of `object`, such as "1.3.6.1.5.5.7.3.3". Empty when it has none.
[[nodiscard]] std::string dotted(const ASN1_OBJECT* object);

}  // namespace assay::attestation::x509
