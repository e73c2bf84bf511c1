// SPDX-License-Identifier: Apache-2.0
// Faults of the structure of a quote, and of its signature.
#include <array>

#include "attestation/simulate/fault_tables.h"

namespace assay::attestation::tdx {
namespace {

// Places in the header, and in the descriptor of version 5 behind it.
constexpr std::size_t kVersion = 0;
constexpr std::size_t kKeyType = 2;
constexpr std::size_t kTeeType = 4;
constexpr std::size_t kReserved = 8;
constexpr std::size_t kVendor = 12;
constexpr std::size_t kUserData = 28;
constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kBodyType = 48;
constexpr std::size_t kBodySize = 50;

// Places in the signature data.
constexpr std::size_t kOuterType = 128;
constexpr std::size_t kOuterSize = 130;
constexpr std::size_t kAuthSize = 582;
constexpr std::size_t kAuthData = 584;

// Where the four bytes of the size of the signature data begin.
std::size_t signature_size(const Bytes& quote) {
  constexpr std::size_t kTd10Bytes = 584;
  constexpr std::size_t kTd15Bytes = 648;
  return quote[kVersion] == 5 ? kHeaderBytes + 6 + kTd15Bytes : kHeaderBytes + kTd10Bytes;
}

std::uint8_t& signature_data(Bytes& quote, std::size_t at) {
  return quote.at(signature_size(quote) + 4 + at);
}

// A byte behind the QE authentication data: type and size of the inner certification data.
std::uint8_t& inner(Bytes& quote, std::size_t at) {
  const std::size_t size =
      signature_data(quote, kAuthSize) + 256U * signature_data(quote, kAuthSize + 1);
  return signature_data(quote, kAuthData + size + at);
}

// Only a version 5 quote says what its body is.
void make_version_5(SimulationSpec& spec) {
  spec.quote.version = 5;
  spec.quote.body_type = BodyType::kTd15;
  spec.quote.report.tee_tcb_svn2 = spec.quote.report.tee_tcb_svn;
}

constexpr auto kQuoteFaults = std::to_array<Fault>({
    {.name = "quote-too-large",
     .error = "INPUT_TOO_LARGE",
     .quote = [](Bytes& quote) { quote.resize(kMaxQuoteBytes + 1); }},
    {.name = "quote-without-signature",
     .error = "QUOTE_TRUNCATED",
     .quote = [](Bytes& quote) { quote.resize(signature_size(quote)); }},
    {.name = "quote-version",
     .error = "QUOTE_VERSION_UNSUPPORTED",
     .quote = [](Bytes& quote) { quote[kVersion] = 6; }},
    {.name = "quote-key-type",
     .error = "ATT_KEY_TYPE_UNSUPPORTED",
     .quote = [](Bytes& quote) { quote[kKeyType] = 3; }},
    {.name = "quote-of-sgx",
     .error = "TEE_TYPE_UNSUPPORTED",
     .quote = [](Bytes& quote) { quote[kTeeType] = 0; }},
    {.name = "quote-reserved",
     .error = "HEADER_RESERVED_NONZERO",
     .quote = [](Bytes& quote) { quote[kReserved] = 1; }},
    {.name = "quote-vendor",
     .error = "QE_VENDOR_UNKNOWN",
     .quote = [](Bytes& quote) { quote[kVendor] ^= 1U; }},
    {.name = "quote-body-type",
     .error = "BODY_TYPE_UNSUPPORTED",
     .spec = make_version_5,
     .quote = [](Bytes& quote) { quote[kBodyType] = 9; }},
    {.name = "quote-body-size",
     .error = "BODY_SIZE_MISMATCH",
     .spec = make_version_5,
     .quote = [](Bytes& quote) { quote[kBodySize] ^= 1U; }},
    {.name = "quote-truncated",
     .error = "SIG_DATA_LEN_OVERRUN",
     .quote = [](Bytes& quote) { quote.resize(quote.size() - 1); }},
    {.name = "signature-data-short",
     .error = "SIG_DATA_TOO_SHORT",
     .quote =
         [](Bytes& quote) {
           const std::size_t at = signature_size(quote);
           quote.at(at) = 64;
           quote.at(at + 1) = 0;
         }},
    {.name = "outer-data-type",
     .error = "CERT_DATA_TYPE_OUTER",
     .quote = [](Bytes& quote) { signature_data(quote, kOuterType) = 5; }},
    {.name = "inner-data-type",
     .error = "CERT_DATA_TYPE_INNER",
     .quote = [](Bytes& quote) { inner(quote, 0) = 6; }},
    {.name = "outer-data-size",
     .error = "CERT_DATA_SIZE_OUTER",
     .quote = [](Bytes& quote) { signature_data(quote, kOuterSize) ^= 1U; }},
    {.name = "inner-data-size",
     .error = "CERT_DATA_SIZE_INNER",
     .quote = [](Bytes& quote) { inner(quote, 2) ^= 1U; }},
    {.name = "qe-authentication-size",
     .error = "QE_AUTH_DATA_OVERRUN",
     .quote = [](Bytes& quote) { signature_data(quote, kAuthSize + 1) = 0xff; }},
    {.name = "quote-trailing",
     .error = "TRAILING_DATA_NONZERO",
     .quote = [](Bytes& quote) { quote.push_back(1); }},
    {.name = "quote-changed",
     .error = "QUOTE_SIGNATURE",
     .quote = [](Bytes& quote) { quote[kUserData] ^= 1U; }},
    {.name = "quote-signer",
     .error = "QUOTE_SIGNATURE",
     .spec = [](SimulationSpec& spec) { spec.quote.quote_signer = kUnknownKey; }},
});

}  // namespace

std::span<const Fault> quote_faults() { return kQuoteFaults; }

}  // namespace assay::attestation::tdx
