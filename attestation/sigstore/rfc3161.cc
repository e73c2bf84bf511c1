// SPDX-License-Identifier: Apache-2.0
// Timestamps of RFC 3161, through OpenSSL's TS and PKCS #7.
#include "attestation/sigstore/rfc3161.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <openssl/pkcs7.h>
#include <openssl/ts.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/x509/handles.h"
#include "attestation/x509/path.h"

namespace assay::attestation::sigstore {
namespace {

using ResponseHandle = Handle<TS_RESP, TS_RESP_free>;

constexpr long kTimestampVersion = 1;

std::unexpected<Error> bad_timestamp(const std::string& why) {
  return fail(ErrorCode::kTimestampInvalid, why);
}

// RFC 3161 section 2.4.2: granted, or granted with modifications.
bool is_granted(TS_RESP* response) {
  const ASN1_INTEGER* status = TS_STATUS_INFO_get0_status(TS_RESP_get_status_info(response));
  const long value = ASN1_INTEGER_get(status);
  return value == TS_STATUS_GRANTED || value == TS_STATUS_GRANTED_WITH_MODS;
}

// The hash that an algorithm identifier names; null unless it is accepted.
const EVP_MD* accepted_hash(const X509_ALGOR* algorithm) {
  const ASN1_OBJECT* object = nullptr;
  X509_ALGOR_get0(&object, nullptr, nullptr, algorithm);
  switch (OBJ_obj2nid(object)) {
    case NID_sha256:
      return EVP_sha256();
    case NID_sha384:
      return EVP_sha384();
    case NID_sha512:
      return EVP_sha512();
    default:
      return nullptr;
  }
}

// RFC 3161 section 2.4.2: the imprint is the hash of what was timestamped.
Status check_imprint(TS_TST_INFO* info, ByteView message) {
  TS_MSG_IMPRINT* imprint = TS_TST_INFO_get_msg_imprint(info);
  const EVP_MD* hash = accepted_hash(TS_MSG_IMPRINT_get_algo(imprint));
  if (hash == nullptr) {
    return bad_timestamp("the timestamp is over a hash that is not accepted");
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
  unsigned int size = 0;
  const int done = EVP_Digest(message.data(), message.size(), value.data(), &size, hash, nullptr);
  if (ASSAY_NO_MEMORY(done != 1)) {
    return bad_timestamp("the imprint could not be computed");
  }
  const ASN1_OCTET_STRING* stated = TS_MSG_IMPRINT_get_msg(imprint);
  const ByteView bytes(ASN1_STRING_get0_data(stated),
                       static_cast<std::size_t>(ASN1_STRING_length(stated)));
  if (!std::ranges::equal(bytes, ByteView(value.data(), size))) {
    return bad_timestamp("the timestamp is over other bytes than this signature");
  }
  return {};
}

// RFC 5280 section 4.2 for the extensions of TSTInfo: none is known, so none may be critical.
bool has_critical_extension(TS_TST_INFO* info) {
  for (int i = 0; i < TS_TST_INFO_get_ext_count(info); ++i) {
    if (X509_EXTENSION_get_critical(TS_TST_INFO_get_ext(info, i)) != 0) {
      return true;
    }
  }
  return false;
}

// The one signer of the token must sign with an accepted hash.
Status check_signer_info(PKCS7* token) {
  STACK_OF(PKCS7_SIGNER_INFO)* signers = PKCS7_get_signer_info(token);
  if (signers == nullptr || sk_PKCS7_SIGNER_INFO_num(signers) != 1) {
    return bad_timestamp("a timestamp has one signer");
  }
  X509_ALGOR* hash = nullptr;
  PKCS7_SIGNER_INFO_get0_algs(sk_PKCS7_SIGNER_INFO_value(signers, 0), nullptr, &hash, nullptr);
  return accepted_hash(hash) != nullptr
             ? Status()
             : bad_timestamp("the timestamp is signed with a hash that is not accepted");
}

// The certificate of the signer: the authority's, or, where the root names CAs alone, one in the
// token.
Result<x509::Certificate> signer_of(PKCS7* token, const Authority& authority) {
  const x509::BorrowedStack known(sk_X509_new_null());
  if (ASSAY_NO_MEMORY(known == nullptr)) {
    return bad_timestamp("the timestamp could not be checked");
  }
  if (authority.leaf) {
    const int pushed = sk_X509_push(known.get(), x509::x509_of(*authority.leaf));
    if (ASSAY_NO_MEMORY(pushed <= 0)) {
      return bad_timestamp("the timestamp could not be checked");
    }
  }
  const int flags = authority.leaf ? PKCS7_NOINTERN : 0;
  const x509::BorrowedStack signers(PKCS7_get0_signers(token, known.get(), flags));
  if (signers == nullptr || sk_X509_num(signers.get()) != 1) {
    return bad_timestamp("the timestamp is not by the certificate of the authority");
  }
  return authority.leaf ? *authority.leaf : x509::certificate_of(sk_X509_value(signers.get(), 0));
}

// Verifies the signature of the token by `signer`, whose path was verified: it alone is trusted
// here. RFC 3161 section 2.4.2 and RFC 5816: the token names the signer's certificate.
Status verify_token(PKCS7* token, const x509::Certificate& signer) {
  const x509::StoreHandle store(X509_STORE_new());
  const x509::BorrowedStack known(sk_X509_new_null());
  if (ASSAY_NO_MEMORY(store == nullptr || known == nullptr)) {
    return bad_timestamp("the timestamp could not be checked");
  }
  constexpr unsigned long kFlags = X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME;
  const bool ready = X509_STORE_add_cert(store.get(), x509::x509_of(signer)) == 1 &&
                     X509_STORE_set_flags(store.get(), kFlags) == 1 &&
                     sk_X509_push(known.get(), x509::x509_of(signer)) > 0;
  if (ASSAY_NO_MEMORY(!ready)) {
    return bad_timestamp("the timestamp could not be checked");
  }
  X509* used = nullptr;
  const int verified = TS_RESP_verify_signature(token, known.get(), store.get(), &used);
  const x509::X509Handle owner(used);
  if (verified != 1 || used == nullptr || X509_cmp(used, x509::x509_of(signer)) != 0) {
    return bad_timestamp("the signature of the timestamp does not verify");
  }
  return {};
}

Status verify_by(PKCS7* token, const Authority& authority, Timestamp time) {
  ASSAY_ASSIGN(const x509::Certificate signer, signer_of(token, authority));
  const auto path = x509::verify_path(signer, authority.intermediates, authority.anchors,
                                      {.time = time,
                                       .purpose = x509::kTimeStamping,
                                       .allow_non_repudiation = true,
                                       .require_key_usage = false});
  if (!path) {
    return bad_timestamp(path.error().detail);
  }
  return verify_token(token, signer);
}

struct Opened {
  ResponseHandle response;
  PKCS7* token;  // of the response
  Timestamp time;
};

// Certificates beside the timestamp keep their keys undecoded: none of these keys is used.
ResponseHandle parse_response(ByteView der) {
  const x509::WithoutDecoders guard;
  const unsigned char* next = der.data();
  ResponseHandle response(d2i_TS_RESP(nullptr, &next, static_cast<long>(der.size())));
  return next == der.data() + der.size() ? std::move(response) : nullptr;
}

// Reads a response and checks everything but its signature.
Result<Opened> open_response(ByteView der, ByteView message) {
  ResponseHandle response = parse_response(der);
  if (response == nullptr) {
    return bad_timestamp("not one TimeStampResp of RFC 3161");
  }
  PKCS7* token = TS_RESP_get_token(response.get());
  TS_TST_INFO* info = TS_RESP_get_tst_info(response.get());
  if (!is_granted(response.get()) || token == nullptr || info == nullptr) {
    return bad_timestamp("the authority did not grant the timestamp");
  }
  if (TS_TST_INFO_get_version(info) != kTimestampVersion || has_critical_extension(info)) {
    return bad_timestamp("the timestamp has a version or an extension that is not known");
  }
  ASSAY_TRY(check_imprint(info, message));
  ASSAY_TRY(check_signer_info(token));
  const std::optional<Timestamp> time = x509::to_timestamp(TS_TST_INFO_get_time(info));
  if (!time) {
    return bad_timestamp("the time of the timestamp cannot be read");
  }
  return Opened{std::move(response), token, *time};
}

}  // namespace

Result<VerifiedTimestamp> verify_timestamp(ByteView response, ByteView message,
                                           std::span<const Authority> authorities) {
  const ErrorQueueGuard guard;
  ASSAY_ASSIGN(const Opened opened, open_response(response, message));
  Status last = bad_timestamp("no timestamp authority of the trusted root counts at the time " +
                              to_rfc3339(opened.time));
  for (const Authority& authority : authorities) {
    if (!authority.valid_for.contains(opened.time)) {
      continue;
    }
    last = verify_by(opened.token, authority, opened.time);
    if (last) {
      return VerifiedTimestamp{opened.time, authority.uri};
    }
  }
  return std::unexpected(std::move(last).error());
}

}  // namespace assay::attestation::sigstore
