// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/chain.h"

#include <optional>
#include <string>
#include <vector>

#include "attestation/snp/certificate_rules.h"
#include "attestation/snp/collateral.h"

namespace assay::attestation::snp {
namespace {

std::string leaf_name(SigningKey kind) {
  return kind == SigningKey::kVcek ? "SEV-VCEK" : "SEV-VLEK";
}

std::string name_of_issuer(SigningKey kind, Generation generation) {
  const std::string made(product(generation));
  return kind == SigningKey::kVcek ? "SEV-" + made : "SEV-VLEK-" + made;
}

// A certificate of version 3 as AMD makes them.
Checked<x509::Certificate> open(ByteView der, SnpError malformed) {
  auto certificate = x509::Certificate::from_der(der);
  if (!certificate) {
    return reject(malformed, "one certificate in DER", certificate.error().detail);
  }
  return *std::move(certificate);
}

// Certificates that may have issued the leaf.
Checked<std::vector<x509::Certificate>> issuers_for(const CertificateTable& table,
                                                    const TrustAnchor& anchor) {
  std::vector<x509::Certificate> issuers;
  if (!table.ask.empty()) {
    auto issuer = open(table.ask, SnpError::kCaFormat);
    if (!issuer) {
      return std::unexpected(std::move(issuer).error());
    }
    issuers.push_back(*std::move(issuer));
  }
  if (anchor.is_amd()) {
    for (const x509::Certificate& published : amd_issuers(anchor.generation())) {
      issuers.push_back(published);
    }
  }
  return issuers;
}

std::unexpected<Failure> failure_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kCertificateUntrusted:
      return reject(SnpError::kRootUntrusted, "a path to the root", error.detail);
    case ErrorCode::kCertificateExpired:
      return reject(SnpError::kCertExpired, "valid now", error.detail);
    case ErrorCode::kCertificateNotYetValid:
      return reject(SnpError::kCertNotYetValid, "valid now", error.detail);
    default:
      return reject(SnpError::kChainConstraints, "usable certificates", error.detail);
  }
}

// The path through one of the issuers that have the name which this kind of leaf needs.
Checked<x509::VerifiedPath> find_path(const x509::Certificate& leaf, SigningKey kind,
                                      const std::vector<x509::Certificate>& issuers,
                                      const TrustAnchor& anchor, Timestamp now) {
  const std::string needed = name_of_issuer(kind, anchor.generation());
  if (issuer_name(leaf) != needed) {
    return reject(SnpError::kChainNames, "issued by " + needed, issuer_name(leaf));
  }
  // AMD's leaves have neither key usage nor an extended one.
  const x509::PathOptions options{
      .time = now, .purpose = x509::kAnyPurpose, .require_key_usage = false};
  std::optional<Failure> why;
  for (const x509::Certificate& issuer : issuers) {
    if (subject_name(issuer) != needed) {
      continue;
    }
    auto path = x509::verify_path(leaf, std::span(&issuer, 1), std::span(&anchor.certificate(), 1),
                                  options);
    if (path && path->certificates.size() == 3) {
      return *std::move(path);
    }
    if (!why) {
      why = path ? reject(SnpError::kChainNames, "three certificates").error()
                 : failure_of(path.error()).error();
    }
  }
  return why ? std::unexpected(*std::move(why))
             : reject(SnpError::kRootUntrusted, "the certificate of " + needed, "none");
}

Outcome check_keys(const x509::VerifiedPath& path, const PublicKey& key) {
  if (key.algorithm() != SignatureAlgorithm::kEcdsaP384) {
    return reject(SnpError::kChainKeyType, "a key on P-384", subject_name(path.leaf()));
  }
  for (const x509::Certificate& certificate : path.certificates) {
    if (!is_signed_with_pss(certificate)) {
      return reject(SnpError::kChainKeyType, "RSASSA-PSS with SHA-384", subject_name(certificate));
    }
  }
  // The anchor's key was looked at when it was configured.
  if (!has_rsa_4096_key(path.leaf_issuer())) {
    return reject(SnpError::kChainKeyType, "an RSA-4096 key", subject_name(path.leaf_issuer()));
  }
  return {};
}

}  // namespace

Checked<KeyChainPtr> open_chain(const CertificateTable& table, SigningKey kind,
                                const TrustAnchor& anchor, Timestamp now) {
  if (table.leaf(kind).empty()) {
    return reject(SnpError::kLeafMissing, "the certificate of the " + std::string(name(kind)),
                  "none");
  }
  const auto leaf = open(table.leaf(kind), SnpError::kLeafFormat);
  if (!leaf) {
    return std::unexpected(leaf.error());
  }
  if (subject_name(*leaf) != leaf_name(kind)) {
    return reject(SnpError::kLeafKindMismatch, leaf_name(kind), subject_name(*leaf));
  }
  const auto issuers = issuers_for(table, anchor);
  if (!issuers) {
    return std::unexpected(issuers.error());
  }
  auto path = find_path(*leaf, kind, *issuers, anchor, now);
  if (!path) {
    return std::unexpected(std::move(path).error());
  }
  auto key = leaf->public_key();
  if (!key) {
    return reject(SnpError::kChainKeyType, "a key on P-384", key.error().detail);
  }
  if (auto outcome = check_keys(*path, *key); !outcome) {
    return std::unexpected(std::move(outcome).error());
  }
  auto extensions = parse_extensions(raw_extensions(*leaf), kind, anchor.generation());
  if (!extensions) {
    return std::unexpected(std::move(extensions).error());
  }
  std::string issuer = subject_name(path->leaf_issuer());
  return std::make_shared<const KeyChain>(*std::move(path), kind, *std::move(extensions),
                                          *std::move(key), std::move(issuer));
}

Outcome check_chain_time(const KeyChain& chain, Timestamp now) {
  if (const auto valid = x509::check_validity(chain.path, now); !valid) {
    return failure_of(valid.error());
  }
  return {};
}

KeyChainPtr KnownChains::find(const Digest& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

void KnownChains::keep(const Digest& name, KeyChainPtr chain) {
  const std::scoped_lock lock(mutex_);
  if (by_name_.contains(name)) {
    return;
  }
  if (entries_.size() == kMaxKnownLeaves) {
    by_name_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(name, std::move(chain));
  by_name_.emplace(name, entries_.begin());
}

}  // namespace assay::attestation::snp
