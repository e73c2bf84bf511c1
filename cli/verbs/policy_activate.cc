// SPDX-License-Identifier: Apache-2.0
// assay policy activate, deactivate and rollback: which version is in force.
#include <memory>
#include <utility>

#include "attestation/dsse.h"
#include "cli/client/push.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/review/show.h"
#include "cli/verbs/policy_diff.h"
#include "cli/verbs/policy_suite.h"
#include "cli/verbs/trust_change.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/policy_document.h"

namespace assay::cli {

namespace {

// The policy that is stored under an id.
Result<PolicyDocument> stored_policy(Api& api, const StatementId& id) {
  const std::string text = id.text();
  ASSAY_ASSIGN(const Bytes bytes, api.get_bytes("/v1/policies/" + text, client::kEnvelopeType));
  ASSAY_ASSIGN(const attestation::Envelope envelope, envelope_for(bytes, text));
  if (envelope.payload_type != kPolicyPayloadType) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "This is no policy but a document of type " + envelope.payload_type, text);
  }
  return parse_policy(envelope.payload);
}

struct ApproveOptions {
  std::string id;
  SigningFlags signing;
  std::optional<std::uint64_t> sequence;
  std::string out;
  std::string tests;  // file; empty: the suite beside the policy, if it was named by a file
  bool without_tests = false;
  bool yes = false;
  ReviewFlags review;  // with the connection
};

// The policy that is to be approved: its id, and itself when it was named by a file.
struct Named {
  StatementId id;
  std::optional<PolicyDocument> document;
};

Result<Named> named_policy(const std::string& text) {
  if (const auto id = StatementId::parse(text)) {
    return Named{*id, std::nullopt};
  }
  ASSAY_ASSIGN(PolicyDocument document, load_policy(text));
  ASSAY_ASSIGN(const LoadedDocument loaded, load_document(text));
  return Named{loaded.payload.id(), std::move(document)};
}

// Runs the tests of a policy before anybody is asked to sign that it comes into force. Returns what
// the output says of them. Errors: policy-invalid when an answer is not as expected.
Result<Json> run_tests(const Context& context, const ApproveOptions& options, const Named& named) {
  if (options.without_tests) {
    message(context, "no tests were run, on request");
    return Json{{"run", 0}, {"without_tests", true}};
  }
  const auto suite = !options.tests.empty() ? std::optional(options.tests)
                     : named.document       ? suite_beside(options.id)
                                            : std::nullopt;
  if (!suite) {
    message(context, "no tests were run: none lie beside the policy, and --tests names none");
    return Json{{"run", 0}, {"without_tests", false}};
  }
  std::vector<policy::ActivePolicy> active;
  if (named.document) {
    active.push_back({named.id, *named.document});
  } else {
    ASSAY_ASSIGN(Api api, open_api(context, options.review.connection));
    ASSAY_ASSIGN(PolicyDocument document, stored_policy(api, named.id));
    active.push_back({named.id, std::move(document)});
  }
  ASSAY_ASSIGN(const std::vector<PolicyCase> cases,
               read_cases(*suite, {.now = context.clock.now()}));
  std::string wrong;
  for (const PolicyCase& one : cases) {
    const CaseResult result = judge_case(one, active);
    if (!result.problem.empty()) {
      wrong += "; " + (one.name.empty() ? std::string("a case") : one.name) + ": " + result.problem;
    }
  }
  if (!wrong.empty()) {
    return fail(ErrorCode::kPolicyInvalid, "The policy does not pass its tests" + wrong, *suite);
  }
  message(context, counted(cases.size(), "test") + " of " + *suite + " passed");
  return Json{{"run", cases.size()}, {"without_tests", false}};
}

// `tests` is null where none are run.
Result<Exit> send_approval(const Context& context, PolicyApproval::Action action,
                           const ApproveOptions& options, const std::string& text, Json tests) {
  ASSAY_ASSIGN(LoadedDocument document, read_document(as_bytes(text)));
  ASSAY_ASSIGN(Api api, open_api(context, options.review.connection));
  Result<Json> answer = push_document(api, document, as_bytes(text));
  if (!answer) {
    return refuse_or_fail(context, answer.error());
  }
  if (context.json()) {
    if (!tests.is_null()) {
      (*answer)["tests"] = std::move(tests);
    }
    print_json(*answer);
    return Exit::kYes;
  }
  const bool activated = action == PolicyApproval::Action::kActivate;
  print_line(text_at(*answer, "name") + " version " +
             std::to_string(number_at(*answer, "version")) +
             (activated ? " is in force" : " is no longer in force"));
  message(context, "policy epoch " + std::to_string(number_at(*answer, "policy_epoch")));
  return Exit::kYes;
}

Result<Exit> approve(const Context& context, PolicyApproval::Action action,
                     const ApproveOptions& options) {
  ASSAY_ASSIGN(const Named named, named_policy(options.id));
  const StatementId& id = named.id;
  Json tests;
  if (action == PolicyApproval::Action::kActivate) {
    Result<Json> run = run_tests(context, options, named);
    if (!run) {
      return refuse_or_fail(context, std::move(run).error());
    }
    tests = *std::move(run);
  }
  std::uint64_t sequence = options.sequence.value_or(0);
  if (!options.sequence) {
    ASSAY_ASSIGN(const std::uint64_t epoch,
                 fetch_epoch(context, options.review.connection, "policy"));
    sequence = epoch + 1;
  }
  ASSAY_ASSIGN(const std::string payload,
               canonical_json(to_json(PolicyApproval{action, id, sequence})));
  ASSAY_TRY(parse_policy_approval(as_bytes(payload)));
  if (options.signing.keys.empty()) {
    if (options.out.empty()) {
      return fail(ErrorCode::kUsage, "Give the approver's --key, or --out to sign it later");
    }
    ASSAY_TRY(client::write_file(options.out, payload + "\n"));
    message(context, "wrote " + options.out);
    return Exit::kYes;
  }
  const LoadedDocument unsigned_one{
      {PayloadKind::kPolicyApproval, std::string(kPolicyApprovalPayloadType), to_bytes(payload)},
      std::nullopt};
  ASSAY_ASSIGN(const bool agreed,
               agree_to_sign(context, unsigned_one, options.review, true, options.yes));
  if (!agreed) {
    return refuse(context, {ErrorCode::kCancelled, "Not signed, on request", options.id},
                  {{"signed", false}});
  }
  ASSAY_ASSIGN(const auto signers, load_signers(options.signing));
  ASSAY_ASSIGN(attestation::Envelope envelope,
               attestation::sign_envelope(kPolicyApprovalPayloadType, as_bytes(payload),
                                          borrow(signers), options.signing.keyid));
  const std::string text = attestation::encode_envelope(envelope);
  if (!options.out.empty()) {
    ASSAY_TRY(client::write_file(options.out, text + "\n"));
    message(context, "wrote " + options.out);
    return Exit::kYes;
  }
  return send_approval(context, action, options, text, std::move(tests));
}

void add_test_options(const Command& verb, ApproveOptions& options) {
  verb.option("--tests", options.tests, "FILE",
              "cases that the policy must pass first (default: FILE.tests.json beside the policy, "
              "when that is named by its file)");
  verb.flag("--without-tests", options.without_tests, "run no tests");
}

void add_approve(const Command& group, Context& context, PolicyApproval::Action action) {
  const bool activate = action == PolicyApproval::Action::kActivate;
  auto options = std::make_shared<ApproveOptions>();
  const Command verb = activate ? group.add("activate", "Put a stored policy into force")
                                : group.add("deactivate", "Take a policy out of force");
  verb.argument("ID", options->id,
                "id of the policy, as 'assay policy push' prints it, or the file with it");
  add_signing_options(verb, options->signing, false);
  verb.option("--sequence", options->sequence, "N",
              "policy epoch that this makes (default: ask the service)");
  verb.option("--out", options->out, "FILE",
              "write the approval instead of sending it; without --key it is unsigned");
  if (activate) {
    add_test_options(verb, *options);
  }
  verb.flag("--yes", options->yes, "show what is approved, but do not ask");
  add_review_options(verb, options->review);
  verb.note(
      "The key must be an approver's whose identity is not one of the policy's authors. Exits with "
      "1\n"
      "when the service refuses the approval. What the policy says is shown first, as a "
      "difference\n"
      "from what is in force, and asked for on a terminal: see 'assay help sign'.");
  verb.example(std::string("assay policy ") + (activate ? "activate" : "deactivate") +
                   " sha256:9f86... --key approver.pem",
               activate ? "have the policy decide from now on" : "have the policy decide no more");
  verb.action([options, action, &context] { return approve(context, action, *options); });
}

// --- rollback

struct RollbackOptions {
  std::string name;
  std::optional<std::uint64_t> to;
  std::shared_ptr<ApproveOptions> approve = std::make_shared<ApproveOptions>();
};

// The version in force, and the one to go back to.
struct Versions {
  Json present;
  Json earlier;
};

Result<Versions> versions_of(Api& api, const RollbackOptions& options) {
  Query query;
  query.add("name", options.name);
  ASSAY_ASSIGN(const Json stored, api.list("/v1/policies", query, std::nullopt));
  query.add("active", "true");
  ASSAY_ASSIGN(const Json active, api.list("/v1/policies", query, std::nullopt));
  if (list_at(active, "items").size() != 1) {
    return fail(ErrorCode::kNotFound, "No version of this policy is in force", options.name);
  }
  Versions versions{list_at(active, "items").front(), nullptr};
  const std::uint64_t present = number_at(versions.present, "version");
  for (const Json& item : list_at(stored, "items")) {
    const std::uint64_t version = number_at(item, "version");
    const bool wanted =
        options.to ? version == *options.to
                   : version < present && (versions.earlier.is_null() ||
                                           version > number_at(versions.earlier, "version"));
    if (wanted && version != present) {
      versions.earlier = item;
    }
  }
  if (versions.earlier.is_null()) {
    return fail(ErrorCode::kNotFound,
                options.to ? "This version is not stored, or is in force"
                           : "There is no earlier version to go back to",
                options.name);
  }
  return versions;
}

Result<Exit> rollback(const Context& context, const RollbackOptions& options) {
  const ConnectionFlags& connection = options.approve->review.connection;
  ASSAY_ASSIGN(Api api, open_api(context, connection));
  ASSAY_ASSIGN(const Versions versions, versions_of(api, options));
  ASSAY_ASSIGN(const StatementId present, StatementId::parse(text_at(versions.present, "id")));
  ASSAY_ASSIGN(const StatementId earlier, StatementId::parse(text_at(versions.earlier, "id")));
  ASSAY_ASSIGN(const PolicyDocument before, stored_policy(api, present));
  ASSAY_ASSIGN(const PolicyDocument after, stored_policy(api, earlier));
  message(context, before.name + ": from version " + std::to_string(before.version) +
                       ", which is in force, to version " + std::to_string(after.version));
  for (const PolicyChange& change : compare_policies(to_json(before), to_json(after))) {
    message(context, change_line(change));
  }
  ApproveOptions approved = *options.approve;
  approved.id = earlier.text();
  return approve(context, PolicyApproval::Action::kActivate, approved);
}

void add_rollback(const Command& group, Context& context) {
  auto options = std::make_shared<RollbackOptions>();
  ApproveOptions& approved = *options->approve;
  const Command verb = group.add("rollback", "Put the version before into force again");
  verb.argument("NAME", options->name, "name of the policy");
  verb.option("--to", options->to, "VERSION",
              "the version to go back to (default: the highest stored below the one in force)");
  add_signing_options(verb, approved.signing, false);
  verb.option("--sequence", approved.sequence, "N",
              "policy epoch that this makes (default: ask the service)");
  verb.option("--out", approved.out, "FILE",
              "write the approval instead of sending it; without --key it is unsigned");
  add_test_options(verb, approved);
  verb.flag("--yes", approved.yes, "show what is approved, but do not ask");
  add_review_options(verb, approved.review);
  verb.note(
      "An activation like any other: the earlier version has its author's signature, and the key\n"
      "must be an approver's whose identity is another. Shows the difference first.");
  verb.example("assay policy rollback prod --key approver.pem",
               "take back the newest version of a policy");
  verb.action([options, &context] { return rollback(context, *options); });
}

}  // namespace

void add_policy_activation(const Command& group, Context& context) {
  add_approve(group, context, PolicyApproval::Action::kActivate);
  add_approve(group, context, PolicyApproval::Action::kDeactivate);
  add_rollback(group, context);
}

}  // namespace assay::cli
