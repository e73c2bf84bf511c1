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

// Signs as the simulator's writer asks for it.
nv::RawSigner signer_with(const KeyPtr& key, std::size_t scalar) {
  return [key, scalar](ByteView message) {
    return raw_signature(sign_with(key, message, "SHA384"), scalar);
  };
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
  return nv::make_report(spec, signer_with(key, 48));
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
  leaf.extensions = {{"keyUsage", "critical,digitalSignature"}};
  if (spec.names != "none") {
    leaf.extensions.emplace_back(
        "subjectAltName",
        spec.names.empty() ? "otherName:1.3.6.1.4.1.412.274.1;UTF8:" + name : spec.names);
  }
  if (spec.form != FwidForm::kNone) {
    const auto [oid, content] =
        nv::make_fwid(spec.form, spec.fwid, public_der(p384(40 + spec.number)), spec.flags);
    leaf.extensions.emplace_back(oid, "DER:" + hex_encode(content));
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
  spec.nonce = some_nonce();
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
  std::vector<Bytes> certificates;
  for (const x509::Certificate& one :
       spec.certificates.empty() ? rim_chain(spec) : spec.certificates) {
    certificates.push_back(one.der());
  }
  const KeyPtr key = spec.signer ? spec.signer : key_of(spec.leaf_kind, 7);
  return nv::make_rim(spec, certificates, signer_with(key, spec.leaf_kind == "P-384" ? 48 : 32));
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
  if (spec.is_about) {
    OCSP_basic_add1_status(basic, id, spec.status, spec.reason, begun, begun, ended);
  }
  if (spec.change) {
    spec.change(basic);
  }
  const x509::Certificate& signer = spec.signer != nullptr ? *spec.signer : issuer;
  if (OCSP_basic_sign(
          basic, x509::x509_of(signer), spec.key.get(), EVP_get_digestbyname(spec.hash), nullptr,
          OCSP_NOTIME | (spec.signer == nullptr || !spec.with_signer ? OCSP_NOCERTS : 0)) != 1) {
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
