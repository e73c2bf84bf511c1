// SPDX-License-Identifier: Apache-2.0
// assay key: making keys, and saying what they are for.
#include <memory>
#include <utility>

#include "attestation/keys.h"
#include "cli/documents/keys.h"
#include "cli/documents/secrets.h"
#include "cli/documents/trust_documents.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/trust_change.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/manifest.h"

namespace assay::cli {

namespace {

// --- new

struct NewOptions {
  std::string algorithm = "ed25519";
  std::string out;
  std::string passphrase_file;
  bool encrypt = false;
};

Result<Exit> make(const Context& context, const NewOptions& options) {
  if (options.out == "-") {
    return fail(ErrorCode::kUsage,
                "A private key is not written to standard output; name a file with --out");
  }
  client::protect_process();
  ASSAY_ASSIGN(const SignatureAlgorithm algorithm, signature_algorithm_from(options.algorithm));
  const std::string public_file = options.out + ".pub";
  if (client::file_exists(public_file)) {
    return fail(ErrorCode::kConflict,
                "The file exists and is not overwritten; choose another name for the key",
                public_file);
  }
  SecretBytes passphrase;
  if (options.encrypt || !options.passphrase_file.empty()) {
    ASSAY_ASSIGN(passphrase,
                 read_passphrase(options.passphrase_file, "Passphrase of the new key", true));
  }
  ASSAY_ASSIGN(const std::unique_ptr<Signer> signer, attestation::generate_key(algorithm));
  ASSAY_ASSIGN(const attestation::PublicKey key,
               attestation::PublicKey::from_der(signer->public_key()));
  ASSAY_TRY(attestation::save_private_key(*signer, options.out, passphrase));
  ASSAY_TRY(client::write_new_file(public_file, key.pem(), client::kPublicFile));
  if (context.json()) {
    print_json({{"key_id", key.id().text()},
                {"algorithm", options.algorithm},
                {"private_key", options.out},
                {"public_key", public_file},
                {"encrypted", !passphrase.empty()}});
  } else {
    print_line(key.id().text());
    message(context, "wrote " + options.out + " (private, keep it) and " + public_file);
  }
  return Exit::kYes;
}

void add_new(const Command& group, Context& context) {
  auto options = std::make_shared<NewOptions>();
  const Command verb = group.add("new", "Make a key pair");
  verb.choice("--algorithm", options->algorithm,
              {"ed25519", "ecdsa-p256", "ecdsa-p384", "ecdsa-p521"},
              "signature algorithm (default ed25519)");
  verb.option("--out", options->out, "FILE",
              "private key (PKCS#8 PEM, mode 0600); the public key goes to FILE.pub");
  verb.required();
  verb.flag("--encrypt", options->encrypt,
            "encrypt it with a passphrase asked for on the terminal");
  verb.option("--passphrase-file", options->passphrase_file, "FILE",
              "encrypt it with the passphrase in a file of mode 0600");
  verb.note("Never overwrites a file. Prints the key id: SHA-256 of the public key.");
  verb.example("assay key new --out publisher.pem", "make an Ed25519 key");
  verb.example("assay key new --algorithm ecdsa-p256 --encrypt --out release.pem",
               "make an encrypted key for ECDSA");
  verb.action([options, &context] { return make(context, *options); });
}

// --- show

Result<Exit> show(const Context& context, const std::string& file) {
  ASSAY_ASSIGN(const PublicHalf key, read_public_key(file));
  if (context.json()) {
    print_json({{"key_id", key.id.text()},
                {"algorithm", name(key.algorithm)},
                {"public_key", base64_encode(key.der)},
                {"pem", key.pem}});
    return Exit::kYes;
  }
  print_line(key.id.text());
  print_line(name(key.algorithm));
  print_text(key.pem);
  return Exit::kYes;
}

void add_show(const Command& group, Context& context) {
  auto file = std::make_shared<std::string>();
  const Command verb = group.add("show", "Print the id of a key");
  verb.argument("FILE", *file, "public key in PEM, or a private key with FILE.pub beside it");
  verb.example("assay key show publisher.pem.pub", "print the id of a public key");
  verb.action([file, &context] { return show(context, *file); });
}

// --- describe

struct DescribeOptions {
  std::string file;
  std::vector<std::string> certificate_roots;  // files
  std::string certificate_issuer;
  std::string trusted_root;
  std::string certificate_identity;
  std::string purpose;
  std::string identity;
  std::vector<std::string> roles;
  std::vector<std::string> namespaces;
  std::string not_before;
  std::string not_after;
  std::string out;
};

Result<std::vector<SignerRole>> roles_of(const DescribeOptions& options, KeyPurpose purpose) {
  std::vector<SignerRole> roles;
  for (const std::string& text : options.roles) {
    ASSAY_ASSIGN(SignerRole role, read_signer_role(text));
    roles.push_back(std::move(role));
  }
  if (!options.namespaces.empty() && purpose != KeyPurpose::kPublisher) {
    return fail(ErrorCode::kUsage, "--namespace is for publishers; a signer takes --role");
  }
  for (const std::string& name_space : options.namespaces) {
    roles.push_back({"*", std::string(kManifestPredicateType), name_space});
  }
  const bool needs_roles = purpose == KeyPurpose::kPublisher || purpose == KeyPurpose::kSigner;
  if (needs_roles == roles.empty()) {
    return fail(ErrorCode::kUsage,
                needs_roles ? "Without a role the key may say nothing: give --namespace for a "
                              "publisher, --role for a signer"
                            : "Only publishers and signers have roles");
  }
  return roles;
}

// The three kinds of names look different.
SubjectKind kind_of(const std::string& identity) {
  if (identity.find("://") != std::string::npos) {
    return SubjectKind::kUri;
  }
  return identity.find('@') != std::string::npos ? SubjectKind::kEmail : SubjectKind::kDns;
}

Result<CertificateIdentity> certificate_of(const DescribeOptions& options) {
  CertificateIdentity identity{
      .issuer = options.certificate_issuer,
      .trusted_root = options.trusted_root,
      .subject = {kind_of(options.certificate_identity), options.certificate_identity}};
  for (const std::string& path : options.certificate_roots) {
    ASSAY_ASSIGN(std::vector<Bytes> roots, read_certificates(path));
    std::ranges::move(roots, std::back_inserter(identity.roots));
  }
  if (identity.roots.empty() == identity.issuer.empty() ||
      identity.issuer.empty() != identity.trusted_root.empty()) {
    return fail(ErrorCode::kUsage,
                "An identity by certificate has --certificate-root, or --certificate-oidc-issuer "
                "and --trusted-root");
  }
  return identity;
}

// What is trusted: a key or an identity, without what it is trusted for.
Result<TrustedKey> subject_of(const DescribeOptions& options, KeyPurpose purpose) {
  if (options.file.empty() == options.certificate_identity.empty()) {
    return fail(ErrorCode::kUsage,
                "Say who signs: FILE with a public key, or --certificate-identity");
  }
  if (!options.file.empty()) {
    ASSAY_ASSIGN(const PublicHalf key, read_public_key(options.file));
    return TrustedKey{.id = key.id,
                      .algorithm = key.algorithm,
                      .public_key = key.der,
                      .purpose = purpose,
                      .identity = {},
                      .roles = {},
                      .not_before = {},
                      .not_after = {},
                      .revoked = {}};
  }
  ASSAY_ASSIGN(CertificateIdentity identity, certificate_of(options));
  ASSAY_ASSIGN(const KeyId id, certificate_id(identity, purpose));
  return TrustedKey{.id = id,
                    .algorithm = {},
                    .public_key = {},
                    .purpose = purpose,
                    .identity = {},
                    .roles = {},
                    .not_before = {},
                    .not_after = {},
                    .revoked = {},
                    .certificate = std::move(identity)};
}

Result<Exit> describe(const Context& context, const DescribeOptions& options) {
  ASSAY_ASSIGN(const KeyPurpose purpose, key_purpose_from(options.purpose));
  ASSAY_ASSIGN(TrustedKey key, subject_of(options, purpose));
  key.identity = options.identity;
  ASSAY_ASSIGN(key.roles, roles_of(options, purpose));
  const Timestamp now = context.clock.now();
  key.not_before = now;
  if (!options.not_before.empty()) {
    ASSAY_ASSIGN(key.not_before, read_time(options.not_before, now, Span::kAhead));
  }
  ASSAY_ASSIGN(key.not_after, read_time(options.not_after, now, Span::kAhead));
  const Json json = to_json(key);
  ASSAY_TRY(trusted_key_from_json(json));  // refused here rather than by the service
  if (options.out.empty() || options.out == "-") {
    print_json(json);
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(options.out, json.dump(2) + "\n"));
  message(context, "wrote " + options.out);
  return Exit::kYes;
}

void add_describe(const Command& group, Context& context) {
  auto options = std::make_shared<DescribeOptions>();
  const Command verb =
      group.add("describe", "Say what a key, or an identity by certificate, is trusted for");
  verb.optional_argument("FILE", options->file, "public key in PEM");
  verb.option("--certificate-identity", options->certificate_identity, "NAME",
              "in place of FILE: the name in the signer's certificate, an email address, URI or "
              "DNS name; '*' stands for a part of it");
  verb.option("--certificate-oidc-issuer", options->certificate_issuer, "URL",
              "keyless: who issued the token, exactly");
  verb.option("--trusted-root", options->trusted_root, "NAME",
              "keyless: trusted root of the service ('assay trust change --put-trusted-root')");
  verb.option("--certificate-root", options->certificate_roots, "FILE",
              "X.509: certificate of your CA in PEM; may be given again");
  verb.choice("--purpose", options->purpose,
              {"publisher", "signer", "author", "approver", "operator", "worker", "service"},
              "what a signature of the key means");
  verb.required();
  verb.option("--identity", options->identity, "WHO",
              "person or system that holds it; thresholds count identities");
  verb.required();
  verb.option(
      "--role", options->roles, "STAGE:PREDICATE:NAMESPACE",
      "what a signer may state; '*' for any stage or namespace, 'lifecycle' for assay's own "
      "predicate; may be given again");
  verb.option("--namespace", options->namespaces, "NAMESPACE",
              "which model names a publisher may publish; may be given again");
  verb.option("--not-before", options->not_before, "TIME", "start of validity (default: now)");
  verb.option("--not-after", options->not_after, "TIME",
              "end of validity: a time, a date, or a span such as 365d");
  verb.required();
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  verb.note(
      "The result goes into a change of trust ('assay trust change --add-key') or into the\n"
      "first trust of a service ('assay trust bootstrap --key').");
  verb.example(
      "assay key describe publisher.pem.pub --purpose publisher --identity release@acme.example "
      "\\\n"
      "      --namespace acme --not-after 365d --out publisher.key.json",
      "describe a publisher of acme/...");
  verb.example(
      "assay key describe eval.pem.pub --purpose signer --identity eval@acme.example \\\n"
      "      --role evaluate:lifecycle:acme --not-after 2027-12-31",
      "describe a signer of evaluations of acme/...");
  verb.example(
      "assay key describe --purpose publisher --identity acme-release --namespace acme \\\n"
      "      --certificate-oidc-issuer https://token.actions.githubusercontent.com \\\n"
      "      --certificate-identity "
      "https://github.com/acme/models/.github/workflows/release.yml@refs/heads/main \\\n"
      "      --trusted-root sigstore --not-after 365d",
      "describe a workflow that signs without a key");
  verb.action([options, &context] { return describe(context, *options); });
}

// --- revoke

void add_revoke(const Command& group, Context& context) {
  auto flags = std::make_shared<TrustChangeFlags>();
  auto id = std::make_shared<std::string>();
  auto since = std::make_shared<std::string>();
  const Command verb = group.add("revoke", "Write a change of trust that revokes a key");
  verb.argument("KEY_ID", *id, "id of the key, as 'assay trust show' prints it");
  verb.option("--since", *since, "TIME|AGE",
              "signatures that the service logged before this time count on (default: none count)");
  add_trust_change_options(verb, *flags);
  verb.required();
  verb.note("Two operators sign the change, then it is pushed. A revocation is never taken back.");
  verb.example(
      "assay key revoke sha256:9f86... --reason 'laptop stolen' --sequence auto --out revoke.json",
      "then: assay sign revoke.json --key op1.pem --out revoke.signed.json, the second operator,\n"
      "  # and assay trust push revoke.signed.json");
  verb.action([flags, id, since, &context] {
    flags->revoke = {*id};
    flags->revoke_since = *since;
    return write_trust_change(context, *flags);
  });
}

}  // namespace

void add_key(const Command& root, Context& context) {
  const Command group = root.add("key", "Keys: make, show, describe, revoke");
  add_new(group, context);
  add_show(group, context);
  add_describe(group, context);
  add_revoke(group, context);
}

}  // namespace assay::cli
