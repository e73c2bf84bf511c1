// SPDX-License-Identifier: Apache-2.0
// assay attest: statements about what happened to an artifact.
#include <charconv>
#include <memory>
#include <set>
#include <utility>

#include "cli/client/connect.h"
#include "cli/documents/documents.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/verbs/attest_evidence.h"
#include "cli/verbs/attest_verify.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/challenge.h"
#include "schemas/checkpoint.h"
#include "schemas/core/nearest.h"
#include "schemas/lifecycle.h"
#include "schemas/stages.h"

namespace assay::cli {

namespace {

constexpr std::uint64_t kMaxChallenge = 8192;   // bytes
constexpr std::uint64_t kMaxCheckpoint = 8192;  // bytes, as the schema of statements has them

struct CreateOptions {
  std::string stage;
  std::vector<std::string> subjects;
  std::string name;
  std::vector<std::string> metrics;
  std::vector<std::string> inputs;
  std::vector<std::string> parameters;
  std::string comment;
  std::string checkpoint;
  std::string challenge;
  std::string out;
  SigningFlags signing;
  StageEvidenceFlags evidence;
};

std::unexpected<Error> misspelled(const std::string& what, const std::string& text) {
  return fail(ErrorCode::kUsage, what, text);
}

// An artifact id with --name, or a file with a manifest, which has both.
Result<Subject> read_subject(const std::string& text, const std::string& given_name) {
  if (const Result<ArtifactId> id = ArtifactId::parse(text); id) {
    return Subject{given_name, {{id->digest_name(), id->root().hex()}}};
  }
  if (!client::file_exists(text)) {
    return misspelled("A subject is an artifact id or a file with a manifest", text);
  }
  ASSAY_ASSIGN(const LoadedDocument document, load_document(text));
  ASSAY_ASSIGN(const Manifest manifest, manifest_of(document.payload));
  ASSAY_ASSIGN(const ArtifactId artifact, artifact_id(manifest));
  if (!given_name.empty() && given_name != manifest.name) {
    return fail(ErrorCode::kSubjectMismatch,
                "The manifest names the model " + manifest.name + ", not " + given_name, text);
  }
  return Subject{manifest.name, {{artifact.digest_name(), artifact.root().hex()}}};
}

// name=value[:unit]
Status read_metric(const std::string& text, std::map<std::string, Metric>& metrics) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':', equals == std::string::npos ? 0 : equals);
  const std::string name = text.substr(0, equals);
  Metric metric{0, colon == std::string::npos ? "1" : text.substr(colon + 1)};
  const std::size_t begin = equals == std::string::npos ? text.size() : equals + 1;
  const std::size_t end = colon == std::string::npos ? text.size() : colon;
  const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, metric.value);
  if (name.empty() || begin >= end || error != std::errc() || stop != text.data() + end) {
    return misspelled("A metric is written as name=number or name=number:unit", text);
  }
  return metrics.emplace(name, metric).second ? Status()
                                              : misspelled("The metric is given twice", text);
}

// role=FILE or role:name=FILE, with the manifest of what went in.
Result<LifecycleInput> read_input_file(const std::string& head, const std::string& file) {
  const std::size_t colon = head.find(':');
  const std::string name = colon == std::string::npos ? "" : head.substr(colon + 1);
  ASSAY_ASSIGN(const Subject subject, read_subject(file, name));
  LifecycleInput input;
  input.role = head.substr(0, colon);
  input.name = subject.name;
  input.digest = subject.digest;
  return input;
}

// role=digest or role:name=digest, or a file in the place of the digest
Result<LifecycleInput> read_input(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals != 0 && client::file_exists(text.substr(equals + 1))) {
    return read_input_file(text.substr(0, equals), text.substr(equals + 1));
  }
  const std::size_t value = text.rfind(':');
  if (equals == std::string::npos || equals == 0 || value == std::string::npos || value < equals ||
      value + 1 == text.size()) {
    return misspelled(
        "An input is written as role=algorithm:hex, role:name=algorithm:hex or role=FILE with "
        "a manifest",
        text);
  }
  const std::string head = text.substr(0, equals);
  const std::size_t colon = head.find(':');
  LifecycleInput input;
  input.role = head.substr(0, colon);
  input.name = colon == std::string::npos ? "" : head.substr(colon + 1);
  input.digest[text.substr(equals + 1, value - equals - 1)] = text.substr(value + 1);
  return input;
}

// name=value: JSON when it is some, text otherwise.
Status read_parameter(const std::string& text, Json& parameters) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return misspelled("A parameter is written as name=value", text);
  }
  const std::string value = text.substr(equals + 1);
  const Result<Json> json = parse_json(std::string_view(value));
  parameters[text.substr(0, equals)] = json ? *json : Json(value);
  return {};
}

// The nonce in a file that "attest challenge" wrote.
Result<Nonce> read_challenge(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path, kMaxChallenge));
  ASSAY_ASSIGN(const Json json, parse_json(bytes));
  ASSAY_ASSIGN(const Challenge challenge, json::get<Challenge>(json));
  if (challenge.purpose != ChallengePurpose::kStatement) {
    return fail(ErrorCode::kChallengeMismatch, "The challenge is not for a statement", path);
  }
  return challenge.nonce;
}

Result<Statement> statement_from(const CreateOptions& options) {
  Lifecycle lifecycle;
  lifecycle.stage = options.stage;
  lifecycle.comment = options.comment;
  if (!options.checkpoint.empty()) {
    ASSAY_ASSIGN(const Bytes note, client::read_file(options.checkpoint, kMaxCheckpoint));
    ASSAY_TRY(parse_checkpoint(as_text(note)));
    lifecycle.freshness = Json{{"checkpoint", as_text(note)}};
  }
  if (!options.challenge.empty()) {
    ASSAY_ASSIGN(const Nonce nonce, read_challenge(options.challenge));
    lifecycle.freshness = Json{{"challenge", text(nonce)}};
  }
  std::vector<Subject> subjects;
  for (const std::string& text : options.subjects) {
    ASSAY_ASSIGN(Subject subject, read_subject(text, options.name));
    if (subject.name.empty()) {
      return fail(ErrorCode::kUsage, "Name the model with --name: signers are trusted for names",
                  text);
    }
    ASSAY_TRY(check_model_name(subject.name));
    subjects.push_back(std::move(subject));
  }
  for (const std::string& text : options.metrics) {
    ASSAY_TRY(read_metric(text, lifecycle.metrics));
  }
  for (const std::string& text : options.inputs) {
    ASSAY_ASSIGN(LifecycleInput input, read_input(text));
    lifecycle.inputs.push_back(std::move(input));
  }
  for (const std::string& text : options.parameters) {
    ASSAY_TRY(read_parameter(text, lifecycle.parameters));
  }
  return to_statement(lifecycle, std::move(subjects));
}

// Says before the statement is signed that its stage has a name of its own, which may be mistyped:
// such a stage counts only where a role and a policy name it.
void say_own_stage(const Context& context, const std::string& stage) {
  if (effect_of(stage)) {
    return;
  }
  std::vector<std::string_view> known;
  for (const Stage& one : kStages) {
    known.push_back(one.name);
  }
  const std::string text = "'" + stage + "' is none of the usual stages";
  if (const std::string meant = did_you_mean(stage, known); !meant.empty()) {
    warning(text + meant);
  } else {
    message(context, text + ": " + stage_names());
  }
}

Result<Exit> create(const Context& context, const CreateOptions& options) {
  ASSAY_TRY(check_stage_evidence_flags(options.evidence, options.signing));
  if (!options.checkpoint.empty() && !options.challenge.empty()) {
    return fail(ErrorCode::kUsage, "Give --checkpoint or --challenge: one of them is enough");
  }
  say_own_stage(context, options.stage);
  ASSAY_ASSIGN(const Statement statement, statement_from(options));
  ASSAY_TRY(lifecycle_from(statement));  // refused here rather than by the service
  ASSAY_TRY(write_stage_evidence(context, statement, options.signing, options.evidence));
  return sign_and_write(context, statement, options.signing, options.out,
                        {{"stage", options.stage}});
}

// --- verify

struct VerifyOptions {
  std::string file;
  TrustFlags trust;
  StageVerifyFlags stage;
};

// Enough signers must be allowed to speak about every subject, each by its name. Who may speak
// about one of them need not be who may speak about the next: all of them come back, each once.
Result<std::vector<attestation::VerifiedSignature>> signers_of(
    const LoadedDocument& document, const Statement& statement, const std::string& stage,
    const TrustedSigners& trusted, std::uint64_t threshold, const JudgedAt& times) {
  std::vector<attestation::VerifiedSignature> signers;
  std::set<KeyId> seen;
  for (const Subject& subject : statement.subjects) {
    const SigningContext question{KeyPurpose::kSigner, stage, statement.predicate_type,
                                  subject.name};
    ASSAY_ASSIGN(const auto found,
                 check_signatures(*document.envelope, trusted, question, threshold, times));
    for (const attestation::VerifiedSignature& signer : found) {
      if (seen.insert(signer.key.id).second) {
        signers.push_back(signer);
      }
    }
  }
  return signers;
}

Result<Exit> verify(const Context& context, const VerifyOptions& options) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(options.file));
  ASSAY_ASSIGN(const JudgedAt times, times_of(options.trust, context.clock));
  // The keys first: without any, nothing else matters.
  const Result<LoadedDocument> document = read_document(bytes);
  if (document && document->payload.kind == PayloadKind::kStageEvidence) {
    return verify_stage_evidence(context, *document, options.stage, options.trust);
  }
  if (options.stage.given()) {
    return fail(
        ErrorCode::kUsage,
        "--statement, --appraisal and --collateral are for stage evidence, and this is none",
        options.file);
  }
  const Result<Statement> statement =
      document ? statement_of(document->payload) : std::unexpected(document.error());
  std::string stage;
  if (statement && statement->predicate_type == kLifecyclePredicateType) {
    stage = text_at(statement->predicate, "stage");
  }
  const SigningContext question{KeyPurpose::kSigner, stage,
                                statement ? statement->predicate_type : "", ""};
  ASSAY_ASSIGN(const TrustedSigners trusted, load_trusted_signers(options.trust, question));
  if (!statement) {
    return refuse(context, statement.error(), {{"verified", false}});
  }
  if (!document->envelope) {
    return refuse(context, {ErrorCode::kSignatureMissing, "The statement is not signed", ""},
                  {{"verified", false}});
  }
  const auto signers =
      signers_of(*document, *statement, stage, trusted, options.trust.threshold, times);
  Json result = {{"verified", signers.has_value()},
                 {"id", document->payload.id().text()},
                 {"predicate_type", statement->predicate_type},
                 {"stage", stage}};
  if (!signers) {
    return refuse(context, signers.error(), std::move(result));
  }
  if (context.json()) {
    result["signers"] = signers_json(*signers);
    print_json(result);
    return Exit::kYes;
  }
  print_line("verified " + document->payload.id().text());
  for (const auto& signer : *signers) {
    print_line("signed by " + signer.key.identity);
  }
  return Exit::kYes;
}

void add_create(const Command& group, Context& context) {
  auto options = std::make_shared<CreateOptions>();
  const Command verb = group.add("create", "Write a statement about a stage of a model's life");
  verb.option("--stage", options->stage, "STAGE", stage_names() + ", or an own name");
  verb.required();
  verb.option("--subject", options->subjects, "ARTIFACT|FILE",
              "what came out of it: artifact id, or a file with its manifest; may be given again");
  verb.required();
  verb.option("--name", options->name, "NAME", "name of the model; needed with an artifact id");
  verb.option(
      "--input", options->inputs, "ROLE[:NAME]=DIGEST|FILE",
      "what went in: dataset, base-model, adapter, code or config, by its digest or the file "
      "with its manifest; may be given again");
  verb.option("--metric", options->metrics, "NAME=NUMBER[:UNIT]",
              "a measured value; may be given again");
  verb.option("--parameter", options->parameters, "NAME=VALUE",
              "a setting, JSON or text; may be given again");
  verb.option("--comment", options->comment, "TEXT", "a remark for people");
  verb.option("--checkpoint", options->checkpoint, "FILE",
              "newest checkpoint of the log, from 'assay log checkpoint': shows that the statement "
              "was made after it");
  verb.option("--challenge", options->challenge, "FILE",
              "challenge of the service, from 'assay attest challenge': shows the same; push the "
              "statement soon, as the one who asked for it");
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  add_signing_options(verb, options->signing, false);
  add_stage_evidence_options(verb, options->evidence);
  verb.example(
      "assay attest create --stage train --subject llama.json --key trainer.pem \\\n"
      "      --evidence tdx --collateral collateral.json --evidence-out evidence.json \\\n"
      "      --out training.json",
      "show in which hardware the key was held that signs");
  verb.example(
      "assay attest create --stage evaluate --subject llama.json --metric accuracy=0.93 \\\n"
      "      --key evaluator.pem --out evaluation.json",
      "sign an evaluation");
  verb.example(
      "assay attest create --stage finetune --subject llama.json \\\n"
      "      --input base-model=assay-tree-v1-sha256:dc66... --input dataset:faq=sha256:9f86...",
      "write what a model was made from, and sign later");
  verb.action([options, &context] { return create(context, *options); });
}

void add_verify(const Command& group, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  const Command verb = group.add("verify", "Check who signed a statement, or its evidence");
  verb.argument("FILE", options->file, "signed statement, or stage evidence of one");
  add_trust_options(verb, options->trust);
  add_stage_verify_options(verb, options->stage);
  verb.example("assay attest verify evaluation.json --key evaluator.pem.pub",
               "verify with a key that you trust");
  verb.example("assay attest verify evaluation.json --trust trust.json",
               "require a signer with the role for this stage");
  verb.example(
      "assay attest verify evidence.json --statement training.json --trust trust.json \\\n"
      "      --appraisal train-appraisal.json",
      "show in which hardware the key was held that signed a statement");
  verb.action([options, &context] { return verify(context, *options); });
}

// --- challenge

struct ChallengeOptions {
  std::string out;
  ConnectionFlags connection;
};

Result<Exit> challenge(const Context& context, const ChallengeOptions& options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json answer, api.post("/v1/challenges:statement", {}, {}));
  ASSAY_ASSIGN(const Challenge got, json::get<Challenge>(answer));
  ASSAY_TRY(client::write_file(options.out, to_json(got).dump() + "\n"));
  if (options.out != "-") {
    message(context, "wrote " + options.out + ": good until " + to_rfc3339(got.expires_at));
  }
  return Exit::kYes;
}

void add_challenge(const Command& group, Context& context) {
  auto options = std::make_shared<ChallengeOptions>();
  const Command verb =
      group.add("challenge", "Ask the service for a nonce that shows how old a statement can be");
  verb.option("--out", options->out, "FILE", "where to write it");
  verb.required();
  add_connection_options(verb, options->connection);
  verb.note(
      "It is good for one statement, for a short time, and for whoever asked for it: push the\n"
      "statement with the same token.");
  verb.example(
      "assay attest challenge --out challenge.json && assay attest create --stage train \\\n"
      "      --subject llama.json --challenge challenge.json --key trainer.pem --out training.json",
      "make a statement that cannot have been made before");
  verb.action([options, &context] { return challenge(context, *options); });
}

}  // namespace

void add_attest(const Command& root, Context& context) {
  const Command group = root.add("attest", "Statements about what happened to a model");
  add_challenge(group, context);
  add_create(group, context);
  add_sign_to(group, context,
              "assay attest sign evaluation.json --key evaluator.pem --out evaluation.signed.json");
  add_verify(group, context);
  add_attest_stored(group, context);
}

}  // namespace assay::cli
