// SPDX-License-Identifier: Apache-2.0
// long-file: the whole contract of a store, read top to bottom by those who call or implement it.
// The one store interface: exact documents by digest, the index over them, trust, policies,
// decisions, and the transparency log. Implementations: storage/sqlite (PostgreSQL follows).
//
// Threading: every method may be called from any thread. Reads see one consistent state for the
// life of a Snapshot. Writes are serialised and grouped; write() returns when its effects are
// durable (and the checkpoint that covers them is signed and stored), or have not happened at all.
//
// Errors: storage when the database fails, data-loss when stored bytes do not match their digest,
// unavailable when the store is closing or every reader is busy for too long, and what the work
// function of write() returns.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/checkpoint.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/log_record.h"
#include "schemas/trust.h"
#include "storage/governance.h"
#include "storage/last_write.h"
#include "storage/node_store.h"
#include "storage/pod_store.h"
#include "storage/report_rules.h"

namespace assay::storage {

// Exact bytes with their media type. The id is the SHA-256 of the bytes.
struct Document {
  DocumentId id;
  std::string media_type;
  Bytes bytes;
};

enum class StatementKind : std::uint8_t { kManifest = 1, kAttestation = 2, kPolicy = 3 };

// A key whose signature on a statement verified, and when the log first showed that: a key that had
// expired by then never counts, however old the statement is.
struct SignerRow {
  KeyId key;
  Timestamp signed_at;
  LeafIndex log_index;  // of the record that names this signature
  bool operator==(const SignerRow&) const = default;
};

// Index row of a stored statement. All its envelopes carry the same payload.
struct StatementRow {
  StatementId id;
  StatementKind kind;
  std::string payload_type;
  std::string predicate_type;          // empty for policies
  std::string stage;                   // empty unless a lifecycle statement
  std::string name;                    // model name (manifest), policy name (policy), or empty
  std::uint64_t version = 0;           // of a policy; of a manifest the form of its predicate
  std::vector<std::string> subjects;   // "<algorithm>:<value>" of every digest of every subject,
                                       // artifact ids in their text form
  std::vector<std::string> locations;  // of a manifest or a placement
  std::vector<SignerRow> signers;      // distinct keys, in the order they came
  std::vector<DocumentId> envelopes;   // exact bytes as received, oldest first
  LeafIndex log_index;                 // of the record that accepted it first; of no other one
  Timestamp accepted_at;
  // Of a manifest: canonical JSON {"objects", "parameters"}, what decisions read of its predicate.
  std::string contents = {};
  std::uint64_t bytes = 0;  // of the payload
  bool operator==(const StatementRow&) const = default;
};

// That `key` signed the statement at `index`, as the indexes have it: where to look, not yet what
// is true.
struct SignedBy {
  LeafIndex index;
  KeyId key;
  auto operator<=>(const SignedBy&) const = default;
};

// What statements are counted by for each identity: the artifacts that they are about, and of
// manifests and placements the name and the locations.
enum class TopicKind : std::uint8_t { kArtifact = 1, kName = 2, kLocation = 3 };
struct Topic {
  TopicKind kind;
  std::string text;
};
[[nodiscard]] std::vector<Topic> topics_of(const StatementRow& row);

// What the statements about one topic that carry a signature of one identity come to.
struct SignerUsage {
  std::uint64_t statements = 0;  // manifests included
  std::uint64_t manifests = 0;
  std::uint64_t bytes = 0;  // counted_bytes() of them
};
// Bytes that a statement counts with: of its payload; of a manifest those of its locations, for
// decisions read nothing else of it that could be long.
[[nodiscard]] std::uint64_t counted_bytes(const StatementRow& row);

// How many rows of the whole list match; at least so many where it is not exact.
struct Total {
  std::uint64_t rows = 0;
  bool exact = false;
  bool operator==(const Total&) const = default;
};

// A page of a list in ascending order of log index. `next` is the index to continue after, and is
// absent only at the end of the list: a page may be short, even empty, and still have a next one,
// because one call looks at a bounded number of rows.
template <typename T>
struct Page {
  std::vector<T> items;
  std::optional<LeafIndex> next;
  TreeSize tree_size;  // the state the page was read from
  Digest root;
  std::optional<Total> total{};  // when it was asked for
};

// Filters are AND; empty means any; times are `since` <= time < `until`. Lists start after `after`,
// have at most `limit` (1 to 1000, invalid-parameter otherwise) items a page, and see only rows
// with a log index below `below` (a cursor pins the tree it began with).
struct ListBounds {
  std::optional<LeafIndex> after;
  std::optional<TreeSize> below;
  std::size_t limit = 100;
};

struct StatementQuery {
  std::optional<StatementKind> kind;
  std::string subject;  // as in StatementRow::subjects
  std::string predicate_type;
  std::string stage;
  std::string name;
  std::optional<KeyId> signer;
  std::optional<Timestamp> since;
  std::optional<Timestamp> until;
  // Statements that the database has and that nobody was told of yet, too: a decision is ordered
  // after them in the log, so it must not miss them. Never for what leaves the process with a
  // proof.
  bool with_unanchored = false;
  ListBounds bounds;
};

struct DecisionRow {
  std::string id;       // UUIDv7
  DocumentId envelope;  // the signed decision
  bool allowed;
  std::string point;
  std::vector<std::string> subjects;  // artifact ids, distinct
  std::string name_space;
  std::vector<std::string> reasons;  // codes
  Timestamp evaluated_at;
  LeafIndex log_index;
};

struct DecisionQuery {
  std::string subject;
  std::string name_space;
  std::string reason;
  std::optional<bool> allowed;
  std::optional<Timestamp> since;
  std::optional<Timestamp> until;
  bool newest_first = false;  // descending order; pages go on below `bounds.after`
  bool with_total = false;
  ListBounds bounds;
};

struct EventRow {
  LeafIndex index;
  LogRecord record;
};

struct EventQuery {
  std::string type;  // exact, or a prefix that ends in '.'
  std::string actor;
  std::string subject;
  std::optional<Timestamp> since;
  std::optional<Timestamp> until;
  ListBounds bounds;
};

// The log's newest state. `note` is the signed checkpoint. Inside a transaction size and root count
// what was appended so far; the note is empty as long as that is not signed.
struct LogState {
  TreeSize size;
  Digest root;
  std::string note;
};

// One consistent view. Not thread-safe itself; cheap to open.
class Snapshot : public NodeReads, public PodReads {
 public:
  // not-found when there is none.
  [[nodiscard]] virtual Result<Document> document(const DocumentId& id) = 0;
  // Whether it is there; its bytes are not looked at.
  [[nodiscard]] virtual Result<bool> has_document(const DocumentId& id) = 0;
  [[nodiscard]] virtual Result<StatementRow> statement(const StatementId& id) = 0;
  [[nodiscard]] virtual Result<Page<StatementRow>> statements(const StatementQuery& query) = 0;
  // The statement with this log index, by which an index found it: data-loss when there is none.
  [[nodiscard]] virtual Result<StatementRow> statement_at(LeafIndex index) = 0;
  // Manifests with this model name, by their signers, ascending. Reads no row: cheap for thousands.
  [[nodiscard]] virtual Result<std::vector<SignedBy>> signed_under(const std::string& name) = 0;
  // Likewise manifests and placements that list a location equal to `uri` or above it.
  [[nodiscard]] virtual Result<std::vector<SignedBy>> signed_at(const std::string& uri) = 0;

  // Zeros when there are none. Keys that are not in the trust store count for nobody.
  [[nodiscard]] virtual Result<SignerUsage> usage(const Topic& topic,
                                                  const std::string& identity) = 0;

  [[nodiscard]] virtual Result<TrustedKey> key(const KeyId& id) = 0;
  [[nodiscard]] virtual Result<std::vector<TrustedKey>> keys() = 0;
  [[nodiscard]] virtual Result<std::vector<Principal>> principals() = 0;
  // The principal that holds the credential; not-found when nobody does.
  [[nodiscard]] virtual Result<Principal> principal_by(const Credential& credential) = 0;
  [[nodiscard]] virtual Result<Epochs> epochs() = 0;

  [[nodiscard]] virtual Result<std::vector<ActivePolicyRow>> active_policies() = 0;

  [[nodiscard]] virtual Result<DecisionRow> decision(const std::string& id) = 0;
  [[nodiscard]] virtual Result<Page<DecisionRow>> decisions(const DecisionQuery& query) = 0;
  [[nodiscard]] virtual Result<Page<EventRow>> events(const EventQuery& query) = 0;

  // --- the log (RFC 9162; sizes up to log_state().size; invalid-parameter beyond)
  // The newest state that is durable in database and anchor. Rows may be newer by writes that are
  // not acknowledged yet; lists end where this state does.
  [[nodiscard]] virtual Result<LogState> log_state() = 0;
  [[nodiscard]] virtual Result<Bytes> log_record(LeafIndex index) = 0;
  [[nodiscard]] virtual Result<std::vector<Digest>> inclusion_proof(LeafIndex index,
                                                                    TreeSize size) = 0;
  [[nodiscard]] virtual Result<std::vector<Digest>> consistency_proof(TreeSize first,
                                                                      TreeSize second) = 0;
  [[nodiscard]] virtual Result<Digest> log_root(TreeSize size) = 0;
  // C2SP tlog-tiles: tile `index` of `level` with `width` (1 to 256) hashes; entry bundle likewise.
  // not-found when the log does not have that many.
  [[nodiscard]] virtual Result<Bytes> tile(unsigned level, std::uint64_t index, unsigned width) = 0;
  [[nodiscard]] virtual Result<Bytes> entry_bundle(std::uint64_t index, unsigned width) = 0;

  // Recomputes the log from its records and compares every stored digest and the newest checkpoint.
  // O(size); for offline checks. data-loss or log-inconsistent.
  [[nodiscard]] virtual Status verify_log() = 0;
};

// What a write may do. Everything in one write() happens together or not at all. Reads inside see
// what the same transaction wrote.
class Transaction : public Snapshot, public NodeWrites, public PodWrites {
 public:
  // The time of this write: log records of one transaction carry it.
  [[nodiscard]] virtual Timestamp now() const = 0;

  // Stores exact bytes; storing the same bytes again changes nothing.
  [[nodiscard]] virtual Result<DocumentId> put_document(std::string_view media_type,
                                                        ByteView bytes) = 0;
  // Appends a record (its time is set to now()) and returns its index. A record of trust or policy
  // (is_governance) gets its place in their chain as detail "chain": it comes after the changes
  // that it stands for, in the same write. Once the chain has begun, changes without one are
  // `internal`.
  [[nodiscard]] virtual Result<LeafIndex> append(LogRecord record) = 0;
  // A new statement: conflict when the id exists, or when its log index is not above those of all
  // statements before; not-found when an envelope is not stored; invalid-parameter when there is no
  // such record. `accepted_at` is stored as given.
  [[nodiscard]] virtual Status put_statement(const StatementRow& row) = 0;
  // One more envelope of a known statement, with the keys whose signatures it adds (signed_at of
  // each is now()) and the index of the record that names them; what is known already changes
  // nothing. not-found when statement or envelope is not stored; invalid-parameter when there is no
  // such record.
  [[nodiscard]] virtual Status add_envelope(const StatementId& id, const DocumentId& envelope,
                                            const std::vector<KeyId>& signers,
                                            LeafIndex record) = 0;

  // Inserts or replaces a key (replacing is how a revocation is recorded, and never undone:
  // conflict) or a principal. A credential belongs to one principal: conflict otherwise.
  [[nodiscard]] virtual Status put_key(const TrustedKey& key) = 0;
  [[nodiscard]] virtual Status put_principal(const Principal& principal) = 0;
  // not-found when there is none.
  [[nodiscard]] virtual Status remove_principal(const std::string& name) = 0;
  // Epochs never go back: trust-sequence when one of them would.
  [[nodiscard]] virtual Status set_epochs(const Epochs& epochs) = 0;

  // Puts a version in force in place of any other version of that name; or takes the name out
  // (not-found when it is not in force).
  [[nodiscard]] virtual Status activate_policy(const ActivePolicyRow& policy) = 0;
  [[nodiscard]] virtual Status deactivate_policy(const std::string& name) = 0;

  // Errors as for put_statement.
  [[nodiscard]] virtual Status put_decision(const DecisionRow& row) = 0;
};

class Store {
 public:
  virtual ~Store() = default;
  // Waits a bounded time for a reader; unavailable after that. A thread that holds a snapshot and
  // opens another one may wait for itself.
  [[nodiscard]] virtual Result<std::unique_ptr<Snapshot>> snapshot() = 0;

  // Runs `work` in the writer's transaction and returns the log state that covers it once database
  // and anchor are durable. storage when one of them cannot be written: the work may be there all
  // the same, and doing it again finds it. `work` runs on the writer's thread, must not call the
  // store, and must be quick; it may be run again if the database asks for a retry, so it keeps no
  // state of an earlier run. An error from `work` undoes what it did and is returned; other writes
  // of the group are not affected. When the database fails inside `work`, nothing is written
  // whatever `work` returns.
  [[nodiscard]] virtual Result<LogState> write(const std::function<Status(Transaction&)>& work) = 0;

  // Ready to serve: the last write of database and anchor did not fail. Becomes true again by
  // itself once the disk takes writes.
  [[nodiscard]] virtual bool healthy() const = 0;
};

struct SqliteOptions {
  std::string path;  // of the database file; created when `create`
  bool create = false;
  std::string origin;           // of the log
  std::size_t readers = 4;      // open read connections
  std::size_t max_group = 256;  // writes in one commit
  std::string anchor_path;      // see storage/anchor.h; empty only in tests of other things

  // How long snapshot() waits for a reader.
  std::chrono::milliseconds reader_wait = std::chrono::seconds(5);
  // After a write failed, how long until the writer tries by itself whether the disk takes one
  // again.
  std::chrono::milliseconds probe_interval = std::chrono::seconds(1);
  // Takes a database with a log but without its anchor file as it is, and makes a new anchor.
  // Whoever sets this vouches that the database is not an old copy.
  bool dangerous_recreate_anchor = false;

  // Which reports count. It must outlive the store; invalid-config without it.
  const ReportRules* rules = nullptr;

  // What is kept as the wall clock's time of a write (storage/last_write.h), where `clock` may be
  // ahead of it. Empty: the time of the write.
  std::function<Timestamp()> wall = {};
};

// Opens the database, applies migrations, checks that the newest checkpoint is ours and fits the
// stored tree, checks it against the anchor (store-behind-anchor when the log is shorter, differs
// at that size, or has older epochs, and when the log has records but the anchor is gone), and
// starts the writer. Follows the chain of trust and policy from its newest record, each proven to
// be in the log, past the anchor's to the first, and compares the digests that the newest one names
// with the stored keys, principals, appraisals, registrations, revocations and policies: data-loss
// when they differ. Reads answer from that verified state, never from those rows. `log_signer`
// (Ed25519) signs checkpoints; it and `clock` must outlive the store. An empty database gets a
// signed checkpoint of size 0. Errors: not-found when there is no database and `create` is false;
// unavailable while another process has it open; invalid-config for another origin, another log
// key, or a file that is not Assay's or of a later version; data-loss and log-inconsistent for a
// damaged one.
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options,
                                                         const Signer& log_signer,
                                                         const Clock& clock);

}  // namespace assay::storage
