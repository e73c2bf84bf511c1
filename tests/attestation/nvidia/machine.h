// SPDX-License-Identifier: Apache-2.0
// Devices that do not exist, with any fault: reports and RIMs of the simulator's writer, chains and
// OCSP answers that OpenSSL makes, under a PKI of the tests.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <openssl/ocsp.h>

#include "attestation/nvidia/verify.h"
#include "attestation/simulate/nvidia_writer.h"
#include "tests/attestation/x509/test_pki.h"

namespace assay::test::nvidia {

using namespace assay::attestation;  // NOLINT: a header of tests
namespace nv = assay::attestation::nvidia;

// The time of the tests; every certificate is valid then unless a spec says otherwise.
[[nodiscard]] Timestamp at(const std::string& text = "2026-06-01T00:00:00Z");
[[nodiscard]] nv::Nonce some_nonce();

// --- reports

using nv::ReportSpec;
using nv::set_field;
[[nodiscard]] Bytes make_report(const ReportSpec& spec, const KeyPtr& key);

// --- devices

using nv::FwidForm;
struct DeviceSpec {
  std::string chip = "GH100";
  std::string pdi = "0102030405060708";
  std::string serial_prefix = "41";
  FwidForm form = FwidForm::kHopper;
  Bytes fwid = Bytes(48, 0xf1);
  std::uint8_t flags = 0x80;  // first byte of TcbInfo's
  int number = 0;             // of its keys
  std::string leaf_kind = "P-384";
  std::string not_after = "2026-12-31T23:59:59Z";
  std::string name{};   // in the leaf; NVIDIA:chip:serial number when empty
  std::string names{};  // all of the leaf's, as openssl.cnf has them, instead; "none": no extension
};
struct Device {
  std::vector<x509::Certificate> chain;
  std::string pem;
  KeyPtr key;
};
[[nodiscard]] Device make_device(const DeviceSpec& spec = {});
[[nodiscard]] std::string pem_of(const std::vector<x509::Certificate>& chain);
[[nodiscard]] const x509::Certificate& device_root();

// A report of a Hopper GPU with the firmware of driver_rim() and vbios_rim().
[[nodiscard]] ReportSpec hopper_report();
// Value `number` of measurements: 48 bytes.
[[nodiscard]] Bytes value_of(std::uint8_t number);

// --- RIMs

using Resource = nv::RimResource;
struct RimSpec : nv::RimSpec {
  std::string leaf_until = "2026-12-31T23:59:59Z";
  std::string leaf_kind = "P-384";
  KeyPtr signer;                                // the leaf's key unless it is there
  std::vector<x509::Certificate> certificates;  // of X509Data; the chain when empty
};
[[nodiscard]] RimSpec driver_rim();
[[nodiscard]] RimSpec vbios_rim();
inline constexpr const char* kDriverId = "NV_GPU_DRIVER_GH100_600.1";
inline constexpr const char* kVbiosId = "NV_GPU_VBIOS_1010_0205_862_9600740020";
[[nodiscard]] std::string make_rim(const RimSpec& spec);
[[nodiscard]] std::vector<x509::Certificate> rim_chain(const RimSpec& spec);
[[nodiscard]] const x509::Certificate& rim_root();
// The text with the first `from` replaced, which must be there.
[[nodiscard]] std::string replaced(std::string text, const std::string& from,
                                   const std::string& to);
[[nodiscard]] nv::Checked<nv::Rim> open(const std::string& xml, const std::string& id,
                                        std::span<const nv::OcspResponse> responses = {});

// --- OCSP

struct OcspSpec {
  int status = 0;   // V_OCSP_CERTSTATUS_GOOD, _REVOKED (1), _UNKNOWN (2)
  int reason = -1;  // of a revocation
  std::string this_update = "2026-05-31T00:00:00Z";
  std::string next_update = "2026-06-07T00:00:00Z";  // empty: none
  const x509::Certificate* signer = nullptr;         // the issuer unless it is there
  KeyPtr key{};                                      // of the signer
  const char* hash = "SHA384";
  const char* id_hash = "SHA1";
  bool is_about = true;     // has an answer about the subject
  bool with_signer = true;  // brings the certificate of a signer that is not the issuer
  std::function<void(OCSP_BASICRESP*)> change{};  // before it is signed
};
[[nodiscard]] Bytes make_ocsp(const x509::Certificate& subject, const x509::Certificate& issuer,
                              const OcspSpec& spec);
// Keys of the certificates of a chain, by their number from the leaf: 1 is its issuer.
[[nodiscard]] KeyPtr device_issuer_key(const DeviceSpec& spec, int place);
[[nodiscard]] KeyPtr rim_issuer_key(int place);
// Good answers for all certificates of `device` that need one.
[[nodiscard]] std::vector<nv::OcspResponse> good_answers(const Device& device,
                                                         const DeviceSpec& spec = {});
// And for those of a RIM.
[[nodiscard]] std::vector<nv::OcspResponse> good_answers(const RimSpec& spec);

}  // namespace assay::test::nvidia
