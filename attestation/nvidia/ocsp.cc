// SPDX-License-Identifier: Apache-2.0
// OCSP answers; OpenSSL reads the ASN.1 and makes the CertIDs.
#include "attestation/nvidia/ocsp.h"

#include <algorithm>

#include <openssl/ocsp.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/x509/handles.h"
#include "attestation/x509/path.h"

namespace assay::attestation::nvidia {
namespace {

using ResponseHandle = Handle<OCSP_RESPONSE, OCSP_RESPONSE_free>;
using CertIdHandle = Handle<OCSP_CERTID, OCSP_CERTID_free>;

std::unexpected<Failure> bad_answer(std::string why) {
  return reject(NvidiaError::kOcspFormat, {}, std::move(why));
}

// The times of one answer. OpenSSL's tables of errors are not asked: a time is there or not.
struct Times {
  Timestamp this_update;
  std::optional<Timestamp> next_update;
};

std::optional<Times> times_of(OCSP_SINGLERESP* single) {
  int reason = 0;
  ASN1_GENERALIZEDTIME* revoked = nullptr;
  ASN1_GENERALIZEDTIME* this_update = nullptr;
  ASN1_GENERALIZEDTIME* next_update = nullptr;
  static_cast<void>(OCSP_single_get0_status(single, &reason, &revoked, &this_update, &next_update));
  const auto begun = this_update == nullptr ? std::nullopt : x509::to_timestamp(this_update);
  if (!begun) {
    return std::nullopt;
  }
  if (next_update == nullptr) {
    return Times{*begun, std::nullopt};
  }
  const auto ended = x509::to_timestamp(next_update);
  return ended && *ended >= *begun ? std::optional(Times{*begun, ended}) : std::nullopt;
}

bool has_critical_extension(OCSP_SINGLERESP* single) {
  return OCSP_SINGLERESP_get_ext_by_critical(single, 1, -1) >= 0;
}

Outcome check_answers(OCSP_BASICRESP* basic) {
  const int count = OCSP_resp_count(basic);
  if (count < 1 || count > static_cast<int>(kMaxOcspAnswers)) {
    return bad_answer("a number of answers that is not read here");
  }
  if (OCSP_BASICRESP_get_ext_by_critical(basic, 1, -1) >= 0) {
    return bad_answer("a critical extension");
  }
  for (int i = 0; i < count; ++i) {
    OCSP_SINGLERESP* single = OCSP_resp_get0(basic, i);
    if (has_critical_extension(single) || !times_of(single)) {
      return bad_answer("an answer with a critical extension, or without times");
    }
  }
  return {};
}

bool is_about(OCSP_SINGLERESP* single, const x509::Certificate& certificate,
              const x509::Certificate& issuer) {
  // The hash only finds the certificate: names and keys are compared by it, not signed with it.
  for (const EVP_MD* hash : {EVP_sha1(), EVP_sha256(), EVP_sha384()}) {
    const CertIdHandle id(
        OCSP_cert_to_id(hash, x509::bare_x509_of(certificate), x509::bare_x509_of(issuer)));
    if (id != nullptr && OCSP_id_cmp(id.get(), OCSP_SINGLERESP_get0_id(single)) == 0) {
      return true;
    }
  }
  return false;
}

struct OcspSigner {
  x509::Certificate certificate;
  Timestamp until;
};

// RFC 6960 section 4.2.2.2: the issuer, or somebody whom it named directly.
Checked<OcspSigner> signer_of(OCSP_BASICRESP* basic, const x509::Certificate& issuer) {
  const x509::BorrowedStack known(sk_X509_new_null());
  const int pushed = known == nullptr ? 0 : sk_X509_push(known.get(), x509::bare_x509_of(issuer));
  if (ASSAY_NO_MEMORY(pushed <= 0)) {
    return reject(NvidiaError::kOcspSigner);
  }
  X509* found = nullptr;
  if (OCSP_resp_get0_signer(basic, &found, known.get()) != 1 || found == nullptr) {
    return reject(NvidiaError::kOcspSigner, "the signer's certificate");
  }
  auto signer = x509::certificate_of(found);
  if (!signer) {
    return reject(NvidiaError::kOcspSigner, {}, signer.error().detail);
  }
  if (*signer == issuer) {
    return OcspSigner{*signer, signer->not_after()};
  }
  const Timestamp begun = std::max(signer->not_before(), issuer.not_before());
  const auto path =
      x509::verify_path(*signer, {}, std::span(&issuer, 1),
                        {.time = begun, .purpose = kOcspSigning, .require_key_usage = false});
  if (!path) {
    return reject(NvidiaError::kOcspSigner, {}, path.error().detail);
  }
  return OcspSigner{*signer, std::min(signer->not_after(), issuer.not_after())};
}

bool is_strong(const X509_ALGOR* algorithm) {
  const ASN1_OBJECT* object = nullptr;
  X509_ALGOR_get0(&object, nullptr, nullptr, algorithm);
  switch (OBJ_obj2nid(object)) {
    case NID_ecdsa_with_SHA256:
    case NID_ecdsa_with_SHA384:
    case NID_ecdsa_with_SHA512:
    case NID_sha256WithRSAEncryption:
    case NID_sha384WithRSAEncryption:
    case NID_sha512WithRSAEncryption:
      return true;
    default:
      return false;
  }
}

Outcome verify_signature(OCSP_BASICRESP* basic, const x509::Certificate& signer) {
  const X509_ALGOR* algorithm = OCSP_resp_get0_tbs_sigalg(basic);
  EVP_PKEY* key = X509_get0_pubkey(x509::x509_of(signer));
  // ASN1_item_verify() changes neither of them.
  if (!is_strong(algorithm) || key == nullptr ||
      ASN1_item_verify(ASN1_ITEM_rptr(OCSP_RESPDATA), const_cast<X509_ALGOR*>(algorithm),
                       const_cast<ASN1_OCTET_STRING*>(OCSP_resp_get0_signature(basic)),
                       const_cast<OCSP_RESPDATA*>(OCSP_resp_get0_respdata(basic)), key) != 1) {
    return reject(NvidiaError::kOcspSignature);
  }
  return {};
}

OcspStatus read_status(OCSP_SINGLERESP* single, Timestamp signer_until) {
  int reason = OCSP_REVOKED_STATUS_NOSTATUS;
  const int state = OCSP_single_get0_status(single, &reason, nullptr, nullptr, nullptr);
  const Times times = *times_of(single);  // parse() has read them
  OcspStatus status{
      CertificateState::kUnknown, {}, times.this_update, times.next_update, signer_until};
  if (state == V_OCSP_CERTSTATUS_GOOD) {
    status.state = CertificateState::kGood;
  } else if (state == V_OCSP_CERTSTATUS_REVOKED) {
    status.state = reason == OCSP_REVOKED_STATUS_CERTIFICATEHOLD ? CertificateState::kHold
                                                                 : CertificateState::kRevoked;
    status.reason = reason < 0 ? "" : OCSP_crl_reason_str(reason);
  }
  return status;
}

// How bad a state is: of answers that contradict each other the worst counts.
int severity(CertificateState state) {
  switch (state) {
    case CertificateState::kGood:
      return 0;
    case CertificateState::kHold:
      return 2;
    case CertificateState::kRevoked:
      return 3;
    default:
      return 1;
  }
}

// The end of an answer, without the grace.
Timestamp end_of(const OcspStatus& status, const OcspWindow& window) {
  const Timestamp end =
      status.next_update ? *status.next_update : status.this_update + window.without_next;
  return std::min(end, status.signer_until);
}

bool counts(const OcspStatus& status, Timestamp now, const OcspWindow& window) {
  return status.this_update <= now + window.clock_difference &&
         now <= end_of(status, window) + window.grace;
}

}  // namespace

std::string_view name(CertificateState state) {
  switch (state) {
    case CertificateState::kGood:
      return "good";
    case CertificateState::kHold:
      return "hold";
    case CertificateState::kRevoked:
      return "revoked";
    case CertificateState::kUnknown:
      return "unknown";
    default:
      return "missing";
  }
}

Checked<OcspResponse> OcspResponse::parse(ByteView der) {
  const ErrorQueueGuard guard;
  if (der.size() > kMaxOcspBytes) {
    return reject(NvidiaError::kInputTooLarge, std::to_string(kMaxOcspBytes) + " bytes",
                  std::to_string(der.size()) + " bytes");
  }
  const unsigned char* next = der.data();
  const ResponseHandle response(
      der.empty() ? nullptr : d2i_OCSP_RESPONSE(nullptr, &next, static_cast<long>(der.size())));
  if (response == nullptr || next != der.data() + der.size()) {
    return bad_answer("not one DER response");
  }
  if (OCSP_response_status(response.get()) != OCSP_RESPONSE_STATUS_SUCCESSFUL) {
    return bad_answer("the responder had no answer");
  }
  std::shared_ptr<OCSP_BASICRESP> basic;
  {
    const x509::WithoutDecoders without;  // keys are decoded when one is needed
    basic = {OCSP_response_get1_basic(response.get()), OCSP_BASICRESP_free};
  }
  if (basic == nullptr) {
    return bad_answer("no basic response");
  }
  if (auto checked = check_answers(basic.get()); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  return OcspResponse(std::move(basic));
}

Checked<std::optional<OcspStatus>> status_of(const OcspResponse& response,
                                             const x509::Certificate& certificate,
                                             const x509::Certificate& issuer) {
  const ErrorQueueGuard guard;
  OCSP_BASICRESP* basic = response.basic();
  std::optional<OcspStatus> worst;
  for (int i = 0; i < OCSP_resp_count(basic); ++i) {
    OCSP_SINGLERESP* single = OCSP_resp_get0(basic, i);
    if (!is_about(single, certificate, issuer)) {
      continue;
    }
    auto status = read_status(single, certificate.not_after());
    // Two answers about one certificate: nobody says which counts, so the worse one does.
    if (!worst || severity(status.state) > severity(worst->state)) {
      worst = std::move(status);
    }
  }
  if (!worst) {
    return std::optional<OcspStatus>();
  }
  const auto signer = signer_of(basic, issuer);
  if (!signer) {
    return std::unexpected(signer.error());
  }
  if (auto verified = verify_signature(basic, signer->certificate); !verified) {
    return std::unexpected(std::move(verified).error());
  }
  worst->signer_until = signer->until;
  return worst;
}

std::vector<std::vector<OcspStatus>> statuses_of(std::span<const x509::Certificate> chain,
                                                 std::span<const OcspResponse> responses) {
  std::vector<std::vector<OcspStatus>> all;
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    std::vector<OcspStatus>& statuses = all.emplace_back();
    for (const OcspResponse& response : responses) {
      auto status = status_of(response, chain[i], chain[i + 1]);
      if (status && *status) {
        statuses.push_back(**std::move(status));
      }
    }
  }
  return all;
}

JudgedStatus judge_status(std::span<const OcspStatus> statuses, Timestamp now,
                          const OcspWindow& window) {
  const OcspStatus* newest = nullptr;
  for (const OcspStatus& status : statuses) {
    if (status.state == CertificateState::kRevoked) {
      return {CertificateState::kRevoked, status.reason, std::nullopt};
    }
    // Of two answers of one time the worse one counts.
    if (counts(status, now, window) &&
        (newest == nullptr || status.this_update > newest->this_update ||
         (status.this_update == newest->this_update &&
          severity(status.state) > severity(newest->state)))) {
      newest = &status;
    }
  }
  if (newest == nullptr) {
    return {CertificateState::kMissing, {}, std::nullopt};
  }
  return {newest->state, newest->reason, end_of(*newest, window) + window.grace};
}

}  // namespace assay::attestation::nvidia
