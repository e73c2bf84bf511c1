// SPDX-License-Identifier: Apache-2.0
// assay verify-bundle: an artifact against a sigstore bundle, offline.
#include "cli/verbs/verify_bundle.h"

#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "attestation/sigstore/verify.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/sha.h"

namespace assay::cli {

namespace {

namespace sigstore = attestation::sigstore;

constexpr std::size_t kReadBytes = 1U << 20;
constexpr std::string_view kDigestMark = "sha256:";
constexpr std::array kSubjectKinds = {sigstore::SubjectKind::kEmail, sigstore::SubjectKind::kUri,
                                      sigstore::SubjectKind::kUserName};

struct BundleVerb {
  BundleFlags flags;
  std::string artifact;
};

// What the flags demand of the signer.
struct BundleTrust {
  std::optional<attestation::PublicKey> key;
  std::optional<sigstore::WantedIdentity> identity;
  std::optional<sigstore::TrustedRoot> root;
  Timestamp now;

  [[nodiscard]] std::variant<sigstore::Keyless, sigstore::ManagedKey> signer() const {
    using Signer = std::variant<sigstore::Keyless, sigstore::ManagedKey>;
    if (key) {
      const auto evidence =
          root ? sigstore::KeyEvidence::kRequired : sigstore::KeyEvidence::kNotLooked;
      return Signer(sigstore::ManagedKey{*key, evidence, root ? &*root : nullptr});
    }
    return Signer(sigstore::Keyless{*root, *identity});
  }
};

std::unexpected<Error> wrong_usage(const char* why) { return fail(ErrorCode::kUsage, why); }

Status check_flags(const BundleFlags& flags) {
  const bool has_identity =
      !flags.identity.empty() || !flags.pattern.empty() || !flags.issuer.empty();
  if (flags.key.empty() != has_identity) {
    return wrong_usage(
        "give either --key, or an identity: --certificate-identity and "
        "--certificate-oidc-issuer");
  }
  if (!flags.key.empty()) {
    return {};
  }
  if (flags.issuer.empty() || flags.identity.empty() == flags.pattern.empty()) {
    return wrong_usage(
        "an identity is --certificate-oidc-issuer with one of --certificate-identity and "
        "--certificate-identity-pattern");
  }
  if (flags.trusted_root.empty()) {
    return wrong_usage("an identity needs --trusted-root: nothing is trusted by itself");
  }
  return {};
}

Result<sigstore::WantedIdentity> wanted_identity(const BundleFlags& flags) {
  if (!flags.identity.empty()) {
    return sigstore::WantedIdentity::exactly(flags.issuer, flags.identity);
  }
  for (const sigstore::SubjectKind kind : kSubjectKinds) {
    const std::string mark = std::string(name(kind)) + ":";
    if (flags.pattern.starts_with(mark)) {
      return sigstore::WantedIdentity::matching(
          flags.issuer, kind, std::string_view(flags.pattern).substr(mark.size()));
    }
  }
  return wrong_usage("a pattern is email:PATTERN, uri:PATTERN or username:PATTERN");
}

Result<BundleTrust> load_bundle_trust(const Context& context, const BundleFlags& flags) {
  ASSAY_TRY(check_flags(flags));
  BundleTrust trust{{}, {}, {}, context.clock.now()};
  if (!flags.at.empty()) {
    ASSAY_ASSIGN(trust.now, parse_rfc3339(flags.at));
  }
  if (!flags.trusted_root.empty()) {
    ASSAY_ASSIGN(const Bytes file,
                 client::read_file(flags.trusted_root, sigstore::kMaxTrustedRootBytes));
    ASSAY_ASSIGN(trust.root, sigstore::parse_trusted_root(file));
  }
  if (flags.key.empty()) {
    ASSAY_ASSIGN(trust.identity, wanted_identity(flags));
  } else {
    ASSAY_ASSIGN(const Bytes file, client::read_file(flags.key));
    ASSAY_ASSIGN(trust.key, attestation::PublicKey::from_pem(as_text(file)));
  }
  return trust;
}

// Hashes a file of any size.
Result<sigstore::Artifact> hash_artifact(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(ErrorCode::kFileUnreadable, "the artifact cannot be read", path);
  }
  ShaStream sha256(HashAlgorithm::kSha256);
  ShaStream sha384(HashAlgorithm::kSha384);
  std::vector<char> buffer(kReadBytes);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const std::string_view read(buffer.data(), static_cast<std::size_t>(file.gcount()));
    sha256.update(as_bytes(read));
    sha384.update(as_bytes(read));
  }
  if (!file.eof()) {
    return fail(ErrorCode::kFileUnreadable, "the artifact cannot be read to its end", path);
  }
  return sigstore::Artifact{sha256.finish(), sha384.finish(), std::nullopt};
}

Result<std::optional<sigstore::Artifact>> load_artifact(const std::string& artifact) {
  if (artifact.empty()) {
    return std::optional<sigstore::Artifact>();
  }
  if (artifact.starts_with(kDigestMark)) {
    ASSAY_ASSIGN(const Digest digest, Digest::parse(artifact));
    return std::optional(sigstore::Artifact{digest, std::nullopt, std::nullopt});
  }
  ASSAY_ASSIGN(sigstore::Artifact hashed, hash_artifact(artifact));
  return std::optional(std::move(hashed));
}

std::string_view name_of(sigstore::TimeSource source) {
  return source == sigstore::TimeSource::kLog ? "log" : "timestamp-authority";
}

// What was verified, and the type of the payload of an envelope.
struct BundleAnswer {
  sigstore::VerifiedBundle verified;
  std::string payload_type;
};

Json answer_json(const BundleAnswer& answer, const std::optional<sigstore::Artifact>& artifact) {
  const sigstore::VerifiedBundle& verified = answer.verified;
  Json times = Json::array();
  for (const auto& counted : verified.times) {
    times.push_back({{"time", to_rfc3339(counted.time)},
                     {"source", name_of(counted.source)},
                     {"name", counted.name}});
  }
  Json entries = Json::array();
  for (const auto& entry : verified.entries) {
    entries.push_back({{"log", entry.log},
                       {"index", entry.index},
                       {"kind", entry.kind},
                       {"version", entry.version},
                       {"proven", entry.is_proven}});
  }
  Json identity;
  if (verified.identity) {
    identity = {{"subject", verified.identity->subject},
                {"kind", name(verified.identity->kind)},
                {"issuer", verified.identity->issuer}};
  }
  return {{"verified", true},
          {"identity", std::move(identity)},
          {"key_id", verified.key_id.text()},
          {"times", std::move(times)},
          {"log_entries", std::move(entries)},
          {"certificate_log", verified.certificate_log ? Json(*verified.certificate_log) : Json()},
          {"artifact", artifact ? Json(artifact->sha256.text()) : Json()},
          {"payload_type", answer.payload_type.empty() ? Json() : Json(answer.payload_type)}};
}

void print_answer(const Context& context, const BundleAnswer& answer,
                  const std::optional<sigstore::Artifact>& artifact) {
  const sigstore::VerifiedBundle& verified = answer.verified;
  Table table({"verified", artifact ? artifact->sha256.text() : "the envelope alone"});
  if (verified.identity) {
    table.row({"signed by", verified.identity->subject + " (" +
                                std::string(name(verified.identity->kind)) + ")"});
    table.row({"issuer", verified.identity->issuer});
  } else {
    table.row({"signed with", verified.key_id.text()});
  }
  for (const auto& counted : verified.times) {
    table.row({"signed at", to_rfc3339(counted.time) + ", says " + counted.name});
  }
  for (const auto& entry : verified.entries) {
    table.row({"log entry", entry.log + " " + std::to_string(entry.index) + ", " + entry.kind +
                                " " + entry.version +
                                (entry.is_proven ? "" : ", promised and not proven")});
  }
  if (verified.entries.empty()) {
    table.row({"log entry", "not looked at: no --trusted-root"});
  }
  if (!answer.payload_type.empty()) {
    table.row({"payload", answer.payload_type});
  }
  print_fields(context, table);
}

Result<BundleAnswer> judge(ByteView file, const BundleTrust& trust,
                           const std::optional<sigstore::Artifact>& artifact) {
  ASSAY_ASSIGN(const sigstore::Bundle bundle, sigstore::parse_bundle(file));
  ASSAY_ASSIGN(auto verified,
               sigstore::verify_bundle(
                   bundle, {trust.signer(), artifact ? &*artifact : nullptr, trust.now}));
  const auto* const envelope = std::get_if<sigstore::DsseContent>(&bundle.content);
  return BundleAnswer{std::move(verified), envelope != nullptr ? envelope->payload_type : ""};
}

}  // namespace

void add_bundle_trust_options(const Command& verb, BundleFlags& flags) {
  verb.option("--key", flags.key, "FILE.pub", "the signer's public key (PEM)");
  verb.option("--certificate-identity", flags.identity, "SUBJECT",
              "the signer: the email, URI or user name in the certificate, exactly");
  verb.option("--certificate-identity-pattern", flags.pattern, "KIND:PATTERN",
              "the same by a pattern (RE2) for the whole of it; KIND is email, uri or username");
  verb.option("--certificate-oidc-issuer", flags.issuer, "URL",
              "who told the certificate authority who the signer is, exactly");
  verb.option("--trusted-root", flags.trusted_root, "FILE",
              "trusted_root.json of the deployment: its authorities and logs");
  verb.option("--at", flags.at, "TIME",
              "refuse what was signed after this RFC 3339 time (default: now)");
}

Result<Exit> verify_sigstore_bundle(const Context& context, const BundleFlags& flags,
                                    const std::string& artifact) {
  ASSAY_ASSIGN(const BundleTrust trust, load_bundle_trust(context, flags));
  ASSAY_ASSIGN(const std::optional<sigstore::Artifact> hashed, load_artifact(artifact));
  ASSAY_ASSIGN(const Bytes file, client::read_file(flags.bundle, sigstore::kMaxBundleBytes));
  const auto answer = judge(file, trust, hashed);
  if (!answer) {
    return refuse(context, answer.error(), {{"verified", false}});
  }
  if (context.json()) {
    print_json(answer_json(*answer, hashed));
  } else {
    print_answer(context, *answer, hashed);
  }
  return Exit::kYes;
}

void add_verify_bundle(const Command& root, Context& context) {
  auto options = std::make_shared<BundleVerb>();
  const Command verb = root.add("verify-bundle", "Check an artifact against a sigstore bundle");
  verb.optional_argument("ARTIFACT", options->artifact,
                         "the file, or sha256:DIGEST; without it an envelope is checked alone");
  verb.option("--bundle", options->flags.bundle, "FILE",
              "what 'cosign sign-blob --bundle' or 'gh attestation download' wrote");
  verb.required();
  add_bundle_trust_options(verb, options->flags);
  verb.note(
      "Works offline; the trusted root is the file that you bring. Exits with 0 when the bundle\n"
      "is by this signer, about this artifact, and proven by the logs and timestamps in it; with\n"
      "1 when anything does not verify. With --key alone, logs and timestamps are not looked at.\n"
      "docs/sigstore.md says what is checked.");
  verb.example(
      "assay verify-bundle model.tar --bundle model.tar.sigstore.json --trusted-root "
      "trusted_root.json --certificate-identity release@example.com --certificate-oidc-issuer "
      "https://accounts.google.com",
      "an artifact that a person or a workflow signed without a key of its own");
  verb.example("assay verify-bundle model.tar --bundle model.tar.sigstore.json --key vendor.pub",
               "an artifact that was signed with a key");
  verb.action([options, &context] {
    return verify_sigstore_bundle(context, options->flags, options->artifact);
  });
}

}  // namespace assay::cli
