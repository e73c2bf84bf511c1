// SPDX-License-Identifier: Apache-2.0
// assay decide and assay decision: may this model run here, and why was it decided so.
#include <algorithm>
#include <memory>
#include <utility>

#include "attestation/key_rotation.h"
#include "cli/audit/mirror.h"
#include "cli/audit/verifier_flags.h"
#include "cli/audit/verify.h"
#include "cli/client/lists.h"
#include "cli/client/model_meant.h"
#include "cli/documents/documents.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/exported_decision.h"
#include "cli/verbs/verbs.h"
#include "cli/verbs/verdict.h"
#include "cli/verbs/workload.h"
#include "client/files.h"
#include "schemas/core/json_at.h"
#include "schemas/core/sha.h"
#include "schemas/decision.h"
#include "schemas/log_record.h"

namespace assay::cli {

namespace {

// --- decide

struct DecideOptions {
  std::string model;
  WorkloadFlags workload;
  std::string point = "create";
  std::vector<std::string> locations;
  std::string pod;  // CLUSTER/UID
  bool dry_run = false;
  ConnectionFlags connection;
};

// A member that must be there: an answer without it is no answer.
Result<bool> flag_at(const Json& json, const char* member) {
  const auto found = json.is_object() ? json.find(member) : json.end();
  if (!json.is_object() || found == json.end() || !found->is_boolean()) {
    return fail(ErrorCode::kSchemaViolation,
                std::string("The service's answer lacks \"") + member + "\"");
  }
  return found->get<bool>();
}

// "name@artifact id" of each model, separated by commas.
std::string models_of(const Json& decision) {
  std::string text;
  for (const Json& model : list_at(decision, "models")) {
    const std::string name = text_at(model, "name");
    text += text.empty() ? "" : ", ";
    text += name.empty() ? text_at(model, "artifact") : name + "@" + text_at(model, "artifact");
  }
  return text;
}

Result<Exit> print_answer(const Context& context, const Json& answer) {
  ASSAY_ASSIGN(const bool selected, flag_at(answer, "selected"));
  if (context.json()) {
    print_json(answer);
  }
  if (!selected) {
    if (!context.json()) {
      print_line("allow: not applicable, no policy selects this workload");
    }
    return Exit::kYes;
  }
  const auto decision = answer.find("decision");
  if (decision == answer.end() || !decision->is_object() || !decision->contains("verdict")) {
    return fail(ErrorCode::kSchemaViolation, "The service's answer lacks the decision");
  }
  const Json& verdict = decision->at("verdict");
  ASSAY_ASSIGN(const bool allowed, flag_at(verdict, "allowed"));
  if (!context.json()) {
    print_verdict(context, verdict);
    const std::string models = models_of(*decision);
    for (const Json& job : list_at(answer, "ordered_jobs")) {
      message(context, "job " + text_at(job, "id") + " was ordered on " + text_at(job, "location"));
    }
    message(context,
            "decision " + text_at(*decision, "id") + (models.empty() ? "" : " about " + models));
  }
  return allowed ? Exit::kYes : Exit::kNo;
}

// A pod is judged as it was admitted: nothing else is said of it but where it is.
Result<Json> pod_request(const DecideOptions& options) {
  const std::size_t slash = options.pod.find('/');
  if (slash == std::string::npos || !options.model.empty() || !options.locations.empty()) {
    return fail(ErrorCode::kUsage,
                "--pod CLUSTER/UID stands for model and locations: leave them out", options.pod);
  }
  Json request = {
      {"point", "serve"},
      {"dry_run", options.dry_run},
      {"pod", {{"cluster", options.pod.substr(0, slash)}, {"uid", options.pod.substr(slash + 1)}}}};
  if (!options.workload.node.empty()) {
    request["node"] = options.workload.node;
  }
  return request;
}

Result<Exit> ask(const Context& context, const DecideOptions& options, const Json& request) {
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json answer,
               api.post("/v1/decisions", as_bytes(request.dump()), client::kJsonType, false));
  return print_answer(context, answer);
}

Result<Exit> decide(const Context& context, const DecideOptions& options) {
  if (!options.pod.empty()) {
    ASSAY_ASSIGN(const Json request, pod_request(options));
    return ask(context, options, request);
  }
  ASSAY_TRY(decision_point_from(options.point));
  if (options.point == "bind" && options.workload.node.empty()) {
    return fail(ErrorCode::kUsage, "The point bind needs --node");
  }
  ASSAY_ASSIGN(policy::Workload workload, workload_from(options.workload));
  Json request = {{"point", options.point}, {"dry_run", options.dry_run}};
  if (!workload.node.empty()) {
    request["node"] = std::exchange(workload.node, {});
  }
  request["workload"] = to_json(workload);
  if (!options.model.empty()) {
    request["model"] = options.model;
  }
  if (!options.locations.empty()) {
    request["locations"] = options.locations;
  }
  return ask(context, options, request);
}

// --- decision

struct DecisionOptions {
  std::string id;
  ConnectionFlags connection;
};

Status check_decision_id(const std::string& id) {
  return is_uuid_v7(id)
             ? Status()
             : fail(ErrorCode::kUsage, "The id of a decision is a UUID of version 7", id);
}

Result<Exit> show(const Context& context, const DecisionOptions& options) {
  ASSAY_TRY(check_decision_id(options.id));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json decision, api.get("/v1/decisions/" + options.id));
  if (context.json()) {
    print_json(decision);
    return Exit::kYes;
  }
  const Json& verdict = decision.contains("verdict") ? decision.at("verdict") : decision;
  print_verdict(context, verdict);
  Table table({"decision", text_at(decision, "id")});
  table.row({"point", text_at(decision, "point")});
  table.row({"models", models_of(decision)});
  table.row({"evaluated at", text_at(decision, "evaluated_at")});
  table.row({"facts", text_at(decision, "facts")});
  print_fields(context, table);
  return Exit::kYes;
}

Result<Exit> replay(const Context& context, const DecisionOptions& options) {
  ASSAY_TRY(check_decision_id(options.id));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json answer, api.post("/v1/decisions/" + options.id + ":replay", {}, {}));
  ASSAY_ASSIGN(const bool reproduced, flag_at(answer, "reproduced"));
  if (context.json()) {
    print_json(answer);
  } else {
    print_line(reproduced ? "reproduced" : "not reproduced");
    print_line("recorded   " + text_at(answer, "recorded"));
    print_line("recomputed " + text_at(answer, "recomputed"));
    if (answer.contains("verdict")) {
      print_verdict(context, answer.at("verdict"));
    }
  }
  return reproduced ? Exit::kYes : Exit::kNo;
}

struct ListOptions {
  std::string subject;
  std::string name_space;
  std::string reason;
  std::string verdict;
  std::string pod;
  std::string user;
  std::string cluster;
  std::string model;  // name or artifact id
  std::string since;
  std::string until;
  bool oldest_first = false;
  ListFlags list;
};

// Names of the models; ids where there is none, the names that were asked for where none was found.
std::string named_models(const Json& decision) {
  std::string text;
  for (const Json& model : list_at(decision, "models")) {
    const std::string name = text_at(model, "name");
    text += (text.empty() ? "" : ", ") + (name.empty() ? text_at(model, "artifact") : name);
  }
  return text.empty() ? joined_at(object_at(decision, "request"), "asked") : text;
}

ListView decision_view() {
  return {.noun = "decision",
          .heads = {"DECISION", "VERDICT", "EVALUATED", "NAMESPACE", "POD", "USER", "CLUSTER",
                    "MODEL", "REASONS"},
          .cells = [](const Json& item) -> std::vector<std::string> {
            const Json& request = object_at(item, "request");
            const bool review = request.contains("via");
            return {text_at(item, "id"),
                    text_at(item, "verdict"),
                    text_at(item, "evaluated_at"),
                    text_at(item, "namespace"),
                    text_at(request, "name"),
                    text_at(request, review ? "user" : "principal"),
                    text_at(request, review ? "principal" : "cluster"),
                    named_models(item),
                    joined_at(item, "reasons")};
          },
          .least = {"CLUSTER", "MODEL", "USER", "EVALUATED", "POD"}};
}

Result<Exit> list(const Context& context, const ListOptions& options) {
  const Timestamp now = context.clock.now();
  ASSAY_ASSIGN(const std::string since, past_time(options.since, now));
  ASSAY_ASSIGN(const std::string until, past_time(options.until, now));
  ASSAY_ASSIGN(Api api, open_api(context, options.list.connection));
  ASSAY_ASSIGN(const std::string subject, subject_meant(api, options.subject));
  Query query;
  const bool by_id = options.model.starts_with("assay-tree-v1-");
  if (by_id && !options.subject.empty()) {
    return fail(ErrorCode::kUsage, "Give --subject, or --model with an id, not both");
  }
  query.add("subject", by_id ? options.model : subject);
  query.add("model", by_id ? "" : options.model);
  query.add("pod", options.pod);
  query.add("user", options.user);
  query.add("cluster", options.cluster);
  query.add("request", "true");
  query.add("namespace", options.name_space);
  query.add("reason", options.reason);
  query.add("verdict", options.verdict);
  query.add("since", since);
  query.add("until", until);
  query.add("order", options.oldest_first ? "oldest" : "newest");
  query.add("total", options.list.all ? "" : "true");
  ASSAY_ASSIGN(Json answer, fetch_list(api, "/v1/decisions", query, options.list));
  if (options.list.all && answer.is_object()) {
    answer["total"] = list_at(answer, "items").size();
  }
  print_list(context, decision_view(), std::move(answer));
  return Exit::kYes;
}

struct VerifyOptions {
  std::string file;
  TrustFlags trust;
  std::string mirror;  // directory
  VerifierFlags log_key;
};

// The decision is in the log, and was before a key that signed it was replaced. What it says of its
// own time is no proof: whoever has an old key writes there what he likes.
Status check_in_log(const VerifyOptions& options, const attestation::NoteVerifier& log_key,
                    const attestation::Envelope& envelope,
                    std::span<const attestation::VerifiedSignature> signers) {
  const DocumentId document(sha256(as_bytes(attestation::encode_envelope(envelope))));
  std::optional<LeafIndex> found;
  bool in_time = true;
  LogVerifyOptions how;
  how.visit = [&](LeafIndex index, const LogRecord& record) -> Status {
    if (record.type == event::kDecisionMade && !found &&
        std::ranges::find(record.documents, document) != record.documents.end()) {
      found = index;
    }
    if (record.type != event::kKeyRotated || found) {
      return {};
    }
    ASSAY_ASSIGN(const attestation::KeyRotation rotation, attestation::rotation_from(record));
    in_time = in_time && std::ranges::none_of(signers, [&](const auto& signer) {
                return signer.key.public_key == rotation.old_key;
              });
    return {};
  };
  ASSAY_TRY(verify_log(read_directory(options.mirror), log_key, how));
  if (!found) {
    return fail(ErrorCode::kLogInconsistent, "The log has no record of this decision",
                options.mirror);
  }
  return in_time ? Status()
                 : fail(ErrorCode::kKeyExpired, "The key had been replaced before the decision");
}

// `log_key` is there exactly when a mirror is given.
Status check_log_options(const VerifyOptions& options,
                         const std::optional<attestation::NoteVerifier>& log_key) {
  return log_key.has_value() == !options.mirror.empty()
             ? Status()
             : fail(ErrorCode::kUsage, "Give --mirror and the log's verifier key, or neither");
}

Result<Exit> verify(const Context& context, const VerifyOptions& options) {
  const SigningContext question{KeyPurpose::kService, "", "", ""};
  ASSAY_ASSIGN(const TrustedSigners trusted, load_trusted_signers(options.trust, question));
  ASSAY_ASSIGN(const auto log_key, find_verifier(options.log_key));
  ASSAY_TRY(check_log_options(options, log_key));
  ASSAY_ASSIGN(JudgedAt times, times_of(options.trust, context.clock));
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(options.file));
  const Result<LoadedDocument> document = read_document(bytes);
  Result<Json> decision =
      document ? parse_json(ByteView(document->payload.bytes)) : std::unexpected(document.error());
  if (decision && (!document->envelope || document->payload.kind != PayloadKind::kDecision)) {
    decision = fail(ErrorCode::kPayloadTypeUnknown, "This is no signed decision");
  }
  if (!decision) {
    return refuse(context, decision.error(), {{"verified", false}});
  }
  // A key of the service counts for what it signed before it was replaced.
  if (!options.trust.jwks.empty() && options.trust.at.empty()) {
    ASSAY_ASSIGN(times.signed_at, parse_rfc3339(text_at(*decision, "evaluated_at")));
  }
  const auto signers =
      check_signatures(*document->envelope, trusted, question, options.trust.threshold, times);
  if (!signers) {
    return refuse(context, signers.error(), {{"verified", false}});
  }
  if (log_key) {
    if (const Status in_log = check_in_log(options, *log_key, *document->envelope, *signers);
        !in_log) {
      return refuse(context, in_log.error(), {{"verified", false}});
    }
  }
  const Json verdict = decision->contains("verdict") ? decision->at("verdict") : Json::object();
  if (context.json()) {
    print_json({{"verified", true}, {"decision", *decision}, {"signers", signers_json(*signers)}});
    return Exit::kYes;
  }
  print_words(context, "verified decision " + text_at(*decision, "id") + " of " +
                           text_at(*decision, "evaluated_at"));
  print_verdict(context, verdict);
  return Exit::kYes;
}

void add_list(const Command& group, Context& context) {
  auto options = std::make_shared<ListOptions>();
  const Command verb = group.add("list", "List stored decisions, the newest first");
  verb.option("--subject", options->subject, "MODEL|ID",
              "only decisions about this model or artifact");
  verb.option("--namespace", options->name_space, "NAME",
              "only decisions for workloads of this namespace");
  verb.option("--reason", options->reason, "CODE", "only decisions with this reason");
  verb.option("--pod", options->pod, "NAME",
              "only decisions about this pod; with a dash at its end, the beginning of names");
  verb.option("--user", options->user, "NAME", "only what this user or principal asked");
  verb.option("--cluster", options->cluster, "NAME", "only decisions for this API server");
  verb.option("--model", options->model, "NAME|ID", "only decisions about this model");
  verb.choice("--verdict", options->verdict, {"allow", "deny"}, "only decisions with this verdict");
  verb.option("--since", options->since, "TIME|AGE",
              "only decisions made at this time or later: 2026-11-01, 7d, 12h");
  verb.option("--until", options->until, "TIME|AGE", "only decisions made before this time");
  verb.flag("--oldest-first", options->oldest_first, "print the oldest decisions first");
  add_list_options(verb, options->list);
  verb.example("assay decision list --verdict deny --since 1d",
               "which pods were refused since yesterday, why, who asked, from which cluster");
  verb.example("assay decision list --verdict deny --namespace prod",
               "list what was denied in the namespace prod");
  verb.action([options, &context] { return list(context, *options); });
}

void add_verify(const Command& group, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  const Command verb = group.add("verify", "Check the signature of a decision, offline");
  verb.argument("FILE", options->file, "signed decision, from 'assay get UUID --envelope'");
  add_trust_options(verb, options->trust);
  verb.option("--jwks", options->trust.jwks, "FILE",
              "the service's keys, as it publishes them at /.well-known/jwks.json");
  verb.option("--mirror", options->mirror, "DIR",
              "mirror of the log, from 'assay log mirror': also check that the log has the "
              "decision, recorded before the key that signed it was replaced");
  add_verifier_options(verb, options->log_key);
  verb.note(
      "Exits with 0 when the signature holds, whatever was decided. A key of the set that was\n"
      "replaced counts for decisions that say they are older. After a theft that is not "
      "enough:\ngive --mirror, so that the log shows when the decision was made.");
  verb.example("assay decision verify decision.json --key service.pem.pub",
               "verify a decision with the service's public key");
  verb.action([options, &context] { return verify(context, *options); });
}

}  // namespace

void add_decide(const Command& root, Context& context) {
  auto options = std::make_shared<DecideOptions>();
  const Command verb = root.add("decide", "Ask whether a model may run");
  verb.option("--model", options->model, "NAME|ID",
              "model name, artifact id or NAME@ID; several are separated by commas");
  add_workload_options(verb, options->workload);
  verb.choice("--point", options->point, {"create", "bind", "serve"},
              "decision point (default create)");
  verb.option(
      "--location", options->locations, "URI",
      "where the workload finds the model; repeatable (default: every place with a report)");
  verb.option("--pod", options->pod, "CLUSTER/UID",
              "judge this admitted pod at the point serve, with what it was admitted with; --node "
              "says where it runs");
  verb.flag("--dry-run", options->dry_run, "answer, but neither store nor log the decision");
  add_connection_options(verb, options->connection);
  verb.note(
      "Exits with 0 for allow and 1 for deny. Prints every condition, not only the first that\n"
      "fails.");
  verb.example("assay decide --model acme/llama --namespace prod --resource nvidia.com/gpu",
               "ask as an orchestrator does before it starts a workload");
  verb.example(
      "assay decide --point bind --node gpu-1 --model acme/llama --namespace prod \\\n"
      "      --resource nvidia.com/gpu",
      "ask whether a model may run on one node");
  verb.action([options, &context] { return decide(context, *options); });
}

void add_decision(const Command& root, Context& context) {
  const Command group = root.add("decision", "Stored decisions");
  auto shown = std::make_shared<DecisionOptions>();
  const Command show_verb = group.add("show", "Print a decision with every condition");
  show_verb.argument("ID", shown->id, "UUID of the decision");
  add_connection_options(show_verb, shown->connection);
  show_verb.example("assay decision show 0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11",
                    "why was it decided so");
  show_verb.action([shown, &context] { return show(context, *shown); });

  auto replayed = std::make_shared<DecisionOptions>();
  const Command replay_verb = group.add("replay", "Have a decision computed again from its facts");
  replay_verb.argument("ID", replayed->id, "UUID of the decision");
  add_connection_options(replay_verb, replayed->connection);
  replay_verb.note("Exits with 1 when the result differs from the record.");
  replay_verb.example("assay decision replay 0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11",
                      "check that the service comes to the same result again");
  replay_verb.action([replayed, &context] { return replay(context, *replayed); });

  add_list(group, context);
  add_verify(group, context);
  add_decision_export(group, context);
}

}  // namespace assay::cli
