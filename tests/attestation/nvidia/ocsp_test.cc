// SPDX-License-Identifier: Apache-2.0
// Stored OCSP answers: who may sign them, and when they count.
#include <string>

#include <gtest/gtest.h>

#include "attestation/nvidia/accept.h"
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
    const auto found = nv::shortcomings(facts, acceptance);
    return found.empty() ? "accepted" : code(found.front());
  };
  EXPECT_EQ(verdict({}, {}), "accepted");
  const OcspSpec revoked{.status = kRevoked, .reason = kKeyCompromise};
  const OcspSpec hold{.status = kRevoked, .reason = kHold};
  const nv::Acceptance loose{.allow_certificate_hold = true, .require_revocation = false};
  EXPECT_EQ(verdict(revoked, {}), "CERTIFICATE_REVOKED:device");
  EXPECT_EQ(verdict(revoked, loose), "CERTIFICATE_REVOKED:device");
  EXPECT_EQ(verdict(hold, {}), "CERTIFICATE_HOLD:device");
  EXPECT_EQ(verdict(hold, loose), "accepted");
  EXPECT_EQ(verdict({.status = kUnknown}, {}), "REVOCATION_UNKNOWN:device");
}

}  // namespace
}  // namespace assay::test::nvidia
