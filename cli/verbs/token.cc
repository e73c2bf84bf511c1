// SPDX-License-Identifier: Apache-2.0
// assay token: credentials of callers, and the entries that make them known.
#include <memory>
#include <utility>

#include "cli/documents/secrets.h"
#include "cli/documents/trust_documents.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/sha.h"
#include "schemas/trust.h"

namespace assay::cli {

namespace {

struct TokenOptions {
  std::string principal;
  std::vector<std::string> roles;
  std::string not_after;
  std::string token_out;
  std::string certificate;
  std::string out;
};

Result<Principal> principal_of(const Context& context, const TokenOptions& options,
                               Credential credential) {
  Principal principal{options.principal, {}, {std::move(credential)}, std::nullopt};
  for (const std::string& role : options.roles) {
    ASSAY_ASSIGN(const AccessRole value, access_role_from(role));
    principal.roles.insert(value);
  }
  if (!options.not_after.empty()) {
    ASSAY_ASSIGN(principal.not_after,
                 read_time(options.not_after, context.clock.now(), Span::kAhead));
  }
  ASSAY_TRY(principal_from_json(to_json(principal)));  // refused here rather than by the service
  return principal;
}

Status write_principal(const TokenOptions& options, const Json& principal) {
  return options.out.empty() ? Status() : client::write_file(options.out, principal.dump(2) + "\n");
}

Result<Exit> make_for_certificate(const Context& context, const TokenOptions& options) {
  ASSAY_ASSIGN(Credential credential, certificate_credential(options.certificate));
  ASSAY_ASSIGN(const Principal principal, principal_of(context, options, std::move(credential)));
  ASSAY_TRY(write_principal(options, to_json(principal)));
  if (options.out.empty()) {
    print_json(to_json(principal));
  }
  return Exit::kYes;
}

Result<Exit> make(const Context& context, const TokenOptions& options) {
  if (!options.certificate.empty()) {
    if (!options.token_out.empty()) {
      return fail(ErrorCode::kUsage, "A caller with a certificate gets no token");
    }
    return make_for_certificate(context, options);
  }
  if (options.token_out == "-") {
    return fail(ErrorCode::kUsage,
                "The token goes to standard output without --token-out; name a file, or leave it "
                "out");
  }
  client::protect_process();
  ASSAY_ASSIGN(const std::string token, make_token(context.random));
  const Credential credential{CredentialKind::kToken, sha256(as_bytes(token))};
  ASSAY_ASSIGN(const Principal principal, principal_of(context, options, credential));
  if (!options.token_out.empty()) {
    ASSAY_TRY(client::write_new_file(options.token_out, token + "\n", client::kPrivateFile));
  }
  ASSAY_TRY(write_principal(options, to_json(principal)));
  if (context.json()) {
    Json json = {{"principal", to_json(principal)}};
    json[options.token_out.empty() ? "token" : "token_file"] =
        options.token_out.empty() ? token : options.token_out;
    print_json(json);
    return Exit::kYes;
  }
  if (options.token_out.empty()) {
    print_line(token);
    message(context, "this token is not shown again");
  }
  if (options.out.empty()) {
    print_json(to_json(principal));
  }
  return Exit::kYes;
}

}  // namespace

void add_token(const Command& root, Context& context) {
  const Command group = root.add("token", "Access tokens of callers");
  auto options = std::make_shared<TokenOptions>();
  const Command verb = group.add("new", "Make a token and the caller's entry for the trust store");
  verb.option("--principal", options->principal, "NAME", "name of the caller");
  verb.required();
  verb.option(
      "--role", options->roles, "ROLE",
      "reader, submitter, worker, policy-author, policy-approver, decider (an orchestrator), "
      "admission (an API server), auditor, monitor or admin; may be given again");
  verb.required();
  verb.option("--not-after", options->not_after, "TIME",
              "end of validity: a time, a date, or a span such as 90d (default: none)");
  verb.option("--token-out", options->token_out, "FILE",
              "write the token to a new file of mode 0600 instead of printing it");
  verb.option("--certificate", options->certificate, "FILE",
              "make no token: the caller identifies itself by this client certificate (PEM)");
  verb.option("--out", options->out, "FILE", "write the caller's entry to this file");
  verb.note(
      "The service gets the hash of the token and no more, by a change of trust ('assay trust "
      "change\n"
      "--put-principal') or at its start ('assay trust bootstrap --principal').");
  verb.example("assay token new --principal ci --role submitter --token-out ci.token --out ci.json",
               "make a caller that may store manifests and statements");
  verb.example(
      "assay token new --principal kube-apiserver --role admission --certificate kube.crt \\\n"
      "      --out kube.json",
      "make a caller with a client certificate");
  verb.action([options, &context] { return make(context, *options); });
}

}  // namespace assay::cli
