// SPDX-License-Identifier: Apache-2.0
// assay trust: who is trusted with what, and the signed changes of it.
#include "schemas/trust.h"

#include <charconv>
#include <memory>
#include <utility>

#include "attestation/dsse.h"
#include "cli/client/connect.h"
#include "cli/client/push.h"
#include "cli/documents/trust_documents.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/trust_change.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/challenge.h"

namespace assay::cli {

namespace {

Result<std::uint64_t> read_sequence(const Context& context, const TrustChangeFlags& flags) {
  if (flags.sequence == "auto") {
    ASSAY_ASSIGN(const std::uint64_t epoch, fetch_epoch(context, flags.connection, "trust"));
    return epoch + 1;
  }
  std::uint64_t number = 0;
  const char* end = flags.sequence.data() + flags.sequence.size();
  const auto [stop, error] = std::from_chars(flags.sequence.data(), end, number);
  if (error != std::errc() || stop != end || number == 0) {
    return fail(ErrorCode::kUsage,
                "The sequence is the service's trust epoch plus 1, or 'auto' to ask for it",
                flags.sequence);
  }
  return number;
}

Result<std::vector<TrustOperation>> operations_of(const TrustChangeFlags& flags, Timestamp now) {
  std::vector<TrustOperation> operations = flags.more;
  // Operations apply in order, and a keyless identity needs its root.
  for (const std::string& text : flags.trusted_roots) {
    ASSAY_ASSIGN(PutTrustedRoot root, read_trusted_root(text));
    operations.emplace_back(std::move(root));
  }
  for (const std::string& path : flags.add_keys) {
    ASSAY_ASSIGN(TrustedKey key, read_trusted_key(path));
    operations.emplace_back(AddKey{std::move(key)});
  }
  if (flags.reason.empty() &&
      !(flags.revoke.empty() && flags.revoke_nodes.empty() && flags.withdraw.empty())) {
    return fail(ErrorCode::kUsage, "Say with --reason why something is revoked or withdrawn");
  }
  for (const std::string& text : flags.withdraw) {
    ASSAY_ASSIGN(StatementId id, StatementId::parse(text));
    operations.emplace_back(
        WithdrawStatement{{std::move(id), flags.withdraw_reason, flags.reason, {}}});
  }
  std::optional<Timestamp> since;
  if (!flags.revoke_since.empty()) {
    ASSAY_ASSIGN(since, read_time(flags.revoke_since, now, Span::kAgo));
  }
  for (const std::string& text : flags.revoke) {
    ASSAY_ASSIGN(KeyId id, KeyId::parse(text));
    operations.emplace_back(RevokeKey{std::move(id), flags.reason, since});
  }
  for (const std::string& path : flags.put_principals) {
    ASSAY_ASSIGN(Principal principal, read_principal(path));
    operations.emplace_back(PutPrincipal{std::move(principal)});
  }
  for (const std::string& name : flags.remove_principals) {
    operations.emplace_back(RemovePrincipal{name});
  }
  for (const std::string& path : flags.appraisals) {
    ASSAY_ASSIGN(Appraisal appraisal, read_appraisal(path));
    operations.emplace_back(PutAppraisal{std::move(appraisal)});
  }
  for (const std::string& node : flags.revoke_nodes) {
    ASSAY_TRY(check_node_name(node));
    operations.emplace_back(RevokeNode{node, flags.reason});
  }
  for (const std::string& id : flags.remove_registrations) {
    operations.emplace_back(RemoveRegistration{id});
  }
  for (const std::string& path : flags.registrations) {
    ASSAY_ASSIGN(Registration registration, read_registration_file(path));
    operations.emplace_back(PutRegistration{std::move(registration)});
  }
  if (operations.empty()) {
    return fail(ErrorCode::kUsage,
                "Say what changes: --add-key, --revoke, --put-principal, --remove-principal, "
                "--appraisal, --revoke-node, --register, --unregister, --withdraw or "
                "--put-trusted-root");
  }
  return operations;
}

}  // namespace

void add_trust_change_options(const Command& verb, TrustChangeFlags& flags) {
  verb.option("--sequence", flags.sequence, "N|auto",
              "trust epoch that the change makes: the current one plus 1; 'auto' asks the service");
  verb.required();
  verb.option("--out", flags.out, "FILE", "where to write it (default: standard output)");
  add_connection_options(verb, flags.connection);
  verb.option("--reason", flags.reason, "TEXT",
              "why a key or node is revoked, or a statement withdrawn");
}

Result<std::uint64_t> fetch_epoch(const Context& context, const ConnectionFlags& connection,
                                  const char* which) {
  ASSAY_ASSIGN(Api api, open_api(context, connection));
  ASSAY_ASSIGN(const Json trust, api.get("/v1/trust"));
  const auto epochs = trust.find("epochs");
  if (epochs == trust.end() || !epochs->is_object() || !epochs->contains(which) ||
      !epochs->at(which).is_number_unsigned()) {
    return fail(ErrorCode::kSchemaViolation, "The service's answer has no epochs");
  }
  return epochs->at(which).get<std::uint64_t>();
}

Result<Exit> write_trust_change(const Context& context, const TrustChangeFlags& flags) {
  ASSAY_ASSIGN(std::vector<TrustOperation> operations, operations_of(flags, context.clock.now()));
  ASSAY_ASSIGN(const std::uint64_t sequence, read_sequence(context, flags));
  const Json json = to_json(TrustChange{sequence, std::move(operations)});
  ASSAY_ASSIGN(std::string text, canonical_json(json));
  ASSAY_TRY(parse_trust_change(as_bytes(text)));  // refused here rather than by the service
  if (flags.out.empty() || flags.out == "-") {
    print_document(text + "\n");
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(flags.out, text + "\n"));
  const std::string id = attestation::statement_id(kTrustChangePayloadType, as_bytes(text)).text();
  if (context.json()) {
    print_json({{"id", id}, {"sequence", sequence}, {"file", flags.out}});
  } else {
    print_line(id);
    message(context, "wrote " + flags.out + "; two operators sign it before it is pushed");
  }
  return Exit::kYes;
}

namespace {

void add_change(const Command& group, Context& context) {
  auto flags = std::make_shared<TrustChangeFlags>();
  const Command verb =
      group.add("change", "Write a change of trust, to be signed by two operators");
  verb.option("--add-key", flags->add_keys, "FILE",
              "key to trust, from 'assay key describe'; may be given again");
  verb.option("--revoke", flags->revoke, "KEY_ID", "key to revoke; may be given again");
  verb.option(
      "--revoke-since", flags->revoke_since, "TIME|AGE",
      "signatures of these keys that the service logged before this time count on (default: "
      "none count)");
  verb.option("--put-trusted-root", flags->trusted_roots, "NAME=FILE",
              "trusted_root.json of a sigstore instance, to add or replace under this name; may be "
              "given again");
  verb.option("--put-principal", flags->put_principals, "FILE",
              "caller to add or replace, from 'assay token new'; may be given again");
  verb.option("--remove-principal", flags->remove_principals, "NAME",
              "caller to remove; may be given again");
  verb.option("--appraisal", flags->appraisals, "FILE",
              "how evidence of a type is appraised from now on: reference values, accepted "
              "statuses; may be given again");
  verb.option("--revoke-node", flags->revoke_nodes, "NAME",
              "node to revoke for good, with all that it reported; may be given again");
  verb.option(
      "--register", flags->registrations, "FILE",
      "registration: which nodes a principal may enrol, and on which platforms; may be given "
      "again");
  verb.option("--unregister", flags->remove_registrations, "ID",
              "registration to remove; nodes under it end; may be given again");
  verb.option("--withdraw", flags->withdraw, "ID",
              "statement, manifest, placement or release to withdraw for good, whoever signed it; "
              "may be given again");
  verb.choice("--withdraw-reason", flags->withdraw_reason,
              {kWithdrawalReasons.begin(), kWithdrawalReasons.end()},
              "kind of reason (default: other); --reason says it in words");
  add_trust_change_options(verb, *flags);
  verb.note(
      "A change applies as a whole or not at all, once, and only to the epoch it was made for.");
  verb.example("assay trust change --add-key publisher.key.json --sequence auto --out change.json",
               "write a change that trusts a publisher");
  verb.example(
      "assay trust change --put-principal ci.json --remove-principal old-ci --sequence 7 \\\n"
      "      --out change.json",
      "replace a caller, without asking the service for the epoch");
  verb.example(
      "assay trust change --revoke-node gpu-node-1 --reason 'stolen' --sequence auto \\\n"
      "      --out change.json",
      "revoke a node for good");
  verb.example("assay trust change --register gpu-node-1.json --sequence auto --out change.json",
               "allow a node to enrol");
  verb.action([flags, &context] { return write_trust_change(context, *flags); });
}

// --- bootstrap

struct BootstrapOptions {
  std::vector<std::string> keys;
  std::vector<std::string> trusted_roots;
  std::vector<std::string> principals;
  std::vector<std::string> appraisals;
  std::vector<std::string> registrations;
  std::string out;
};

Result<Exit> bootstrap(const Context& context, const BootstrapOptions& options) {
  Bootstrap document;
  for (const std::string& path : options.keys) {
    ASSAY_ASSIGN(TrustedKey key, read_trusted_key(path));
    document.keys.push_back(std::move(key));
  }
  for (const std::string& path : options.principals) {
    ASSAY_ASSIGN(Principal principal, read_principal(path));
    document.principals.push_back(std::move(principal));
  }
  for (const std::string& path : options.appraisals) {
    ASSAY_ASSIGN(Appraisal appraisal, read_appraisal(path));
    document.appraisals.push_back(std::move(appraisal));
  }
  for (const std::string& path : options.registrations) {
    ASSAY_ASSIGN(Registration registration, read_registration_file(path));
    document.registrations.push_back(std::move(registration));
  }
  for (const std::string& named : options.trusted_roots) {
    ASSAY_ASSIGN(PutTrustedRoot root, read_trusted_root(named));
    document.trusted_roots.push_back(std::move(root));
  }
  const std::string text = to_json(document).dump(2) + "\n";
  ASSAY_TRY(parse_bootstrap(as_bytes(text)));
  if (options.out.empty() || options.out == "-") {
    print_document(text);
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(options.out, text));
  message(context, "wrote " + options.out + "; give it to assayd init");
  return Exit::kYes;
}

void add_bootstrap(const Command& group, Context& context) {
  auto options = std::make_shared<BootstrapOptions>();
  const Command verb =
      group.add("bootstrap", "Write the first trust of a service, for assayd init");
  verb.option("--key", options->keys, "FILE",
              "trusted key, from 'assay key describe'; at least two operators; may be given again");
  verb.required();
  verb.option("--principal", options->principals, "FILE",
              "caller, from 'assay token new'; at least one admin; may be given again");
  verb.required();
  verb.option("--appraisal", options->appraisals, "FILE",
              "how evidence of a type is appraised (default: the vendor's anchor, no reference "
              "values); may be given again");
  verb.option("--register", options->registrations, "FILE",
              "registration: which nodes a principal may enrol, and on which platforms (default: "
              "none can enrol); may be given again");
  verb.option("--put-trusted-root", options->trusted_roots, "NAME=FILE",
              "trusted_root.json of a sigstore instance, under this name; may be given again");
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  verb.example(
      "assay trust bootstrap --key op1.key.json --key op2.key.json --principal admin.json \\\n"
      "      --out bootstrap.json",
      "begin with two operators and an admin, the least that a service needs");
  verb.action([options, &context] { return bootstrap(context, *options); });
}

// --- push and show

Result<Exit> push(const Context& context, const ConnectionFlags& connection,
                  const std::string& file) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(file));
  ASSAY_ASSIGN(const LoadedDocument document, read_document(bytes));
  if (!document.envelope || document.payload.kind != PayloadKind::kTrustChange) {
    return fail(ErrorCode::kPayloadTypeUnknown, "This is no signed change of trust", file);
  }
  ASSAY_ASSIGN(Api api, open_api(context, connection));
  ASSAY_ASSIGN(const Json answer, push_document(api, document, bytes));
  if (context.json()) {
    print_json(answer);
    return Exit::kYes;
  }
  const auto epochs = answer.find("epochs");
  print_line("trust epoch " +
             std::to_string(epochs == answer.end() ? 0 : number_at(*epochs, "trust")));
  return Exit::kYes;
}

void add_push_and_show(const Command& group, Context& context) {
  auto connection = std::make_shared<ConnectionFlags>();
  auto file = std::make_shared<std::string>();
  const Command push_verb = group.add("push", "Submit a signed change of trust");
  push_verb.argument("FILE", *file, "change with the signatures of two operators");
  add_connection_options(push_verb, *connection);
  push_verb.example("assay trust push change.signed.json",
                    "submit a change that two operators signed; needs the role admin");
  push_verb.action([connection, file, &context] { return push(context, *connection, *file); });

  auto shown = std::make_shared<ConnectionFlags>();
  const Command show_verb =
      group.add("show", "Print what is trusted: keys, callers, registrations, appraisals, epochs");
  add_connection_options(show_verb, *shown);
  show_verb.note("With -o json it prints what the verifying verbs take as --trust FILE.");
  show_verb.example("assay trust show -o json > trust.json",
                    "save the service's trust, to verify offline");
  show_verb.action([shown, &context] { return show_trust(context, *shown); });
}

}  // namespace

void add_trust(const Command& root, Context& context) {
  const Command group = root.add("trust", "Who is trusted with what, and changes of it");
  add_change(group, context);
  add_bootstrap(group, context);
  add_push_and_show(group, context);
}

}  // namespace assay::cli
