// SPDX-License-Identifier: Apache-2.0
// assay push: signed documents of any kind to the service.
#include "cli/client/push.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/audit/own_record.h"
#include "cli/audit/verifier_flags.h"
#include "cli/client/connect.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/outline.h"
#include "schemas/core/sha.h"

namespace assay::cli {

namespace {

struct PushOptions {
  std::vector<std::string> files;
  std::string outline;
  VerifierFlags verifier;
  ConnectionFlags connection;
};

struct Ready {
  std::string file;
  Bytes bytes;
  LoadedDocument document;
};

// Everything is read before anything is sent: a typo in the last name stores nothing.
Result<std::vector<Ready>> read_all(const std::vector<std::string>& files) {
  std::vector<Ready> ready;
  for (const std::string& file : files) {
    ASSAY_ASSIGN(Bytes bytes, client::read_file(file));
    Result<LoadedDocument> document = read_document(bytes);
    if (!document) {
      Error error = std::move(document).error();
      error.where = file + (error.where.empty() ? "" : ": " + error.where);
      return std::unexpected(std::move(error));
    }
    if (!document->envelope) {
      return fail(ErrorCode::kSignatureMissing, "The file is not signed; sign it with 'assay sign'",
                  file);
    }
    ready.push_back({file, std::move(bytes), *std::move(document)});
  }
  return ready;
}

// The outline in a file, and the artifact that it belongs to: that of the one manifest pushed with
// it.
struct ReadyOutline {
  ArtifactId artifact;
  Bytes blob;
};

Result<std::optional<ReadyOutline>> read_outline(const std::string& file,
                                                 const std::vector<Ready>& ready) {
  if (file.empty()) {
    return std::nullopt;
  }
  constexpr std::uint64_t kMaxOutline = std::uint64_t{1} << 30;
  if (ready.size() != 1 || ready.front().document.payload.kind != PayloadKind::kManifest) {
    return fail(ErrorCode::kUsage, "An outline is pushed beside its manifest, and nothing else",
                file);
  }
  ASSAY_ASSIGN(const Manifest manifest, manifest_of(ready.front().document.payload));
  ASSAY_ASSIGN(Bytes blob, client::read_file(file, kMaxOutline));
  if (const auto decoded = decode_outline(blob, manifest.artifact); !decoded) {
    return fail(decoded.error().code, decoded.error().detail, file);
  }
  ASSAY_ASSIGN(ArtifactId artifact, artifact_id(manifest));
  return ReadyOutline{std::move(artifact), std::move(blob)};
}

Result<Json> push_outline(const Context& context, Api& api, const ReadyOutline& outline) {
  ASSAY_ASSIGN(Json answer,
               api.put("/v1/models/" + percent_encode(outline.artifact.text()) + "/outline",
                       outline.blob, "application/octet-stream"));
  message(context, "stored the outline, " + human_bytes(static_cast<double>(outline.blob.size())));
  return answer;
}

std::string place_in_log(const Json& answer) {
  const auto log = answer.find("log");
  return log == answer.end() ? "" : std::to_string(number_at(*log, "index"));
}

// Statements are answered with the record that names the signature; the receipt must be about it.
bool has_record(PayloadKind kind) {
  return kind == PayloadKind::kManifest || kind == PayloadKind::kAttestation ||
         kind == PayloadKind::kPolicy || kind == PayloadKind::kReferenceSet;
}

Result<Json> push_one(Api& api, const Ready& item,
                      const std::optional<attestation::NoteVerifier>& verifier) {
  ASSAY_ASSIGN(Json answer, push_document(api, item.document, item.bytes));
  if (has_record(item.document.payload.kind)) {
    ASSAY_TRY(check_own_record(answer, item.document, item.bytes, verifier));
  }
  return answer;
}

// Evidence that is refused is stored all the same: the answer says so.
Status accepted(const Ready& item, const Json& answer) {
  if (item.document.payload.kind != PayloadKind::kStageEvidence) {
    return {};
  }
  const std::string envelope = DocumentId(sha256(item.bytes)).text();
  for (const Json& evidence : list_at(answer, "evidence")) {
    const std::string error = text_at(evidence, "error");
    if (text_at(evidence, "envelope") == envelope && !error.empty()) {
      return fail(ErrorCode::kEvidenceRejected,
                  error + ": stored, but refused; the statement stands without it", item.file);
    }
  }
  return {};
}

// A statement needs one signature that counts; others may be of keys that nobody trusts for it.
std::set<std::string> keys_of_nobody(const Ready& item, const Json& answer) {
  return has_record(item.document.payload.kind) ? keys_not_counted(answer, item.document)
                                                : std::set<std::string>();
}

Result<Exit> push(const Context& context, const PushOptions& options) {
  ASSAY_ASSIGN(const auto verifier, find_verifier(options.verifier));
  ASSAY_ASSIGN(const std::vector<Ready> ready, read_all(options.files));
  ASSAY_ASSIGN(const std::optional<ReadyOutline> outline, read_outline(options.outline, ready));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  Json items = Json::array();
  Exit exit = Exit::kYes;
  for (const Ready& item : ready) {
    const std::string id = item.document.payload.id().text();
    const std::string kind(name(item.document.payload.kind));
    Result<Json> answer = push_one(api, item, verifier);
    if (answer) {
      message(context,
              "stored " + kind + " " + item.file + " at log index " + place_in_log(*answer));
      for (const std::string& key : keys_of_nobody(item, *answer)) {
        warning(item.file + ": the service does not count the signature by " + key);
      }
      if (const Status taken = accepted(item, *answer); !taken) {
        warning(to_string(taken.error()));
        exit = Exit::kNo;
      }
      if (context.json()) {
        (*answer)["file"] = item.file;
        (*answer)["kind"] = kind;
        items.push_back(*std::move(answer));
      } else {
        print_line(id);
      }
      continue;
    }
    Error error = std::move(answer).error();
    error.where = item.file + (error.where.empty() ? "" : ": " + error.where);
    // The others may still be taken.
    if (!is_refusal(error)) {
      return std::unexpected(std::move(error));
    }
    exit = Exit::kNo;
    if (context.json()) {
      items.push_back(
          {{"file", item.file}, {"kind", kind}, {"id", id}, {"error", error_json(error)}});
    } else {
      warning("refused: " + to_string(error));
    }
  }
  Json result = {{"items", std::move(items)}};
  if (outline && exit == Exit::kYes) {
    ASSAY_ASSIGN(result["outline"], push_outline(context, api, *outline));
  }
  if (context.json()) {
    print_json(result);
  }
  return exit;
}

}  // namespace

void add_push(const Command& root, Context& context) {
  auto options = std::make_shared<PushOptions>();
  const Command verb = root.add("push", "Store signed documents in the service");
  verb.arguments("FILE", options->files,
                 "signed manifests, statements, policies, approvals, changes of trust or bundles");
  verb.option("--outline", options->outline, "FILE",
              "outline of the model, from 'assay manifest create --outline': lets the service name "
              "the bytes that differ on a node, and make spot checks");
  add_verifier_options(verb, options->verifier);
  add_connection_options(verb, options->connection);
  verb.note(
      "Prints the id of each document. The answers of -o json hold the receipts of the log: keep\n"
      "them for 'assay log verify --receipt'. The receipt of a statement must be about the record\n"
      "that names your signature, also when others had signed before; with the log's key its\n"
      "checkpoint and proof are verified, too. Storing the same document again is no error. Exits\n"
      "with 1 when the service refuses one of the documents, or its receipt is not right.");
  verb.example("assay push llama.signed.json evaluation.signed.json",
               "store a manifest and a statement");
  verb.example("assay push llama.signed.json -o json > receipt.json",
               "store a manifest and keep its receipt");
  verb.example("assay push llama.signed.json --outline llama.outline",
               "store a manifest and its outline");
  verb.action([options, &context] { return push(context, *options); });
}

}  // namespace assay::cli
