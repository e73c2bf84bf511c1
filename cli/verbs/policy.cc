// SPDX-License-Identifier: Apache-2.0
// assay policy: check, try, compare and put policies into force.
#include <memory>
#include <set>
#include <utility>

#include "attestation/dsse.h"
#include "cli/audit/own_record.h"
#include "cli/client/impact.h"
#include "cli/client/lists.h"
#include "cli/client/push.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/policy_diff.h"
#include "cli/verbs/policy_suite.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "policy/lint.h"
#include "schemas/core/json_advice.h"
#include "schemas/core/json_at.h"
#include "schemas/impact_request.h"
#include "schemas/policy_document.h"

namespace assay::cli {

namespace {

// --- lint

struct LintOptions {
  std::string file;
  std::vector<std::string> sets;
  bool strict = false;
};

// What is neither kind of document is refused as a policy.
Result<LoadedDocument> read_policy_or_set(ByteView bytes) {
  Result<LoadedDocument> document = read_document(bytes);
  return document && document->payload.kind == PayloadKind::kReferenceSet
             ? std::move(document)
             : read_document(bytes, kPolicyPayloadType);
}

Result<Exit> lint_set(const Context& context, const LoadedDocument& document) {
  ASSAY_ASSIGN(const ReferenceSet set, parse_reference_set(document.payload.bytes));
  const std::string name = set_entry(set.name);
  if (context.json()) {
    print_json(
        {{"valid", true}, {"name", name}, {"version", set.version}, {"findings", Json::array()}});
  } else {
    print_line("valid: " + name + " version " + std::to_string(set.version) + ", " +
               std::to_string(set.values.size()) + " " + std::string(assay::name(set.kind)));
  }
  return Exit::kYes;
}

Result<Exit> lint(const Context& context, const LintOptions& options) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(options.file));
  const Result<LoadedDocument> document = read_policy_or_set(bytes);
  if (!document) {
    return refuse(context, with_json_advice(document.error(), as_text(bytes), options.file),
                  {{"valid", false}, {"findings", Json::array()}});
  }
  if (document->payload.kind == PayloadKind::kReferenceSet) {
    return lint_set(context, *document);
  }
  ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(document->payload.bytes));
  ASSAY_ASSIGN(const policy::ReferenceSets sets, load_sets(options.sets));
  bool warned = false;
  bool wrong = false;
  Json findings = Json::array();
  for (const policy::Finding& finding : policy::lint(policy, sets)) {
    const std::string level(name(finding.level));
    warned = warned || finding.level != policy::Finding::Level::kNote;
    wrong = wrong || finding.level == policy::Finding::Level::kError;
    findings.push_back({{"level", level},
                        {"condition", finding.condition},
                        {"text", finding.text},
                        {"code", finding.code},
                        {"where", finding.where}});
    if (!context.json()) {
      print_line(level + (finding.condition.empty() ? "" : " [" + finding.condition + "]") + ": " +
                 finding.text);
    }
  }
  if (context.json()) {
    print_json({{"valid", true},
                {"name", policy.name},
                {"version", policy.version},
                {"findings", std::move(findings)}});
  } else {
    print_line("valid: " + policy.name + " version " + std::to_string(policy.version));
  }
  return wrong || (options.strict && warned) ? Exit::kNo : Exit::kYes;
}

void add_lint(const Command& group, Context& context) {
  auto options = std::make_shared<LintOptions>();
  const Command verb = group.add("lint", "Check a policy before it is signed");
  verb.argument("FILE", options->file, "policy or reference set, signed or not");
  verb.option("--set", options->sets, "FILE", "reference set that the policy names; repeatable");
  verb.flag("--strict", options->strict, "exit with 1 on warnings, too");
  verb.note(
      "Exits with 1 when the policy is not valid, denies every pod, or has a condition that must "
      "pass\n"
      "and cannot, or cannot fail. Says which decision point\n"
      "each condition needs, and warns about conditions that cannot fail or cannot pass, and "
      "about\n"
      "workloads that it does not select.");
  verb.example("assay policy lint prod.json", "see what is wrong or odd about a policy");
  verb.action([options, &context] { return lint(context, *options); });
}

// --- diff

// A policy or a reference set as JSON, with the members that it leaves out.
Result<Json> json_of(const std::string& type, ByteView payload, const std::string& where) {
  if (type == kReferenceSetPayloadType) {
    ASSAY_ASSIGN(const ReferenceSet set, parse_reference_set(payload));
    return to_json(set);
  }
  if (type != kPolicyPayloadType) {
    return fail(ErrorCode::kPayloadTypeUnknown, "This is no policy but a document of type " + type,
                where);
  }
  ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(payload));
  return to_json(policy);
}

Result<Json> policy_json(Api* api, const std::string& text) {
  if (!StatementId::parse(text)) {
    ASSAY_ASSIGN(const LoadedDocument document, load_document(text));
    return json_of(document.payload.type, document.payload.bytes, text);
  }
  ASSAY_ASSIGN(const Bytes bytes, api->get_bytes("/v1/policies/" + text, client::kEnvelopeType));
  ASSAY_ASSIGN(const attestation::Envelope envelope, envelope_for(bytes, text));
  return json_of(envelope.payload_type, envelope.payload, text);
}

struct DiffOptions {
  std::string before;
  std::string after;
  std::string since;
  std::string against;
  std::uint64_t limit = ImpactRequest::kDefaultLimit;
  ConnectionFlags connection;
};

// Which stored decisions the policy would turn round.
Result<Exit> diff_decisions(const Context& context, const DiffOptions& options) {
  if (!options.after.empty()) {
    return fail(ErrorCode::kUsage,
                "With --since give one policy: it is compared with what was in force",
                options.after);
  }
  if (StatementId::parse(options.before)) {
    return fail(ErrorCode::kUsage, "With --since give the file of a policy", options.before);
  }
  ASSAY_ASSIGN(const Json policy, policy_json(nullptr, options.before));
  ASSAY_ASSIGN(const std::string since, past_time(options.since, context.clock.now()));
  const char* member = policy.contains("values") ? "sets" : "activate";
  Json hypothesis = {{member, Json::array({policy})}};
  if (!options.against.empty() && options.against != text_at(policy, "name")) {
    hypothesis["deactivate"] = Json::array({options.against});
  }
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json answer, ask_impact(context, api, ImpactOver::kDecisions,
                                             {{"hypothesis", std::move(hypothesis)},
                                              {"since", since},
                                              {"limit", options.limit}}));
  print_impact(context, ImpactOver::kDecisions, answer);
  return denies(answer) ? Exit::kNo : Exit::kYes;
}

Result<Exit> diff(const Context& context, const DiffOptions& options) {
  if (!options.since.empty()) {
    return diff_decisions(context, options);
  }
  if (options.after.empty() || !options.against.empty()) {
    return fail(ErrorCode::kUsage, "Give two policies, or one and --since");
  }
  std::optional<Api> api;
  if (StatementId::parse(options.before) || StatementId::parse(options.after)) {
    ASSAY_ASSIGN(api, open_api(context, options.connection));
  }
  ASSAY_ASSIGN(const Json before, policy_json(api ? &*api : nullptr, options.before));
  ASSAY_ASSIGN(const Json after, policy_json(api ? &*api : nullptr, options.after));
  const std::vector<PolicyChange> changes = compare_policies(before, after);
  if (context.json()) {
    Json items = Json::array();
    for (const PolicyChange& change : changes) {
      items.push_back({{"path", change.path}, {"before", change.before}, {"after", change.after}});
    }
    print_json({{"changes", std::move(items)}});
    return Exit::kYes;
  }
  for (const PolicyChange& change : changes) {
    print_line(change_line(change));
  }
  message(context, counted(changes.size(), "change"));
  return Exit::kYes;
}

void add_diff(const Command& group, Context& context) {
  auto options = std::make_shared<DiffOptions>();
  const Command verb =
      group.add("diff", "Compare two policies, or a policy with the decisions that were made");
  verb.argument("BEFORE", options->before,
                "file, or id of a stored policy or reference set; with --since a file");
  verb.optional_argument("AFTER", options->after, "file, or id of a stored policy");
  verb.option("--since", options->since, "TIME|AGE",
              "which stored decisions of this time or later (7d, 12h) would be answered otherwise "
              "with this one policy, and why");
  verb.option("--against", options->against, "NAME",
              "with --since: the policy that it replaces (default: the one of its name)");
  verb.option("--limit", options->limit, "N",
              "with --since: list at most N of them (default 100); all are counted");
  add_connection_options(verb, options->connection);
  verb.note(
      "Two policies: conditions are compared by their ids, wherever they stand. With --since each\n"
      "decision is judged again with its own facts at its own time; exits with 1 when one would "
      "be\n"
      "denied, or could not be judged.");
  verb.example("assay policy diff prod-v2.json --since 7d",
               "see which answers of the last week a new version would change");
  verb.example("assay policy diff prod-v1.json prod-v2.json",
               "see what a new version changes before activating it");
  verb.action([options, &context] { return diff(context, *options); });
}

// --- push, list

Result<Exit> push(const Context& context, const ConnectionFlags& connection,
                  const std::string& file) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(file));
  ASSAY_ASSIGN(const LoadedDocument document, read_document(bytes));
  const PayloadKind kind = document.payload.kind;
  if (!document.envelope || (kind != PayloadKind::kPolicy && kind != PayloadKind::kReferenceSet &&
                             kind != PayloadKind::kPolicyApproval)) {
    return fail(ErrorCode::kPayloadTypeUnknown, "This is no signed policy or reference set", file);
  }
  ASSAY_ASSIGN(Api api, open_api(context, connection));
  const Result<Json> answer = push_document(api, document, bytes);
  if (!answer) {
    return refuse_or_fail(context, answer.error());
  }
  if (kind != PayloadKind::kPolicyApproval) {
    if (Status ours = check_own_record(*answer, document, bytes, std::nullopt); !ours) {
      return refuse_or_fail(context, std::move(ours).error());
    }
  }
  if (context.json()) {
    print_json(*answer);
  } else {
    print_line(document.payload.id().text());
    message(context, "stored; it is not in force before an approver activates it");
  }
  return Exit::kYes;
}

struct ListOptions {
  std::string name;
  bool active = false;
  ConnectionFlags connection;
};

// The list of all versions does not say which are in force.
Result<std::set<std::string>> active_ids(Api& api) {
  Query query;
  query.add("active", "true");
  ASSAY_ASSIGN(const Json answer, api.list("/v1/policies", query, std::nullopt));
  std::set<std::string> ids;
  for (const Json& item : list_at(answer, "items")) {
    ids.insert(text_at(item, "id"));
  }
  return ids;
}

std::string identities_at(const Json& item, const char* member) {
  std::string text;
  for (const Json& one : list_at(item, member)) {
    text += (text.empty() ? "" : ", ") + text_at(one, "identity");
  }
  return text;
}

ListView policy_view() {
  return {.noun = "policy",
          .heads = {"ID", "NAME", "VERSION", "ACTIVE", "WRITTEN BY", "APPROVED BY", "ACCEPTED"},
          .cells = [](const Json& item) -> std::vector<std::string> {
            return {text_at(item, "id"),
                    text_at(item, "name"),
                    std::to_string(number_at(item, "version")),
                    item.at("active").get<bool>() ? "yes" : "no",
                    identities_at(item, "signers"),
                    joined_at(object_at(item, "last_activation"), "by"),
                    text_at(item, "accepted_at")};
          },
          .least = {"APPROVED BY", "WRITTEN BY"}};
}

Result<Exit> list(const Context& context, const ListOptions& options) {
  Query query;
  query.add("name", options.name);
  query.add("active", options.active ? "true" : "");
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(Json answer, api.list("/v1/policies", query, std::nullopt));
  ASSAY_ASSIGN(const std::set<std::string> active, active_ids(api));
  for (Json& item : answer["items"]) {
    item["active"] = active.contains(text_at(item, "id"));
  }
  print_list(context, policy_view(), std::move(answer));
  return Exit::kYes;
}

void add_push_and_list(const Command& group, Context& context) {
  auto connection = std::make_shared<ConnectionFlags>();
  auto file = std::make_shared<std::string>();
  const Command push_verb = group.add("push", "Store a signed policy; it is not in force yet");
  push_verb.argument("FILE", *file, "policy or reference set signed by an author");
  add_connection_options(push_verb, *connection);
  push_verb.example("assay policy push prod.signed.json",
                    "store a policy; prints the id for 'policy activate'");
  push_verb.action([connection, file, &context] { return push(context, *connection, *file); });

  auto options = std::make_shared<ListOptions>();
  const Command list_verb = group.add("list", "List stored policies and reference sets");
  list_verb.option("--name", options->name, "NAME",
                   "only versions of this policy, or of the reference set set:NAME");
  list_verb.flag("--active", options->active, "only policies in force");
  add_connection_options(list_verb, options->connection);
  list_verb.example("assay policy list --active", "list the policies in force");
  list_verb.action([options, &context] { return list(context, *options); });
}

}  // namespace

void add_policy(const Command& root, Context& context) {
  const Command group = root.add("policy", "Policies: what must hold for a model to run");
  add_lint(group, context);
  add_policy_test(group, context);
  add_diff(group, context);
  add_push_and_list(group, context);
  add_policy_activation(group, context);
}

}  // namespace assay::cli
