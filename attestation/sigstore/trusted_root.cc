// SPDX-License-Identifier: Apache-2.0
// Reading a trusted root.
#include "attestation/sigstore/trusted_root.h"

#include <algorithm>

#include "attestation/sigstore/proto_json.h"
#include "schemas/core/json.h"

namespace assay::attestation::sigstore {
namespace {

constexpr std::string_view kMediaType = "application/vnd.dev.sigstore.trustedroot+json;version=0.1";
constexpr std::size_t kMaxKeyId = 64;
constexpr JsonLimits kRootLimits = {
    .max_bytes = kMaxTrustedRootBytes, .max_depth = 16, .max_memory = 8U << 20};

Result<TimeRange> read_range(const Message& owner) {
  ASSAY_ASSIGN(const Message range, owner.message("validFor"));
  ASSAY_TRY(range.check({"start", "end"}));
  // An entry that does not say since when it counts is malformed: it never counts "since ever".
  ASSAY_ASSIGN(const Timestamp start, range.time("start"));
  TimeRange result{start, std::nullopt};
  if (range.has("end")) {
    ASSAY_ASSIGN(result.end, range.time("end"));
    if (*result.end < start) {
      return range.wrong("the validity ends before it begins");
    }
  }
  return result;
}

Result<Log> read_log(const Message& message) {
  ASSAY_TRY(message.check({"baseUrl", "hashAlgorithm", "publicKey", "logId"}));
  Log log;
  ASSAY_ASSIGN(log.base_url, message.text("baseUrl"));
  ASSAY_ASSIGN(const std::string hash, message.text("hashAlgorithm"));
  if (hash != "SHA2_256") {
    return message.wrong("the hash of a log's tree is SHA2_256");
  }
  ASSAY_ASSIGN(const Message key, message.message("publicKey"));
  ASSAY_TRY(key.check({"rawBytes", "keyDetails", "validFor"}));
  ASSAY_ASSIGN(const Bytes key_der, key.bytes("rawBytes", kMaxLogKeyBytes));
  if (auto parsed = PublicKey::from_der(key_der)) {
    log.key = std::make_shared<const PublicKey>(*std::move(parsed));
  }
  ASSAY_ASSIGN(const std::string details, key.text("keyDetails"));
  ASSAY_ASSIGN(log.valid_for, read_range(key));
  ASSAY_ASSIGN(const Message id, message.message("logId"));
  ASSAY_TRY(id.check({"keyId"}));
  ASSAY_ASSIGN(log.id, id.bytes("keyId", kMaxKeyId));
  return log;
}

Result<std::vector<Log>> read_logs(const Message& root, std::string_view name) {
  ASSAY_ASSIGN(const std::vector<Message> items, root.list(name, kMaxAuthorities));
  std::vector<Log> logs;
  for (const Message& item : items) {
    ASSAY_ASSIGN(Log log, read_log(item));
    if (std::ranges::find(logs, log.id, &Log::id) != logs.end()) {
      return item.wrong("another log has this id");
    }
    logs.push_back(std::move(log));
  }
  return logs;
}

Result<std::vector<x509::Certificate>> read_authority_chain(const Message& authority) {
  ASSAY_ASSIGN(const Message chain, authority.message("certChain"));
  ASSAY_TRY(chain.check({"certificates"}));
  ASSAY_ASSIGN(const std::vector<Message> items, chain.list("certificates", kMaxChain));
  std::vector<x509::Certificate> certificates;
  for (const Message& item : items) {
    ASSAY_TRY(item.check({"rawBytes"}));
    ASSAY_ASSIGN(const Bytes der, item.bytes("rawBytes", x509::kMaxCertificateBytes));
    ASSAY_ASSIGN(x509::Certificate certificate, x509::Certificate::from_der(der));
    certificates.push_back(std::move(certificate));
  }
  if (certificates.empty()) {
    return chain.wrong("an authority has certificates");
  }
  return certificates;
}

// Tells anchors, intermediates and the leaf of a chain apart. Stored roots have chains in either
// order, so the order alone tells nothing.
Status sort_chain(const Message& message, std::vector<x509::Certificate> chain,
                  Authority& authority) {
  const bool has_root = std::ranges::any_of(chain, &x509::Certificate::is_self_issued);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    x509::Certificate& one = chain[i];
    if (!one.is_ca()) {
      if (authority.leaf) {
        return message.wrong("an authority has at most one certificate that is no CA");
      }
      authority.leaf = std::move(one);
    } else if (has_root ? one.is_self_issued() : i + 1 == chain.size()) {
      authority.anchors.push_back(std::move(one));
    } else {
      authority.intermediates.push_back(std::move(one));
    }
  }
  if (authority.anchors.empty()) {
    return message.wrong("an authority has a CA as its trust anchor");
  }
  return {};
}

Result<Authority> read_authority(const Message& message) {
  ASSAY_TRY(message.check({"subject", "uri", "certChain", "validFor"}));
  if (message.has("subject")) {  // for people alone
    ASSAY_ASSIGN(const Message subject, message.message("subject"));
    ASSAY_TRY(subject.check({"organization", "commonName"}));
  }
  Authority authority;
  if (message.has("uri")) {
    ASSAY_ASSIGN(authority.uri, message.text("uri"));
  }
  ASSAY_ASSIGN(authority.valid_for, read_range(message));
  ASSAY_ASSIGN(std::vector<x509::Certificate> chain, read_authority_chain(message));
  ASSAY_TRY(sort_chain(message, std::move(chain), authority));
  return authority;
}

Result<std::vector<Authority>> read_authorities(const Message& root, std::string_view name,
                                                bool leaf_allowed) {
  ASSAY_ASSIGN(const std::vector<Message> items, root.list(name, kMaxAuthorities));
  std::vector<Authority> authorities;
  for (const Message& item : items) {
    ASSAY_ASSIGN(Authority authority, read_authority(item));
    if (authority.leaf && !leaf_allowed) {
      return item.wrong("the certificates of a certificate authority are CAs");
    }
    authorities.push_back(std::move(authority));
  }
  return authorities;
}

}  // namespace

std::string_view Log::host() const {
  std::string_view url = base_url;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (url.starts_with(scheme)) {
      url.remove_prefix(scheme.size());
    }
  }
  while (url.ends_with('/')) {
    url.remove_suffix(1);
  }
  return url;
}

Result<TrustedRoot> parse_trusted_root(ByteView json) {
  ASSAY_ASSIGN(const Json document, parse_json(json, kRootLimits));
  const Message root(document, ErrorCode::kMalformedTrustedRoot, "");
  ASSAY_TRY(root.check(
      {"mediaType", "tlogs", "certificateAuthorities", "ctlogs", "timestampAuthorities"}));
  ASSAY_ASSIGN(const std::string media_type, root.text("mediaType"));
  if (media_type != kMediaType) {
    return root.wrong("the media type is not " + std::string(kMediaType));
  }
  TrustedRoot result;
  ASSAY_ASSIGN(result.tlogs, read_logs(root, "tlogs"));
  ASSAY_ASSIGN(result.ctlogs, read_logs(root, "ctlogs"));
  ASSAY_ASSIGN(result.certificate_authorities,
               read_authorities(root, "certificateAuthorities", false));
  ASSAY_ASSIGN(result.timestamp_authorities, read_authorities(root, "timestampAuthorities", true));
  return result;
}

}  // namespace assay::attestation::sigstore
