// SPDX-License-Identifier: Apache-2.0
// Stored OCSP answers: who may sign them, and when they count.
#include <string>

#include <gtest/gtest.h>
#include <openssl/ocsp.h>

#include "attestation/nvidia/accept.h"
#include "attestation/nvidia/ocsp_request.h"
#include "attestation/x509/handles.h"
#include "schemas/core/handle.h"
#include "tests/attestation/nvidia/machine.h"

namespace assay::test::nvidia {
namespace {

constexpr int kRevoked = 1;
constexpr int kUnknown = 2;
constexpr int kKeyCompromise = 1;
constexpr int kHold = 6;

struct Pair {
  Device device = make_device();
  const x509::Certificate& subject = device.chain[1];
  const x509::Certificate& issuer = device.chain[2];
  KeyPtr key = device_issuer_key({}, 2);

  Bytes answer(OcspSpec spec = {}) const {
    if (!spec.key) {
      spec.key = key;
    }
    return make_ocsp(subject, issuer, spec);
  }

  // The state at `now`, or why the answer does not verify.
  std::string state(const OcspSpec& spec, const std::string& now = "2026-06-01T00:00:00Z",
                    const nv::OcspWindow& window = {}) const {
    const auto response = nv::OcspResponse::parse(answer(spec));
    if (!response) {
      return code(response.error());
    }
    const auto status = nv::status_of(*response, subject, issuer);
    if (!status) {
      return code(status.error());
    }
    if (!*status) {
      return "about others";
    }
    return std::string(name(nv::judge_status(std::span(&**status, 1), at(now), window).state));
  }
};

TEST(Ocsp, States_AreWhatTheAnswerSays) {
  const Pair pair;
  EXPECT_EQ(pair.state({}), "good");
  EXPECT_EQ(pair.state({.id_hash = "SHA256"}), "good");
  EXPECT_EQ(pair.state({.id_hash = "SHA384"}), "good");
  EXPECT_EQ(pair.state({.status = kRevoked, .reason = kKeyCompromise}), "revoked");
  EXPECT_EQ(pair.state({.status = kRevoked}), "revoked");
  EXPECT_EQ(pair.state({.status = kRevoked, .reason = kHold}), "hold");
  EXPECT_EQ(pair.state({.status = kUnknown}), "unknown");
}

TEST(Ocsp, Window_IsInclusiveAndHasAGrace) {
  const Pair pair;
  const nv::OcspWindow exact{.clock_difference = std::chrono::seconds(0)};
  EXPECT_EQ(pair.state({}, "2026-05-31T00:00:00Z", exact), "good");
  EXPECT_EQ(pair.state({}, "2026-05-30T23:59:59Z", exact), "missing");
  EXPECT_EQ(pair.state({}, "2026-05-30T23:59:59Z"), "good");
  EXPECT_EQ(pair.state({}, "2026-06-07T00:00:00Z"), "good");
  EXPECT_EQ(pair.state({}, "2026-06-07T00:00:01Z"), "missing");
  EXPECT_EQ(pair.state({}, "2026-06-07T01:00:00Z", {.grace = std::chrono::hours(1)}), "good");
  EXPECT_EQ(pair.state({.next_update = ""}, "2026-06-01T00:00:00Z"), "good");
  EXPECT_EQ(pair.state({.next_update = ""}, "2026-06-01T00:00:01Z"), "missing");
  // A revocation stays.
  EXPECT_EQ(pair.state({.status = kRevoked, .reason = kKeyCompromise}, "2029-01-01T00:00:00Z"),
            "revoked");
  EXPECT_EQ(pair.state({.status = kRevoked, .reason = kHold}, "2029-01-01T00:00:00Z"), "missing");
}

TEST(Ocsp, Signer_IsTheIssuerOrNamedByIt) {
  const Pair pair;
  const KeyPtr key = key_of("P-384", 60);
  const auto delegate = [&](const std::string& usage, const KeyPtr& issuer_key) {
    CertificateSpec spec;
    spec.subject = "responder";
    spec.issuer = "provisioner";
    spec.key = key;
    spec.issuer_key = issuer_key;
    spec.not_after = "2026-06-03T00:00:00Z";
    spec.hash = "SHA384";
    if (!usage.empty()) {
      spec.extensions = {{"extendedKeyUsage", usage}};
    }
    return certificate(spec);
  };
  const auto named = delegate("OCSPSigning", pair.key);
  EXPECT_EQ(pair.state({.signer = &named, .key = key}), "good");
  // That certificate ends before the answer does.
  EXPECT_EQ(pair.state({.signer = &named, .key = key}, "2026-06-03T00:00:01Z"), "missing");
  const auto no_purpose = delegate("", pair.key);
  EXPECT_EQ(pair.state({.signer = &no_purpose, .key = key}), "OCSP_SIGNER");
  const auto other_purpose = delegate("codeSigning", pair.key);
  EXPECT_EQ(pair.state({.signer = &other_purpose, .key = key}), "OCSP_SIGNER");
  const auto by_others = delegate("OCSPSigning", key_of("P-384", 61));
  EXPECT_EQ(pair.state({.signer = &by_others, .key = key}), "OCSP_SIGNER");
  const auto& grand = pair.device.chain[3];
  EXPECT_EQ(pair.state({.signer = &grand, .key = device_issuer_key({}, 3)}), "OCSP_SIGNER");
}

TEST(Ocsp, Signer_NeedsACertificateAndAStrongSignature) {
  const Pair pair;
  const auto responder = [&](const std::string& kind) {
    CertificateSpec spec;
    spec.subject = "responder";
    spec.issuer = "provisioner";
    spec.key = key_of(kind, 62);
    spec.issuer_key = pair.key;
    spec.hash = "SHA384";
    spec.extensions = {{"extendedKeyUsage", "OCSPSigning"}};
    return certificate(spec);
  };
  for (const char* kind : {"RSA-2048", "P-256", "P-384"}) {
    const auto signer = responder(kind);
    for (const char* hash : {"SHA256", "SHA384", "SHA512"}) {
      EXPECT_EQ(pair.state({.signer = &signer, .key = key_of(kind, 62), .hash = hash}), "good")
          << kind << " " << hash;
    }
    EXPECT_EQ(pair.state({.signer = &signer, .key = key_of(kind, 62), .hash = "SHA1"}),
              "OCSP_SIGNATURE");
    EXPECT_EQ(pair.state({.signer = &signer, .key = key_of(kind, 62), .with_signer = false}),
              "OCSP_SIGNER");
  }
}

TEST(Ocsp, AnswersThatAreNotReadHere_AreRefused) {
  const Pair pair;
  const auto add = [&](OCSP_BASICRESP* basic, const x509::Certificate& subject, int status) {
    OCSP_CERTID* id =
        OCSP_cert_to_id(EVP_sha1(), x509::x509_of(subject), x509::x509_of(pair.issuer));
    ASN1_TIME* begun = ASN1_TIME_set(
        nullptr, static_cast<std::time_t>(at("2026-05-31T00:00:00Z").time_since_epoch() /
                                          std::chrono::seconds(1)));
    OCSP_basic_add1_status(basic, id, status, 0, begun, begun, nullptr);
    ASN1_TIME_free(begun);
    OCSP_CERTID_free(id);
  };
  const auto critical = [](const char* oid) {
    X509_EXTENSION* extension = nullptr;
    ASN1_OCTET_STRING* content = ASN1_OCTET_STRING_new();
    ASN1_OCTET_STRING_set(content, reinterpret_cast<const unsigned char*>("\5\0"), 2);
    ASN1_OBJECT* object = OBJ_txt2obj(oid, 1);
    extension = X509_EXTENSION_create_by_OBJ(nullptr, object, 1, content);
    ASN1_OBJECT_free(object);
    ASN1_OCTET_STRING_free(content);
    return extension;
  };
  EXPECT_EQ(pair.state({.is_about = false}), "OCSP_FORMAT");
  EXPECT_EQ(pair.state({.change =
                            [&](OCSP_BASICRESP* basic) {
                              for (std::size_t i = 1; i <= nv::kMaxOcspAnswers; ++i) {
                                add(basic, pair.issuer, 0);
                              }
                            }}),
            "OCSP_FORMAT");
  EXPECT_EQ(pair.state({.change =
                            [&](OCSP_BASICRESP* basic) {
                              X509_EXTENSION* extension = critical("1.2.3.4");
                              OCSP_BASICRESP_add_ext(basic, extension, -1);
                              X509_EXTENSION_free(extension);
                            }}),
            "OCSP_FORMAT");
  EXPECT_EQ(pair.state({.change =
                            [&](OCSP_BASICRESP* basic) {
                              X509_EXTENSION* extension = critical("1.2.3.4");
                              OCSP_SINGLERESP_add_ext(OCSP_resp_get0(basic, 0), extension, -1);
                              X509_EXTENSION_free(extension);
                            }}),
            "OCSP_FORMAT");
  // Of two answers about one certificate the worse one counts, in any order; others do not matter.
  EXPECT_EQ(pair.state({.change = [&](OCSP_BASICRESP* basic) { add(basic, pair.issuer, 1); }}),
            "good");
  EXPECT_EQ(pair.state({.change = [&](OCSP_BASICRESP* basic) { add(basic, pair.subject, 1); }}),
            "revoked");
  EXPECT_EQ(pair.state({.status = kRevoked,
                        .change = [&](OCSP_BASICRESP* basic) { add(basic, pair.subject, 0); }}),
            "revoked");
  EXPECT_EQ(
      pair.state({.status = kRevoked,
                  .reason = kHold,
                  .change = [&](OCSP_BASICRESP* basic) { add(basic, pair.subject, kUnknown); }}),
      "hold");
}

TEST(Ocsp, ChangedOrWeakAnswer_DoesNotVerify) {
  const Pair pair;
  EXPECT_EQ(pair.state({.hash = "SHA1"}), "OCSP_SIGNATURE");
  Bytes answer = pair.answer();
  const Bytes good = answer;
  int read = 0;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    answer[i] ^= 0x10;
    const auto response = nv::OcspResponse::parse(answer);
    if (response) {
      ++read;
      const auto status = nv::status_of(*response, pair.subject, pair.issuer);
      const bool says_good = status && *status && (*status)->state == nv::CertificateState::kGood;
      EXPECT_FALSE(says_good) << i;
    }
    answer[i] ^= 0x10;
    EXPECT_FALSE(nv::OcspResponse::parse(ByteView(good).first(i))) << i;
  }
  EXPECT_GT(read, 0);
}

TEST(Ocsp, OtherForms_AreRefused) {
  const Pair pair;
  const auto refusal = [](const Bytes& bytes) {
    return code(nv::OcspResponse::parse(bytes).error());
  };
  EXPECT_EQ(refusal({}), "OCSP_FORMAT");
  EXPECT_EQ(refusal({0x30, 0x03, 0x0a, 0x01, 0x03}), "OCSP_FORMAT");  // try later
  Bytes longer = pair.answer();
  longer.push_back(0);
  EXPECT_EQ(refusal(longer), "OCSP_FORMAT");
  EXPECT_EQ(refusal(Bytes(nv::kMaxOcspBytes + 1, 0)), "INPUT_TOO_LARGE");
  EXPECT_EQ(refusal(pair.answer({.next_update = "2026-05-30T00:00:00Z"})), "OCSP_FORMAT");
  // An answer about another certificate says nothing.
  const auto other = nv::OcspResponse::parse(pair.answer()).value();
  EXPECT_FALSE(nv::status_of(other, pair.issuer, pair.device.chain[3]).value());
}

TEST(Ocsp, OfSeveralAnswers_TheNewestCountsUnlessRevoked) {
  const auto status = [](nv::CertificateState state, const std::string& from) {
    return nv::OcspStatus{state, "", at(from), at("2026-06-30T00:00:00Z"),
                          at("2029-01-01T00:00:00Z")};
  };
  using enum nv::CertificateState;
  const auto judged = [&](std::vector<nv::OcspStatus> all) {
    return nv::judge_status(all, at(), {}).state;
  };
  const auto older = "2026-05-01T00:00:00Z";
  const auto newer = "2026-05-02T00:00:00Z";
  EXPECT_EQ(judged({status(kHold, older), status(kGood, newer)}), kGood);
  EXPECT_EQ(judged({status(kGood, older), status(kHold, newer)}), kHold);
  EXPECT_EQ(judged({status(kGood, older), status(kHold, older)}), kHold);
  EXPECT_EQ(judged({status(kHold, older), status(kGood, older)}), kHold);
  EXPECT_EQ(judged({status(kGood, newer), status(kHold, older)}), kGood);
  EXPECT_EQ(judged({status(kRevoked, older), status(kGood, newer)}), kRevoked);
  EXPECT_EQ(judged({}), kMissing);
}

// The verdicts about a device whose provisioner is on hold or revoked.
TEST(Ocsp, RevokedDevice_IsNotAccepted) {
  const Pair pair;
  const auto verdict = [&](const OcspSpec& spec, const nv::Acceptance& acceptance) {
    std::vector<nv::OcspResponse> answers = good_answers(pair.device);
    OcspSpec signed_spec = spec;
    signed_spec.key = pair.key;
    answers[0] = nv::OcspResponse::parse(pair.answer(signed_spec)).value();
    const auto known =
        nv::open_device(pair.device.pem, std::span(&device_root(), 1), answers).value();
    const std::vector<nv::Rim> rims = {
        open(make_rim(driver_rim()), kDriverId, good_answers(driver_rim())).value(),
        open(make_rim(vbios_rim()), kVbiosId, good_answers(vbios_rim())).value()};
    const Bytes report = make_report(hopper_report(), pair.device.key);
    const auto facts =
        nv::verify(report, known, {at(), nv::NonceExpectation::exactly(some_nonce()), rims})
            .value();
    const auto found = nv::shortcomings(facts, acceptance, at());
    return found.empty() ? "accepted" : code(found.front());
  };
  EXPECT_EQ(verdict({}, {}), "accepted");
  const OcspSpec revoked{.status = kRevoked, .reason = kKeyCompromise};
  const OcspSpec hold{.status = kRevoked, .reason = kHold};
  const nv::Acceptance loose{.allow_certificate_hold = true, .require_revocation = false};
  EXPECT_EQ(verdict(revoked, {}), "CERTIFICATE_REVOKED:device");
  EXPECT_EQ(verdict(revoked, loose), "CERTIFICATE_REVOKED:device");
  EXPECT_EQ(verdict({.status = kRevoked}, {}), "CERTIFICATE_REVOKED:device");
  EXPECT_EQ(verdict({.hash = "SHA1"}, {}), "REVOCATION_UNKNOWN:device");
  EXPECT_EQ(verdict(hold, {}), "CERTIFICATE_HOLD:device");
  EXPECT_EQ(verdict(hold, loose), "accepted");
  EXPECT_EQ(verdict({.status = kUnknown}, {}), "REVOCATION_UNKNOWN:device");
}

TEST(OcspRequest, AsksAboutOneCertificate_AndHasNoNonce) {
  const Pair pair;
  const Bytes der = nv::ocsp_request(pair.subject, pair.issuer).value();
  const unsigned char* at = der.data();
  const Handle<OCSP_REQUEST, OCSP_REQUEST_free> request(
      d2i_OCSP_REQUEST(nullptr, &at, static_cast<long>(der.size())));
  ASSERT_TRUE(request);
  EXPECT_EQ(at, der.data() + der.size());
  ASSERT_EQ(OCSP_request_onereq_count(request.get()), 1);
  EXPECT_EQ(OCSP_REQUEST_get_ext_count(request.get()), 0);
  const auto read = [](const x509::Certificate& certificate) {
    const unsigned char* bytes = certificate.der().data();
    return Handle<X509, X509_free>(
        d2i_X509(nullptr, &bytes, static_cast<long>(certificate.der().size())));
  };
  const auto subject = read(pair.subject);
  const auto issuer = read(pair.issuer);
  const Handle<OCSP_CERTID, OCSP_CERTID_free> id(
      OCSP_cert_to_id(EVP_sha1(), subject.get(), issuer.get()));
  EXPECT_EQ(OCSP_id_cmp(OCSP_onereq_get0_id(OCSP_request_onereq_get0(request.get(), 0)), id.get()),
            0);
}

}  // namespace
}  // namespace assay::test::nvidia
