// SPDX-License-Identifier: Apache-2.0
#include "cli/review/show.h"

#include <cstdio>
#include <iostream>
#include <unistd.h>

#include "cli/client/connect.h"
#include "cli/output.h"
#include "cli/review/text.h"
#include "client/files.h"
#include "schemas/core/json_foreign.h"
#include "schemas/lifecycle.h"
#include "schemas/policy_document.h"
#include "schemas/reference_set.h"

namespace assay::cli {

namespace {

// Changes that are not flagged and are shown without --all.
constexpr std::size_t kShownChanges = 24;

Result<Json> json_of(const Payload& payload) {
  JsonLimits limits;
  limits.max_bytes = payload.bytes.size();
  return parse_exact_json(payload.bytes, limits);
}

Result<Json> load_payload(const std::string& file, PayloadKind wanted) {
  ASSAY_ASSIGN(const LoadedDocument loaded, load_document(file));
  if (loaded.payload.kind != wanted) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "This is no " + std::string(name(wanted)) + " but " +
                    std::string(name(loaded.payload.kind)),
                file);
  }
  return json_of(loaded.payload);
}

// --- from a file

Result<Json> load_trust(const std::string& file) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(file));
  ASSAY_ASSIGN(Json trust, parse_json(ByteView(bytes)));
  if (!trust.is_object() || !trust.contains("keys")) {
    return fail(ErrorCode::kSchemaViolation,
                "Give what 'assay trust show -o json' prints, or a bootstrap document", file);
  }
  return trust;
}

Result<InForce> from_file(const Payload& payload, const std::string& file) {
  InForce in_force;
  in_force.source = file;
  switch (payload.kind) {
    case PayloadKind::kReferenceSet: {
      ASSAY_ASSIGN(Json set, load_payload(file, PayloadKind::kReferenceSet));
      in_force.policy.emplace(std::move(set));
      break;
    }
    case PayloadKind::kPolicy:
    case PayloadKind::kPolicyApproval: {
      ASSAY_ASSIGN(Json policy, load_payload(file, PayloadKind::kPolicy));
      in_force.policy.emplace(std::move(policy));
      break;
    }
    case PayloadKind::kTrustChange: {
      ASSAY_ASSIGN(Json trust, load_trust(file));
      in_force.trust.emplace(std::move(trust));
      break;
    }
    case PayloadKind::kManifest:
    case PayloadKind::kAttestation: {
      ASSAY_ASSIGN(Json statement, load_payload(file, payload.kind));
      in_force.statement.emplace(std::move(statement));
      break;
    }
    case PayloadKind::kStageEvidence:
    case PayloadKind::kDecision:
    case PayloadKind::kWithdrawal:
    case PayloadKind::kEndorsements:
    case PayloadKind::kOther:
      return fail(ErrorCode::kUsage, "Documents of this kind are compared with nothing", file);
  }
  return in_force;
}

// --- from the service

Result<Json> fetch_document(Api& api, const std::string& route, const std::string& id) {
  ASSAY_ASSIGN(const Bytes bytes,
               api.get_bytes(route + "/" + percent_encode(id), client::kEnvelopeType));
  ASSAY_ASSIGN(const attestation::Envelope envelope, envelope_for(bytes, id));
  JsonLimits limits;
  limits.max_bytes = envelope.payload.size();
  return parse_exact_json(envelope.payload, limits);
}

// The name under which a policy or a reference set is in force.
std::string row_name(const Json& document) {
  const std::string name = text_at(document, "name");
  return document.contains("values") ? set_entry(name) : name;
}

// The policy in force under a name; null when there is none.
Result<Json> fetch_active(Api& api, const std::string& policy) {
  Query query;
  query.add("name", policy);
  query.add("active", "true");
  ASSAY_ASSIGN(const Json page, api.list("/v1/policies", query, std::nullopt));
  for (const Json& item : list_at(page, "items")) {
    if (text_at(item, "name") == policy) {
      return fetch_document(api, "/v1/policies", text_at(item, "id"));
    }
  }
  return Json();
}

// The newest statement of a list other than `id`; null when there is none.
Result<Json> fetch_newest(Api& api, const std::string& route, const Query& query,
                          const std::string& id) {
  std::string newest;
  std::uint64_t index = 0;
  ASSAY_ASSIGN(const Json last, api.each_page(route, query, std::nullopt, [&](const Json& items) {
    for (const Json& item : items) {
      if (text_at(item, "id") != id && number_at(item, "log_index") >= index) {
        newest = text_at(item, "id");
        index = number_at(item, "log_index");
      }
    }
  }));
  return newest.empty() ? Result<Json>(Json()) : fetch_document(api, route, newest);
}

Result<Json> fetch_earlier(Api& api, const Payload& payload) {
  ASSAY_ASSIGN(const Statement statement, statement_of(payload));
  Query query;
  if (payload.kind == PayloadKind::kManifest) {
    ASSAY_ASSIGN(const Manifest manifest, manifest_of(payload));
    query.add("name", manifest.name);
    return fetch_newest(api, "/v1/manifests", query, payload.id().text());
  }
  query.add("predicate_type", statement.predicate_type);
  if (statement.predicate_type == kLifecyclePredicateType) {
    query.add("stage", text_at(statement.predicate, "stage"));
  }
  for (const Subject& subject : statement.subjects) {
    if (const auto artifact = subject.artifact()) {
      query.add("subject", artifact->text());
      break;
    }
  }
  return fetch_newest(api, "/v1/attestations", query, payload.id().text());
}

Result<InForce> from_service(Api& api, const Payload& payload) {
  InForce in_force;
  in_force.source = "the service";
  if (payload.kind == PayloadKind::kPolicy || payload.kind == PayloadKind::kReferenceSet) {
    ASSAY_ASSIGN(const Json document, json_of(payload));
    ASSAY_ASSIGN(Json policy, fetch_active(api, row_name(document)));
    in_force.policy.emplace(std::move(policy));
  } else if (payload.kind == PayloadKind::kPolicyApproval) {
    ASSAY_ASSIGN(const PolicyApproval approval, parse_policy_approval(payload.bytes));
    ASSAY_ASSIGN(Json approved, fetch_document(api, "/v1/policies", approval.policy.text()));
    in_force.approved.emplace(std::move(approved));
    ASSAY_ASSIGN(Json policy, fetch_active(api, row_name(*in_force.approved)));
    in_force.policy.emplace(std::move(policy));
    ASSAY_ASSIGN(const Json known, api.get("/v1/trust"));
    in_force.policy_epoch = number_at(known.value("epochs", Json::object()), "policy");
  } else if (payload.kind == PayloadKind::kTrustChange) {
    ASSAY_ASSIGN(Json trust, api.get("/v1/trust"));
    in_force.trust.emplace(std::move(trust));
  } else if (payload.kind == PayloadKind::kManifest || payload.kind == PayloadKind::kAttestation) {
    ASSAY_ASSIGN(Json statement, fetch_earlier(api, payload));
    in_force.statement.emplace(std::move(statement));
  } else if (payload.kind == PayloadKind::kEndorsements) {
    ASSAY_ASSIGN(Json newest, api.get("/v1/endorsements"));
    ASSAY_ASSIGN(const Json parts, api.list("/v1/collateral", Query(), std::nullopt));
    newest["parts"] = list_at(parts, "items");
    in_force.endorsements.emplace(std::move(newest));
  }
  return in_force;
}

// --- words

std::string change_text(const ReviewChange& change) {
  std::string text = change.path + ": ";
  if (change.before.is_null()) {
    text += "added " + quoted(change.after);
  } else if (change.after.is_null()) {
    text += "removed " + quoted(change.before);
  } else {
    text += quoted(change.before) + " -> " + quoted(change.after);
  }
  return text + (change.flag.empty() ? "" : "  (" + change.flag + ")");
}

void add_changes(const Review& review, bool all, std::vector<std::string>& lines) {
  if (review.against.empty()) {
    lines.emplace_back("Not compared with what is in force: give --server, or --against FILE.");
    return;
  }
  if (review.changes.empty() && review.against.starts_with("nothing: ")) {
    lines.push_back("Compared with " + review.against + ".");
    return;
  }
  lines.push_back("Compared with " + review.against + ":");
  for (const ReviewChange& change : review.changes) {
    if (!change.flag.empty()) {
      lines.push_back("  ! " + change_text(change));
    }
  }
  std::size_t shown = 0;
  std::size_t left = 0;
  for (const ReviewChange& change : review.changes) {
    if (!change.flag.empty()) {
      continue;
    }
    if (!all && shown == kShownChanges) {
      ++left;
      continue;
    }
    ++shown;
    lines.push_back("  * " + change_text(change));
  }
  if (left > 0) {
    lines.push_back("  * ... and " + counted(left, "more change") + " (--all shows them)");
  }
  if (review.changes.empty()) {
    lines.emplace_back("  no difference");
  }
}

bool ask() {
  std::fputs("Sign this? [y/N] ", stderr);
  std::fflush(stderr);
  std::string line;
  return std::getline(std::cin, line) && (line == "y" || line == "Y" || line == "yes");
}

}  // namespace

bool on_a_terminal() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

void add_review_options(const Command& verb, ReviewFlags& flags) {
  verb.option("--against", flags.against, "FILE",
              "compare with this file instead of with what the service has in force: a policy, "
              "'assay trust show -o json', or an earlier statement");
  verb.option("--document", flags.document, "FILE", "the policy that an approval is about");
  verb.flag("--all", flags.all, "show long lists in full");
  add_connection_options(verb, flags.connection);
}

Result<InForce> find_in_force(const Context& context, const Payload& payload,
                              const ReviewFlags& flags, bool from_environment) {
  InForce in_force;
  const ConnectionFlags& connection = flags.connection;
  const bool named = !connection.server.empty() || !connection.profile.empty();
  if (!flags.against.empty()) {
    ASSAY_ASSIGN(in_force, from_file(payload, flags.against));
  } else if (named || (from_environment && client::resolve_connection(connection))) {
    ASSAY_ASSIGN(Api api, open_api(context, connection));
    ASSAY_ASSIGN(in_force, from_service(api, payload));
  }
  if (!flags.document.empty()) {
    if (payload.kind != PayloadKind::kPolicyApproval) {
      return fail(ErrorCode::kUsage, "--document goes with the approval of a policy");
    }
    ASSAY_ASSIGN(const PolicyApproval approval, parse_policy_approval(payload.bytes));
    ASSAY_ASSIGN(const LoadedDocument policy, load_document(flags.document));
    if (policy.payload.id() != approval.policy) {
      return fail(ErrorCode::kSubjectMismatch, "The approval is about another document",
                  flags.document);
    }
    ASSAY_ASSIGN(Json approved, json_of(policy.payload));
    in_force.approved.emplace(std::move(approved));
  }
  return in_force;
}

std::vector<std::string> review_lines(const LoadedDocument& document, const Review& review,
                                      bool all) {
  std::vector<std::string> lines = {review.title, "  " + document.payload.id().text()};
  for (const std::string& line : review.says) {
    lines.push_back("  " + line);
  }
  if (document.envelope) {
    for (const attestation::EnvelopeSignature& signature : document.envelope->signatures) {
      lines.push_back("  signed, it says, by key " + quoted(Json(signature.keyid_hint)) +
                      " (not verified here)");
    }
  }
  add_changes(review, all, lines);
  if (!review.flags.empty()) {
    lines.emplace_back("Look twice:");
  }
  for (const std::string& flag : review.flags) {
    lines.push_back("  ! " + flag);
  }
  return lines;
}

Json review_json(const LoadedDocument& document, const Review& review) {
  Json changes = Json::array();
  for (const ReviewChange& change : review.changes) {
    changes.push_back({{"path", change.path},
                       {"before", large_integers_as_text(change.before)},
                       {"after", large_integers_as_text(change.after)}});
    if (!change.flag.empty()) {
      changes.back()["flag"] = change.flag;
    }
  }
  Json json = {{"id", document.payload.id().text()},
               {"kind", name(document.payload.kind)},
               {"payload_type", document.payload.type},
               {"title", review.title},
               {"says", review.says},
               {"flags", review.flags},
               {"against", review.against.empty() ? Json() : Json(review.against)},
               {"changes", std::move(changes)}};
  return json;
}

Result<bool> agree_to_sign(const Context& context, const LoadedDocument& document,
                           const ReviewFlags& flags, bool from_environment, bool yes) {
  Result<InForce> in_force = find_in_force(context, document.payload, flags, from_environment);
  const bool compared = in_force.has_value();
  ASSAY_ASSIGN(Review shown, review(document.payload, compared ? *in_force : InForce(), flags.all));
  if (!compared) {
    shown.flags.push_back("not compared: " + to_string(in_force.error()));
  }
  const bool asks = !yes && on_a_terminal();
  for (const std::string& line : review_lines(document, shown, flags.all)) {
    if (asks) {
      warning(line);
    } else {
      message(context, line);
    }
  }
  return !asks || ask();
}

}  // namespace assay::cli
