// SPDX-License-Identifier: Apache-2.0
// Everything that a decision, a list or a proof can read is asked at least once.
#include <algorithm>
#include <utility>

#include "schemas/release.h"
#include "schemas/tiles.h"
#include "storage/lineage_reads.h"
#include "tests/storage/flip_store.h"
#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

std::string text_of(const Digest& digest) { return digest.hex(); }
std::string text_of(const Bytes& bytes) { return hex_encode(bytes); }
std::string text_of(const std::string& text) { return text; }
std::string text_of(std::uint64_t number) { return std::to_string(number); }
std::string text_of(const DocumentId& id) { return id.text(); }
std::string text_of(const Document& document) {
  return document.media_type + hex_encode(document.bytes);
}
std::string text_of(const TrustedKey& key) { return to_json(key).dump(); }
std::string text_of(const Principal& principal) { return to_json(principal).dump(); }
std::string text_of(const Appraisal& appraisal) { return to_json(appraisal).dump(); }
std::string text_of(const ReferenceTag& tag) { return to_json(tag).dump(); }
std::string text_of(const Registration& registration) { return to_json(registration).dump(); }
std::string text_of(const ActivePolicyRow& policy) {
  return policy.id.text() + policy.name + std::to_string(policy.version) +
         hex_encode(policy.payload);
}
std::string text_of(const StatementRow& row) {
  std::string text = row.id.text() + row.name + row.stage + row.predicate_type + row.payload_type +
                     std::to_string(row.version) + to_rfc3339(row.accepted_at) +
                     std::to_string(row.log_index);
  for (const auto& part : row.subjects) {
    text += part;
  }
  for (const auto& part : row.inputs) {
    text += part;
  }
  for (const auto& part : row.locations) {
    text += part;
  }
  for (const SignerRow& signer : row.signers) {
    text += signer.key.text() + to_rfc3339(signer.signed_at) + std::to_string(signer.log_index);
  }
  for (const auto& part : row.envelopes) {
    text += part.text();
  }
  return text;
}
std::string text_of(const DecisionRow& row) {
  std::string text = row.id + row.envelope.text() + (row.allowed ? "+" : "-") + row.point +
                     row.name_space + to_rfc3339(row.evaluated_at) + std::to_string(row.log_index);
  for (const auto& part : row.subjects) {
    text += part;
  }
  for (const auto& part : row.reasons) {
    text += part;
  }
  return text;
}
std::string text_of(const EventRow& row) {
  return std::to_string(row.index) + encode(row.record).value_or("?");
}
std::string text_of(const Withdrawn& one) {
  return one.statement.text() + one.reason + to_rfc3339(one.at) + (one.by_operators ? "+" : "-");
}
std::string text_of(const SignerUsage& usage) {
  return std::to_string(usage.statements) + "/" + std::to_string(usage.manifests) + "/" +
         std::to_string(usage.bytes);
}
std::string text_of(const ReportPlace& place) {
  return place.location + place.pod + place.pod_volume + place.instance;
}
std::string text_of(const Timestamp& time) { return to_rfc3339(time); }
std::string text_of(const Json& json) { return json.dump(); }
std::string text_of(const Revocation& one) { return to_rfc3339(one.at) + one.reason; }
std::string text_of(const Anchor& anchor) { return anchor.text(); }
std::string text_of(const MeasuredBoot& boot) { return to_json(boot).dump(); }
std::string text_of(const KeyId& key) { return key.text(); }
std::string text_of(const ArtifactId& artifact) { return artifact.text(); }
std::string text_of(const DecidedModel& model) { return model.artifact.text() + model.name; }
std::string text_of(bool flag) { return flag ? "yes" : "no"; }
std::string text_of(const NodeRow::Measured& one) {
  return one.appraisal.text() + to_rfc3339(one.appraised_at) + one.evidence_type + one.tcb_status +
         one.anchor.text() + (one.anchor_is_vendor ? "+" : "-");
}
template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? "+" + text_of(*value) : "-";
}
// All columns of a row, in one line.
template <typename... T>
std::string columns(const T&... parts) {
  return ((text_of(parts) + "|") + ...);
}
// A list inside a row.
template <typename T>
std::string joined(const std::vector<T>& list) {
  std::string text;
  for (const T& item : list) {
    text += text_of(item) + ",";
  }
  return text;
}
std::string text_of(const NodeRow& row) {
  return columns(row.name, row.principal, row.key, row.public_key, row.platform, row.enrolled_at,
                 row.held_since, row.expires_at, row.revoked, row.devices, row.enrolment,
                 row.measured, row.log_index, row.registration, row.ended, row.superseded.count,
                 row.superseded.at, row.superseded.key);
}
std::string text_of(const JobRow& row) {
  return columns(row.id, row.artifact, row.model_name, row.scope, row.node, row.location, row.pod,
                 row.pod_volume, row.instance, row.subset, row.created_by, row.created_at,
                 std::uint64_t{std::to_underlying(row.state)}, row.token, row.lease_expires_at,
                 row.pending, row.result, row.detail, row.report, row.volume, row.read_since,
                 row.worker_measured, row.finished_at, row.log_index);
}
std::string text_of(const PodRow& row) {
  return columns(row.cluster, row.uid, row.name_space, row.name, joined(row.nodes), row.settled,
                 row.decision, joined(row.models), row.workload, row.admitted_at);
}
std::string text_of(const ClaimRow& row) {
  return columns(row.cluster, row.name_space, row.name, row.uid, row.volume, row.since);
}
std::string text_of(const EvidenceRow& row) {
  return columns(row.subject, row.node, row.type, row.evidence, row.expected, row.platform,
                 row.policy, row.error, row.appraisal, row.appraised_at, row.tcb_status, row.anchor,
                 row.anchor_is_vendor, row.marks, row.stage, row.matched, row.boot, row.valid_until,
                 row.look_at);
}
template <typename T>
std::string text_of(const std::vector<T>& list) {
  std::string text;
  for (const T& item : list) {
    text += text_of(item) + "\n";
  }
  return text;
}
template <typename T>
std::string text_of(const Page<T>& page) {
  return text_of(page.items) + page.root.hex();
}

class Asker {
 public:
  template <typename T>
  void note(const std::string& name, const Result<T>& result) {
    const bool gone = !result && result.error().code == ErrorCode::kNotFound;
    answers[name] = result ? text_of(*result)
                    : gone ? kGone
                           : kFailed + std::string(info(result.error().code).code);
  }
  Answers answers;
};

std::unexpected<Error> misplaced() {
  return fail(ErrorCode::kDataLoss, "an index names another statement than it should");
}

using Fits = std::function<bool(const StatementRow& row)>;
bool has(const std::vector<std::string>& list, const std::string& value) {
  return std::ranges::find(list, value) != list.end();
}

// What an index only points at, read as whoever asks must: server/service/references/resolve.cc and
// server/service/lineage/steps.cc.
Result<std::vector<StatementRow>> rows_at(Snapshot& view, const std::vector<LeafIndex>& indexes,
                                          const Fits& fits) {
  std::vector<StatementRow> rows;
  for (const LeafIndex index : indexes) {
    ASSAY_ASSIGN(StatementRow row, view.statement_at(index));
    if (!fits(row)) {
      return misplaced();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::vector<StatementRow>> rows_of(Snapshot& view,
                                          const Result<std::vector<SignedBy>>& signatures,
                                          const Fits& fits) {
  if (!signatures) {
    return std::unexpected(signatures.error());
  }
  std::vector<LeafIndex> indexes;
  for (const SignedBy& one : *signatures) {
    indexes.push_back(one.index);
  }
  return rows_at(view, indexes, fits);
}

Result<std::vector<StatementRow>> rows_of(Snapshot& view,
                                          const Result<std::vector<LeafIndex>>& indexes,
                                          const Fits& fits) {
  return indexes ? rows_at(view, *indexes, fits) : std::unexpected(indexes.error());
}

// A counter that is gone reads as 0.
template <typename T>
Result<T> or_gone(Result<T> value, bool is_zero) {
  return value && is_zero ? fail(ErrorCode::kNotFound, "nothing is counted") : std::move(value);
}
Result<std::uint64_t> counter(Result<std::uint64_t> value) {
  const bool zero = value && *value == 0;
  return or_gone(std::move(value), zero);
}

void ask_statements(Snapshot& view, Asker& asker) {
  for (int i = 0; i < kFlipStatements; i += 3) {
    const std::string number = std::to_string(i);
    const std::string artifact = flip_artifact(i);
    const ArtifactId id = ArtifactId::parse(artifact).value();
    const std::string uri = "pvc://prod/" + number + "/x";
    asker.note("statement " + number, view.statement(flip_statement(i)));
    asker.note("at " + number, rows_of(view, view.signed_at(uri), [&](const StatementRow& row) {
                 return std::ranges::any_of(row.locations, [&](const std::string& place) {
                   return uri.starts_with(place + "/");
                 });
               }));
    asker.note("about " + number,
               rows_of(view, view.lineage().about(artifact),
                       [&](const StatementRow& row) { return has(row.subjects, artifact); }));
    asker.note("from " + number,
               rows_of(view, view.lineage().from(artifact),
                       [&](const StatementRow& row) { return has(row.inputs, artifact); }));
    asker.note("version " + number, counter(view.subject_version(id)));
    asker.note("evidence of " + number, view.stage_evidence(flip_statement(i)));
    auto usage = view.usage({TopicKind::kArtifact, artifact}, "team-1");
    const bool none = usage && usage->statements == 0;
    asker.note("usage " + number, or_gone(std::move(usage), none));
  }
  asker.note("all statements", counter(view.statements_version()));
  asker.note("newest statement", view.newest_statement());
  for (const std::uint64_t version : {0U, 20U}) {
    asker.note("changes since " + std::to_string(version),
               rows_of(view, view.lineage().changes_since(version, 100),
                       [](const StatementRow&) { return true; }));
  }
}

void ask_names(Snapshot& view, Asker& asker) {
  for (int i = 0; i < 4; ++i) {
    const std::string name = "acme/" + std::to_string(i);
    asker.note("signed under " + name,
               rows_of(view, view.signed_under(name), [&](const StatementRow& row) {
                 return row.kind == StatementKind::kManifest && row.name == name;
               }));
    asker.note("releases under " + name,
               rows_of(view, view.releases_under(name), [&](const StatementRow& row) {
                 return row.predicate_type == kReleasePredicateType && row.name == name;
               }));
    for (const char* identity : {"team-1", "team-2", "team-4"}) {
      auto usage = view.usage({TopicKind::kName, name}, identity);
      const bool none = usage && usage->statements == 0;
      asker.note("usage " + name + identity, or_gone(std::move(usage), none));
    }
  }
}

void ask_rows(Snapshot& view, Asker& asker) {
  for (int i = 0; i < kFlipStatements; i += 3) {
    const std::string number = std::to_string(i);
    asker.note("decision " + number, view.decision("d" + number));
    asker.note("document " + number, view.document(DocumentId(digest_of("d" + number))));
    asker.note("job " + number, view.job("job-" + number));
    asker.note("pod " + number, view.pod("kube", "uid-" + number));
    asker.note("claim " + number, view.claim("kube", "prod", "claim-" + number));
  }
  asker.note("pods", view.pods({}, 100));
}

void ask_nodes(Snapshot& view, Asker& asker) {
  const ArtifactId artifact(digest_of("artifact"));
  for (const std::uint8_t key : {std::uint8_t{7}, std::uint8_t{8}}) {
    const std::string number = std::to_string(key);
    asker.note("owner " + number, view.key_owner(TestSigner(key).key_id()));
  }
  for (const char* node : {"gpu-1", "gpu-2"}) {
    asker.note(node, view.node(node));
    asker.note(std::string("version of ") + node, counter(view.node_version(node)));
  }
  asker.note("nodes on a platform", view.nodes_on("00ff", Timestamp()));
  asker.note("outline", view.outline(artifact));
  asker.note("marks", view.high_waters("", 100));
  asker.note("mark", counter(view.high_water("tdx")));
  asker.note("collateral", view.high_water_collateral("tdx"));
  asker.note("evidence", view.evidence("node:gpu-1"));
  asker.note("stale evidence", view.stale_evidence(100));
  asker.note("due evidence", view.due_evidence(Timestamp(std::chrono::hours(10)), 100));
  asker.note("generation", counter(view.lineage().evidence_generation()));
  asker.note("report", view.newest_report("gpu-1", artifact, "files", {"pvc://prod/m"}));
  asker.note("places", view.report_places("gpu-1", artifact, "files", "", 9));
}

// Within the hours in which the store was filled.
template <typename Query>
Query between(const Query& query) {
  Query bounded = query;
  const Timestamp start = ManualClock().now();
  bounded.since = start + std::chrono::minutes(95);
  bounded.until = start + std::chrono::minutes(285);
  bounded.bounds.limit = 1000;
  return bounded;
}

void ask_lists(Snapshot& view, Asker& asker) {
  StatementQuery statements;
  statements.bounds.limit = 1000;
  asker.note("statements", view.statements(statements));
  asker.note("statements of some hours", view.statements(between(statements)));
  statements.stage = "train";
  asker.note("statements of a stage", view.statements(statements));
  statements = {};
  statements.bounds.limit = 1000;
  statements.name = "acme/1";
  statements.signer = make_key(2).id;
  asker.note("statements of a signer", view.statements(statements));
  EventQuery events;
  events.bounds.limit = 1000;
  asker.note("events", view.events(events));
  asker.note("events of some hours", view.events(between(events)));
  events.type = "decision.made";
  asker.note("events of a type", view.events(events));
  events.type = "trust.";
  asker.note("events of types", view.events(events));
  events = {};
  events.actor = "actor-7";
  asker.note("events of an actor", view.events(events));
  events = {};
  events.subject = "s9";
  asker.note("events about a subject", view.events(events));
  asker.note("jobs", view.jobs({}));
  asker.note("nodes", view.nodes("", 10));
}

// With the number of all that there are, a line each.
void note_decisions(Snapshot& view, Asker& asker, const std::string& name, DecisionQuery query) {
  query.bounds.limit = 1000;
  query.with_total = true;
  auto page = view.decisions(query);
  std::string total;
  for (std::uint64_t i = 0; page && page->total && i < page->total->rows; ++i) {
    total += "no. " + std::to_string(i) + "\n";
  }
  asker.note("number of " + name, page ? Result<std::string>(total) : fail(page.error().code, ""));
  asker.note(name, page);
}

void ask_decisions(Snapshot& view, Asker& asker) {
  DecisionQuery query;
  note_decisions(view, asker, "decisions of some hours", between(query));
  query.newest_first = true;
  note_decisions(view, asker, "newest decisions", query);
  note_decisions(view, asker, "newest decisions of some hours", between(query));
  query = {};
  query.allowed = false;
  note_decisions(view, asker, "denials", query);
  query.name_space = "dev";
  note_decisions(view, asker, "denials of a namespace", query);
  query = {};
  query.reason = "key-revoked";
  note_decisions(view, asker, "decisions with a reason", query);
  query = {};
  query.subject = ArtifactId(digest_of("artifact")).text();
  note_decisions(view, asker, "decisions about an artifact", query);
}

void ask_trust(Snapshot& view, Asker& asker) {
  asker.note("keys", view.keys());
  asker.note("principals", view.principals());
  asker.note("appraisals", view.appraisals());
  asker.note("reference values", view.reference_tags());
  asker.note("registrations", view.registrations());
  asker.note("policies", view.active_policies());
  asker.note("withdrawals", view.withdrawals());
}

void ask_log(Snapshot& view, Asker& asker) {
  const TreeSize size = view.log_state()->size;
  for (LeafIndex i = 0; i + 1 < size; i += 17) {
    asker.note("record " + std::to_string(i), view.log_record(i));
    asker.note("inclusion " + std::to_string(i), view.inclusion_proof(i, size));
    asker.note("root " + std::to_string(i), view.log_root(i));
    asker.note("old inclusion " + std::to_string(i), view.inclusion_proof(i / 2, i + 1));
    asker.note("consistency " + std::to_string(i), view.consistency_proof(i + 1, size));
  }
  const auto width = static_cast<unsigned>(std::min<TreeSize>(size, kTileWidth));
  asker.note("tile", view.tile(0, 0, width));
  asker.note("bundle", view.entry_bundle(0, width));
}

}  // namespace

Answers ask(Store& store) {
  Asker asker;
  const auto view = store.snapshot();
  if (!view) {
    asker.answers["snapshot"] = kFailed;
    return asker.answers;
  }
  for (const auto& questions : {ask_statements, ask_names, ask_rows, ask_nodes, ask_lists,
                                ask_decisions, ask_trust, ask_log}) {
    questions(**view, asker);
  }
  return asker.answers;
}

}  // namespace assay::storage
