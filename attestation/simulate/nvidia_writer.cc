// SPDX-License-Identifier: Apache-2.0
// Bytes of reports, text of RIMs.
#include "attestation/simulate/nvidia_writer.h"

#include <algorithm>

#include "attestation/simulate/der_writer.h"
#include "attestation/simulate/writer.h"
#include "schemas/core/sha.h"

namespace assay::attestation::nvidia {
namespace {

namespace tlv = tdx::der;

constexpr std::string_view kSwidNames = "http://standards.iso.org/iso/19770/-2/2015/schema.xsd";
constexpr std::string_view kDsigNames = "http://www.w3.org/2000/09/xmldsig#";
constexpr std::string_view kHashNames = "http://www.w3.org/2001/04/xmlenc#sha384";

Bytes measurement_record(const ReportSpec& spec) {
  tdx::Writer out;
  for (const auto& [index, value] : spec.measurements) {
    out.number(index, 1);
    out.number(1, 1);  // specification: DMTF
    out.number(value.size() + 3, 2);
    out.number(1, 1);
    out.number(value.size(), 2);
    out.bytes(value);
  }
  return out.take();
}

Bytes opaque_fields(const ReportSpec& spec) {
  tdx::Writer out;
  for (const auto& [type, value] : spec.opaque) {
    out.number(type, 2);
    out.number(value.size(), 2);
    out.bytes(value);
  }
  return out.take();
}

std::string resource_text(const RimResource& resource) {
  std::string text = std::string(R"(<Resource active=")") + (resource.active ? "True" : "False") +
                     R"(" alternatives=")" + std::to_string(resource.values.size()) +
                     R"(" index=")" + std::to_string(resource.index) + R"(" name="M" size=")" +
                     std::to_string(resource.values.front().size()) + R"(" type="Measurement")";
  for (std::size_t i = 0; i < resource.values.size(); ++i) {
    text += " ns2:Hash" + std::to_string(i) + "=\"" + hex_encode(resource.values[i]) + "\"";
  }
  return text + "></Resource>";
}

std::string rim_document(const RimSpec& spec) {
  std::string text = "<SoftwareIdentity xmlns=\"" + std::string(kSwidNames) + "\" xmlns:ns2=\"" +
                     std::string(kHashNames) + "\" name=\"" + spec.product +
                     "\"><Meta colloquialVersion=\"" + spec.version + "\" edition=\"" +
                     spec.edition + "\" product=\"" + spec.product + "\"></Meta><Payload>";
  for (const RimResource& resource : spec.resources) {
    text += resource_text(resource);
  }
  text += "</Payload></SoftwareIdentity>";
  if (spec.document) {
    spec.document(text);
  }
  return text;
}

std::string signed_info(const RimSpec& spec, std::string_view document) {
  const Digest digest = sha(HashAlgorithm::kSha384, as_bytes(document));
  std::string info =
      R"(<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2006/12/xml-c14n11"></ds:CanonicalizationMethod>)"
      R"(<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384"></ds:SignatureMethod>)"
      R"(<ds:Reference URI=""><ds:Transforms>)"
      R"(<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"></ds:Transform>)"
      R"(<ds:Transform Algorithm="http://www.w3.org/2006/12/xml-c14n11"></ds:Transform></ds:Transforms>)"
      R"(<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#sha384"></ds:DigestMethod><ds:DigestValue>)" +
      base64_encode(digest.bytes()) + "</ds:DigestValue></ds:Reference>";
  if (spec.signed_info) {
    spec.signed_info(info);
  }
  return info;
}

}  // namespace

Bytes make_report(const ReportSpec& spec, const RawSigner& signer) {
  const Bytes record = measurement_record(spec);
  const Bytes opaque = opaque_fields(spec);
  tdx::Writer out;
  out.bytes(spec.request_header);
  out.bytes(spec.nonce);
  out.number(0, 1);  // slot
  out.bytes(spec.response_header);
  out.number(spec.measurements.size(), 1);
  out.number(record.size(), 3);
  out.bytes(record);
  out.bytes(Bytes(kNonceBytes, 0x77));  // the device's own nonce
  out.number(opaque.size(), 2);
  out.bytes(opaque);
  Bytes report = out.take();
  const Bytes signature = signer(report);
  report.insert(report.end(), signature.begin(), signature.end());
  return report;
}

void set_field(ReportSpec& spec, std::uint16_t type, std::optional<Bytes> value) {
  std::erase_if(spec.opaque, [&](const auto& field) { return field.first == type; });
  if (value) {
    spec.opaque.emplace_back(type, *std::move(value));
  }
}

std::pair<std::string, Bytes> make_fwid(FwidForm form, ByteView fwid, ByteView spki,
                                        std::uint8_t flags) {
  const Bytes digest = tlv::sequence({tlv::oid("2.16.840.1.101.3.4.2.2"), tlv::octets(fwid)});
  if (form == FwidForm::kHopper) {
    return {"2.23.133.5.4.1",
            tlv::sequence({tlv::integer(1), Bytes(spki.begin(), spki.end()), digest})};
  }
  // vendor [0], fwids [6] and flags [7] of TcbInfo, with implicit tags.
  return {"2.23.133.5.4.1.1", tlv::sequence({tlv::value(0x80, {}), tlv::context(6, digest),
                                             tlv::value(0x87, Bytes{0, flags, 0, 0, 1})})};
}

std::string make_rim(const RimSpec& spec, std::span<const Bytes> certificates,
                     const RawSigner& signer) {
  std::string document = rim_document(spec);
  const std::string info = signed_info(spec, document);
  const std::string canonical = "<ds:SignedInfo xmlns=\"" + std::string(kSwidNames) +
                                "\" xmlns:ds=\"" + std::string(kDsigNames) + "\" xmlns:ns2=\"" +
                                std::string(kHashNames) + "\">" + info + "</ds:SignedInfo>";
  std::string signature = "<ds:Signature xmlns:ds=\"" + std::string(kDsigNames) +
                          "\"><ds:SignedInfo>" + info + "</ds:SignedInfo><ds:SignatureValue>" +
                          base64_encode(signer(as_bytes(canonical))) +
                          "</ds:SignatureValue><ds:KeyInfo><ds:X509Data>";
  for (const Bytes& one : certificates) {
    signature += "<ds:X509Certificate>" + base64_encode(one) + "</ds:X509Certificate>";
  }
  return document.insert(document.rfind("</"),
                         signature + "</ds:X509Data></ds:KeyInfo></ds:Signature>");
}

}  // namespace assay::attestation::nvidia
