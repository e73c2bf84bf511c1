// SPDX-License-Identifier: Apache-2.0
// assay setup: all that a first service needs, in one folder, to try Assay out.
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "attestation/keys.h"
#include "cli/documents/secrets.h"
#include "cli/documents/trust_documents.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/sha.h"
#include "schemas/manifest.h"
#include "schemas/trust.h"

namespace assay::cli {
namespace {

constexpr std::chrono::days kValidity{365};

struct SetupOptions {
  std::string folder;
  std::string name_space = "acme";
  std::uint64_t port = 8443;
};

struct Holder {
  const char* name;  // of the key file
  KeyPurpose purpose;
  const char* identity;
};
// One key for each part that somebody plays. Identities differ, because thresholds count them.
constexpr std::array kHolders = {
    Holder{"operator-1", KeyPurpose::kOperator, "operator-1"},
    Holder{"operator-2", KeyPurpose::kOperator, "operator-2"},
    Holder{"publisher", KeyPurpose::kPublisher, "publisher"},
    Holder{"author", KeyPurpose::kAuthor, "policy-author"},
    Holder{"approver", KeyPurpose::kApprover, "policy-approver"},
};

Status make_folder(const std::string& path) {
  return ::mkdir(path.c_str(), 0700) == 0
             ? Status()
             : fail(errno == EEXIST ? ErrorCode::kConflict : ErrorCode::kFileUnreadable,
                    errno == EEXIST
                        ? "The folder exists already; name one that does not"
                        : std::string("The folder cannot be made: ") + std::strerror(errno),
                    path);
}

// Makes FOLDER/keys/NAME.pem with its .pub; what the trust store will say of it.
Result<TrustedKey> make_key(const SetupOptions& options, const Holder& holder, Timestamp now) {
  ASSAY_ASSIGN(const auto signer, attestation::generate_key(SignatureAlgorithm::kEd25519));
  ASSAY_ASSIGN(const auto key, attestation::PublicKey::from_der(signer->public_key()));
  const std::string path = options.folder + "/keys/" + holder.name + ".pem";
  ASSAY_TRY(attestation::save_private_key(*signer, path, {}));
  ASSAY_TRY(client::write_new_file(path + ".pub", key.pem(), client::kPublicFile));
  TrustedKey trusted{.id = key.id(),
                     .algorithm = key.algorithm(),
                     .public_key = signer->public_key(),
                     .purpose = holder.purpose,
                     .identity = holder.identity,
                     .roles = {},
                     .not_before = now,
                     .not_after = now + kValidity,
                     .revoked = std::nullopt};
  if (holder.purpose == KeyPurpose::kPublisher) {
    trusted.roles.push_back({"*", std::string(kManifestPredicateType), options.name_space});
  }
  return trusted;
}

// A caller who may do all that a person can, with its token in FOLDER/token.
Result<Principal> make_owner(const Context& context, const SetupOptions& options) {
  ASSAY_ASSIGN(const std::string token, make_token(context.random));
  ASSAY_TRY(client::write_new_file(options.folder + "/token", token + "\n", client::kPrivateFile));
  using enum AccessRole;
  return Principal{
      "owner",
      {kReader, kSubmitter, kDecider, kPolicyAuthor, kPolicyApprover, kAuditor, kMonitor, kAdmin},
      {{CredentialKind::kToken, sha256(as_bytes(token))}},
      std::nullopt};
}

Result<Bootstrap> make_trust(const Context& context, const SetupOptions& options) {
  Bootstrap bootstrap;
  for (const Holder& holder : kHolders) {
    ASSAY_ASSIGN(TrustedKey key, make_key(options, holder, context.clock.now()));
    bootstrap.keys.push_back(std::move(key));
  }
  ASSAY_ASSIGN(Principal owner, make_owner(context, options));
  bootstrap.principals.push_back(std::move(owner));
  return bootstrap;
}

Json config_of(const SetupOptions& options) {
  return {{"api", {{"address", "127.0.0.1"}, {"port", options.port}}},
          {"tls", {{"certificate_file", "tls.crt"}, {"private_key_file", "tls.key"}}},
          {"store", {{"kind", "sqlite"}, {"path", "assay.db"}}},
          {"anchor_file", "anchor"},
          {"log", {{"origin", options.name_space + ".example/log"}, {"key_file", "log.pem"}}},
          {"service_key_file", "service.pem"},
          {"attestation", {{"ear_key_files", Json::array({"ear.pem"})}}}};
}

// The least that a policy can ask for.
Json first_policy() {
  return {{"name", "published"},
          {"version", 1},
          {"description", "What runs on an accelerator was published by us."},
          {"mode", "enforce"},
          {"match", {{"accelerators", "any"}}},
          {"require",
           Json::array({{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 1}}}}}}})}};
}

// Settings for a shell that sources them in any folder.
std::string environment(const SetupOptions& options, const std::string& folder) {
  return "export ASSAY_SERVER=https://127.0.0.1:" + std::to_string(options.port) +
         "\nexport ASSAY_CA='" + folder + "/service/tls.crt'\nexport ASSAY_TOKEN_FILE='" + folder +
         "/token'\n";
}

Result<std::string> absolute(const std::string& folder) {
  const std::unique_ptr<char, decltype(&std::free)> path(::realpath(folder.c_str(), nullptr),
                                                         &std::free);
  if (!path || std::strchr(path.get(), '\'') != nullptr) {
    return fail(ErrorCode::kUsage, "The folder's path cannot be used in a shell; name another",
                folder);
  }
  return std::string(path.get());
}

Result<Exit> setup(const Context& context, const SetupOptions& options) {
  if (options.port == 0 || options.port > 65535) {
    return fail(ErrorCode::kUsage, "A port is 1 to 65535", std::to_string(options.port));
  }
  ASSAY_TRY(check_model_name(options.name_space + "/model"));
  client::protect_process();
  const std::string& folder = options.folder;
  for (const char* name : {"", "/keys", "/service"}) {
    ASSAY_TRY(make_folder(folder + name));
  }
  ASSAY_ASSIGN(const std::string path, absolute(folder));
  ASSAY_ASSIGN(const Bootstrap trust, make_trust(context, options));
  const std::string bootstrap = to_json(trust).dump(2) + "\n";
  ASSAY_TRY(parse_bootstrap(as_bytes(bootstrap)));
  ASSAY_TRY(
      client::write_new_file(folder + "/service/bootstrap.json", bootstrap, client::kPublicFile));
  ASSAY_TRY(client::write_new_file(folder + "/service/assayd.json",
                                   config_of(options).dump(2) + "\n", client::kPublicFile));
  ASSAY_TRY(client::write_new_file(folder + "/policy.json", first_policy().dump(2) + "\n",
                                   client::kPublicFile));
  ASSAY_TRY(
      client::write_new_file(folder + "/env", environment(options, path), client::kPublicFile));
  const std::string config = folder + "/service/assayd.json";
  if (context.json()) {
    print_json({{"folder", path}, {"config", config}, {"environment", folder + "/env"}});
    return Exit::kYes;
  }
  print_line("assayd init --config " + config + " --bootstrap " + folder +
             "/service/bootstrap.json");
  print_line("assayd run --config " + config + " &");
  print_line(". " + folder + "/env");
  message(context, "wrote " + folder + "; these three commands start the service and use it");
  warning("all keys lie in " + folder +
          "/keys, without passphrases: good for a trial. Where it counts, each person makes an own "
          "key and keeps it (docs/getting-started.md)");
  return Exit::kYes;
}

}  // namespace

void add_setup(const Command& root, Context& context) {
  auto options = std::make_shared<SetupOptions>();
  const Command verb = root.add("setup", "Make a folder with all that a first service needs");
  verb.argument("DIR", options->folder, "folder to make; it must not exist");
  verb.option("--namespace", options->name_space, "NAME",
              "first part of the names of your models (default acme)");
  verb.option("--port", options->port, "PORT",
              "port that the service listens on, on this machine (default 8443)");
  verb.note(
      "Makes keys for two operators, a publisher, a policy author and an approver, a token for\n"
      "one caller with every role of a person, a configuration, a first policy, and settings for\n"
      "a shell. Prints the commands that come next. One person then holds all keys, and "
      "nobody\nchecks that person: it is for trying things out.");
  verb.example("assay setup trial --namespace acme",
               "prepare a service for models such as acme/demo");
  verb.action([options, &context] { return setup(context, *options); });
}

}  // namespace assay::cli
