// SPDX-License-Identifier: Apache-2.0
// assay policy activate, deactivate and rollback: which version is in force.
#include <algorithm>
#include <memory>
#include <utility>

#include "attestation/dsse.h"
#include "cli/client/names.h"
#include "cli/client/push.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/review/show.h"
#include "cli/verbs/policy_diff.h"
#include "cli/verbs/policy_suite.h"
#include "cli/verbs/stored_policies.h"
#include "cli/verbs/trust_change.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "policy/lint.h"
#include "schemas/policy_document.h"

namespace assay::cli {

namespace {

constexpr std::size_t kShownFailures = 3;  // cases or findings that a refusal names

struct ApproveOptions {
  std::string id;
  SigningFlags signing;
  std::optional<std::uint64_t> sequence;
  std::string out;
  std::string tests;  // file; empty: the suite beside the policy, if it was named by a file
  bool without_tests = false;
  bool was_in_force = false;  // by a rollback: somebody approved it before
  bool yes = false;
  ReviewFlags review;  // with the connection
};

// What is to be approved: its id, and itself when it was named by a file.
struct Named {
  StatementId id;
  std::optional<LoadedDocument> document;
};

Result<Named> named_policy(const Context& context, PolicyApproval::Action action,
                           const ApproveOptions& options) {
  const std::string& text = options.id;
  if (const auto id = StatementId::parse(text)) {
    return Named{*id, std::nullopt};
  }
  if (text != "-" && !client::file_exists(text) && is_policy_name(text)) {
    ASSAY_ASSIGN(Api api, open_api(context, options.review.connection));
    const bool in_force = action == PolicyApproval::Action::kDeactivate;
    ASSAY_ASSIGN(const std::string meant, policy_meant(api, text, in_force));
    ASSAY_ASSIGN(StatementId id, StatementId::parse(meant));
    return Named{std::move(id), std::nullopt};
  }
  ASSAY_ASSIGN(LoadedDocument loaded, load_document(text));
  const PayloadKind kind = loaded.payload.kind;
  if (kind != PayloadKind::kPolicy && kind != PayloadKind::kReferenceSet) {
    return fail(ErrorCode::kPayloadTypeUnknown, "This is no policy but " + std::string(name(kind)),
                text);
  }
  StatementId id = loaded.payload.id();
  return Named{std::move(id), std::move(loaded)};
}

// What is to be approved, from its file, from --document or from the service.
Result<LoadedDocument> document_of(const Context& context, const ApproveOptions& options,
                                   const Named& named) {
  if (named.document) {
    return *named.document;
  }
  if (options.review.document.empty()) {
    ASSAY_ASSIGN(Api api, open_api(context, options.review.connection));
    return stored_document(api, named.id);
  }
  ASSAY_ASSIGN(LoadedDocument document, load_document(options.review.document));
  if (document.payload.id() != named.id) {
    return fail(ErrorCode::kSubjectMismatch, "The approval is about another document",
                options.review.document);
  }
  return document;
}

// A policy, and the sets in force that it names.
struct InFull {
  PolicyDocument policy;
  policy::ReferenceSets sets;
};

Result<InFull> in_full(const Context& context, const ApproveOptions& options,
                       const LoadedDocument& document) {
  ASSAY_ASSIGN(PolicyDocument policy, parse_policy(document.payload.bytes));
  policy::ReferenceSets sets;
  if (!policy::sets_named_in(policy).empty()) {
    ASSAY_ASSIGN(Api api, open_api(context, options.review.connection));
    ASSAY_ASSIGN(sets, sets_in_force(api, policy));
  }
  return InFull{std::move(policy), std::move(sets)};
}

bool is_set(const LoadedDocument& document) {
  return document.payload.kind == PayloadKind::kReferenceSet;
}

// "; a; b; and 2 more, which 'assay policy lint' shows"
std::string some_of(const std::vector<std::string>& problems, const char* verb) {
  std::string text;
  for (std::size_t i = 0; i < std::min(problems.size(), kShownFailures); ++i) {
    text += "; " + problems[i];
  }
  if (problems.size() > kShownFailures) {
    text += "; and " + std::to_string(problems.size() - kShownFailures) + " more, which '" + verb +
            "' shows";
  }
  return text;
}

// Refuses a policy that nobody can mean, before its tests are run. Where a version that was in
// force comes back, lint is not asked to agree: what it says is shown. Errors: policy-invalid.
Status lint_first(const Context& context, const ApproveOptions& options, const InFull& full) {
  std::vector<std::string> wrong;
  for (const policy::Finding& finding : policy::lint(full.policy, full.sets)) {
    if (finding.level == policy::Finding::Level::kError) {
      wrong.push_back(finding.code + " at " + finding.where + ": " + finding.text);
    }
  }
  if (wrong.empty()) {
    return {};
  }
  const std::string text = "Lint finds errors in the policy" + some_of(wrong, "assay policy lint");
  if (options.was_in_force) {
    message(context, text);
    return {};
  }
  return fail(ErrorCode::kPolicyInvalid, text, options.id);
}

// The file with the tests of what is to be approved, if there are any and none are unwanted.
// Errors: usage when none are known and nobody said that none are wanted.
Result<std::optional<std::string>> suite_of(const ApproveOptions& options, const Named& named) {
  std::optional<std::string> suite;
  if (options.without_tests) {
    return suite;
  }
  if (!options.tests.empty()) {
    suite = options.tests;
  } else if (named.document) {
    suite = suite_beside(options.id);
  } else if (!options.was_in_force) {
    return fail(ErrorCode::kUsage,
                "No tests are known of what is named by its id, since the service keeps none: name "
                "the file, which may have them beside it, or give --tests FILE, or say "
                "--without-tests",
                options.id);
  }
  return suite;
}

// Runs the tests of a policy before anybody is asked to sign that it comes into force. `full` is
// null for a reference set, which has none. Returns what the output says of them. Errors:
// policy-invalid when an answer is not as expected.
Result<Json> run_tests(const Context& context, const ApproveOptions& options, const Named& named,
                       const std::optional<std::string>& suite, const InFull* full) {
  if (!suite || full == nullptr) {
    message(context, options.without_tests ? "no tests were run, on request"
                                           : "no tests were run: none lie beside the policy, and "
                                             "--tests names none");
    return Json{{"run", 0}, {"without_tests", options.without_tests}};
  }
  const std::vector active = {policy::with_sets(named.id, full->policy, full->sets)};
  ASSAY_ASSIGN(const std::vector<PolicyCase> cases,
               read_cases(*suite, {.now = context.clock.now()}));
  std::vector<std::string> wrong;
  for (const PolicyCase& one : cases) {
    const CaseResult result = judge_case(one, active);
    if (!result.problem.empty()) {
      wrong.push_back((one.name.empty() ? std::string("a case") : one.name) + ": " +
                      result.problem);
    }
  }
  if (!wrong.empty()) {
    return fail(ErrorCode::kPolicyInvalid,
                "The policy does not pass its tests" + some_of(wrong, "assay policy test"), *suite);
  }
  message(context, counted(cases.size(), "test") + " of " + *suite + " passed");
  return Json{{"run", cases.size()}, {"without_tests", false}};
}

// What comes before the signature of an activation. Returns what the output says of the tests.
Result<Json> check_first(const Context& context, const ApproveOptions& options,
                         const Named& named) {
  ASSAY_ASSIGN(const auto suite, suite_of(options, named));
  ASSAY_ASSIGN(const LoadedDocument document, document_of(context, options, named));
  std::optional<InFull> full;
  if (!is_set(document)) {
    ASSAY_ASSIGN(full, in_full(context, options, document));
    ASSAY_TRY(lint_first(context, options, *full));
  }
  return run_tests(context, options, named, suite, full ? &*full : nullptr);
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
  ASSAY_ASSIGN(const Named named, named_policy(context, action, options));
  const StatementId& id = named.id;
  Json tests;
  if (action == PolicyApproval::Action::kActivate) {
    Result<Json> run = check_first(context, options, named);
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
  verb.flag("--without-tests", options.without_tests,
            "run no tests; a policy that is named by its id needs this or --tests");
}

void add_approve(const Command& group, Context& context, PolicyApproval::Action action) {
  const bool activate = action == PolicyApproval::Action::kActivate;
  auto options = std::make_shared<ApproveOptions>();
  const Command verb = activate ? group.add("activate", "Put a stored policy into force")
                                : group.add("deactivate", "Take a policy out of force");
  verb.argument(
      "ID", options->id,
      "id of the policy or reference set, as 'assay policy push' prints it, its name, or the file "
      "with it");
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
      "when the service refuses the approval, and, to activate, when 'assay policy lint' finds "
      "errors\n"
      "or a test fails. What the policy says is shown first, as a "
      "difference\n"
      "from what is in force, and asked for on a terminal: see 'assay help sign'.");
  if (activate) {
    verb.example("assay policy activate prod.signed.json --key approver.pem",
                 "run the tests in prod.tests.json first");
  }
  if (!activate) {
    verb.example("assay policy deactivate prod --key approver.pem",
                 "take the version out of force that is in force");
  }
  verb.example(activate ? "assay policy activate sha256:9f86... --without-tests --key approver.pem"
                        : "assay policy deactivate sha256:9f86... --key approver.pem",
               activate ? "have the policy decide from now on" : "have the policy decide no more");
  verb.action([options, action, &context] { return approve(context, action, *options); });
}

// --- rollback

struct RollbackOptions {
  std::string name;
  std::optional<std::uint64_t> to;
  bool never_in_force = false;
  std::shared_ptr<ApproveOptions> approve = std::make_shared<ApproveOptions>();
};

// The version in force, and the one to go back to.
struct Versions {
  Json present;
  Json earlier;
};

// Policy epoch of the last activation of a stored version; 0: it never was in force.
std::uint64_t last_epoch(const Json& item) {
  return item.contains("last_activation") ? number_at(item.at("last_activation"), "policy_epoch")
                                          : 0;
}

// Whoever may sign policies can store a version below the one in force, so the number says nothing:
// what somebody approved before is what there is to go back to.
Json earlier_version(const Json& stored, std::uint64_t present, const RollbackOptions& options) {
  Json earlier;
  for (const Json& item : stored) {
    const std::uint64_t version = number_at(item, "version");
    const bool wanted = options.to
                            ? version == *options.to
                            : version < present && last_epoch(item) > 0 &&
                                  (earlier.is_null() || last_epoch(item) > last_epoch(earlier));
    if (wanted && version != present) {
      earlier = item;
    }
  }
  return earlier;
}

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
  versions.earlier =
      earlier_version(list_at(stored, "items"), number_at(versions.present, "version"), options);
  if (versions.earlier.is_null()) {
    return fail(ErrorCode::kNotFound,
                options.to ? "This version is not stored, or is in force"
                           : "There is no earlier version that was in force",
                options.name);
  }
  if (last_epoch(versions.earlier) == 0 && !options.never_in_force) {
    return fail(ErrorCode::kUsage,
                "This version was never in force: nobody has approved it yet. Say "
                "--never-in-force to put it into force all the same",
                options.name);
  }
  return versions;
}

Result<Json> stored_json(Api& api, const StatementId& id) {
  ASSAY_ASSIGN(const LoadedDocument document, stored_document(api, id));
  if (document.payload.kind == PayloadKind::kReferenceSet) {
    ASSAY_ASSIGN(const ReferenceSet set, parse_reference_set(document.payload.bytes));
    return to_json(set);
  }
  ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(document.payload.bytes));
  return to_json(policy);
}

Result<Exit> rollback(const Context& context, const RollbackOptions& options) {
  const ConnectionFlags& connection = options.approve->review.connection;
  ASSAY_ASSIGN(Api api, open_api(context, connection));
  ASSAY_ASSIGN(const Versions versions, versions_of(api, options));
  ASSAY_ASSIGN(const StatementId present, StatementId::parse(text_at(versions.present, "id")));
  ASSAY_ASSIGN(const StatementId earlier, StatementId::parse(text_at(versions.earlier, "id")));
  ASSAY_ASSIGN(const Json before, stored_json(api, present));
  ASSAY_ASSIGN(const Json after, stored_json(api, earlier));
  message(context, options.name + ": from version " + std::to_string(number_at(before, "version")) +
                       ", which is in force, to version " +
                       std::to_string(number_at(after, "version")));
  for (const PolicyChange& change : compare_policies(before, after)) {
    message(context, change_line(change));
  }
  ApproveOptions approved = *options.approve;
  if (!approved.signing.keys.empty() && !approved.yes && !on_a_terminal()) {
    return fail(ErrorCode::kUsage, "Without a terminal, a rollback is signed only with --yes",
                options.name);
  }
  approved.id = earlier.text();
  approved.was_in_force = last_epoch(versions.earlier) > 0;
  return approve(context, PolicyApproval::Action::kActivate, approved);
}

void add_rollback(const Command& group, Context& context) {
  auto options = std::make_shared<RollbackOptions>();
  ApproveOptions& approved = *options->approve;
  const Command verb = group.add("rollback", "Put the version before into force again");
  verb.argument("NAME", options->name, "name of the policy, or set:NAME for a reference set");
  verb.option("--to", options->to, "VERSION",
              "the version to go back to (default: of those below the one in force, the one that "
              "was in force last)");
  verb.flag("--never-in-force", options->never_in_force,
            "allow a version with --to that was never in force");
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
      "must be an approver's whose identity is another. Shows the difference first, and signs "
      "only\n"
      "after a question on a terminal or with --yes.");
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
