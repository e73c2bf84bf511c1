// SPDX-License-Identifier: Apache-2.0
// The chain from the certificate of the signing key to the root: VCEK, ASK, ARK, or VLEK, ASVK,
// ARK. Internal to this folder.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "attestation/keys.h"
#include "attestation/snp/certificate_table.h"
#include "attestation/snp/error.h"
#include "attestation/snp/leaf.h"
#include "attestation/snp/trust_anchor.h"
#include "attestation/x509/path.h"
#include "schemas/core/clock.h"

namespace assay::attestation::snp {

// A chain whose signatures, names and extensions were verified under one anchor, once and for all.
// Validity times and revocation are checked for each piece of evidence.
struct KeyChain {
  x509::VerifiedPath path;
  SigningKey kind;
  LeafExtensions extensions;
  PublicKey key;
  std::string issuer;  // common name
};
using KeyChainPtr = std::shared_ptr<const KeyChain>;

// Opens the chain of the certificate for `kind` in `table`. The issuer between it and `anchor`
// comes from the table, or is one that AMD publishes. Errors: those of the group "Certificates" in
// errors.def.
[[nodiscard]] Checked<KeyChainPtr> open_chain(const CertificateTable& table, SigningKey kind,
                                              const TrustAnchor& anchor, Timestamp now);

// Checks notBefore <= now <= notAfter of each certificate. Errors: CERT_EXPIRED,
// CERT_NOT_YET_VALID.
[[nodiscard]] Outcome check_chain_time(const KeyChain& chain, Timestamp now);

// Keeps the chains that were used last, by a digest of leaf, issuer and kind. Thread-safe.
class KnownChains {
 public:
  // Returns null when the chain is not known.
  [[nodiscard]] KeyChainPtr find(const Digest& name);
  // Keeps a chain in place of the one that was not used for the longest time.
  void keep(const Digest& name, KeyChainPtr chain);

 private:
  using Entries = std::list<std::pair<Digest, KeyChainPtr>>;

  std::mutex mutex_;
  Entries entries_;  // the one used last comes first
  std::unordered_map<Digest, Entries::iterator> by_name_;
};

}  // namespace assay::attestation::snp
