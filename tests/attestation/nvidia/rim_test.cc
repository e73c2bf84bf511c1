// SPDX-License-Identifier: Apache-2.0
// RIMs: what is read from them, and attacks on their signature. Most attacks wrap, move or add
// signed or unsigned parts; the others are signed by a key that counts, in another form.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/nvidia/xml_limits.h"
#include "schemas/core/json.h"
#include "schemas/core/sha.h"
#include "tests/attestation/nvidia/machine.h"

namespace assay::test::nvidia {
namespace {

std::string verdict(const std::string& xml, const std::string& id = kDriverId) {
  const auto rim = open(xml, id);
  return rim ? "opened" : code(rim.error());
}

std::string part(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  return text.substr(begin, text.find(to, begin) + to.size() - begin);
}

std::string signature_of(const std::string& xml) {
  return part(xml, "<ds:Signature xmlns", "</ds:Signature>");
}

// The measurements of an attacker.
RimSpec evil() {
  RimSpec spec = driver_rim();
  spec.resources = {{7, {value_of(66)}}, {35, {value_of(66)}}};
  return spec;
}

RimSpec by_stranger(RimSpec spec) {
  spec.signer = key_of("P-384", 77);
  return spec;
}

TEST(Rim, Opened_HasTheSignedMeasurements) {
  const auto rim = open(make_rim(driver_rim()), kDriverId).value();
  EXPECT_EQ(rim.source, nv::RimSource::kDriver);
  EXPECT_EQ(rim.product, "GH100");
  EXPECT_EQ(rim.version, "600.1");
  ASSERT_EQ(rim.goldens.size(), 2U);
  EXPECT_EQ(rim.goldens[0].index, 7);
  EXPECT_EQ(rim.goldens[1].alternatives, std::vector<Bytes>(1, value_of(36)));
  EXPECT_EQ(rim.certificates.size(), 3U);
  EXPECT_EQ(to_rfc3339(rim.valid_until), "2026-12-31T23:59:59.000Z");
  EXPECT_EQ(open(make_rim(vbios_rim()), kVbiosId).value().source, nv::RimSource::kVbios);
}

struct Attack {
  const char* what;
  const char* want;
  std::function<std::string()> xml;
};

std::string change(const std::string& from, const std::string& to) {
  return replaced(make_rim(driver_rim()), from, to);
}

std::string without_signature(const RimSpec& spec) {
  const std::string xml = make_rim(spec);
  const std::size_t begin = xml.find("<ds:Signature xmlns");
  const std::size_t end = xml.find("</ds:Signature>") + 15;
  return xml.substr(0, begin) + xml.substr(end);
}

std::string evil_with(const std::string& signature, const std::string& more = "") {
  std::string bad = without_signature(evil());
  return bad.insert(bad.rfind("</"), more + signature);
}

std::string genuine_form(const std::string& from, const std::string& to) {
  RimSpec spec = driver_rim();
  spec.signed_info = [=](std::string& info) { info = replaced(info, from, to); };
  return make_rim(spec);
}

// long-function: one table.
const std::vector<Attack>& wrapping_attacks() {
  static const std::vector<Attack> kAttacks = {
      {"signature of another RIM", "RIM_SIGNATURE",
       [] { return evil_with(signature_of(make_rim(driver_rim()))); }},
      {"genuine tag inside of another root, signature in the root", "RIM_SIGNATURE",
       [] {
         return evil_with(signature_of(make_rim(driver_rim())), without_signature(driver_rim()));
       }},
      {"genuine tag with its signature inside of another root", "RIM_SIGNATURE_FORM",
       [] { return evil_with("", make_rim(driver_rim())); }},
      {"genuine tag inside of the attacker's signed root", "RIM_SIGNATURE_FORM",
       [] {
         return evil_with(signature_of(make_rim(by_stranger(evil()))), make_rim(driver_rim()));
       }},
      {"two signatures, the genuine one first", "RIM_SIGNATURE_FORM",
       [] {
         return evil_with(signature_of(make_rim(driver_rim())) +
                          signature_of(make_rim(by_stranger(evil()))));
       }},
      {"two signatures, the genuine one last", "RIM_SIGNATURE_FORM",
       [] {
         return evil_with(signature_of(make_rim(by_stranger(evil()))) +
                          signature_of(make_rim(driver_rim())));
       }},
      {"signature in the payload", "RIM_SIGNATURE_FORM",
       [] {
         const std::string good = make_rim(driver_rim());
         return replaced(without_signature(driver_rim()), "<Payload>",
                         "<Payload>" + signature_of(good));
       }},
      {"signature as the root", "RIM_SIGNATURE_FORM",
       [] { return signature_of(make_rim(driver_rim())); }},
      {"no signature", "RIM_SIGNATURE_FORM", [] { return without_signature(driver_rim()); }},
      {"signature of another namespace", "RIM_SIGNATURE_FORM",
       [] {
         return change("xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"",
                       "xmlns:ds=\"http://www.w3.org/2000/09/xmldsig\"");
       }},
      {"measurement behind the signature", "RIM_SIGNATURE",
       [] { return change("</ds:Signature>", "</ds:Signature><Payload></Payload>"); }},
      {"measurement in Object of the signature", "RIM_SIGNATURE_FORM",
       [] {
         return change("</ds:KeyInfo>", "</ds:KeyInfo><ds:Object>" +
                                            part(make_rim(evil()), "<Payload>", "</Payload>") +
                                            "</ds:Object>");
       }},
      {"one value changed", "RIM_SIGNATURE",
       [] { return change(hex_encode(value_of(8)), hex_encode(value_of(66))); }},
      {"a measurement switched off", "RIM_SIGNATURE",
       [] { return change("active=\"True\"", "active=\"False\""); }},
      {"version changed", "RIM_SIGNATURE", [] { return change("600.1", "600.2"); }},
      {"namespace of the document changed", "RIM_SIGNATURE",
       [] { return change("2015/schema.xsd", "2014/schema.xsd"); }},
      {"signed by a stranger under the genuine certificate", "RIM_SIGNATURE",
       [] { return make_rim(by_stranger(evil())); }},
      {"stranger's certificate before the chain", "RIM_CHAIN",
       [] {
         RimSpec spec = by_stranger(evil());
         CertificateSpec own = root_spec("stranger", 77);
         own.not_after = "2030-01-01T00:00:00Z";
         spec.certificates = rim_chain(spec);
         spec.certificates.insert(spec.certificates.begin(), certificate(own));
         return make_rim(spec);
       }},
      {"stranger's certificate behind the chain", "RIM_SIGNATURE",
       [] {
         RimSpec spec = by_stranger(evil());
         spec.certificates = rim_chain(spec);
         return make_rim(spec);
       }},
      {"chain in another order", "RIM_CHAIN",
       [] {
         RimSpec spec = driver_rim();
         const auto chain = rim_chain(spec);
         spec.certificates = {chain[1], chain[0], chain[2]};
         return make_rim(spec);
       }},
      {"a certificate too many", "RIM_CHAIN",
       [] {
         RimSpec spec = driver_rim();
         const auto chain = rim_chain(spec);
         spec.certificates = {chain[0], chain[1], chain[1], chain[2]};
         return make_rim(spec);
       }},
      {"chain to an own root", "RIM_CHAIN",
       [] {
         RimSpec spec = driver_rim();
         CertificateSpec own = root_spec("stranger", 77);
         spec.signer = key_of("P-384", 77);
         spec.certificates = {certificate(own)};
         return make_rim(spec);
       }},
      {"chain to the root of devices", "RIM_CHAIN",
       [] {
         RimSpec spec = driver_rim();
         const Device device = make_device();
         spec.signer = device.key;
         spec.certificates = device.chain;
         return make_rim(spec);
       }},
      {"key given as a value", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:X509Data>", "<ds:KeyValue></ds:KeyValue><ds:X509Data>"); }},
      {"key to be fetched", "RIM_SIGNATURE_FORM",
       [] {
         return change("<ds:X509Data>",
                       "<ds:RetrievalMethod URI=\"http://example.com/k\"></ds:RetrievalMethod>"
                       "<ds:X509Data>");
       }},
      {"signature value of another digest", "RIM_SIGNATURE",
       [] {
         const std::string good = make_rim(driver_rim());
         const auto value = [](const std::string& xml) {
           return part(xml, "<ds:SignatureValue>", "</ds:SignatureValue>");
         };
         return replaced(good, value(good), value(make_rim(evil())));
       }},
      {"Id at the signature", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:Signature ", "<ds:Signature Id=\"a\" "); }},
      {"signature of no namespace beside the genuine one", "RIM_SIGNATURE",
       [] { return change("<Payload>", "<Payload><Signature xmlns=\"\"></Signature>"); }},
      {"another element in place of the value", "RIM_SIGNATURE_FORM",
       [] {
         return replaced(change("<ds:SignatureValue>", "<ds:Value>"), "</ds:SignatureValue>",
                         "</ds:Value>");
       }},
      {"attribute of the value", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:SignatureValue>", "<ds:SignatureValue a=\"b\">"); }},
      {"element in the value", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:SignatureValue>", "<ds:SignatureValue><a></a>"); }},
      {"value that is no base64", "RIM_SIGNATURE",
       [] { return change("<ds:SignatureValue>", "<ds:SignatureValue>?"); }},
      {"attribute of KeyInfo", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:KeyInfo>", "<ds:KeyInfo a=\"b\">"); }},
      {"attribute of X509Data", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:X509Data>", "<ds:X509Data a=\"b\">"); }},
      {"text in X509Data", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:X509Data>", "<ds:X509Data>text"); }},
      {"X509Data without certificates", "RIM_SIGNATURE_FORM",
       [] {
         const std::string good = make_rim(driver_rim());
         return replaced(good, part(good, "<ds:X509Certificate>", "</ds:X509Data>"),
                         "</ds:X509Data>");
       }},
      {"a list of revoked certificates", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:X509Data>", "<ds:X509Data><ds:X509CRL></ds:X509CRL>"); }},
      {"attribute of a certificate", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:X509Certificate>", "<ds:X509Certificate a=\"b\">"); }},
      {"certificate in no base64", "RIM_SIGNATURE_FORM",
       [] { return change("<ds:X509Certificate>", "<ds:X509Certificate>?"); }},
      {"base64 of no certificate", "RIM_SIGNATURE_FORM",
       [] {
         return change("<ds:X509Data>",
                       "<ds:X509Data><ds:X509Certificate>UEVN</ds:X509Certificate>");
       }},
  };
  return kAttacks;
}

TEST(Rim, WrappingAndSubstitution_IsRefused) {
  ASSERT_GE(wrapping_attacks().size(), 20U);
  ASSERT_EQ(verdict(make_rim(driver_rim())), "opened");
  for (const Attack& attack : wrapping_attacks()) {
    EXPECT_EQ(verdict(attack.xml()), attack.want) << attack.what;
  }
}

// Signed by the key that counts, so that the form alone refuses them.
TEST(Rim, OtherFormsOfSignature_AreRefused) {
  const std::string c14n = "http://www.w3.org/2006/12/xml-c14n11";
  const std::string reference = part(make_rim(driver_rim()), "<ds:Reference", "</ds:Reference>");
  const std::vector<std::pair<std::string, std::string>> forms = {
      {c14n, "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"},
      {"Algorithm=\"" + c14n + "\"></ds:Transform>",
       "Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:Transform>"},
      {"<ds:Transform Algorithm=\"" + c14n + "\"></ds:Transform>", ""},
      {"<ds:Transforms>",
       "<ds:Transforms><ds:Transform Algorithm=\"" + c14n + "\"></ds:Transform>"},
      {"http://www.w3.org/2000/09/xmldsig#enveloped-signature",
       "http://www.w3.org/TR/1999/REC-xpath-19991116"},
      {"xml-c14n11\"></ds:Transform>", "xml-c14n11\"><a></a></ds:Transform>"},
      {"URI=\"\"", "URI=\"#a\""},
      {"URI=\"\"", "URI=\"http://example.com/a\""},
      {"URI=\"\"", "URI=\"#xpointer(/)\""},
      {" URI=\"\"", ""},
      {"URI=\"\"", "URI=\"\" Type=\"a\""},
      {"xmldsig-more#sha384", "xmldsig-more#sha224"},
      {"http://www.w3.org/2001/04/xmldsig-more#sha384", "http://www.w3.org/2000/09/xmldsig#sha1"},
      {"#ecdsa-sha384", "#ecdsa-sha256"},
      {"http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384",
       "http://www.w3.org/2000/09/xmldsig#hmac-sha1"},
      {reference, reference + reference},
      {reference, ""},
      {"<ds:DigestValue>", "<ds:DigestValue><a></a>"},
      {"<ds:DigestValue>", "<ds:DigestValue a=\"b\">"},
      {"<ds:Transforms>", "<ds:Transforms a=\"b\">"},
      {"<ds:DigestMethod ", "<ds:DigestMethod a=\"b\" "},
      {"<ds:DigestMethod Algorithm", "<ds:DigestMethod ds:Algorithm"},
      {"<ds:CanonicalizationMethod", "text<ds:CanonicalizationMethod"},
  };
  for (const auto& [from, to] : forms) {
    EXPECT_EQ(verdict(genuine_form(from, to)), "RIM_SIGNATURE_FORM") << from << " -> " << to;
  }
  RimSpec p256 = driver_rim();
  p256.leaf_kind = "P-256";
  EXPECT_EQ(verdict(make_rim(p256)), "RIM_SIGNATURE");
}

TEST(Rim, SignedInfoWithAnAttribute_IsRefused) {
  EXPECT_EQ(verdict(change("<ds:SignedInfo>", "<ds:SignedInfo Id=\"a\">")), "RIM_SIGNATURE_FORM");
}

TEST(Rim, CertificatesInLines_AndWithoutTheRoot_Count) {
  EXPECT_EQ(verdict(change("<ds:X509Certificate>", "<ds:X509Certificate> \n\t&#13;")), "opened");
  RimSpec spec = driver_rim();
  const auto chain = rim_chain(spec);
  spec.certificates = {chain[0], chain[1]};
  EXPECT_EQ(verdict(make_rim(spec)), "opened");
  EXPECT_EQ(nv::open_rim(kDriverId, as_bytes(make_rim(spec)), {}, {}).error().error,
            nv::NvidiaError::kRimChain);
}

// The certificates of a path, the two CAs in the wrong order.
TEST(Rim, ChainOfTwoCas_IsInOrder) {
  RimSpec spec = driver_rim();
  const auto chain = rim_chain(spec);
  CertificateSpec sub = ca_spec();
  sub.subject = "rim sub ca";
  sub.issuer = "rim ca";
  sub.key = key_of("P-384", 90);
  sub.issuer_key = key_of("P-384", 6);
  sub.not_after = "2030-12-31T23:59:59Z";
  sub.extensions = {{"basicConstraints", "critical,CA:TRUE"},
                    {"keyUsage", "critical,keyCertSign,cRLSign"}};
  CertificateSpec leaf = sub;
  leaf.subject = "rim signer";
  leaf.issuer = "rim sub ca";
  leaf.key = key_of("P-384", 7);
  leaf.issuer_key = key_of("P-384", 90);
  leaf.extensions = {{"basicConstraints", "critical,CA:FALSE"},
                     {"keyUsage", "critical,digitalSignature"}};
  spec.certificates = {certificate(leaf), certificate(sub), chain[1], chain[2]};
  EXPECT_EQ(verdict(make_rim(spec)), "opened");
  std::swap(spec.certificates[1], spec.certificates[2]);
  EXPECT_EQ(verdict(make_rim(spec)), "RIM_CHAIN");
}

TEST(Rim, XmlBeyondElementsAndText_IsRefused) {
  const std::string good = make_rim(driver_rim());
  const std::vector<std::string> texts = {
      "",
      "no XML",
      "<a>",
      good + good,
      "<?xml version=\"1.0\"?>" + good,
      "<!DOCTYPE a [<!ENTITY b \"c\">]>" + good,
      "<!DOCTYPE a SYSTEM \"file:///etc/passwd\">" + good,
      replaced(good, "<Payload>", "<!-- --><Payload>"),
      replaced(good, "<Payload>", "<![CDATA[a]]><Payload>"),
      replaced(good, "<Payload>", "<Payload>&undefined;"),
      replaced(good, "<Payload>",
               "<Payload><x:include xmlns:x=\"http://www.w3.org/2001/XInclude\" href=\"a\"/>"),
      replaced(good, "<Payload>", "<Payload xml:base=\"http://example.com/\">"),
      replaced(good, "<Payload>", "<Payload unbound:a=\"b\">"),
      replaced(good, "<Payload>", "<Payload a=\"1\" a=\"2\">"),
      replaced(good, "<Payload>", std::string("<Payload>\0", 10)),
      replaced(good, "<Payload>", "<Payload>\xff"),
  };
  for (const std::string& text : texts) {
    EXPECT_EQ(verdict(text), "RIM_FORMAT") << text.substr(0, 60);
  }
}

TEST(Rim, HugeAndDeepXml_IsRefusedAtOnce) {
  const auto repeat = [](const std::string& one, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) {
      all += one;
    }
    return all;
  };
  std::string attributes = "<a";
  for (int i = 0; i < 2'000; ++i) {
    attributes += " a" + std::to_string(i) + "=\"\"";
  }
  const std::vector<std::pair<std::string, std::string>> rows = {
      {std::string(nv::kMaxXmlBytes + 1, ' '), "INPUT_TOO_LARGE"},
      {"<a>" + repeat("<b/>", nv::kMaxXmlTags), "INPUT_TOO_LARGE"},
      {attributes + "/>", "INPUT_TOO_LARGE"},
      {"<a>" + std::string(nv::kMaxXmlTagBytes, 'x') + "</a>", "INPUT_TOO_LARGE"},
      {repeat("<a xmlns:b=\"c\">", nv::kMaxXmlNamespaces + 1), "INPUT_TOO_LARGE"},
      {repeat("<a>", 8'000) + repeat("</a>", 8'000), "RIM_FORMAT"},
      {repeat("<a>", nv::kMaxXmlDepth + 1) + repeat("</a>", nv::kMaxXmlDepth + 1), "RIM_FORMAT"},
  };
  for (const auto& [text, want] : rows) {
    EXPECT_EQ(verdict(text), want) << text.substr(0, 20);
  }
  // Deep, but not too deep: refused for what it is.
  EXPECT_EQ(verdict(repeat("<a>", nv::kMaxXmlDepth) + repeat("</a>", nv::kMaxXmlDepth)),
            "RIM_SIGNATURE_FORM");
}

// The signature is right, and what it covers is not.
// long-function: one table.
TEST(Rim, SignedContentOutOfForm_IsRefused) {
  const auto with_document = [](const std::string& from, const std::string& to) {
    RimSpec spec = driver_rim();
    spec.document = [=](std::string& document) { document = replaced(document, from, to); };
    return make_rim(spec);
  };
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"</Meta>", "</Meta><Meta></Meta>"},
      {"<Payload>", "<Payload></Payload><Payload>"},
      {"<Payload>", "<Payload>text"},
      {"<Payload>", "<Payload><Other></Other>"},
      {" name=\"GH100\"", ""},
      {" name=\"GH100\"", " name=\"GB100\""},
      {" edition=\"GPU\"", ""},
      {" colloquialVersion=\"600.1\"", " colloquialVersion=\"\""},
      {"type=\"Measurement\"", "type=\"Other\""},
      {"active=\"True\"", "active=\"true\""},
      {"alternatives=\"1\"", "alternatives=\"0\""},
      {"alternatives=\"1\"", "alternatives=\"2\""},
      {"alternatives=\"1\"", "alternatives=\"01\""},
      {"alternatives=\"1\"", "alternatives=\"\""},
      {"alternatives=\"1\"", "alternatives=\"99999\""},
      {"index=\"7\"", "index=\"-1\""},
      {"index=\"7\"", "index=\"255\""},
      {"index=\"7\"", "index=\"35\""},
      {"size=\"48\"", "size=\"47\""},
      {"size=\"48\"", "size=\"32\""},
      {"ns2:Hash0=\"08", "ns2:Hash0=\"0x"},
      {"></Resource>", ">text</Resource>"},
      {" index=\"7\"", ""},
      {"index=\"7\"", "index=\"a\""},
      {" size=\"48\"", ""},
      {"<Meta ", "text<Meta "},
      {" product=\"GH100\"", ""},
      {" product=\"GH100\"", " product=\"\""},
      {" colloquialVersion=\"600.1\"", ""},
  };
  for (const auto& [from, to] : changes) {
    EXPECT_EQ(verdict(with_document(from, to)), "RIM_CONTENT") << from << " -> " << to;
  }
  RimSpec two = driver_rim();
  two.resources[0].values.push_back(value_of(1));
  two.document = [](std::string& document) {
    document = replaced(document, "alternatives=\"2\"", "alternatives=\"1\"");
  };
  EXPECT_EQ(verdict(make_rim(two)), "RIM_CONTENT");
  RimSpec other_root = driver_rim();
  other_root.document = [](std::string& document) {
    document = replaced(document, "<SoftwareIdentity", "<Software");
    document = replaced(document, "</SoftwareIdentity", "</Software");
  };
  EXPECT_EQ(verdict(make_rim(other_root)), "RIM_CONTENT");
  RimSpec none = driver_rim();
  none.resources = {{7, {value_of(1)}, false}};
  EXPECT_EQ(verdict(make_rim(none)), "RIM_CONTENT");
  RimSpec many = driver_rim();
  for (int i = 0; i < 300; ++i) {
    many.resources.push_back({i % 250, {value_of(1)}});
  }
  EXPECT_EQ(verdict(make_rim(many)), "RIM_CONTENT");
}

TEST(Rim, Id_MustBeThatOfTheContent) {
  const std::string driver = make_rim(driver_rim());
  const std::string vbios = make_rim(vbios_rim());
  for (const char* id :
       {"", "NV_GPU_DRIVER_GH100", "NV_GPU_DRIVER_GH100_600.2", "NV_GPU_DRIVER_GB100_600.1",
        "NV_GPU_DRIVER_GH100_A_600.1", "NV_SWITCH_BIOS_A_B_C_6001", "600.1"}) {
    EXPECT_EQ(verdict(driver, id), "RIM_ID_MISMATCH") << id;
  }
  EXPECT_EQ(verdict(driver, "NV_GPU_DRIVER_GH100_" + std::string(200, '1')), "RIM_ID_MISMATCH");
  EXPECT_EQ(verdict(vbios, kVbiosId), "opened");
  EXPECT_EQ(verdict(vbios, kDriverId), "RIM_ID_MISMATCH");
  EXPECT_EQ(verdict(vbios, "NV_SWITCH_BIOS_1010_0205_862_9600740020"), "RIM_ID_MISMATCH");
  EXPECT_EQ(verdict(driver, kVbiosId), "RIM_ID_MISMATCH");
}

TEST(Rim, AnswerOfTheService_IsTakenApart) {
  const std::string xml = make_rim(driver_rim());
  const auto answer = [&](const std::string& sha, const char* id = kDriverId) {
    return Json{{"id", id}, {"rim", base64_encode(as_bytes(xml))}, {"sha256", sha}}.dump();
  };
  const auto file = nv::parse_rim_answer(as_bytes(answer(sha256(as_bytes(xml)).hex()))).value();
  EXPECT_EQ(file.id, kDriverId);
  EXPECT_EQ(as_text(file.xml), xml);
  for (const std::string& text :
       {answer(std::string(64, '0')), std::string("[]"), std::string("{"),
        std::string(R"({"id":"a"})"), std::string(R"({"id":"a","rim":"?"})"),
        std::string(R"({"id":7,"rim":""})")}) {
    EXPECT_EQ(nv::parse_rim_answer(as_bytes(text)).error().error, nv::NvidiaError::kRimFormat);
  }
}

}  // namespace
}  // namespace assay::test::nvidia
