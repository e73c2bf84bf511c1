// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/flip_rounds.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "schemas/tiles.h"
#include "storage/inspect.h"
#include "tests/storage/durability.h"
#include "tests/storage/fault_vfs.h"
#include "tests/storage/sqlite_files.h"
#include "tests/support/seed.h"

namespace assay::storage {
namespace {

namespace fs = std::filesystem;

// A count of the test's JSON (--gtest_output=json:FILE).
void record(const char* name, std::size_t count) {
  ::testing::Test::RecordProperty(name, std::to_string(count));
}

// Gives the fixture's tools to free functions.
class Rounds : public SqliteTest {
 public:
  void TestBody() override {}
  using SqliteTest::anchor_path;
  using SqliteTest::append;
  using SqliteTest::clock_;
  using SqliteTest::open;
  using SqliteTest::options;
  using SqliteTest::path;
  using SqliteTest::signer_;
};

NodeRow node_row(const DocumentId& document) {
  const TestSigner key(7);
  return {.name = "gpu-1",
          .principal = "agent",
          .key = key.key_id(),
          .public_key = key.public_key(),
          .platform = "00ff",
          .enrolled_at = Timestamp(std::chrono::hours(1)),
          .held_since = Timestamp(std::chrono::hours(1)),
          .expires_at = Timestamp(std::chrono::hours(9)),
          .revoked = Revocation{Timestamp(std::chrono::hours(2)), "sold"},
          .devices = Json::array({{{"kind", "gpu"}, {"name", "GPU-1"}}}),
          .enrolment = document,
          .measured = NodeRow::Measured{document, Timestamp(std::chrono::hours(1)), "tdx",
                                        "UpToDate", Anchor::root(digest_of("root")), true},
          .log_index = 0,
          .registration = "own",
          .ended = Revocation{Timestamp(std::chrono::hours(3)), "moved"}};
}

JobRow job_row(int number, const DocumentId& report) {
  return {.id = "job-" + std::to_string(number),
          .artifact = ArtifactId(digest_of("artifact")),
          .model_name = "acme/a",
          .scope = "files",
          .node = "gpu-1",
          .location = "pvc://prod/m",
          .created_by = "ci",
          .created_at = Timestamp(),
          .state = JobState::kDone,
          .token = 3,
          .lease_expires_at = std::nullopt,
          .pending = Json(),
          .result = number % 2 == 0 ? "verified" : "mismatch",
          .detail = {{"why", "x"}},
          .report = report,
          .volume = "pv-1",
          .read_since = Timestamp(std::chrono::hours(number)),
          .finished_at = Timestamp(std::chrono::hours(number))};
}

Status fill_nodes(Transaction& t) {
  ASSAY_ASSIGN(const DocumentId id, t.put_document("application/json", as_bytes("evidence")));
  ASSAY_TRY(t.put_node(node_row(id)));
  for (int i = 0; i < 12; ++i) {
    ASSAY_TRY(t.put_job(job_row(i, id)));
    ASSAY_TRY(t.put_claim({"kube", "prod", "claim-" + std::to_string(i), "uid", "volume"}));
    ASSAY_TRY(t.put_pod({.cluster = "kube",
                         .uid = "uid-" + std::to_string(i),
                         .name_space = "prod",
                         .name = "pod",
                         .nodes = {"gpu-1", "gpu-2"},
                         .settled = "gpu-1",
                         .decision = "d0",
                         .models = {{ArtifactId(digest_of("artifact")), "m"}},
                         .workload = {{"namespace", "prod"}},
                         .admitted_at = t.now()}));
  }
  ASSAY_TRY(t.put_outline(ArtifactId(digest_of("artifact")), id));
  ASSAY_TRY(t.raise_high_water("tdx", 5, id));
  return t.put_evidence({.subject = "node:gpu-1",
                         .node = "gpu-1",
                         .type = "tdx",
                         .evidence = id,
                         .expected = Bytes(64, 1),
                         .platform = "00ff",
                         .policy = id,
                         .error = "",
                         .appraisal = id,
                         .appraised_at = Timestamp(),
                         .tcb_status = "UpToDate",
                         .anchor = Anchor::root(digest_of("root")),
                         .marks = {{"tdx", 5}},
                         .matched = {{"mrtd", {"own"}}},
                         .boot = MeasuredBoot{.secure_boot = true},
                         .valid_until = Timestamp(std::chrono::hours(9)),
                         .look_at = Timestamp(std::chrono::hours(8))});
}

Status fill_trust(Transaction& t) {
  for (std::uint8_t i = 1; i < 6; ++i) {
    ASSAY_TRY(t.put_key(make_key(i)));
    ASSAY_TRY(t.put_principal(make_principal("p" + std::to_string(i))));
  }
  ASSAY_TRY(t.put_appraisal({"tdx", Json::object(), {}, false}));
  ASSAY_TRY(t.put_registration({"own", "gpu-1", "agent", {"00"}, 2, {}}));
  ASSAY_TRY(t.activate_policy({StatementId(digest_of("p")), "gate", 1, Bytes(3000, 7)}));
  ASSAY_TRY(t.set_epochs({{1, 1}, 1}));
  ASSAY_TRY(t.append(make_record("trust.changed")));
  return {};
}

void fill(Store& store) {
  const auto done = store.write([&](Transaction& t) -> Status {
    for (int i = 0; i < 40; ++i) {
      const std::string number = std::to_string(i);
      StatementRow row = make_statement("acme/" + number);
      row.signers = {{KeyId(digest_of("k")), Timestamp(), 0}};
      row.locations = {"pvc://prod/" + number};
      row.stage = i % 2 == 0 ? "train" : "evaluate";
      ASSAY_TRY(put(t, row));
      DecisionRow decision = make_decision("d" + number);
      decision.allowed = i % 3 != 0;
      decision.name_space = i % 2 == 0 ? "prod" : "dev";
      decision.reasons = {i % 2 == 0 ? "key-revoked" : "key-expired"};
      ASSAY_TRY(put(t, decision));
      ASSAY_TRY(t.append(make_record("test.appended", "ci", {"s" + number})));
    }
    ASSAY_TRY(fill_nodes(t));
    return fill_trust(t);
  });
  ASSERT_TRUE(done) << to_string(done.error());
}

// --- answers

using Answers = std::map<std::string, std::string>;

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
                 row.worker_measured, row.device_attested, row.finished_at, row.log_index);
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

constexpr const char* kFailed = "error ";
constexpr const char* kGone = "gone";

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

// As a decision reads them: by what the indexes say, then the rows.
Result<std::vector<StatementRow>> rows_at(Snapshot& view, const std::string& uri) {
  std::vector<StatementRow> rows;
  ASSAY_ASSIGN(const auto signatures, view.signed_at(uri));
  for (const SignedBy& one : signatures) {
    ASSAY_ASSIGN(StatementRow row, view.statement_at(one.index));
    // As whoever asks must: an index only says where to look
    // (server/service/references/resolve.cc).
    const bool fits = std::ranges::any_of(
        row.locations, [&](const std::string& place) { return uri.starts_with(place + "/"); });
    if (!fits) {
      return fail(ErrorCode::kDataLoss, "an index names another statement than it should");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void ask_rows(Snapshot& view, Asker& asker) {
  for (int i = 0; i < 40; i += 3) {
    const std::string number = std::to_string(i);
    const auto row = view.statement(make_statement("acme/" + number).id);
    asker.note("statement " + number, row);
    asker.note("decision " + number, view.decision("d" + number));
    asker.note("document " + number, view.document(DocumentId(digest_of("d" + number))));
    asker.note("at " + number, rows_at(view, "pvc://prod/" + number + "/x"));
    asker.note("job " + number, view.job("job-" + number));
    asker.note("pod " + number, view.pod("kube", "uid-" + number));
    asker.note("claim " + number, view.claim("kube", "prod", "claim-" + number));
  }
  asker.note("pods", view.pods({}, 100));
  asker.note("node", view.node("gpu-1"));
  asker.note("owner", view.key_owner(TestSigner(7).key_id()));
  asker.note("outline", view.outline(ArtifactId(digest_of("artifact"))));
  asker.note("mark", view.high_water("tdx"));
  asker.note("collateral", view.high_water_collateral("tdx"));
  asker.note("evidence", view.evidence("node:gpu-1"));
  asker.note("report", view.newest_report("gpu-1", ArtifactId(digest_of("artifact")), "files",
                                          {"pvc://prod/m"}));
}

void ask_lists(Snapshot& view, Asker& asker) {
  StatementQuery statements;
  statements.bounds.limit = 1000;
  asker.note("statements", view.statements(statements));
  statements.stage = "train";
  asker.note("statements of a stage", view.statements(statements));
  DecisionQuery decisions;
  decisions.bounds.limit = 1000;
  decisions.allowed = false;
  asker.note("denials", view.decisions(decisions));
  decisions.name_space = "dev";
  asker.note("denials of a namespace", view.decisions(decisions));
  decisions = {};
  decisions.reason = "key-revoked";
  decisions.bounds.limit = 1000;
  asker.note("decisions with a reason", view.decisions(decisions));
  EventQuery events;
  events.bounds.limit = 1000;
  asker.note("events", view.events(events));
  events.type = "decision.made";
  asker.note("events of a type", view.events(events));
  asker.note("jobs", view.jobs({}));
  asker.note("nodes", view.nodes("", 10));
  asker.note("keys", view.keys());
  asker.note("principals", view.principals());
  asker.note("appraisals", view.appraisals());
  asker.note("reference values", view.reference_tags());
  asker.note("registrations", view.registrations());
  asker.note("policies", view.active_policies());
}

void ask_log(Snapshot& view, Asker& asker) {
  for (LeafIndex i = 0; i < 120; i += 17) {
    asker.note("record " + std::to_string(i), view.log_record(i));
    asker.note("inclusion " + std::to_string(i), view.inclusion_proof(i, 121));
    asker.note("root " + std::to_string(i), view.log_root(i));
    asker.note("old inclusion " + std::to_string(i), view.inclusion_proof(i / 2, i + 1));
    asker.note("consistency " + std::to_string(i), view.consistency_proof(i + 1, 121));
  }
  asker.note("tile", view.tile(0, 0, 121));
  asker.note("bundle", view.entry_bundle(0, 121));
}

Answers ask(Store& store) {
  Asker asker;
  const auto view = store.snapshot();
  if (!view) {
    asker.answers["snapshot"] = kFailed;
    return asker.answers;
  }
  ask_rows(**view, asker);
  ask_lists(**view, asker);
  ask_log(**view, asker);
  return asker.answers;
}

void flip_bit(const std::string& path, std::size_t offset, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const auto byte = static_cast<char>(file.get() ^ (1 << bit));
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

// Every line of `part` stands in `whole`: a list that lost items.
bool is_part_of(const std::string& part, const std::string& whole) {
  std::size_t begin = 0;
  while (begin < part.size()) {
    const std::size_t end = std::min(part.find('\n', begin), part.size());
    if (whole.find(part.substr(begin, end - begin)) == std::string::npos) {
      return false;
    }
    begin = end + 1;
  }
  return true;
}

struct Count {
  std::size_t refused = 0;
  std::size_t unnoticed = 0;  // every answer as before
  std::size_t errors = 0;     // at least one
  std::size_t missing = 0;    // rounds in which a row was missing or a list short
  std::size_t unnamed = 0;    // of those: not found by the inspection
  std::size_t wrong = 0;
};

void judge(const Answers& before, const Answers& after, Rounds& rounds, const std::string& where,
           Count& count) {
  bool error = false;
  bool missing = false;
  for (const auto& [name, answer] : after) {
    if (answer.starts_with(kFailed)) {
      error = true;
      continue;
    }
    const auto known = before.find(name);
    if (known == before.end() || known->second == answer) {
      continue;
    }
    if (answer == kGone || is_part_of(answer, known->second)) {
      missing = true;
    } else {
      ++count.wrong;
      ADD_FAILURE() << where << " changed " << name << "\n" << known->second << "\nto\n" << answer;
    }
  }
  count.errors += error ? 1 : 0;
  count.unnoticed += !error && !missing ? 1 : 0;
  if (missing) {
    ++count.missing;
    const auto inspection = Inspection::open(rounds.options(), rounds.signer_, rounds.clock_);
    const auto found = inspection ? (*inspection)->find(true, [](auto, auto) {})
                                  : std::unexpected(inspection.error());
    if (found && found->empty()) {
      ++count.unnamed;
      ADD_FAILURE() << where << " hides a row that the inspection does not miss";
    }
  }
}

}  // namespace

void page_flip_rounds(std::size_t rounds) {
  Rounds files;
  fill(*files.open().value());
  const std::string whole = files.path() + ".whole";
  fs::copy_file(files.path(), whole);
  const std::string anchor = files.anchor_path() + ".whole";
  fs::copy_file(files.anchor_path(), anchor);
  const Answers before = ask(*files.open().value());
  const std::size_t size = fs::file_size(whole);
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  Count count;
  for (std::size_t i = 0; i < rounds; ++i) {
    fs::copy_file(whole, files.path(), fs::copy_options::overwrite_existing);
    fs::copy_file(anchor, files.anchor_path(), fs::copy_options::overwrite_existing);
    const std::size_t offset = random() % size;
    const int bit = static_cast<int>(random() % 8);
    flip_bit(files.path(), offset, bit);
    const std::string where = "bit " + std::to_string(bit) + " of byte " + std::to_string(offset);
    Answers after;
    {
      const auto store = files.open();
      if (!store) {
        ++count.refused;
        continue;
      }
      after = ask(**store);
    }
    judge(before, after, files, where, count);
  }
  record("rounds", rounds);
  record("start_refused", count.refused);
  record("answers_as_before", count.unnoticed);
  record("errors", count.errors);
  record("rows_missing", count.missing);
  record("rows_missing_not_named_by_check", count.unnamed);
  record("wrong_answers", count.wrong);
  std::cout << "page flips: " << rounds << ", start refused " << count.refused
            << ", answers as before " << count.unnoticed << ", errors " << count.errors
            << ", rows missing " << count.missing << " (not named by check: " << count.unnamed
            << "), wrong answers " << count.wrong << '\n';
}

void wal_flip_rounds(std::size_t rounds) {
  Rounds files;
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  const std::string copy = files.path() + ".copy";
  LogState signed_state{0, digest_of(""), {}};
  {
    const auto store = files.open().value();
    for (int i = 0; i < 20; ++i) {
      signed_state = Rounds::append(*store, 3);
    }
    fs::copy_file(files.path(), copy);
    fs::copy_file(files.path() + "-wal", copy + "-wal");
  }
  const std::string anchor = files.anchor_path() + ".copy";
  fs::copy_file(files.anchor_path(), anchor);
  std::size_t refused = 0;
  std::size_t forks = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    fs::remove(files.path() + "-shm");
    fs::copy_file(copy, files.path(), fs::copy_options::overwrite_existing);
    fs::copy_file(copy + "-wal", files.path() + "-wal", fs::copy_options::overwrite_existing);
    fs::copy_file(anchor, files.anchor_path(), fs::copy_options::overwrite_existing);
    flip_bit(files.path() + "-wal", random() % fs::file_size(copy + "-wal"),
             static_cast<int>(random() % 8));
    const auto store = files.open();
    if (!store) {
      ++refused;
      continue;
    }
    const auto root = (*store)->snapshot().value()->log_root(signed_state.size);
    forks += !root || *root != signed_state.root ? 1U : 0U;
  }
  record("rounds", rounds);
  record("start_refused", refused);
  record("forks", forks);
  std::cout << "flips in the write-ahead log: " << rounds << ", start refused " << refused
            << ", forks " << forks << '\n';
  EXPECT_EQ(forks, 0U);
}

void readiness_rounds(std::size_t rounds) {
  Rounds files;
  FaultVfs vfs;
  SqliteOptions wanted = files.options();
  wanted.probe_interval = std::chrono::milliseconds(2);
  const auto store = files.open(wanted).value();
  std::size_t latches = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    vfs.fail_at(1 + i % 3, FaultVfs::Fault::kDiskFull);
    static_cast<void>(write_some(*store, "r" + std::to_string(i), 1));
    vfs.fail_at(0, FaultVfs::Fault::kDiskFull);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!store->healthy() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    latches += store->healthy() ? 0U : 1U;
  }
  record("rounds", rounds);
  record("latches", latches);
  std::cout << "full disks: " << rounds << ", latches " << latches << '\n';
  EXPECT_EQ(latches, 0U);
}

}  // namespace assay::storage
