// SPDX-License-Identifier: Apache-2.0
// DER of certificates (RFC 5280) and OCSP answers (RFC 6960 section 4.2.1).
#include "attestation/simulate/nvidia_pki.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "attestation/crypto/ecdsa_signature.h"
#include "attestation/simulate/der_writer.h"
#include "schemas/core/sha.h"

namespace assay::attestation::nvidia {
namespace {

namespace asn1 = tdx::der;

constexpr std::size_t kScalarBytes = 48;
constexpr std::size_t kKeptKeys = 256;
constexpr std::uint8_t kSigns = 0x80;  // key usage: digitalSignature
constexpr std::uint8_t kCertifies = 0x06;
constexpr std::uint8_t kKeyCompromise = 1;  // reasons of RFC 5280 section 5.3.1
constexpr std::uint8_t kOnHold = 6;

Bytes ecdsa_sha384() { return asn1::sequence({asn1::oid("1.2.840.10045.4.3.3")}); }

Bytes nvidia_name(const std::string& common_name) {
  const auto part = [](std::string_view type, std::string_view text) {
    return asn1::set({asn1::sequence({asn1::oid(type), asn1::utf8(text)})});
  };
  return asn1::sequence({part("2.5.4.6", "US"), part("2.5.4.10", "NVIDIA Corporation"),
                         part("2.5.4.3", common_name)});
}

Bytes any_extension(std::string_view type, bool is_critical, ByteView content) {
  return is_critical
             ? asn1::sequence({asn1::oid(type), asn1::boolean_true(), asn1::octets(content)})
             : asn1::sequence({asn1::oid(type), asn1::octets(content)});
}

Bytes extensions_of(const SimulatedCertificate& spec) {
  std::vector<Bytes> all;
  const std::uint8_t usage = spec.is_ca ? kCertifies : kSigns;
  if (spec.is_ca) {
    all.push_back(any_extension("2.5.29.19", true, asn1::sequence({asn1::boolean_true()})));
  }
  all.push_back(
      any_extension("2.5.29.15", true, asn1::bits(ByteView(&usage, 1), spec.is_ca ? 1 : 7)));
  for (const auto& [type, content] : spec.extensions) {
    all.push_back(any_extension(type, false, content));
  }
  return asn1::context(3, asn1::sequence(all));
}

// Puts a body, its algorithm and its signature together.
Bytes signed_body(Bytes body, const std::string& signer, ByteView seed) {
  const auto raw = simulated_key(seed, signer).sign(body);
  const Bytes signature = der_signature(raw, kScalarBytes);
  return asn1::sequence({std::move(body), ecdsa_sha384(), asn1::bits(signature)});
}

// GeneralizedTime, which OCSP has for every year.
Bytes long_time(Timestamp time) {
  constexpr std::uint8_t kGeneralizedTime = 0x18;
  std::string digits = to_rfc3339(time).substr(0, 19);
  std::erase_if(digits, [](char c) { return c < '0' || c > '9'; });
  return asn1::value(kGeneralizedTime, as_bytes(digits + "Z"));
}

Bytes status_of_answer(const SimulatedAnswer& answer) {
  switch (answer.state) {
    case CertificateState::kGood:
      return asn1::value(0x80, {});
    case CertificateState::kHold:
    case CertificateState::kRevoked: {
      const bool is_hold = answer.state == CertificateState::kHold;
      const Bytes reason = asn1::context(0, asn1::enumerated(is_hold ? kOnHold : kKeyCompromise));
      Bytes content = long_time(answer.this_update);
      content.insert(content.end(), reason.begin(), reason.end());
      return asn1::context(1, content);
    }
    default:
      return asn1::value(0x82, {});
  }
}

// The bits of a public key: what a CertID hashes.
ByteView key_bits(ByteView spki) { return spki.last(2 * kScalarBytes + 1); }

Bytes certificate_id(const SimulatedCertificate& spec, ByteView seed) {
  const Bytes issuer_key = simulated_key(seed, spec.signer).spki();
  const Bytes null = asn1::value(0x05, {});
  const Digest name_hash = sha256(nvidia_name(spec.issuer));
  const Digest key_hash = sha256(key_bits(issuer_key));
  return asn1::sequence({asn1::sequence({asn1::oid("2.16.840.1.101.3.4.2.1"), null}),
                         asn1::octets(name_hash.bytes()), asn1::octets(key_hash.bytes()),
                         asn1::integer(ByteView(spec.serial))});
}

}  // namespace

snp::SimulatedP384Key simulated_key(ByteView seed, const std::string& label) {
  static std::mutex mutex;
  static std::map<std::pair<Bytes, std::string>, snp::SimulatedP384Key> kept;
  const std::scoped_lock lock(mutex);
  if (kept.size() >= kKeptKeys) {
    kept.clear();
  }
  const std::pair<Bytes, std::string> name(Bytes(seed.begin(), seed.end()), label);
  const auto found = kept.find(name);
  return found != kept.end() ? found->second
                             : kept.emplace(name, snp::SimulatedP384Key(seed, label)).first->second;
}

Bytes make_certificate(const SimulatedCertificate& spec, ByteView seed) {
  return signed_body(
      asn1::sequence({asn1::context(0, asn1::integer(2)), asn1::integer(ByteView(spec.serial)),
                      ecdsa_sha384(), nvidia_name(spec.issuer),
                      asn1::sequence({asn1::time(spec.not_before), asn1::time(spec.not_after)}),
                      nvidia_name(spec.subject), simulated_key(seed, spec.key).spki(),
                      extensions_of(spec)}),
      spec.signer, seed);
}

Bytes make_answer(const SimulatedCertificate& spec, const SimulatedAnswer& answer, ByteView seed) {
  const Bytes single = asn1::sequence({certificate_id(spec, seed), status_of_answer(answer),
                                       long_time(answer.this_update),
                                       asn1::context(0, long_time(answer.next_update))});
  Bytes data = asn1::sequence({asn1::context(1, nvidia_name(spec.issuer)),
                               long_time(answer.this_update), asn1::sequence({single})});
  const Bytes basic = signed_body(std::move(data), spec.signer, seed);
  const Bytes bytes = asn1::sequence({asn1::oid("1.3.6.1.5.5.7.48.1.1"), asn1::octets(basic)});
  return asn1::sequence({asn1::enumerated(0), asn1::context(0, bytes)});
}

}  // namespace assay::attestation::nvidia
