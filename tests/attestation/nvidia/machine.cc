// SPDX-License-Identifier: Apache-2.0
#include "tests/attestation/nvidia/machine.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>

#include <openssl/ocsp.h>

#include "attestation/crypto/ecdsa_signature.h"
#include "attestation/x509/handles.h"
#include "schemas/core/sha.h"

namespace assay::test::nvidia {
namespace {

constexpr const char* kCa = "critical,CA:TRUE";
constexpr const char* kUntil = "2030-12-31T23:59:59Z";
constexpr const char* kSwid = "http://standards.iso.org/iso/19770/-2/2015/schema.xsd";
constexpr const char* kDsig = "http://www.w3.org/2000/09/xmldsig#";
constexpr const char* kHashes = "http://www.w3.org/2001/04/xmlenc#sha384";

void append(Bytes& out, ByteView more) { out.insert(out.end(), more.begin(), more.end()); }

void append_number(Bytes& out, std::size_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

CertificateSpec ca(const std::string& name, const std::string& issuer, const KeyPtr& key,
                   const KeyPtr& issuer_key) {
  CertificateSpec spec;
  spec.subject = name;
  spec.issuer = issuer;
  spec.key = key;
  spec.issuer_key = issuer_key;
  spec.not_after = kUntil;
  spec.hash = "SHA384";
  spec.extensions = {{"basicConstraints", kCa}, {"keyUsage", "critical,keyCertSign,cRLSign"}};
  return spec;
}

KeyPtr p384(int number) { return key_of("P-384", number); }

std::string fwid_extension(const DeviceSpec& spec, const KeyPtr& key) {
  const std::string fwid = "303d06096086480165030402020430" + hex_encode(spec.fwid);
  if (spec.form == FwidForm::kHopper) {
    return "3081ba020101" + hex_encode(public_der(key)) + fwid;
  }
  return "304a8000a63f" + fwid + "870500" + hex_encode(Bytes{spec.flags, 0, 0, 1});
}

std::string base64(ByteView bytes) { return base64_encode(bytes); }

std::string resource_text(const Resource& resource) {
  std::string text = std::string(R"(<Resource active=")") + (resource.active ? "True" : "False") +
                     R"(" alternatives=")" + std::to_string(resource.values.size()) +
                     R"(" index=")" + std::to_string(resource.index) + R"(" name="M" size=")" +
                     std::to_string(resource.values.front().size()) + R"(" type="Measurement")";
  for (std::size_t i = 0; i < resource.values.size(); ++i) {
    text += " ns2:Hash" + std::to_string(i) + "=\"" + hex_encode(resource.values[i]) + "\"";
  }
  return text + "></Resource>";
}

ASN1_TIME* asn1_time(const std::string& text) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      parse_rfc3339(text).value().time_since_epoch());
  return ASN1_TIME_set(nullptr, static_cast<std::time_t>(seconds.count()));
}

}  // namespace

Timestamp at(const std::string& text) { return parse_rfc3339(text).value(); }

nv::Nonce some_nonce() {
  nv::Nonce nonce{};
  nonce.fill(0x5a);
  return nonce;
}

Bytes make_report(const ReportSpec& spec, const KeyPtr& key) {
  Bytes report = spec.request_header;
  append(report, spec.nonce);
  report.push_back(0);
  append(report, spec.response_header);
  Bytes record;
  for (const auto& [index, value] : spec.measurements) {
    append(record, Bytes{index, 1});
    append_number(record, value.size() + 3, 2);
    record.push_back(1);
    append_number(record, value.size(), 2);
    append(record, value);
  }
  report.push_back(static_cast<std::uint8_t>(spec.measurements.size()));
  append_number(report, record.size(), 3);
  append(report, record);
  append(report, Bytes(32, 0x77));
  Bytes opaque;
  for (const auto& [type, value] : spec.opaque) {
    append_number(opaque, type, 2);
    append_number(opaque, value.size(), 2);
    append(opaque, value);
  }
  append_number(report, opaque.size(), 2);
  append(report, opaque);
  append(report, raw_signature(sign_with(key, report, "SHA384"), 48));
  return report;
}

void set_field(ReportSpec& spec, std::uint16_t type, std::optional<Bytes> value) {
  std::erase_if(spec.opaque, [&](const auto& field) { return field.first == type; });
  if (value) {
    spec.opaque.emplace_back(type, *std::move(value));
  }
}

const x509::Certificate& device_root() {
  static const x509::Certificate root =
      certificate(ca("device root", "device root", p384(0), p384(0)));
  return root;
}

KeyPtr device_issuer_key(const DeviceSpec& spec, int place) {
  return place == 1 ? p384(10 + spec.number) : p384(4 - place);
}

Device make_device(const DeviceSpec& spec) {
  Device device;
  device.key = key_of(spec.leaf_kind, 40 + spec.number);
  const KeyPtr own = p384(10 + spec.number);
  CertificateSpec leaf = ca("leaf", "device", device.key, own);
  leaf.not_after = spec.not_after;
  const std::string name =
      spec.name.empty() ? "NVIDIA:" + spec.chip + ":48B0" + spec.pdi : spec.name;
  leaf.extensions = {{"keyUsage", "critical,digitalSignature"},
                     {"subjectAltName", "otherName:1.3.6.1.4.1.412.274.1;UTF8:" + name}};
  if (spec.form != FwidForm::kNone) {
    leaf.extensions.emplace_back(
        spec.form == FwidForm::kHopper ? "2.23.133.5.4.1" : "2.23.133.5.4.1.1",
        "DER:" + fwid_extension(spec, p384(40 + spec.number)));
  }
  CertificateSpec middle = ca("device", "provisioner", own, p384(2));
  middle.serial_hex = spec.serial_prefix + spec.pdi;
  CertificateSpec provisioner = ca("provisioner", "identity", p384(2), p384(1));
  provisioner.serial = 3;
  CertificateSpec identity = ca("identity", "device root", p384(1), p384(0));
  identity.serial = 2;
  for (const CertificateSpec& one : {leaf, middle, provisioner, identity}) {
    device.chain.push_back(certificate(one));
  }
  device.chain.push_back(device_root());
  device.pem = pem_of(device.chain);
  return device;
}

std::string pem_of(const std::vector<x509::Certificate>& chain) {
  std::string pem;
  for (const x509::Certificate& one : chain) {
    pem += x509::pem(one);
  }
  return pem;
}

Bytes value_of(std::uint8_t number) { return Bytes(48, number); }

ReportSpec hopper_report() {
  ReportSpec spec;
  for (std::uint8_t i = 1; i <= 40; ++i) {
    spec.measurements.emplace_back(i, value_of(i));
  }
  spec.opaque = {{3, to_bytes(std::string("600.1\0", 6))},
                 {6, {0x00, 0x74, 0x00, 0x96, 0x20, 0, 0, 0}},
                 {11, {0xaa}},
                 {15, to_bytes(std::string("862\0\0", 5))},
                 {17, to_bytes(std::string("1010\0", 5))},
                 {18, to_bytes(std::string("0205\0", 5))},
                 {20, Bytes(48, 0xf1)},
                 {21, {0x55}},
                 {34, {1, 0}},
                 {36, {0, 0}}};
  return spec;
}

RimSpec driver_rim() {
  RimSpec spec;
  spec.resources = {{7, {value_of(8)}}, {35, {value_of(36)}}, {9, {value_of(99)}, false}};
  return spec;
}

RimSpec vbios_rim() {
  RimSpec spec;
  spec.version = "96.00.74.00.20";
  spec.resources = {{0, {value_of(1)}}, {9, {value_of(77), value_of(10)}}};
  return spec;
}

const x509::Certificate& rim_root() {
  static const x509::Certificate root = certificate(ca("rim root", "rim root", p384(5), p384(5)));
  return root;
}

KeyPtr rim_issuer_key(int place) { return place == 1 ? p384(6) : p384(5); }

std::vector<x509::Certificate> rim_chain(const RimSpec& spec) {
  CertificateSpec leaf = ca("rim signer", "rim ca", key_of(spec.leaf_kind, 7), p384(6));
  leaf.not_after = spec.leaf_until;
  leaf.extensions = {{"basicConstraints", "critical,CA:FALSE"},
                     {"keyUsage", "critical,digitalSignature"}};
  return {certificate(leaf), certificate(ca("rim ca", "rim root", p384(6), p384(5))), rim_root()};
}

std::string make_rim(const RimSpec& spec) {
  std::string document = "<SoftwareIdentity xmlns=\"" + std::string(kSwid) + "\" xmlns:ns2=\"" +
                         kHashes + "\" name=\"" + spec.product + "\"><Meta colloquialVersion=\"" +
                         spec.version + "\" edition=\"" + spec.edition + "\" product=\"" +
                         spec.product + "\"></Meta><Payload>";
  for (const Resource& resource : spec.resources) {
    document += resource_text(resource);
  }
  document += "</Payload></SoftwareIdentity>";
  if (spec.document) {
    spec.document(document);
  }
  const Digest digest = sha(HashAlgorithm::kSha384, as_bytes(document));
  std::string info =
      R"(<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2006/12/xml-c14n11"></ds:CanonicalizationMethod>)"
      R"(<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384"></ds:SignatureMethod>)"
      R"(<ds:Reference URI=""><ds:Transforms>)"
      R"(<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"></ds:Transform>)"
      R"(<ds:Transform Algorithm="http://www.w3.org/2006/12/xml-c14n11"></ds:Transform></ds:Transforms>)"
      R"(<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#sha384"></ds:DigestMethod><ds:DigestValue>)" +
      base64(digest.bytes()) + "</ds:DigestValue></ds:Reference>";
  if (spec.signed_info) {
    spec.signed_info(info);
  }
  const std::string canonical = "<ds:SignedInfo xmlns=\"" + std::string(kSwid) + "\" xmlns:ds=\"" +
                                kDsig + "\" xmlns:ns2=\"" + kHashes + "\">" + info +
                                "</ds:SignedInfo>";
  const KeyPtr key = spec.signer ? spec.signer : key_of(spec.leaf_kind, 7);
  const std::size_t scalar = spec.leaf_kind == "P-384" ? 48 : 32;
  std::string signature =
      "<ds:Signature xmlns:ds=\"" + std::string(kDsig) + "\"><ds:SignedInfo>" + info +
      "</ds:SignedInfo><ds:SignatureValue>" +
      base64(raw_signature(sign_with(key, as_bytes(canonical), "SHA384"), scalar)) +
      "</ds:SignatureValue><ds:KeyInfo><ds:X509Data>";
  for (const x509::Certificate& one :
       spec.certificates.empty() ? rim_chain(spec) : spec.certificates) {
    signature += "<ds:X509Certificate>" + base64(one.der()) + "</ds:X509Certificate>";
  }
  return document.insert(document.rfind("</"),
                         signature + "</ds:X509Data></ds:KeyInfo></ds:Signature>");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    throw std::runtime_error("not in the text: " + from);
  }
  return text.replace(at, from.size(), to);
}

nv::Checked<nv::Rim> open(const std::string& xml, const std::string& id,
                          std::span<const nv::OcspResponse> responses) {
  return nv::open_rim(id, as_bytes(xml), std::span(&rim_root(), 1), responses);
}

Bytes make_ocsp(const x509::Certificate& subject, const x509::Certificate& issuer,
                const OcspSpec& spec) {
  OCSP_BASICRESP* basic = OCSP_BASICRESP_new();
  OCSP_CERTID* id = OCSP_cert_to_id(EVP_get_digestbyname(spec.id_hash), x509::x509_of(subject),
                                    x509::x509_of(issuer));
  ASN1_TIME* begun = asn1_time(spec.this_update);
  ASN1_TIME* ended = spec.next_update.empty() ? nullptr : asn1_time(spec.next_update);
  OCSP_basic_add1_status(basic, id, spec.status, spec.reason, begun, begun, ended);
  const x509::Certificate& signer = spec.signer != nullptr ? *spec.signer : issuer;
  if (OCSP_basic_sign(basic, x509::x509_of(signer), spec.key.get(), EVP_get_digestbyname(spec.hash),
                      nullptr, OCSP_NOTIME | (spec.signer == nullptr ? OCSP_NOCERTS : 0)) != 1) {
    throw std::runtime_error("an OCSP answer cannot be signed");
  }
  OCSP_RESPONSE* response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
  unsigned char* out = nullptr;
  const int size = i2d_OCSP_RESPONSE(response, &out);
  Bytes der(out, out + size);
  OPENSSL_free(out);
  OCSP_RESPONSE_free(response);
  OCSP_BASICRESP_free(basic);
  OCSP_CERTID_free(id);
  ASN1_TIME_free(begun);
  ASN1_TIME_free(ended);
  return der;
}

std::vector<nv::OcspResponse> good_answers(const Device& device, const DeviceSpec& spec) {
  std::vector<nv::OcspResponse> all;
  for (int i = 1; i < 4; ++i) {
    OcspSpec answer;
    answer.key = device_issuer_key(spec, i + 1);
    const auto place = static_cast<std::size_t>(i);
    all.push_back(
        nv::OcspResponse::parse(make_ocsp(device.chain[place], device.chain[place + 1], answer))
            .value());
  }
  return all;
}

std::vector<nv::OcspResponse> good_answers(const RimSpec& spec) {
  std::vector<nv::OcspResponse> all;
  const auto chain = rim_chain(spec);
  for (int i = 0; i < 2; ++i) {
    OcspSpec answer;
    answer.key = rim_issuer_key(i + 1);
    const auto place = static_cast<std::size_t>(i);
    all.push_back(
        nv::OcspResponse::parse(make_ocsp(chain[place], chain[place + 1], answer)).value());
  }
  return all;
}

}  // namespace assay::test::nvidia
