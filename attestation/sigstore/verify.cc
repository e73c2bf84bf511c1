// SPDX-License-Identifier: Apache-2.0
// The verification of a bundle, in the order of client-spec.md section 4.
#include "attestation/sigstore/verify.h"

#include <algorithm>
#include <chrono>

#include "attestation/algorithms.h"
#include "attestation/dsse.h"
#include "attestation/sigstore/entry_body.h"
#include "attestation/sigstore/log_entry.h"
#include "attestation/sigstore/rfc3161.h"
#include "attestation/sigstore/sct.h"
#include "attestation/sigstore/subject.h"
#include "attestation/x509/path.h"

namespace assay::attestation::sigstore {
namespace {

constexpr std::chrono::minutes kClockDifference(5);

// Section 4.2: times that authorities and logs prove, and the entries.
struct Evidence {
  std::vector<CountedTime> times;
  std::vector<CountedEntry> entries;
  std::vector<const Log*> logs_without_time;
};

Status check_not_future(Timestamp time, Timestamp now) {
  if (time > now + kClockDifference) {
    return fail(ErrorCode::kTimestampInvalid,
                "signed at " + to_rfc3339(time) + ", and it is " + to_rfc3339(now));
  }
  return {};
}

Status add_timestamps(const Bundle& bundle, const TrustedRoot& root, Timestamp now,
                      Evidence& evidence) {
  for (const Bytes& response : bundle.timestamps) {
    ASSAY_ASSIGN(VerifiedTimestamp verified,
                 verify_timestamp(response, bundle.signature(), root.timestamp_authorities));
    ASSAY_TRY(check_not_future(verified.time, now));
    evidence.times.push_back(
        {verified.time, TimeSource::kTimestampAuthority, std::move(verified.authority)});
  }
  return {};
}

std::unexpected<Error> log_not_valid(const Log& log, Timestamp time) {
  return fail(ErrorCode::kLogUntrusted,
              "the log " + log.base_url + " does not count at " + to_rfc3339(time));
}

Status add_entry(const LogEntry& entry, const TrustedRoot& root, Timestamp now,
                 Evidence& evidence) {
  ASSAY_ASSIGN(const ProvenEntry proven, verify_log_entry(entry, root.tlogs));
  const Log& log = *proven.log;
  if (proven.integrated) {
    if (!log.valid_for.contains(*proven.integrated)) {
      return log_not_valid(log, *proven.integrated);
    }
    ASSAY_TRY(check_not_future(*proven.integrated, now));
    evidence.times.push_back({*proven.integrated, TimeSource::kLog, log.base_url});
  } else {
    evidence.logs_without_time.push_back(&log);
  }
  const bool is_index_proven = entry.promise.has_value() || is_rekor2(entry);
  evidence.entries.push_back({log.base_url,
                              is_index_proven ? entry.log_index : entry.proof->log_index,
                              entry.kind, entry.version, entry.proof.has_value()});
  return {};
}

// A log that does not say when must count at each time that is known, and now when none is.
Status check_logs(const Evidence& evidence, Timestamp now) {
  for (const Log* log : evidence.logs_without_time) {
    for (const CountedTime& counted : evidence.times) {
      if (!log->valid_for.contains(counted.time)) {
        return log_not_valid(*log, counted.time);
      }
    }
    if (evidence.times.empty() && !log->valid_for.contains(now)) {
      return log_not_valid(*log, now);
    }
  }
  return {};
}

Result<Evidence> collect_evidence(const Bundle& bundle, const TrustedRoot& root, Timestamp now) {
  if (bundle.entries.empty()) {
    return fail(ErrorCode::kLogEntryMissing, "the bundle has no entry of a transparency log");
  }
  Evidence evidence;
  ASSAY_TRY(add_timestamps(bundle, root, now, evidence));
  for (const LogEntry& entry : bundle.entries) {
    ASSAY_TRY(add_entry(entry, root, now, evidence));
  }
  ASSAY_TRY(check_logs(evidence, now));
  return evidence;
}

// The certificates of a bundle, in the form of its version. sigstore_bundle.proto: signers must not
// include a root.
Result<const CertificateMaterial*> certificates_of(const Bundle& bundle) {
  const auto* const material = std::get_if<CertificateMaterial>(&bundle.material);
  if (material == nullptr) {
    return fail(ErrorCode::kUntrustedSigner, "the bundle is signed with a key, not by an identity");
  }
  if (material->is_chain == (bundle.version == BundleVersion::k03)) {
    return fail(ErrorCode::kMalformedBundle,
                "bundles of version 0.3 have one certificate, older ones a chain");
  }
  if (std::ranges::any_of(material->certificates, &x509::Certificate::is_self_issued)) {
    return fail(ErrorCode::kMalformedBundle, "the bundle brings a root certificate");
  }
  return material;
}

// Section 4.3 for one authority: one path, which is valid at each time.
Result<x509::VerifiedPath> path_under(const Authority& authority,
                                      const CertificateMaterial& material,
                                      const std::vector<CountedTime>& times) {
  for (const CountedTime& counted : times) {
    if (!authority.valid_for.contains(counted.time)) {
      return fail(
          ErrorCode::kCertificateUntrusted,
          "the authority " + authority.uri + " does not count at " + to_rfc3339(counted.time));
    }
  }
  std::vector<x509::Certificate> intermediates = authority.intermediates;
  intermediates.insert(intermediates.end(), material.certificates.begin() + 1,
                       material.certificates.end());
  ASSAY_ASSIGN(x509::VerifiedPath path,
               x509::verify_path(material.certificates.front(), intermediates, authority.anchors,
                                 {.time = times.front().time, .purpose = x509::kCodeSigning}));
  for (const CountedTime& counted : times) {
    ASSAY_TRY(x509::check_validity(path, counted.time));
  }
  return path;
}

Result<x509::VerifiedPath> find_path(const TrustedRoot& root, const CertificateMaterial& material,
                                     const std::vector<CountedTime>& times) {
  Result<x509::VerifiedPath> last =
      fail(ErrorCode::kCertificateUntrusted, "the trusted root has no certificate authority");
  for (const Authority& authority : root.certificate_authorities) {
    auto path = path_under(authority, material, times);
    if (path) {
      return path;
    }
    // What another authority finds wrong with the certificate says more than that it is not its.
    if (!last || last.error().code == ErrorCode::kCertificateUntrusted) {
      last = std::move(path);
    }
  }
  return last;
}

// What is signed must be what the caller asks about.
Status check_artifact(const Bundle& bundle, const Artifact* artifact) {
  if (const auto* const envelope = std::get_if<DsseContent>(&bundle.content)) {
    return artifact != nullptr ? check_subject(*envelope, *artifact) : Status();
  }
  if (artifact == nullptr) {
    return fail(ErrorCode::kArtifactMismatch, "the bundle signs an artifact, and none is given");
  }
  const auto& stated = std::get<MessageSignature>(bundle.content).digest;
  if (stated && artifact->digest(stated->algorithm()) != stated) {
    return fail(ErrorCode::kArtifactMismatch,
                "the bundle is about the artifact with the digest " + stated->text());
  }
  return {};
}

// How a key signs. sigstore's algorithm registry: RSA keys sign with PKCS #1 v1.5.
SignatureScheme scheme_of(const PublicKey& key) {
  SignatureScheme scheme = key.scheme();
  if (scheme.algorithm == SignatureAlgorithm::kRsaPss) {
    scheme.algorithm = SignatureAlgorithm::kRsaPkcs1;
  }
  return scheme;
}

// Section 4.5.
Status verify_message(const PublicKey& key, const Artifact& artifact, const Bytes& signature) {
  const SignatureScheme scheme = scheme_of(key);
  const std::optional<HashAlgorithm> algorithm = digest_algorithm(scheme.hash);
  if (!algorithm) {
    return artifact.bytes ? key.verify_as(scheme, *artifact.bytes, signature)
                          : fail(ErrorCode::kUnsupportedKey,
                                 "a key of this algorithm signs bytes, not a digest");
  }
  const std::optional<Digest> digest = artifact.digest(*algorithm);
  return digest ? key.verify_hash_as(scheme, digest->bytes(), signature)
                : fail(ErrorCode::kUnsupportedKey,
                       "a key of this algorithm signs a digest of the artifact that is not given");
}

Status verify_content(const PublicKey& key, const Bundle& bundle, const Artifact* artifact) {
  if (const auto* const envelope = std::get_if<DsseContent>(&bundle.content)) {
    return key.verify_as(scheme_of(key),
                         pre_authentication_encoding(envelope->payload_type, envelope->payload),
                         envelope->signature);
  }
  return verify_message(key, *artifact, bundle.signature());
}

// Section 4.4.
Status check_bodies(const Bundle& bundle, const SignerDer& signer, const Artifact* artifact) {
  for (const LogEntry& entry : bundle.entries) {
    ASSAY_TRY(check_entry_body(entry, bundle, signer, artifact));
  }
  return {};
}

Result<VerifiedBundle> verify_keyless(const Bundle& bundle, const VerifyOptions& options,
                                      const Keyless& keyless) {
  ASSAY_ASSIGN(const CertificateMaterial* material, certificates_of(bundle));
  const x509::Certificate& leaf = material->certificates.front();
  ASSAY_ASSIGN(Evidence evidence, collect_evidence(bundle, keyless.root, options.now));
  if (evidence.times.empty()) {
    return fail(ErrorCode::kSigningTimeMissing,
                "neither a timestamp authority nor a log proves when the signature was made");
  }
  ASSAY_ASSIGN(const x509::VerifiedPath path, find_path(keyless.root, *material, evidence.times));
  ASSAY_ASSIGN(VerifiedSct sct, verify_scts(leaf, path.leaf_issuer(), keyless.root.ctlogs));
  ASSAY_ASSIGN(Identity identity, identity_of(leaf));
  ASSAY_TRY(keyless.identity.check(identity));
  ASSAY_TRY(check_bodies(bundle, {leaf.der(), true}, options.artifact));
  ASSAY_ASSIGN(const PublicKey key, leaf.public_key());
  ASSAY_TRY(verify_content(key, bundle, options.artifact));
  return VerifiedBundle{std::move(identity), key.id(), std::move(evidence.times),
                        std::move(evidence.entries), std::move(sct.log)};
}

Result<VerifiedBundle> verify_managed(const Bundle& bundle, const VerifyOptions& options,
                                      const ManagedKey& managed) {
  if (!std::holds_alternative<KeyHint>(bundle.material)) {
    return fail(ErrorCode::kUntrustedSigner, "the bundle is signed by an identity, not with a key");
  }
  Evidence evidence;
  if (managed.evidence == KeyEvidence::kRequired) {
    if (managed.root == nullptr) {
      return fail(ErrorCode::kInternal, "evidence is required, and there is no trusted root");
    }
    ASSAY_ASSIGN(evidence, collect_evidence(bundle, *managed.root, options.now));
    ASSAY_TRY(check_bodies(bundle, {managed.key.der(), false}, options.artifact));
  }
  ASSAY_TRY(verify_content(managed.key, bundle, options.artifact));
  return VerifiedBundle{std::nullopt, managed.key.id(), std::move(evidence.times),
                        std::move(evidence.entries), std::nullopt};
}

}  // namespace

Result<VerifiedBundle> verify_bundle(const Bundle& bundle, const VerifyOptions& options) {
  ASSAY_TRY(check_artifact(bundle, options.artifact));
  if (const auto* const keyless = std::get_if<Keyless>(&options.signer)) {
    return verify_keyless(bundle, options, *keyless);
  }
  return verify_managed(bundle, options, std::get<ManagedKey>(options.signer));
}

}  // namespace assay::attestation::sigstore
