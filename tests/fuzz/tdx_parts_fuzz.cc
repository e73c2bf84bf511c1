// SPDX-License-Identifier: Apache-2.0
// One signed part of simulated evidence with some bytes changed: root CRL, PCK CRL, TCB info, QE
// identity, the four chains of certificates. Evidence that is accepted has every signed byte of
// that part as it was signed; of the chain of the PCK CRL, which may be absent, whatever is there.
//
// Input: the number of the part, with the highest bit set when the rest replaces it whole; else
// changes of three bytes each: place (most significant byte first) and what is added there.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "attestation/simulate/simulation.h"
#include "attestation/tdx/certificate.h"
#include "attestation/tdx/verify.h"

namespace {

using namespace assay;
using namespace assay::attestation::tdx;

enum Part : std::uint8_t {
  kRootCrl,
  kPckCrl,
  kTcbInfo,
  kQeIdentity,
  kPckChain,
  kPckCrlChain,
  kTcbInfoChain,
  kQeIdentityChain,
  kParts
};

struct World {
  Timestamp now = parse_rfc3339("2026-03-01T12:00:00Z").value();
  SimulationSpec spec = valid_simulation(as_bytes("fuzz"), now);
  Simulation valid = simulate(spec);
  TrustAnchor anchor = TrustAnchor::from_der(valid.root).value();
  std::string chain = make_pck_chain(spec);
  AppraisalPolicy policy;

  [[nodiscard]] Bytes part(std::uint8_t number) const {
    switch (number) {
      case kRootCrl:
        return hex_decode(valid.collateral.root_ca_crl).value();
      case kPckCrl:
        return hex_decode(valid.collateral.pck_crl).value();
      case kTcbInfo:
        return to_bytes(valid.collateral.tcb_info);
      case kQeIdentity:
        return to_bytes(valid.collateral.qe_identity);
      case kPckCrlChain:
        return to_bytes(valid.collateral.pck_crl_issuer_chain);
      case kTcbInfoChain:
        return to_bytes(valid.collateral.tcb_info_issuer_chain);
      case kQeIdentityChain:
        return to_bytes(valid.collateral.qe_identity_issuer_chain);
      default:
        return to_bytes(chain);
    }
  }

  [[nodiscard]] bool accepts(std::uint8_t number, const Bytes& bytes) const {
    Simulation changed = valid;
    const std::string text(as_text(bytes));
    switch (number) {
      case kRootCrl:
        changed.collateral.root_ca_crl = hex_encode(bytes);
        break;
      case kPckCrl:
        changed.collateral.pck_crl = hex_encode(bytes);
        break;
      case kTcbInfo:
        changed.collateral.tcb_info = text;
        break;
      case kQeIdentity:
        changed.collateral.qe_identity = text;
        break;
      case kPckCrlChain:
        changed.collateral.pck_crl_issuer_chain = text;
        break;
      case kTcbInfoChain:
        changed.collateral.tcb_info_issuer_chain = text;
        break;
      case kQeIdentityChain:
        changed.collateral.qe_identity_issuer_chain = text;
        break;
      default:
        changed.quote = make_quote(spec.quote, spec.seed, text);
    }
    return verify(changed.quote, changed.collateral, std::span(&anchor, 1),
                  {now, ReportDataExpectation::not_requested(), policy})
        .accepted;
  }
};

// What the signature of a certificate or CRL covers: the first element of the outer sequence.
Bytes signed_part(ByteView der) {
  const auto header = [](ByteView at) {
    const std::size_t first = at.size() > 1 ? at[1] : 0;
    std::size_t length = first;
    std::size_t size = 2;
    if (first > 0x80) {
      length = 0;
      size += first & 0x7fU;
      for (std::size_t i = 2; i < size && i < at.size(); ++i) {
        length = length << 8U | at[i];
      }
    }
    return std::pair(std::min(size, at.size()), length);
  };
  const ByteView inner = der.subspan(header(der).first);
  const auto [size, length] = header(inner);
  const ByteView covered = inner.first(std::min(size + length, inner.size()));
  return {covered.begin(), covered.end()};
}

const World& world() {
  static const World only;
  return only;
}

// Every signed byte of a part.
std::vector<Bytes> signed_bytes(std::uint8_t number, const Bytes& bytes) {
  if (number == kTcbInfo || number == kQeIdentity) {
    return {bytes};
  }
  if (number == kRootCrl || number == kPckCrl) {
    return {signed_part(bytes)};
  }
  if (number == kPckCrlChain && bytes.empty()) {
    return signed_bytes(kPckCrlChain, world().part(kPckCrlChain));
  }
  std::vector<Bytes> certificates;
  const auto chain = split_pem_chain(as_text(bytes));
  for (const Bytes& der : chain.value()) {
    certificates.push_back(signed_part(der));
  }
  return certificates;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool valid = [] {
    for (std::uint8_t part = 0; part < kParts; ++part) {
      if (!world().accepts(part, world().part(part))) {
        std::abort();
      }
    }
    return true;
  }();
  if (!valid || size == 0) {
    return 0;
  }
  const auto number = static_cast<std::uint8_t>((data[0] & 0x7fU) % kParts);
  const Bytes before = world().part(number);
  Bytes bytes = before;
  if ((data[0] & 0x80U) != 0) {
    bytes.assign(data + 1, data + size);
  } else {
    for (std::size_t i = 1; i + 2 < size; i += 3) {
      const std::size_t at = (std::size_t{data[i]} << 8U | data[i + 1]) % bytes.size();
      bytes[at] = static_cast<std::uint8_t>(bytes[at] + data[i + 2]);
    }
  }
  if (world().accepts(number, bytes) &&
      signed_bytes(number, bytes) != signed_bytes(number, before)) {
    std::abort();
  }
  return 0;
}
