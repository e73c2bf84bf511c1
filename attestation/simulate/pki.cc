// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/pki.h"

#include <algorithm>
#include <bit>

#include "attestation/simulate/der_writer.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::string_view kSgxArc = "1.2.840.113741.1.13.1";

Bytes signature_algorithm() { return der::sequence({der::oid("1.2.840.10045.4.3.2")}); }

Bytes attribute(std::string_view type, std::string_view text) {
  return der::set({der::sequence({der::oid(type), der::utf8(text)})});
}

Bytes name_of(std::string_view common_name) {
  return der::sequence({attribute("2.5.4.3", common_name),
                        attribute("2.5.4.10", "Intel Corporation"),
                        attribute("2.5.4.7", "Santa Clara"), attribute("2.5.4.8", "CA"),
                        attribute("2.5.4.6", "US")});
}

Bytes extension(std::string_view type, bool critical, ByteView value) {
  return critical ? der::sequence({der::oid(type), der::boolean_true(), der::octets(value)})
                  : der::sequence({der::oid(type), der::octets(value)});
}

Bytes basic_constraints(const CertificateSpec& spec) {
  if (!spec.is_ca) {
    return der::sequence({});
  }
  return spec.path_length ? der::sequence({der::boolean_true(), der::integer(*spec.path_length)})
                          : der::sequence({der::boolean_true()});
}

// A BIT STRING of named bits ends at its last set bit.
Bytes key_usage(std::uint8_t bits) {
  const int unused = std::min(std::countr_zero(bits), 7);
  return der::bits(ByteView(&bits, 1), static_cast<std::uint8_t>(unused));
}

// Signs `body` and puts all three parts together (RFC 5280 sections 4.1 and 5.1).
Bytes sign(Bytes body, const std::string& signer, ByteView seed) {
  const Bytes signature = SimulatedKey(seed, signer).sign_der(body);
  return der::sequence({std::move(body), signature_algorithm(), der::bits(signature)});
}

Bytes member(const std::string& arc, unsigned number, Bytes value) {
  return der::sequence({der::oid(arc + "." + std::to_string(number)), std::move(value)});
}

}  // namespace

Bytes make_certificate(const CertificateSpec& spec, ByteView seed) {
  std::vector<Bytes> extensions = {extension("2.5.29.19", true, basic_constraints(spec)),
                                   extension("2.5.29.15", true, key_usage(spec.key_usage))};
  if (!spec.sgx_extension.empty()) {
    extensions.push_back(extension(kSgxArc, false, spec.sgx_extension));
  }
  const Bytes spki =
      spec.other_spki.empty() ? SimulatedKey(seed, spec.key).spki() : spec.other_spki;
  Bytes body = der::sequence(
      {der::context(0, der::integer(2)), der::integer(spec.serial), signature_algorithm(),
       name_of(spec.issuer), der::sequence({der::time(spec.not_before), der::time(spec.not_after)}),
       name_of(spec.subject), spki, der::context(3, der::sequence(extensions))});
  return sign(std::move(body), spec.signer, seed);
}

Bytes make_crl(const CrlSpec& spec, ByteView seed) {
  std::vector<Bytes> parts = {der::integer(1), signature_algorithm(), name_of(spec.issuer),
                              der::time(spec.this_update)};
  if (spec.next_update) {
    parts.push_back(der::time(*spec.next_update));
  }
  std::vector<Bytes> entries;
  entries.reserve(spec.revoked.size());
  for (const std::uint64_t serial : spec.revoked) {
    entries.push_back(der::sequence({der::integer(serial), der::time(spec.this_update)}));
  }
  if (!entries.empty()) {
    parts.push_back(der::sequence(entries));
  }
  std::vector<Bytes> extensions = {extension("2.5.29.20", false, der::integer(1))};
  if (spec.is_partial) {
    // onlyContainsUserCerts [1]
    const Bytes flag = der::value(0x81, Bytes{0xff});
    extensions.push_back(extension("2.5.29.28", true, der::sequence({flag})));
  }
  parts.push_back(der::context(0, der::sequence(extensions)));
  return sign(der::sequence(parts), spec.signer, seed);
}

Bytes make_sgx_extension(const PckExtension& extension) {
  const std::string arc(kSgxArc);
  std::vector<Bytes> tcb;
  tcb.reserve(extension.components.size() + 2);
  for (std::size_t i = 0; i < extension.components.size(); ++i) {
    tcb.push_back(
        member(arc + ".2", static_cast<unsigned>(i + 1), der::integer(extension.components[i])));
  }
  tcb.push_back(member(arc + ".2", 17, der::integer(extension.pcesvn)));
  tcb.push_back(member(arc + ".2", 18, der::octets(extension.components)));
  std::vector<Bytes> members = {
      member(arc, 1, der::octets(extension.ppid)), member(arc, 2, der::sequence(tcb)),
      member(arc, 3, der::octets(extension.pceid)), member(arc, 4, der::octets(extension.fmspc)),
      member(arc, 5, der::enumerated(extension.sgx_type))};
  if (extension.platform_instance_id) {
    members.push_back(member(arc, 6, der::octets(*extension.platform_instance_id)));
  }
  return der::sequence(members);
}

Bytes p384_spki() {
  // The generator of the curve, SEC 2 section 2.5.1.
  constexpr std::string_view kGenerator =
      "04aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872"
      "760ab73617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d"
      "7c90ea0e5f";
  return der::sequence({der::sequence({der::oid("1.2.840.10045.2.1"), der::oid("1.3.132.0.34")}),
                        der::bits(hex_decode(kGenerator).value())});
}

std::string to_pem(ByteView certificate) {
  constexpr std::size_t kColumns = 64;
  const std::string base64 = base64_encode(certificate);
  std::string pem = "-----BEGIN CERTIFICATE-----\n";
  for (std::size_t i = 0; i < base64.size(); i += kColumns) {
    pem += base64.substr(i, kColumns) + "\n";
  }
  return pem + "-----END CERTIFICATE-----\n";
}

}  // namespace assay::attestation::tdx
