// SPDX-License-Identifier: Apache-2.0
// Certificates: what is parsed, what is refused, and what they say.
#include "attestation/x509/certificate.h"

#include <string>

#include <gtest/gtest.h>

#include "attestation/x509/extensions.h"
#include "tests/attestation/x509/test_pki.h"
#include "tests/support/vectors.h"

namespace assay::attestation::x509 {
namespace {

using assay::test::CertificateSpec;
using assay::test::code_of;
using assay::test::key_of;
using assay::test::leaf_spec;
using assay::test::make_certificate;
using assay::test::root_spec;
using assay::test::with;

std::string parsed(const CertificateSpec& spec) {
  return code_of(Certificate::from_der(make_certificate(spec)));
}

TEST(Certificate, MembersAreRead) {
  const Bytes der = make_certificate(leaf_spec());
  const Certificate certificate = Certificate::from_der(der).value();
  EXPECT_EQ(certificate.der(), der);
  EXPECT_EQ(certificate.subject(), "CN=leaf");
  EXPECT_EQ(certificate.issuer(), "CN=ca");
  EXPECT_EQ(certificate.serial(), "03");
  EXPECT_EQ(to_rfc3339(certificate.not_before()), "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(certificate.not_after()), "2026-12-31T23:59:59.000Z");
  EXPECT_FALSE(certificate.is_ca());
  EXPECT_FALSE(certificate.is_self_issued());
  EXPECT_EQ(certificate.key_der(), test::public_der(key_of("P-256", 2)));
  EXPECT_EQ(certificate.public_key()->der(), certificate.key_der());
  const Certificate root = test::certificate(root_spec());
  EXPECT_TRUE(root.is_ca());
  EXPECT_TRUE(root.is_self_issued());
  EXPECT_FALSE(certificate == root);
  EXPECT_NE(certificate.digest(), root.digest());
}

TEST(Certificate, EveryTruncationAndTrailingByte_IsRefused) {
  const Bytes der = make_certificate(leaf_spec());
  for (std::size_t size = 0; size < der.size(); ++size) {
    EXPECT_EQ(code_of(Certificate::from_der(ByteView(der).first(size))), "malformed-certificate");
  }
  Bytes longer = der;
  longer.push_back(0);
  EXPECT_EQ(code_of(Certificate::from_der(longer)), "malformed-certificate");
  EXPECT_EQ(code_of(Certificate::from_der(Bytes(kMaxCertificateBytes + 1))), "limit-exceeded");
}

// X.690 section 10.1: DER has the shortest length.
TEST(Certificate, LongerLength_IsRefused) {
  const Bytes der = make_certificate(leaf_spec());
  ASSERT_EQ(der[1], 0x82) << "two bytes of length";
  Bytes ber = {0x30, 0x83, 0x00};
  ber.insert(ber.end(), der.begin() + 2, der.end());
  EXPECT_EQ(code_of(Certificate::from_der(ber)), "malformed-certificate");
}

TEST(Certificate, OtherVersions_AreRefused) {
  CertificateSpec spec = leaf_spec();
  spec.version = 1;
  EXPECT_EQ(parsed(spec), "malformed-certificate");
}

TEST(Certificate, ExtensionThatIsThereTwice_IsRefused) {
  CertificateSpec spec = leaf_spec();
  spec.extensions.emplace_back("1.2.3.4", "DER:0500");
  EXPECT_EQ(parsed(spec), "ok");
  spec.extensions.emplace_back("1.2.3.4", "DER:0500");
  EXPECT_EQ(parsed(spec), "malformed-certificate");
}

TEST(Certificate, ExtensionThatCannotBeRead_IsRefused) {
  // basicConstraints, keyUsage, extendedKeyUsage, nameConstraints with content that is no DER.
  for (const char* oid : {"2.5.29.19", "2.5.29.15", "2.5.29.37", "2.5.29.30"}) {
    CertificateSpec spec = root_spec();
    spec.extensions = {{oid, "DER:30ff"}};
    EXPECT_EQ(parsed(spec), "malformed-certificate") << oid;
  }
}

TEST(Certificate, ValidityThatEndsBeforeItBegins_IsRefused) {
  CertificateSpec spec = leaf_spec();
  spec.not_after = spec.not_before;
  EXPECT_EQ(parsed(spec), "ok");
  spec.not_after = "2025-12-31T23:59:59Z";
  EXPECT_EQ(parsed(spec), "malformed-certificate");
}

TEST(Certificate, Keys_OfAcceptedAlgorithms) {
  for (const char* kind : {"P-256", "P-384", "P-521", "ED25519", "RSA-2048"}) {
    CertificateSpec spec = leaf_spec();
    spec.key = key_of(kind);
    EXPECT_EQ(parsed(spec), "ok") << kind;
  }
  for (const char* kind : {"P-224", "RSA-1024"}) {
    CertificateSpec spec = leaf_spec();
    spec.key = key_of(kind);
    EXPECT_EQ(parsed(spec), "unsupported-key") << kind;
  }
}

TEST(CertificateFile, PemBlocks_InOrderAndWithTextBetween) {
  const Certificate leaf = test::certificate(leaf_spec());
  const Certificate root = test::certificate(root_spec());
  const auto file = [](const std::string& text) { return parse_certificates(as_bytes(text)); };
  const auto both = file("Subject: leaf\n" + pem(leaf) + "Subject: root\n" + pem(root) + "end\n");
  ASSERT_EQ(both->size(), 2U);
  EXPECT_TRUE(both->at(0) == leaf);
  EXPECT_TRUE(both->at(1) == root);
  EXPECT_EQ(parse_certificates(leaf.der())->size(), 1U);
  EXPECT_EQ(code_of(file("")), "malformed-certificate");
  EXPECT_EQ(code_of(file("no certificate")), "malformed-certificate");
  EXPECT_EQ(code_of(file(pem(leaf) + "-----BEGIN PRIVATE KEY-----\n")), "malformed-certificate");
  EXPECT_EQ(code_of(file(pem(leaf).substr(0, 200))), "malformed-certificate");
  EXPECT_EQ(code_of(file("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n")),
            "malformed-certificate");
  EXPECT_EQ(code_of(parse_certificates(Bytes(kMaxCertificateFile + 1))), "limit-exceeded");
}

TEST(CertificateFile, NumberOfCertificates_IsLimited) {
  CertificateSpec spec = leaf_spec();
  spec.key = spec.issuer_key = key_of("ED25519");
  const std::string one = pem(test::certificate(spec));
  std::string text;
  for (std::size_t i = 0; i < kMaxCertificates; ++i) {
    text += one;
  }
  EXPECT_EQ(code_of(parse_certificates(as_bytes(text))), "ok");
  text += one;
  EXPECT_EQ(code_of(parse_certificates(as_bytes(text))), "limit-exceeded");
}

// --- extensions

AlternativeNames names_of(const std::string& value) {
  return alternative_names(test::certificate(with(leaf_spec(), "subjectAltName", value))).value();
}

TEST(AlternativeNames, ByKind) {
  const AlternativeNames names = names_of(
      "email:a@example.com,URI:https://example.com/x,DNS:example.com,IP:192.0.2.1,"
      "otherName:1.3.6.1.4.1.57264.1.7;UTF8:user!x,email:b@example.com,"
      "otherName:1.2.3;IA5:x");
  EXPECT_EQ(names.emails, (std::vector<std::string>{"a@example.com", "b@example.com"}));
  EXPECT_EQ(names.uris, (std::vector<std::string>{"https://example.com/x"}));
  EXPECT_EQ(names.dns, (std::vector<std::string>{"example.com"}));
  EXPECT_EQ(names.others, (std::vector<OtherName>{{std::string(kFulcioUserName), "user!x"}}));
  EXPECT_EQ(names.unread, 2U);
  const CertificateSpec none = with(leaf_spec(), "subjectAltName", "");
  EXPECT_TRUE(alternative_names(test::certificate(none))->emails.empty());
}

TEST(AlternativeNames, ThatDeceiveReaders_AreRefused) {
  // Sequences of one name: email "a\0b", email "", URI with a space, email with a byte above 127,
  // otherName with UTF8String "a\n", something that is no sequence.
  for (const char* der : {"30058103610062", "30028100",
                          "300586036120"
                          "62",
                          "3005810361ff62",
                          "301181"
                          "0f"
                          "00",
                          "0500"}) {
    CertificateSpec spec = with(leaf_spec(), "subjectAltName", "");
    spec.extensions.emplace_back("2.5.29.17", std::string("DER:") + der);
    const auto certificate = Certificate::from_der(make_certificate(spec));
    EXPECT_TRUE(!certificate || code_of(alternative_names(*certificate)) == "malformed-certificate")
        << der;
  }
  const CertificateSpec control = with(leaf_spec(), "subjectAltName",
                                       "otherName:1.3.6.1.4.1.57264.1.7;UTF8:a\x01"
                                       "b");
  EXPECT_EQ(code_of(alternative_names(test::certificate(control))), "malformed-certificate");
}

TEST(AlternativeNames, Number_IsLimited) {
  std::string value = "email:0@example.com";
  for (std::size_t i = 1; i < kMaxAlternativeNames; ++i) {
    value += ",email:" + std::to_string(i) + "@example.com";
  }
  EXPECT_EQ(names_of(value).emails.size(), kMaxAlternativeNames);
  const CertificateSpec more = with(leaf_spec(), "subjectAltName", value + ",DNS:more");
  EXPECT_EQ(code_of(alternative_names(test::certificate(more))), "limit-exceeded");
}

const std::string kRaw = "DER:" + hex_encode(as_bytes("https://issuer.example"));
const std::string kText = "ASN1:UTF8String:https://issuer.example";
const std::string kOidRaw(kFulcioIssuerRaw);
const std::string kOidText(kFulcioIssuer);

std::string issuer_of(const std::string& raw, const std::string& text) {
  const auto issuer =
      fulcio_issuer(test::certificate(with(with(leaf_spec(), kOidRaw, raw), kOidText, text)));
  return issuer ? issuer->value_or("none") : code_of(issuer);
}

TEST(FulcioIssuer, OfEitherExtension) {
  EXPECT_EQ(issuer_of(kRaw, kText), "https://issuer.example");
  EXPECT_EQ(issuer_of("", kText), "https://issuer.example");
  EXPECT_EQ(issuer_of(kRaw, ""), "https://issuer.example");
  EXPECT_EQ(issuer_of("", ""), "none");
}

TEST(FulcioIssuer, ThatCannotBeReadOrDiffers_IsRefused) {
  EXPECT_EQ(issuer_of(kRaw, "ASN1:UTF8String:https://other.example"), "malformed-certificate");
  EXPECT_EQ(issuer_of(kRaw, "ASN1:IA5String:https://issuer.example"), "malformed-certificate");
  EXPECT_EQ(issuer_of("", kRaw), "malformed-certificate") << "raw where DER belongs";
  EXPECT_EQ(issuer_of("",
                      "DER:0c0161"
                      "00"),
            "malformed-certificate")
      << "a trailing byte";
  EXPECT_EQ(issuer_of("", "DER:0c03610062"), "malformed-certificate") << "NUL";
  EXPECT_EQ(issuer_of("DER:6100", ""), "malformed-certificate") << "NUL";
}

TEST(Extension, Value_ByObjectIdentifier) {
  const Certificate certificate = test::certificate(with(leaf_spec(), "1.2.3.4", "DER:010203"));
  EXPECT_EQ(extension_value(certificate, "1.2.3.4"), (Bytes{1, 2, 3}));
  EXPECT_EQ(extension_value(certificate, "1.2.3.5"), std::nullopt);
  EXPECT_EQ(extension_value(certificate, "no object identifier"), std::nullopt);
}

}  // namespace
}  // namespace assay::attestation::x509
