// SPDX-License-Identifier: Apache-2.0
// assay log: checkpoints, proofs, mirrors, and verification without the service.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "attestation/scitt/receipt.h"
#include "attestation/signed_note.h"
#include "cli/audit/log_heir.h"
#include "cli/audit/mirror.h"
#include "cli/audit/verifier_flags.h"
#include "cli/audit/verify.h"
#include "cli/client/connect.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/merkle.h"
#include "schemas/log_record.h"

namespace assay::cli {

namespace {

constexpr std::string_view kPublicPrefix = "/log/";
// Records, which need the role auditor unless the service shows them to everybody.
constexpr std::string_view kEntriesPrefix = "tile/entries/";

Result<attestation::NoteVerifier> need_verifier(const VerifierFlags& flags) {
  ASSAY_ASSIGN(std::optional<attestation::NoteVerifier> verifier, find_verifier(flags));
  if (!verifier) {
    return fail(ErrorCode::kUsage,
                "Say whose log it is: give --verifier-key with the log's public key");
  }
  return *std::move(verifier);
}

Json checkpoint_json(const Checkpoint& checkpoint) {
  return {{"origin", checkpoint.origin},
          {"tree_size", checkpoint.size},
          {"root", checkpoint.root.hex()}};
}

// --- proofs, and whose they are

// A receipt for an entry that is in the log already, in the form of one that was just promised.
struct MadeReceipt {
  Json json;
  Bytes record;
};

Result<MadeReceipt> make_receipt(Api& api, LeafIndex index) {
  ASSAY_ASSIGN(const Json log, api.get("/v1/log/checkpoint"));
  const std::string entry = "/v1/log/entries/" + std::to_string(index);
  Query query;
  query.add("tree_size", std::to_string(number_at(log, "tree_size")));
  ASSAY_ASSIGN(const Json proof, api.get(entry + "/proof" + query.text()));
  ASSAY_ASSIGN(Bytes record, api.get_bytes(entry, client::kJsonType));
  ASSAY_TRY(parse_log_record(record));
  Json json = {{"origin", text_at(log, "origin")},
               {"index", index},
               {"leaf_hash", merkle_leaf(HashAlgorithm::kSha256, record).hex()},
               {"tree_size", number_at(log, "tree_size")},
               {"checkpoint", text_at(log, "checkpoint")},
               {"inclusion", list_at(proof, "inclusion")}};
  return MadeReceipt{std::move(json), std::move(record)};
}

Result<std::vector<LeafIndex>> rotations_of(Api& api) {
  Query query;
  query.add("type", event::kKeyRotated);
  auto page = api.list("/v1/audit/events", query, std::nullopt);
  if (!page && (page.error().code == ErrorCode::kForbidden ||
                page.error().code == ErrorCode::kUnauthenticated)) {
    page.error().detail =
        "The log's key has not signed the checkpoint. Perhaps it was replaced: records of that "
        "need the role auditor; " +
        page.error().detail;
  }
  ASSAY_TRY(page);
  std::vector<LeafIndex> places;
  for (const Json& item : list_at(*page, "items")) {
    places.push_back(number_at(item, "index"));
  }
  std::ranges::sort(places);
  return places;
}

// The key of `note`: the one that is known, or its heir.
Result<CurrentVerifier> verifier_of(Api& api, std::string_view note,
                                    const attestation::NoteVerifier& known) {
  const RotationSource source{.places = [&api] { return rotations_of(api); },
                              .prove = [&api](LeafIndex place) -> Result<ProvenRecord> {
                                ASSAY_ASSIGN(MadeReceipt made, make_receipt(api, place));
                                ASSAY_ASSIGN(
                                    Receipt receipt,
                                    receipt_from_json(made.json, "entry " + std::to_string(place)));
                                return ProvenRecord{std::move(made.record), std::move(receipt)};
                              }};
  return current_verifier(note, known, source);
}

// A key that signed nothing here is a no; a service that does not say more is no answer.
Result<Exit> refuse_unless_unanswered(const Context& context, const Error& error, Json json) {
  const bool no = error.code == ErrorCode::kSignatureMissing || is_refusal(error) ||
                  error.code == ErrorCode::kMalformedCheckpoint ||
                  error.code == ErrorCode::kLogInconsistent;
  return no ? Result<Exit>(refuse(context, error, std::move(json))) : std::unexpected(error);
}

void tell(const std::vector<HandOver>& hand_overs) {
  for (const HandOver& hand_over : hand_overs) {
    warning("the log's key was replaced at entry " + std::to_string(hand_over.index) +
            ", by one that it signed; from now on give: " + hand_over.verifier_key);
  }
}

// Whoever goes on checking the log needs its new key.
void tell(const Context& context, const std::vector<HandOver>& hand_overs, Json& json) {
  if (hand_overs.empty()) {
    return;
  }
  json["verifier_key"] = hand_overs.back().verifier_key;
  if (!context.json()) {
    for (const HandOver& hand_over : hand_overs) {
      print_line("key replaced at entry " + std::to_string(hand_over.index) + " by " +
                 hand_over.verifier_key);
    }
  }
}

// --- checkpoint

struct CheckpointOptions {
  VerifierFlags verifier;
  std::string out;
  ConnectionFlags connection;
};

Result<Exit> checkpoint(const Context& context, const CheckpointOptions& options) {
  ASSAY_ASSIGN(const auto verifier, find_verifier(options.verifier));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Bytes note,
               api.get_bytes(std::string(kPublicPrefix) + "checkpoint", "text/plain", false));
  ASSAY_ASSIGN(const SignedCheckpoint parsed, parse_checkpoint(as_text(note)));
  Json json = checkpoint_json(parsed.checkpoint);
  json["verified"] = false;
  if (verifier) {
    const auto current = verifier_of(api, as_text(note), *verifier);
    if (!current) {
      return refuse_unless_unanswered(context, current.error(), std::move(json));
    }
    tell(current->hand_overs);
    json["verified"] = true;
  }
  if (!options.out.empty()) {
    ASSAY_TRY(client::write_file(options.out, note));
  }
  if (context.json()) {
    json["checkpoint"] = as_text(note);
    print_json(json);
  } else if (options.out.empty()) {
    print_document(as_text(note));
  }
  message(context, verifier ? "verified" : "not verified; give --verifier-key to verify it");
  return Exit::kYes;
}

// --- mirror

struct MirrorVerb {
  std::string directory;
  VerifierFlags verifier;
  ConnectionFlags connection;
};

Result<Exit> mirror(const Context& context, const MirrorVerb& options) {
  ASSAY_ASSIGN(const auto verifier, find_verifier(options.verifier));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  MirrorOptions how;
  how.verifier = verifier ? &*verifier : nullptr;
  Progress progress(context, "mirroring");
  how.progress = [&progress](TreeSize done, TreeSize total) {
    progress.update_count(done, total, "entries");
  };
  const FetchLogFile fetch = [&api](const std::string& path) {
    return api.get_bytes(std::string(kPublicPrefix) + path,
                         path == "checkpoint" ? "text/plain" : "application/octet-stream",
                         path.starts_with(kEntriesPrefix));
  };
  Result<Mirrored> mirrored = mirror_log(fetch, options.directory, how);
  if (!mirrored) {
    const ErrorCode code = mirrored.error().code;
    const bool says_no = code == ErrorCode::kLogInconsistent ||
                         code == ErrorCode::kSignatureInvalid ||
                         code == ErrorCode::kSignatureMissing;
    return says_no ? Result<Exit>(refuse(context, mirrored.error(), {{"verified", false}}))
                   : std::unexpected(std::move(mirrored).error());
  }
  Json json = checkpoint_json(mirrored->checkpoint);
  json["previous_size"] = mirrored->previous_size;
  json["files"] = mirrored->files;
  json["bytes"] = mirrored->bytes;
  json["verified"] = mirrored->verified.has_value();
  if (context.json()) {
    if (mirrored->verified) {
      tell(context, mirrored->verified->hand_overs, json);
    }
    print_json(json);
  } else {
    print_line(mirrored->checkpoint.origin + " " + std::to_string(mirrored->checkpoint.size) + " " +
               mirrored->checkpoint.root.hex());
    if (mirrored->verified) {
      tell(context, mirrored->verified->hand_overs, json);
    }
    message(context, counted(mirrored->checkpoint.size - mirrored->previous_size, "new entry") +
                         (verifier ? ", all verified" : ", not verified: see 'assay log verify'"));
  }
  return Exit::kYes;
}

// --- prove

struct ProveOptions {
  std::uint64_t index = 0;
  std::string format = "json";
  VerifierFlags verifier;
  std::string out;
  ConnectionFlags connection;
};

// A receipt as readers of RFC 9942 know it, after a look at it with the log's key.
Result<Exit> prove_in_cose(const Context& context, const ProveOptions& options, Api& api,
                           const attestation::NoteVerifier& verifier) {
  if (options.out.empty()) {
    return fail(ErrorCode::kUsage, "A receipt in COSE is binary; name a file with --out");
  }
  const std::string entry = "/v1/log/entries/" + std::to_string(options.index);
  ASSAY_ASSIGN(const Bytes record, api.get_bytes(entry, client::kJsonType));
  ASSAY_ASSIGN(const Bytes bytes,
               api.get_bytes(entry + "/proof", attestation::scitt::kReceiptMediaType));
  const auto receipt = attestation::scitt::verify_receipt(
      bytes, merkle_leaf(HashAlgorithm::kSha256, record), verifier.key);
  if (!receipt) {
    return refuse(context, receipt.error(), {{"verified", false}});
  }
  ASSAY_TRY(client::write_file(options.out, bytes));
  if (context.json()) {
    print_json({{"verified", true},
                {"issuer", receipt->issuer},
                {"index", receipt->leaf_index},
                {"tree_size", receipt->tree_size},
                {"root", receipt->root.hex()},
                {"file", options.out}});
  }
  message(context, "verified: entry " + std::to_string(receipt->leaf_index) +
                       " is in the log of size " + std::to_string(receipt->tree_size));
  return Exit::kYes;
}

Result<Exit> prove(const Context& context, const ProveOptions& options) {
  ASSAY_ASSIGN(const auto known, need_verifier(options.verifier));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json log, api.get("/v1/log/checkpoint"));
  const auto current = verifier_of(api, text_at(log, "checkpoint"), known);
  if (!current) {
    return refuse_unless_unanswered(context, current.error(), {{"verified", false}});
  }
  tell(current->hand_overs);
  const attestation::NoteVerifier& verifier = current->verifier;
  if (options.format == "cose") {
    return prove_in_cose(context, options, api, verifier);
  }
  ASSAY_ASSIGN(const MadeReceipt made, make_receipt(api, options.index));
  ASSAY_ASSIGN(const Receipt receipt, receipt_from_json(made.json, "the service's proof"));
  if (const Status checked = check_receipt(receipt, verifier); !checked) {
    return refuse(context, checked.error(), {{"verified", false}});
  }
  if (options.out.empty()) {
    print_json(made.json);
  } else {
    ASSAY_TRY(client::write_file(options.out, made.json.dump(2) + "\n"));
  }
  message(context, "verified: entry " + std::to_string(options.index) + " is in the log of size " +
                       std::to_string(receipt.tree_size));
  return Exit::kYes;
}

// --- verify

struct VerifyVerb {
  std::string directory;
  VerifierFlags verifier;
  std::vector<std::string> since;
  std::vector<std::string> receipts;
};

// Receipts in a file: one, an answer with "log", or what 'assay push -o json' printed.
Status read_receipts(const Json& json, const std::string& file, std::vector<Receipt>& receipts) {
  if (json.is_object() && json.contains("items") && json.at("items").is_array()) {
    for (const Json& item : json.at("items")) {
      ASSAY_TRY(read_receipts(item, file, receipts));
    }
    return {};
  }
  const bool inside = json.is_object() && json.contains("log");
  const std::string name =
      file + (receipts.empty() ? "" : ", receipt " + std::to_string(receipts.size() + 1));
  ASSAY_ASSIGN(Receipt receipt, receipt_from_json(inside ? json.at("log") : json, name));
  receipts.push_back(std::move(receipt));
  return {};
}

Result<std::vector<Receipt>> load_receipts(const std::vector<std::string>& files) {
  std::vector<Receipt> all;
  for (const std::string& file : files) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(file));
    ASSAY_ASSIGN(const Json json, parse_json(ByteView(bytes)));
    std::vector<Receipt> receipts;
    ASSAY_TRY(read_receipts(json, file, receipts));
    if (receipts.empty()) {
      return fail(ErrorCode::kSchemaViolation, "The file holds no receipt", file);
    }
    for (Receipt& receipt : receipts) {
      all.push_back(std::move(receipt));
    }
  }
  return all;
}

Exit report(const Context& context, const VerifiedLog& log, std::size_t receipts) {
  if (context.json()) {
    Json json = checkpoint_json(log.checkpoint);
    json["verified"] = true;
    json["types"] = log.types;
    json["tiles_checked"] = log.tiles_checked;
    json["tiles_missing"] = log.tiles_missing;
    json["consistent_from"] = log.consistent_from;
    json["receipts"] = receipts;
    tell(context, log.hand_overs, json);
    print_json(json);
    return Exit::kYes;
  }
  print_line("verified " + log.checkpoint.origin + " at size " +
             std::to_string(log.checkpoint.size) + ", root " + log.checkpoint.root.hex());
  for (const auto& [type, count] : log.types) {
    print_line("  " + std::to_string(count) + " " + type);
  }
  for (const TreeSize size : log.consistent_from) {
    print_line("extends the log of size " + std::to_string(size));
  }
  if (receipts > 0) {
    print_line("keeps the promise of " + counted(receipts, "receipt"));
  }
  Json unused;
  tell(context, log.hand_overs, unused);
  if (log.tiles_missing > 0) {
    message(context, counted(log.tiles_missing, "hash tile") +
                         " missing; the entries prove the root without them");
  }
  return Exit::kYes;
}

Result<Exit> verify(const Context& context, const VerifyVerb& options) {
  ASSAY_ASSIGN(const auto verifier, need_verifier(options.verifier));
  LogVerifyOptions how;
  for (const std::string& file : options.since) {
    ASSAY_ASSIGN(const Bytes note, client::read_file(file));
    how.older_checkpoints.emplace_back(as_text(note));
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.directory, ignored)) {
    return fail(ErrorCode::kFileUnreadable, "There is no such directory", options.directory);
  }
  Result<std::vector<Receipt>> receipts = load_receipts(options.receipts);
  if (!receipts) {
    return receipts.error().code == ErrorCode::kFileUnreadable
               ? Result<Exit>(std::unexpected(receipts.error()))
               : refuse(context, receipts.error(), {{"verified", false}});
  }
  how.receipts = *std::move(receipts);
  Progress progress(context, "verifying");
  how.progress = [&progress](TreeSize done, TreeSize total) {
    progress.update_count(done, total, "entries");
  };
  const Result<VerifiedLog> log = verify_log(read_directory(options.directory), verifier, how);
  if (!log) {
    return log.error().code == ErrorCode::kFileUnreadable
               ? Result<Exit>(std::unexpected(log.error()))
               : refuse(context, log.error(), {{"verified", false}});
  }
  return report(context, *log, how.receipts.size());
}

void add_checkpoint(const Command& group, Context& context) {
  auto options = std::make_shared<CheckpointOptions>();
  const Command verb = group.add("checkpoint", "Fetch the newest checkpoint of the log");
  add_verifier_options(verb, options->verifier);
  verb.option("--out", options->out, "FILE", "write the note to this file, byte for byte");
  add_connection_options(verb, options->connection);
  verb.note("Public: needs no credential. Keep checkpoints: a later mirror must extend them.");
  verb.example("assay log checkpoint --verifier-key-file log.vkey --out checkpoint.2026-11-21",
               "fetch the newest checkpoint and verify its signature");
  verb.action([options, &context] { return checkpoint(context, *options); });
}

void add_mirror(const Command& group, Context& context) {
  auto options = std::make_shared<MirrorVerb>();
  const Command verb =
      group.add("mirror", "Copy the log into a directory, or bring a copy up to date");
  verb.argument("DIR", options->directory, "directory of the mirror; made if it is not there");
  add_verifier_options(verb, options->verifier);
  add_connection_options(verb, options->connection);
  verb.note(
      "Checkpoint and hashes are public; records need the role auditor, unless the service shows\n"
      "them to everybody. With the log's key everything is verified, also that the log extends "
      "the\n"
      "mirror; a log that does not is refused and the mirror keeps its checkpoint.");
  verb.example("assay log mirror ./mirror --verifier-key-file log.vkey",
               "keep a verified copy, as an auditor does from time to time");
  verb.action([options, &context] { return mirror(context, *options); });
}

void add_prove(const Command& group, Context& context) {
  auto options = std::make_shared<ProveOptions>();
  const Command verb = group.add("prove", "Fetch and check the proof that an entry is in the log");
  verb.argument("INDEX", options->index, "position of the entry, from 0");
  verb.choice("--format", options->format, {"json", "cose"},
              "json, or a receipt of RFC 9942 in COSE (default json)");
  add_verifier_options(verb, options->verifier);
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  add_connection_options(verb, options->connection);
  verb.note("The proof has the form of a receipt: 'assay log verify --receipt' takes it.");
  verb.example("assay log prove 17 --verifier-key-file log.vkey --out entry17.receipt",
               "prove an entry to somebody who trusts the log's key and not you");
  verb.action([options, &context] { return prove(context, *options); });
}

void add_verify(const Command& group, Context& context) {
  auto options = std::make_shared<VerifyVerb>();
  const Command verb = group.add("verify", "Verify a mirror of the log, offline");
  verb.argument("DIR", options->directory, "mirror, from 'assay log mirror' or any copy of /log");
  add_verifier_options(verb, options->verifier);
  verb.option("--since", options->since, "CHECKPOINT",
              "older checkpoint that the log must extend; may be given again");
  verb.option("--receipt", options->receipts, "FILE",
              "receipt that the log must keep: what 'assay push -o json' or 'assay log prove' "
              "printed; may be given again");
  verb.note(
      "Checks the checkpoint's signature, every record, every hash tile and the root. Exits with "
      "1\n"
      "and names the place when one byte is not as it must be.");
  verb.example("assay log verify ./mirror --verifier-key-file log.vkey",
               "check that a mirror is genuine");
  verb.example(
      "assay log verify ./mirror --verifier-key-file log.vkey --since checkpoint.2026-11-01 \\\n"
      "      --receipt receipt.json",
      "check that nothing changed since then, and that a document is still there");
  verb.action([options, &context] { return verify(context, *options); });
}

}  // namespace

void add_log(const Command& root, Context& context) {
  const Command group = root.add("log", "The transparency log: checkpoints, mirrors, proofs");
  add_checkpoint(group, context);
  add_mirror(group, context);
  add_prove(group, context);
  add_verify(group, context);
}

}  // namespace assay::cli
