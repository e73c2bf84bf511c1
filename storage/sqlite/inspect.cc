// SPDX-License-Identifier: Apache-2.0
// Every check goes on after what it finds: an operator wants to know all of it at once.
#include "storage/inspect.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>

#include "storage/anchor.h"
#include "storage/sqlite/database_file.h"
#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/derived.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/events.h"
#include "storage/sqlite/file_age.h"
#include "storage/sqlite/governance_tables.h"
#include "storage/sqlite/head.h"
#include "storage/sqlite/history.h"
#include "storage/sqlite/job_tables.h"
#include "storage/sqlite/log_tables.h"
#include "storage/sqlite/map_table.h"
#include "storage/sqlite/node_tables.h"
#include "storage/sqlite/report_tables.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/sealed_rows.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/snapshot.h"
#include "storage/sqlite/start_checks.h"
#include "storage/sqlite/statement_tables.h"
#include "storage/sqlite/versions.h"

namespace assay::storage {
namespace sqlite {
namespace {

constexpr std::size_t kMaxFindings = 1000;
constexpr int kPage = 1000;
constexpr std::array kCounterTables = {std::pair(Sealed::kVersion, "versions"),
                                       std::pair(Sealed::kUsage, "signer_usage"),
                                       std::pair(Sealed::kChange, "statement_changes")};

template <typename T>
Status status_of(const Result<T>& result) {
  return result ? Status() : std::unexpected(result.error());
}

class Finder {
 public:
  Finder(Connection& connection, const LogState& state, const Progress& progress)
      : connection_(connection), state_(state), progress_(progress) {}

  void add(const char* check, std::string id, std::string detail) {
    if (findings_.size() < kMaxFindings) {
      findings_.push_back({check, std::move(id), std::move(detail)});
    }
  }
  void add(const char* check, std::string id, const Status& status) {
    if (!status) {
      add(check, std::move(id), status.error().detail);
    }
  }
  std::vector<Damage> take() { return std::move(findings_); }

  void schema() {
    if (const Status checked = check_schema(connection_); !checked) {
      add("schema", checked.error().where, checked.error().detail);
    }
    add("schema", "application_id, user_version", check_file_marks(connection_));
  }

  void governance(const std::optional<ChainHead>& anchored) {
    const auto head = follow_chain(connection_, state_, anchored);
    if (!head) {
      return add("chain", head.error().where, head.error().detail);
    }
    const auto checked = governance_at(connection_, *head);
    if (!checked) {
      return add("trust", checked.error().where, checked.error().detail);
    }
  }

  // The rest is held against the map, whatever it is.
  void map(const std::optional<MapState>& anchored) {
    auto stored = load_map(connection_);
    if (!stored) {
      return add("row", "record_map", stored.error().detail);
    }
    for (const BucketNumber number : stored->damaged) {
      add("row", "record_map " + std::to_string(number), "the bucket does not fit its seal");
    }
    const auto head = load_head(connection_, state_);
    if (!head) {
      add("row", "last_write", head.error().detail);
    } else if (stored->damaged.empty() && stored->map.root() != head->map) {
      add("row", "record_map", "it is not the one of the newest write: rows were put back");
    } else if (anchored) {
      add("anchor", "record_map", check_map({head->number, head->map}, *anchored));
    }
    connection_.map().trust(std::move(stored->map));
  }

  Status rows() {
    ASSAY_ASSIGN(const EntryCounts entries, count_entries(connection_));
    for (const Sealed kind : kSealedTables) {
      ASSAY_ASSIGN(const std::uint64_t whole, rows_of(kind));
      const std::uint64_t known = entries.at(std::to_underlying(kind));
      if (known > whole) {
        add("missing-row", table_of(kind),
            std::to_string(known - whole) + " rows of the record map are missing or damaged");
      }
    }
    for (const auto& [kind, table] : kCounterTables) {
      const std::string sql = std::string("SELECT count(*) FROM ") + table;
      ASSAY_ASSIGN(const std::int64_t rows, connection_.integer(sql.c_str()));
      if (std::cmp_less(rows, entries.at(std::to_underlying(kind)))) {
        add("missing-row", table, "rows of the record map are missing");
      }
    }
    return decisions();
  }

  void counters() { add("row", {}, check_counters(connection_, tell("row"))); }

  void derived() { add("derived", {}, compare_derived(connection_, progress_, tell("derived"))); }

  Status documents() {
    Bytes after;
    for (std::uint64_t done = 0;;) {
      std::vector<Bytes> ids;
      {
        Query query = connection_.query(Sql::kDocumentIds);
        query.bind(ByteView(after)).bind(kPage);
        while (true) {
          ASSAY_ASSIGN(const bool row, query.next());
          if (!row) {
            break;
          }
          ids.push_back(query.bytes(0));
        }
      }
      if (ids.empty()) {
        return {};
      }
      for (const Bytes& id : ids) {
        document(id);
      }
      after = ids.back();
      progress_("documents", done += ids.size());
    }
  }

  void log_rows() {
    Timestamp latest;
    for (LeafIndex index = 0; index < state_.size; ++index) {
      const auto event = load_event(connection_, index);
      if (!event) {
        add("log", "record " + std::to_string(index), event.error().detail);
      } else {
        if (event->record.time < latest) {
          add("log", "record " + std::to_string(index),
              "its time is before that of a record before");
        }
        latest = std::max(latest, event->record.time);
        row_of(*event);
      }
      if (index % kPage == 0) {
        progress_("records", index);
      }
    }
    const auto rows = connection_.integer("SELECT count(*) FROM log_subjects");
    if (!rows) {
      add("index", "log_subjects", rows.error().detail);
    } else if (std::cmp_greater(*rows, subjects_)) {
      add("index", "log_subjects", "records are found by subjects that they do not have");
    }
  }

  void indexes() {
    const auto lines = connection_.texts("PRAGMA integrity_check(100)");
    if (!lines) {
      return add("index", {}, lines.error().detail);
    }
    for (const std::string& line : *lines) {
      if (line != "ok") {
        add("index", {}, line);
      }
    }
  }

 private:
  // How many rows fit their entries.
  Result<std::uint64_t> rows_of(Sealed kind) {
    const auto names = sealed_names(connection_, kind);
    if (!names) {
      add("index", table_of(kind), names.error().detail);
      return 0;
    }
    std::uint64_t whole = 0;
    std::uint64_t done = 0;
    for (const std::string& row : *names) {
      const Status read = read_sealed(connection_, kind, row);
      if (read) {
        ++whole;
      } else {
        const bool gone = read.error().code == ErrorCode::kNotFound ||
                          read.error().detail.ends_with("that is missing");
        add(gone ? "missing-row" : "row", std::string(name(kind)) + " " + row, read.error().detail);
      }
      progress_(name(kind), ++done);
    }
    return whole;
  }

  // Each has its seal beside it.
  Status decisions() {
    ASSAY_ASSIGN(const auto indexes, connection_.texts("SELECT log_index FROM decisions"));
    std::uint64_t done = 0;
    for (const std::string& index : indexes) {
      const auto row = load_decision_at(
          connection_, static_cast<LeafIndex>(std::strtoll(index.c_str(), nullptr, 10)));
      add("row", "decision " + index, status_of(row));
      progress_("decision", ++done);
    }
    return {};
  }

  void document(const Bytes& bytes) {
    if (bytes.size() != digest_size(HashAlgorithm::kSha256)) {
      return add("document", hex_encode(bytes), "the digest of a document has the wrong length");
    }
    const DocumentId id(Digest::wrap(HashAlgorithm::kSha256, bytes.data()));
    add("document", id.text(), status_of(load_document(connection_, id)));
  }

  // Whether what a record speaks of has its row and its documents.
  void row_of(const EventRow& event) {
    const std::string where = "log record " + std::to_string(event.index);
    add("derived", where, compare_columns(connection_, event, tell("derived")));
    for (const DocumentId& id : event.record.documents) {
      if (const auto known = has_document(connection_, id); !known || !*known) {
        add("document", id.text(), "the document that " + where + " names is missing");
      }
    }
    const std::set<std::string> subjects(event.record.subjects.begin(),
                                         event.record.subjects.end());
    subjects_ += subjects.size();
    for (const std::string& subject : subjects) {
      subject_of(event, subject, where);
    }
    if (const auto id = statement_of(event.record)) {
      const auto row = load_statement(connection_, *id);
      const bool whole = row && !event.record.documents.empty() &&
                         std::find(row->envelopes.begin(), row->envelopes.end(),
                                   event.record.documents.front()) != row->envelopes.end();
      if (!whole) {
        missing("statement " + id->text(), "what " + where + " accepted has no row");
      }
    } else if (const auto decision = decision_of(event.record)) {
      if (!load_decision(connection_, *decision)) {
        missing("decision " + *decision, "what " + where + " decided has no row");
      }
    } else if (const auto job = created_job_of(event.record)) {
      if (!load_job(connection_, *job)) {
        missing("job " + *job, "the job that " + where + " speaks of has no row");
      }
    } else if (event.record.type == event::kOutlineAccepted) {
      outline_of(event, where);
    } else if (const auto enrolled = enrolled_of(event.record)) {
      const auto owner = load_key_owner(connection_, enrolled->key);
      const auto version = load_version(connection_, Versioned::kNode, enrolled->node);
      if (version && *version == 0) {
        add("derived", "versions " + enrolled->node, "the row of the node's changes is missing");
      }
      if (!load_node(connection_, enrolled->node) || !owner || *owner != enrolled->node) {
        missing("node " + enrolled->node, "the node that " + where + " speaks of has no row");
      }
    }
  }

  // The first one stays.
  void outline_of(const EventRow& event, const std::string& where) {
    if (event.record.subjects.empty() || event.record.documents.empty()) {
      return;
    }
    const auto artifact = ArtifactId::parse(event.record.subjects.front());
    if (artifact && !load_outline(connection_, *artifact)) {
      missing("outline " + artifact->text(), "what " + where + " accepted has no row");
    }
  }

  Tell tell(const char* check) {
    return [this, check](std::string id, std::string detail) {
      add(check, std::move(id), std::move(detail));
    };
  }

  void missing(std::string id, std::string detail) {
    add("missing-row", std::move(id), std::move(detail));
  }

  void subject_of(const EventRow& event, const std::string& subject, const std::string& where) {
    Query query = connection_.query(Sql::kEventBySubject);
    const auto found = query.bind(subject).bind(event.index).next();
    if (!found || !*found || query.count(0) != event.index) {
      add("index", "log_subjects", where + " is not found by its subject " + subject);
    }
  }

  Connection& connection_;
  const LogState& state_;
  const Progress& progress_;
  std::uint64_t subjects_ = 0;  // of all records
  std::vector<Damage> findings_;
};

Result<std::optional<Believed>> believe_what_is_stored(Connection& connection,
                                                       const LogState& /*held*/) {
  ASSAY_ASSIGN(Governance governance, load_governance(connection));
  ASSAY_ASSIGN(StoredMap stored, load_map(connection));
  return Believed{0, std::make_shared<const Governance>(std::move(governance)),
                  std::move(stored.map)};
}

class SqliteInspection final : public Inspection {
 public:
  SqliteInspection(const SqliteOptions& options, const Signer& signer, const Clock& clock,
                   std::shared_ptr<ReaderPool> pool)
      : options_(options), signer_(signer), clock_(clock), pool_(std::move(pool)) {}

  Result<std::vector<Damage>> find(bool deep, const Progress& progress) override {
    ASSAY_ASSIGN(auto connection, pool_->take());
    auto found = find_on(*connection, deep, progress);
    if (connection->in_transaction()) {
      static_cast<void>(connection->query(Sql::kRollback).run());
    }
    pool_->give_back(std::move(connection));
    return found;
  }

  Result<std::unique_ptr<Snapshot>> snapshot() override {
    ASSAY_ASSIGN(auto connection, pool_->take());
    const auto state = load_checkpoint(*connection);
    pool_->give_back(std::move(connection));
    if (!state || !*state) {
      return fail(ErrorCode::kDataLoss, "the database cannot be read");
    }
    return SqliteSnapshot::open(pool_, believe_what_is_stored, **state, clock_.now());
  }

 private:
  Result<std::vector<Damage>> find_on(Connection& connection, bool deep, const Progress& progress) {
    // Before the database is pinned: the anchor is never ahead of what is read after it.
    const auto anchor = Anchor(options_.anchor_path).load();
    const Status age = check_file_age(connection);
    ASSAY_TRY(connection.query(Sql::kBeginRead).run());
    ASSAY_ASSIGN(const auto state, load_checkpoint(connection));
    if (!state) {
      return fail(ErrorCode::kDataLoss, "the newest checkpoint is missing");
    }
    Finder finder(connection, *state, progress);
    finder.add("file", options_.path, age);
    finder.schema();
    finder.add("log", "checkpoint", check_checkpoint(*state, options_.origin, signer_));
    finder.add("anchor", options_.anchor_path, status_of(anchor));
    if (anchor) {
      finder.add("anchor", options_.anchor_path,
                 check_note(anchor->note, options_.origin, signer_));
      finder.add("anchor", options_.anchor_path, check_anchored_log(connection, *state, *anchor));
    }
    finder.governance(anchor ? anchor->head : std::optional<ChainHead>());
    finder.map(anchor ? std::optional(anchor->map) : std::nullopt);
    finder.add("row", {}, finder.rows());
    finder.counters();
    if (deep) {
      finder.add("log", {}, check_log(connection, *state));
      finder.add("document", {}, finder.documents());
      finder.log_rows();
      finder.derived();
      finder.indexes();
    }
    return finder.take();
  }

  const SqliteOptions options_;
  const Signer& signer_;
  const Clock& clock_;
  std::shared_ptr<ReaderPool> pool_;
};

// Where the stored one cannot be read, the seals show it.
Result<SecretBytes> key_at(const std::string& path, const Signer& signer) {
  if (const auto connection = Connection::open(path, Connection::Mode::kReadOnly)) {
    if (auto key = seal_key_of(**connection, signer)) {
      return key;
    }
  }
  return derive_seal_key(signer);
}

}  // namespace
}  // namespace sqlite

Result<std::unique_ptr<Inspection>> Inspection::open(const SqliteOptions& options,
                                                     const Signer& log_signer, const Clock& clock) {
  ASSAY_TRY(sqlite::require_rules(options));
  ASSAY_TRY(sqlite::prepare_file(options.path, false));
  ASSAY_ASSIGN(SecretBytes key, sqlite::key_at(options.path, log_signer));
  ASSAY_ASSIGN(auto pool, sqlite::ReaderPool::open(
                              options.path, 1, options.reader_wait,
                              std::make_shared<const SecretBytes>(std::move(key)), *options.rules));
  return std::make_unique<sqlite::SqliteInspection>(options, log_signer, clock, std::move(pool));
}

}  // namespace assay::storage
