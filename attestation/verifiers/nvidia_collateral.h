// SPDX-License-Identifier: Apache-2.0
// RIMs and OCSP answers as collateral that a service keeps. Internal to this folder.
//
// JSON, an object of texts:
//   "rim/<id>"      the RIM, XML
//   "ocsp/<hex>"    an OCSP answer in base64 of DER about the certificate with this SHA-256
//   "chain/<hex>"   that certificate, its issuer and so on up to the root, PEM
//   "vouched/<id>"  SHA-256 of a RIM that counts although its certificates have ended, since two
//                   people signed it ("sha256:..."). Only a service adds it to what it keeps: it is
//                   in no part.
// All chains end at NVIDIA's roots, or all at one dangerous anchor.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attestation/collateral_set.h"
#include "attestation/nvidia/verify.h"
#include "schemas/core/lru.h"

namespace assay::attestation {

// The authenticated content of a set.
struct NvidiaContents {
  std::vector<nvidia::Rim> rims;
  std::vector<nvidia::OcspResponse> responses;
  std::set<Digest> vouched;  // RIMs
};

using KnownDevicePtr = std::shared_ptr<const nvidia::KnownDevice>;

class NvidiaCollateralSet final : public CollateralSet {
 public:
  NvidiaCollateralSet(Json bundle, NvidiaContents contents, std::vector<CollateralPart> parts,
                      Digest anchor, bool anchor_is_vendor);

  [[nodiscard]] std::string_view type() const override { return kNvidiaEvidence; }
  [[nodiscard]] const Json& bundle() const override { return bundle_; }
  [[nodiscard]] const Digest& digest() const override { return digest_; }
  [[nodiscard]] const Digest& anchor() const override { return anchor_; }
  [[nodiscard]] bool anchor_is_vendor() const override { return anchor_is_vendor_; }
  // Of OCSP answers alone: that a RIM has ended is a fact about evidence.
  [[nodiscard]] Timestamp valid_from() const override { return valid_from_; }
  [[nodiscard]] Timestamp valid_until() const override { return valid_until_; }
  [[nodiscard]] const std::vector<CollateralPart>& parts() const override { return parts_; }
  [[nodiscard]] std::size_t memory_bytes() const override;
  // Many devices share RIMs of megabytes.
  [[nodiscard]] bool is_kept_whole() const override { return false; }

  [[nodiscard]] const NvidiaContents& contents() const { return contents_; }
  // Returns the device of this chain, remembered from an earlier report if it can be. Errors: those
  // of nvidia::open_device().
  [[nodiscard]] nvidia::Checked<KnownDevicePtr> device(
      const std::string& pem, std::span<const x509::Certificate> roots) const;

 private:
  Json bundle_;
  NvidiaContents contents_;
  std::vector<CollateralPart> parts_;
  Digest digest_;
  Digest anchor_;
  bool anchor_is_vendor_;
  Timestamp valid_from_;
  Timestamp valid_until_;
  mutable Lru<std::string, KnownDevicePtr> known_;  // by PEM
};

// Returns NVIDIA's root of devices or of RIMs, then those that `dangerous` has in DER, which count
// for both. Errors: those of x509::Certificate::from_der(); `where` is "/dangerous_anchors/N".
[[nodiscard]] Result<std::vector<x509::Certificate>> nvidia_device_anchors(
    std::span<const Bytes> dangerous);
[[nodiscard]] Result<std::vector<x509::Certificate>> nvidia_rim_anchors(
    std::span<const Bytes> dangerous);

}  // namespace assay::attestation
