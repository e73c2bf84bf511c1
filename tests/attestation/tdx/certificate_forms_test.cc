// SPDX-License-Identifier: Apache-2.0
// Certificates and CRLs that are written part by part: forms that a simulation does not have. All
// but the first of each table differ from valid ones in one thing, and are signed by the right key.

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/simulate/der_writer.h"
#include "attestation/tdx/crl.h"
#include "attestation/tdx/ecdsa.h"
#include "attestation/tdx/pck_chain.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using testing::seed;
using testing::valid_v4;

constexpr std::string_view kLeafName = "Intel SGX PCK Certificate";
constexpr std::string_view kCaName = "Intel SGX PCK Platform CA";
constexpr std::string_view kSgxOid = "1.2.840.113741.1.13.1";

Bytes attribute_of(std::string_view type, const Bytes& text) {
  return der::set({der::sequence({der::oid(type), text})});
}

Bytes intel_name(std::string_view common_name, std::vector<Bytes> more = {}) {
  std::vector<Bytes> parts = {attribute_of("2.5.4.3", der::utf8(common_name)),
                              attribute_of("2.5.4.10", der::utf8("Intel Corporation")),
                              attribute_of("2.5.4.7", der::utf8("Santa Clara")),
                              attribute_of("2.5.4.8", der::utf8("CA")),
                              attribute_of("2.5.4.6", der::utf8("US"))};
  parts.insert(parts.end(), more.begin(), more.end());
  return der::sequence(parts);
}

Bytes written_extension(std::string_view type, const Bytes& value, bool critical = false) {
  return critical ? der::sequence({der::oid(type), der::boolean_true(), der::octets(value)})
                  : der::sequence({der::oid(type), der::octets(value)});
}

Bytes ecdsa_with_sha256() { return der::sequence({der::oid("1.2.840.10045.4.3.2")}); }

Bytes signed_by(std::string_view signer, const Bytes& body) {
  return der::sequence(
      {body, ecdsa_with_sha256(), der::bits(SimulatedKey(seed(), signer).sign_der(body))});
}

// --- leaves

struct LeafForm {
  Bytes subject = intel_name(kLeafName);
  Bytes key = SimulatedKey(seed(), kPckKey).spki();
  Bytes constraints = written_extension("2.5.29.19", der::sequence({}), true);
  Bytes usage = written_extension("2.5.29.15", der::bits(Bytes{0xc0}, 6), true);
  Bytes sgx = written_extension(kSgxOid, make_sgx_extension(valid_v4().platform));
  std::vector<Bytes> more;  // extensions

  [[nodiscard]] Bytes body() const {
    std::vector<Bytes> extensions;
    for (const Bytes& part : {constraints, usage, sgx}) {
      if (!part.empty()) {
        extensions.push_back(part);
      }
    }
    extensions.insert(extensions.end(), more.begin(), more.end());
    const SimulationSpec spec = valid_v4();
    return der::sequence(
        {der::context(0, der::integer(2)), der::integer(spec.pck.serial), ecdsa_with_sha256(),
         intel_name(kCaName),
         der::sequence({der::time(spec.pck.not_before), der::time(spec.pck.not_after)}), subject,
         key, der::context(3, der::sequence(extensions))});
  }
};

// "OK" or the code that the chain of this leaf has.
std::string chain_of(const Bytes& leaf) {
  const SimulationSpec spec = valid_v4();
  const TrustAnchor anchor = TrustAnchor::from_der(make_certificate(spec.root, seed())).value();
  const std::string cas = to_pem(make_certificate(spec.pck_ca, seed())) + to_pem(anchor.der());
  const auto chain = open_pck_chain(to_pem(leaf) + cas, anchor.certificate(), {});
  return chain ? "OK" : code(chain.error());
}

Bytes spki_of(std::initializer_list<Bytes> algorithm, const Bytes& key) {
  return der::sequence({der::sequence(algorithm), der::bits(key)});
}

const Bytes& leaf_point() {
  static const Bytes point = [] {
    const auto key = SimulatedKey(seed(), kPckKey).point();
    return Bytes(key.begin(), key.end());
  }();
  return point;
}

// The key of the leaf as a point that begins with `form` (SEC 1, section 2.3.3).
Bytes named_curve_key(std::uint8_t form, std::size_t size) {
  Bytes key = {form};
  key.insert(key.end(), leaf_point().begin(),
             leaf_point().begin() + static_cast<std::ptrdiff_t>(size));
  return spki_of({der::oid("1.2.840.10045.2.1"), der::oid("1.2.840.10045.3.1.7")}, key);
}

// P-256 with all its numbers in place of its name, and with another point as its generator: then
// anybody knows a private key for any public key.
Bytes key_on_a_chosen_curve() {
  const Bytes p =
      hex_decode("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff").value();
  const Bytes a =
      hex_decode("ffffffff00000001000000000000000000000000fffffffffffffffffffffffc").value();
  const Bytes b =
      hex_decode("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b").value();
  const Bytes n =
      hex_decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551").value();
  Bytes generator = {0x04};
  const auto point = SimulatedKey(seed(), "chosen").point();
  generator.insert(generator.end(), point.begin(), point.end());
  Bytes key = {0x04};
  key.insert(key.end(), leaf_point().begin(), leaf_point().end());
  return spki_of(
      {der::oid("1.2.840.10045.2.1"),
       der::sequence({der::integer(1),
                      der::sequence({der::oid("1.2.840.10045.1.1"), der::integer(ByteView(p))}),
                      der::sequence({der::octets(a), der::octets(b)}), der::octets(generator),
                      der::integer(ByteView(n)), der::integer(1)})},
      key);
}

struct LeafCase {
  const char* name;
  void (*change)(LeafForm&);
  const char* expected;
};

class TdxLeafForms : public ::testing::TestWithParam<LeafCase> {};

TEST_P(TdxLeafForms, OneChange_HasItsVerdict) {
  LeafForm form;
  GetParam().change(form);
  EXPECT_EQ(chain_of(signed_by(kPckCaKey, form.body())), GetParam().expected);
}

const LeafCase kLeafForms[] = {
    {"Valid", [](LeafForm&) {}, "OK"},
    {"SecondCommonName",
     [](LeafForm& f) {
       f.subject = intel_name(kLeafName, {attribute_of("2.5.4.3", der::utf8(kLeafName))});
     },
     "PCK_CHAIN_FORMAT"},
    {"NoCommonName",
     [](LeafForm& f) { f.subject = der::sequence({attribute_of("2.5.4.6", der::utf8("US"))}); },
     "PCK_CHAIN_FORMAT"},
    {"NoConstraints", [](LeafForm& f) { f.constraints.clear(); }, "PCK_BASIC_CONSTRAINTS"},
    {"NoKeyUsage", [](LeafForm& f) { f.usage.clear(); }, "PCK_BASIC_CONSTRAINTS"},
    // Current chains have it otherwise.
    {"CriticalSgxExtension",
     [](LeafForm& f) {
       f.sgx = written_extension(kSgxOid, make_sgx_extension(valid_v4().platform), true);
     },
     "OK"},
    {"SecondSgxExtension", [](LeafForm& f) { f.more = {f.sgx}; }, "PCK_EXTENSION_FORMAT"},
    {"EmptySgxExtension", [](LeafForm& f) { f.sgx = written_extension(kSgxOid, {}); },
     "PCK_EXTENSION_FORMAT"},
    {"NoSgxExtension", [](LeafForm& f) { f.sgx.clear(); }, "PCK_EXTENSION_FORMAT"},
    {"UnknownExtension",
     [](LeafForm& f) { f.more = {written_extension("1.2.3.4", der::integer(1))}; }, "OK"},
    {"UnknownCriticalExtension",
     [](LeafForm& f) { f.more = {written_extension("1.2.3.4", der::integer(1), true)}; },
     "PCK_CHAIN_FORMAT"},
    // OpenSSL knows these two, and nothing here does what they demand.
    {"CriticalNameConstraints",
     [](LeafForm& f) {
       const Bytes excluded = der::context(1, der::sequence({der::value(0x82, {})}));
       f.more = {written_extension("2.5.29.30", der::sequence({excluded}), true)};
     },
     "PCK_CHAIN_FORMAT"},
    {"CriticalExtendedKeyUsage",
     [](LeafForm& f) {
       f.more = {
           written_extension("2.5.29.37", der::sequence({der::oid("1.3.6.1.5.5.7.3.1")}), true)};
     },
     "PCK_CHAIN_FORMAT"},
    {"CriticalAuthorityKey",
     [](LeafForm& f) { f.more = {written_extension("2.5.29.35", der::sequence({}), true)}; }, "OK"},
    // The number of another certificate as that of the issuer's.
    {"AuthorityKeyOfAnother",
     [](LeafForm& f) {
       f.more = {written_extension("2.5.29.35", der::sequence({der::value(0x82, Bytes{0x77})}))};
     },
     "PCK_CHAIN_SIGNATURE"},
    {"MalformedAuthorityKey",
     [](LeafForm& f) { f.more = {written_extension("2.5.29.35", der::integer(1))}; },
     "PCK_CHAIN_FORMAT"},
    // RFC 5480 section 2.2 allows both forms of a point.
    {"CompressedPoint",
     [](LeafForm& f) {
       f.key = named_curve_key(static_cast<std::uint8_t>(0x02 | (leaf_point().back() & 1)), 32);
     },
     "OK"},
    {"PointOfAnUnknownForm", [](LeafForm& f) { f.key = named_curve_key(0x05, 64); },
     "PCK_CHAIN_FORMAT"},
    {"CurveWithAChosenGenerator", [](LeafForm& f) { f.key = key_on_a_chosen_curve(); },
     "PCK_CERT_KEY_TYPE"},
    {"Ed25519Key", [](LeafForm& f) { f.key = spki_of({der::oid("1.3.101.112")}, Bytes(32, 9)); },
     "PCK_CERT_KEY_TYPE"},
};
INSTANTIATE_TEST_SUITE_P(Leaf, TdxLeafForms, ::testing::ValuesIn(kLeafForms),
                         [](const auto& row) { return row.param.name; });

// Content of a DER value whose length takes two bytes.
Bytes content_of(const Bytes& value) { return Bytes(value.begin() + 4, value.end()); }

// A value with a length that is only known at its end, which DER does not have.
Bytes without_length(const Bytes& value) {
  Bytes out = {value.front(), 0x80};
  const Bytes content = content_of(value);
  out.insert(out.end(), content.begin(), content.end());
  out.insert(out.end(), {0, 0});
  return out;
}

TEST(TdxLeafForms, LengthsThatAreNotDer_AreRefused) {
  const Bytes body = LeafForm().body();
  ASSERT_EQ(chain_of(signed_by(kPckCaKey, body)), "OK");
  EXPECT_EQ(chain_of(without_length(signed_by(kPckCaKey, body))), "PCK_CHAIN_SIGNATURE");
  EXPECT_EQ(chain_of(signed_by(kPckCaKey, without_length(body))), "PCK_CHAIN_SIGNATURE");
}

TEST(TdxLeafForms, CaWithoutPathLength_IsNotLimited) {
  SimulationSpec spec = valid_v4();
  spec.root.path_length.reset();
  spec.pck_ca.path_length.reset();
  EXPECT_EQ(testing::verdict(spec), "OK:UpToDate");
}

TEST(TdxLeafForms, MoreBlocksThanAnyChainHas_AreRefused) {
  const std::string block = to_pem(signed_by(kPckCaKey, LeafForm().body()));
  std::string text;
  for (int i = 0; i < 8; ++i) {
    text += block;
  }
  EXPECT_TRUE(split_pem_chain(text).has_value());
  EXPECT_FALSE(split_pem_chain(text + block).has_value());
}

TEST(TdxKeys, OtherThanP256_VerifyNothing) {
  EXPECT_FALSE(is_p256(nullptr));
  const SimulatedKey key(seed(), "key");
  const RawSignature signature = key.sign(as_bytes("message"));
  const PkeyHandle imported = import_p256(key.point());
  ASSERT_TRUE(verify_raw(imported.get(), as_bytes("message"), signature));
  EXPECT_FALSE(verify_raw(nullptr, as_bytes("message"), signature));
  EXPECT_EQ(import_p256(ByteView(key.point()).first(63)), nullptr);
  EXPECT_EQ(import_p256({}), nullptr);
}

TEST(TdxAnchorForms, WhatIsNoRootOfP256_IsRefused) {
  const auto refusal = [](void (*change)(CertificateSpec&)) {
    CertificateSpec root = valid_v4().root;
    change(root);
    const auto anchor = TrustAnchor::from_der(make_certificate(root, seed()));
    return anchor ? "OK" : std::string(info(anchor.error().code).code);
  };
  EXPECT_EQ(refusal([](CertificateSpec&) {}), "OK");
  EXPECT_EQ(refusal([](CertificateSpec& r) { r.is_ca = false; }), "unsupported-key");
  EXPECT_EQ(refusal([](CertificateSpec& r) { r.signer = "other"; }), "unsupported-key");
  EXPECT_EQ(refusal([](CertificateSpec& r) {
              r.other_spki = spki_of({der::oid("1.3.101.112")}, Bytes(32, 9));
            }),
            "unsupported-key");
  for (const char* text : {"-----BEGIN CERTIFICATE-----\n", "-----BEGIN NOTHING-----\n", " \n",
                           "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n"}) {
    EXPECT_EQ(TrustAnchor::from_bytes(as_bytes(text)).error().code, ErrorCode::kInvalidEncoding)
        << text;
  }
}

// --- CRLs

struct CrlForm {
  Bytes issuer = intel_name(kCaName);
  Bytes number = der::integer(7);  // empty: none
  std::vector<Bytes> entries;
  std::vector<Bytes> more;  // extensions

  [[nodiscard]] Bytes written() const {
    const CrlSpec spec = valid_v4().pck_crl;
    std::vector<Bytes> parts = {der::integer(1), ecdsa_with_sha256(), issuer,
                                der::time(spec.this_update), der::time(spec.next_update.value())};
    if (!entries.empty()) {
      parts.push_back(der::sequence(entries));
    }
    std::vector<Bytes> extensions = more;
    if (!number.empty()) {
      extensions.push_back(written_extension("2.5.29.20", number));
    }
    if (!extensions.empty()) {
      parts.push_back(der::context(0, der::sequence(extensions)));
    }
    return signed_by(kPckCaKey, der::sequence(parts));
  }
};

Bytes revoked_entry(std::vector<Bytes> extensions) {
  std::vector<Bytes> parts = {der::integer(77), der::time(testing::now())};
  if (!extensions.empty()) {
    parts.push_back(der::sequence(extensions));
  }
  return der::sequence(parts);
}

struct CrlCase {
  const char* name;
  void (*change)(CrlForm&);
  const char* expected;  // "OK" and the number, or the code
};

class TdxCrlForms : public ::testing::TestWithParam<CrlCase> {};

TEST_P(TdxCrlForms, OneChange_HasItsVerdict) {
  CrlForm form;
  GetParam().change(form);
  const auto list = parse_crl(form.written(), kPckCrlErrors);
  EXPECT_EQ(list ? "OK " + std::to_string(list->number) : code(list.error()), GetParam().expected);
}

const Bytes kOnlyUsers = der::sequence({der::value(0x81, Bytes{0xff})});

const CrlCase kCrlForms[] = {
    {"Valid", [](CrlForm&) {}, "OK 7"},
    // Such extensions are critical by definition. Whoever says otherwise has a partial list still.
    {"PartThatIsNotCritical",
     [](CrlForm& f) { f.more = {written_extension("2.5.29.28", kOnlyUsers)}; }, "PCK_CRL_FORMAT"},
    {"DeltaThatIsNotCritical",
     [](CrlForm& f) { f.more = {written_extension("2.5.29.27", der::integer(6))}; },
     "PCK_CRL_FORMAT"},
    {"UnknownExtension",
     [](CrlForm& f) { f.more = {written_extension("1.2.3.4", der::integer(6))}; }, "OK 7"},
    {"UnknownCriticalExtension",
     [](CrlForm& f) { f.more = {written_extension("1.2.3.4", der::integer(6), true)}; },
     "PCK_CRL_FORMAT"},
    {"EntryWithAReason",
     [](CrlForm& f) {
       f.entries = {revoked_entry({written_extension("2.5.29.21", der::enumerated(1))})};
     },
     "OK 7"},
    // A critical extension names the issuer of an entry on an indirect list.
    {"EntryOfAnotherIssuer",
     [](CrlForm& f) {
       const Bytes names = der::sequence({der::context(4, intel_name("Another CA"))});
       f.entries = {revoked_entry({}),
                    revoked_entry({written_extension("2.5.29.29", names, true)})};
     },
     "PCK_CRL_FORMAT"},
    {"NoNumber", [](CrlForm& f) { f.number.clear(); }, "OK 0"},
    {"NegativeNumber", [](CrlForm& f) { f.number = der::value(0x02, Bytes{0xff}); }, "OK 0"},
    {"LongNumber", [](CrlForm& f) { f.number = der::integer(ByteView(Bytes(20, 0x7f))); },
     "OK 4294967295"},
    {"NumberThatIsNone", [](CrlForm& f) { f.number = der::octets(Bytes{1}); }, "OK 0"},
};
INSTANTIATE_TEST_SUITE_P(Crl, TdxCrlForms, ::testing::ValuesIn(kCrlForms),
                         [](const auto& row) { return row.param.name; });

TEST(TdxCrlForms, NameOfAnotherIssuer_IsShownInPrintableCharacters) {
  const auto issuer = parse_certificate(make_certificate(valid_v4().pck_ca, seed()));
  const auto shown = [&](const Bytes& name) {
    CrlForm form;
    form.issuer = name;
    const auto list = parse_crl(form.written(), kPckCrlErrors);
    const auto outcome = check_crl_issuer(list.value(), *issuer, kPckCrlErrors);
    return outcome ? "OK" : code(outcome.error()) + " " + outcome.error().actual;
  };
  EXPECT_EQ(shown(intel_name(kCaName)), "OK");
  EXPECT_EQ(shown(intel_name("a\x1b[2J\x7f\xc3\xa9 CA")), "PCK_CRL_ISSUER_MISMATCH a?[2J??? CA");
  EXPECT_EQ(shown(der::sequence({})), "PCK_CRL_ISSUER_MISMATCH no name");
}

TEST(TdxCrlForms, LongerThanAnyList_IsRefusedUnread) {
  EXPECT_EQ(code(parse_crl(Bytes(kMaxCrlBytes + 1), kPckCrlErrors).error()), "INPUT_TOO_LARGE");
  EXPECT_EQ(code(parse_crl(Bytes(kMaxCrlBytes), kPckCrlErrors).error()), "PCK_CRL_FORMAT");
  Simulation simulation = simulate(valid_v4());
  simulation.collateral.pck_crl.assign(2 * kMaxCrlBytes + 2, '0');
  EXPECT_EQ(testing::verdict(simulation), "INPUT_TOO_LARGE");
}

// The chain beside the PCK CRL is a part of its own: it ends when it ends, whatever is in a quote.
TEST(TdxCrlForms, IssuerChainThatHasExpired_IsRefused) {
  SimulationSpec spec = valid_v4();
  spec.pck_ca.not_after = testing::now() - std::chrono::hours(1);
  const std::string expired = simulate(spec).collateral.pck_crl_issuer_chain;
  Simulation simulation = simulate(valid_v4());
  simulation.collateral.pck_crl_issuer_chain = expired;
  EXPECT_EQ(testing::verdict(simulation), "PCK_CRL_CHAIN:PCK_CERT_EXPIRED");
}

}  // namespace
}  // namespace assay::attestation::tdx
