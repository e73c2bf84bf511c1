// SPDX-License-Identifier: Apache-2.0
// long-file: the whole contract of a store, read top to bottom by those who call or implement it.
// The only interface to the store: exact documents by digest, the index over them, trust, policies,
// decisions, and the transparency log. Implementations: storage/sqlite (PostgreSQL follows).
// docs/glossary.md explains the terms.
//
// Threading: any thread may call Store; one thread at a time may use a Snapshot. Reads see one
// consistent state for the life of a Snapshot. Writes run one after the other, and several writes
// share one commit (a group). When write() succeeds, its effects are durable, and the checkpoint
// that covers them is signed and stored. write() says what remains after an error.
//
// Errors: storage when the database fails; data-loss when stored bytes do not match their digest;
// unavailable when the store is closing or every reader is busy for too long; the errors that the
// work function of write() returns.
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

// A key with a verified signature on a statement, and when the log first recorded the signature. A
// signature recorded after the key expired never counts, however old the statement is.
struct SignerRow {
  KeyId key;
  Timestamp signed_at;
  LeafIndex log_index;                          // of the record that names this signature
  std::optional<CertificateUse> certificate{};  // of a signature by certificate
  bool operator==(const SignerRow&) const = default;
};

// The index row of a stored statement. All its DSSE envelopes carry the same payload.
struct StatementRow {
  StatementId id;
  StatementKind kind;
  std::string payload_type;
  std::string predicate_type;         // empty for policies
  std::string stage;                  // empty unless a lifecycle statement
  std::string name;                   // model name (manifest), policy name (policy), or empty
  std::uint64_t version = 0;          // of a policy; for a manifest, its form (see kManifestForm)
  std::vector<std::string> subjects;  // "<algorithm>:<value>" of every digest of every subject,
                                      // artifact ids in their text form
  // Distinct "<algorithm>:<value>" of every digest of every input, by which statements are found.
  std::vector<std::string> inputs{};
  std::vector<std::string> locations;  // of a manifest or a placement
  std::vector<SignerRow> signers;      // distinct keys, in the order they came
  std::vector<DocumentId> envelopes;   // exact bytes as received, oldest first
  LeafIndex log_index;                 // of the record that first accepted it; unique
  Timestamp accepted_at;
  // Canonical JSON of the parts that decisions read. Of a manifest: {"objects", "parameters"}. Of
  // another statement about artifacts that is no placement: {"names": {"<digest>": [...]}}, the
  // distinct names that its subjects give to each digest, and what lineages read of it
  // (server/service/documents/statement_row.h).
  std::string contents = {};
  std::uint64_t bytes = 0;  // of the payload
  bool operator==(const StatementRow&) const = default;
};

// A signature that an envelope adds to a statement.
struct AddedSignature {
  // NOLINTNEXTLINE(google-explicit-constructor): most signatures are a key and no more
  AddedSignature(KeyId by, std::optional<CertificateUse> use = {})
      : key(std::move(by)), certificate(std::move(use)) {}
  KeyId key;
  std::optional<CertificateUse> certificate;
};

// `key` signed the statement at `index`.
struct SignedBy {
  LeafIndex index;
  KeyId key;
  auto operator<=>(const SignedBy&) const = default;
};

// A topic: a digest (of an artifact or another thing), a model name or a location. For each topic,
// the store counts the statements of each signer's identity: those about the digest, and manifests
// and placements with the name or the location.
enum class TopicKind : std::uint8_t { kArtifact = 1, kName = 2, kLocation = 3 };
struct Topic {
  TopicKind kind;
  std::string text;
};
[[nodiscard]] std::vector<Topic> topics_of(const StatementRow& row);

// Sums over the statements about one topic that one identity signed.
struct SignerUsage {
  std::uint64_t statements = 0;  // manifests included
  std::uint64_t manifests = 0;
  std::uint64_t bytes = 0;  // sum of counted_bytes()
};
// Returns the bytes that a statement adds to SignerUsage::bytes: the size of its payload. For a
// manifest, only the bytes of its locations are added, because its locations are the only long part
// that decisions read.
[[nodiscard]] std::uint64_t counted_bytes(const StatementRow& row);

// How many rows of the whole list, not only of the page, match the query. When `exact` is false, at
// least `rows` rows match.
struct Total {
  std::uint64_t rows = 0;
  bool exact = false;
  bool operator==(const Total&) const = default;
};

// A page of a list in ascending order of log index. `next` is the index to continue after; it is
// absent only at the end of the list. A page may be short or empty and still have a `next`, because
// one call looks at a bounded number of rows.
template <typename T>
struct Page {
  std::vector<T> items;
  std::optional<LeafIndex> next;
  TreeSize tree_size;  // state that the page was read from
  Digest root;
  std::optional<Total> total{};  // set when the query asked for it
};

// Bounds of a page, for all queries below. Lists start after `after`, and show only rows with a log
// index below `below`, so that all pages of a list show the same tree. A page has at most `limit`
// items (1 to 1000; invalid-parameter otherwise). A row is listed when it matches all filters of
// the query; an empty filter matches every row. Times are `since` <= time < `until`, of the log
// record.
struct ListBounds {
  std::optional<LeafIndex> after;
  std::optional<TreeSize> below;
  std::size_t limit = 100;
};

struct StatementQuery {
  std::optional<StatementKind> kind;
  std::string subject;  // as in StatementRow::subjects
  std::string input{};  // as in StatementRow::inputs
  std::string predicate_type;
  std::string stage;
  std::string name;
  std::optional<KeyId> signer;
  std::optional<Timestamp> since;
  std::optional<Timestamp> until;
  // Includes statements that are stored but not yet acknowledged, because their checkpoint is not
  // in the anchor yet (storage/anchor.h). A decision is logged after these statements, so the
  // decision must take them into account. Never set this for data that leaves the process with a
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
  bool newest_first = false;  // descending order; pages continue below `bounds.after`
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
  bool newest_first = false;  // as in DecisionQuery
  ListBounds bounds;
};

// The newest state of the log. `note` is the signed checkpoint. Inside a transaction, size and root
// include the records appended so far, and `note` is empty when these records are not signed yet.
struct LogState {
  TreeSize size;
  Digest root;
  std::string note;
};

class LineageReads;

// One consistent view of the store. Not thread-safe; cheap to open.
class Snapshot : public NodeReads, public PodReads {
 public:
  // Returns a document that something stored names. Errors: data-loss when it is not stored, or is
  // not what was stored; has_document() tells of ids that a caller brings.
  [[nodiscard]] virtual Result<Document> document(const DocumentId& id) = 0;
  // Returns whether the document is stored. Does not check its bytes.
  [[nodiscard]] virtual Result<bool> has_document(const DocumentId& id) = 0;
  [[nodiscard]] virtual Result<StatementRow> statement(const StatementId& id) = 0;
  [[nodiscard]] virtual Result<Page<StatementRow>> statements(const StatementQuery& query) = 0;
  // Returns the statement with this log index, which the caller has from SignedBy::index. Errors:
  // data-loss when there is none.
  [[nodiscard]] virtual Result<StatementRow> statement_at(LeafIndex index) = 0;
  // Returns a counter that rises by one with every new statement of any kind, and by one whenever a
  // stored statement changes: it gets further signatures or evidence, or its evidence is appraised
  // again.
  [[nodiscard]] virtual Result<std::uint64_t> statements_version() = 0;
  // Returns what only lineages read (storage/lineage_reads.h), of this view.
  [[nodiscard]] virtual LineageReads& lineage() = 0;
  [[nodiscard]] virtual Result<std::optional<LeafIndex>> newest_statement() = 0;
  // Returns the policies and reference sets with this name, ascending. This list and those below
  // are whole: data-loss when the index that finds their members leaves one out or adds one. None
  // reads a statement, so thousands of members are cheap.
  [[nodiscard]] virtual Result<std::vector<LeafIndex>> policies_under(const std::string& name) = 0;
  // Returns, for the manifests with this model name, which key signed which manifest, ascending.
  [[nodiscard]] virtual Result<std::vector<SignedBy>> signed_under(const std::string& name) = 0;
  // Does the same for the releases (schemas/release.h) of this model name.
  [[nodiscard]] virtual Result<std::vector<SignedBy>> releases_under(const std::string& name) = 0;
  // Does the same for manifests and placements that list `uri` or a location that contains it (such
  // as a directory above it).
  [[nodiscard]] virtual Result<std::vector<SignedBy>> signed_at(const std::string& uri) = 0;

  // Returns what one identity has signed about a topic; zeros when it has signed no statement.
  // Signatures of keys outside the trust store are not counted.
  [[nodiscard]] virtual Result<SignerUsage> usage(const Topic& topic,
                                                  const std::string& identity) = 0;

  [[nodiscard]] virtual Result<TrustedKey> key(const KeyId& id) = 0;
  [[nodiscard]] virtual Result<std::vector<TrustedKey>> keys() = 0;
  [[nodiscard]] virtual Result<std::vector<Principal>> principals() = 0;
  // Returns the principal that holds the credential. Errors: not-found when no principal does.
  [[nodiscard]] virtual Result<Principal> principal_by(const Credential& credential) = 0;
  // Returns all trusted roots, ascending by name.
  [[nodiscard]] virtual Result<std::vector<TrustedRootRow>> trusted_roots() = 0;
  [[nodiscard]] virtual Result<Epochs> epochs() = 0;
  // Returns the withdrawal of a statement; nullopt when the statement is not withdrawn. Reads
  // memory, so it is cheap.
  [[nodiscard]] virtual Result<std::optional<Withdrawn>> withdrawal(const StatementId& id) = 0;
  // Returns all withdrawals, ascending by the id of the statement.
  [[nodiscard]] virtual Result<std::vector<Withdrawn>> withdrawals() = 0;

  [[nodiscard]] virtual Result<std::vector<ActivePolicyRow>> active_policies() = 0;

  [[nodiscard]] virtual Result<DecisionRow> decision(const std::string& id) = 0;
  [[nodiscard]] virtual Result<Page<DecisionRow>> decisions(const DecisionQuery& query) = 0;
  [[nodiscard]] virtual Result<Page<EventRow>> events(const EventQuery& query) = 0;

  // --- the log (RFC 9162). Errors: invalid-parameter for a size above log_state().size.
  // Returns the newest state that is durable in database and anchor (storage/anchor.h). Lists end
  // at this state; other reads may already see later writes, which are not acknowledged yet.
  [[nodiscard]] virtual Result<LogState> log_state() = 0;
  [[nodiscard]] virtual Result<Bytes> log_record(LeafIndex index) = 0;
  [[nodiscard]] virtual Result<std::vector<Digest>> inclusion_proof(LeafIndex index,
                                                                    TreeSize size) = 0;
  [[nodiscard]] virtual Result<std::vector<Digest>> consistency_proof(TreeSize first,
                                                                      TreeSize second) = 0;
  [[nodiscard]] virtual Result<Digest> log_root(TreeSize size) = 0;
  // Return tile `index` of `level` with `width` (1 to 256) hashes, and the entry bundle with
  // `width` entries (C2SP tlog-tiles). Errors: not-found when the log does not have so many hashes
  // or entries.
  [[nodiscard]] virtual Result<Bytes> tile(unsigned level, std::uint64_t index, unsigned width) = 0;
  [[nodiscard]] virtual Result<Bytes> entry_bundle(std::uint64_t index, unsigned width) = 0;

  // Recomputes the log from its records, and compares every stored digest and the newest
  // checkpoint. O(size); for offline checks. Errors: data-loss; log-inconsistent.
  [[nodiscard]] virtual Status verify_log() = 0;
};

// The operations of one Store::write(). All of them happen together or not at all. Reads see what
// the same transaction wrote.
class Transaction : public Snapshot, public NodeWrites, public PodWrites {
 public:
  // Returns the time of this write, which all log records of the transaction carry.
  [[nodiscard]] virtual Timestamp now() const = 0;

  // Stores exact bytes. Storing the same bytes again changes nothing.
  [[nodiscard]] virtual Result<DocumentId> put_document(std::string_view media_type,
                                                        ByteView bytes) = 0;
  // Appends a record, with its time set to now(), and returns its index. A record of a change of
  // trust or policy (is_chained() in schemas/log_chain.h) gets a link of the chain of such
  // records as its detail "chain". The caller must append such a record after the changes that it
  // records, in the same write. If the caller does not, and the chain has already begun, the write
  // fails with the error internal.
  [[nodiscard]] virtual Result<LeafIndex> append(LogRecord record) = 0;
  // Stores a new statement; `accepted_at` is stored as given. Errors: conflict when the id exists,
  // or when its log index is not above those of all earlier statements; not-found when an envelope
  // is not stored; invalid-parameter when there is no record with this index.
  [[nodiscard]] virtual Status put_statement(const StatementRow& row) = 0;
  // Adds an envelope to a stored statement. `signers` are the keys whose signatures the envelope
  // adds; their signed_at is now(). `record` is the index of the record that names them. Envelopes
  // and keys that are already stored change nothing. Errors: not-found when statement or envelope
  // is not stored; invalid-parameter when there is no such record.
  [[nodiscard]] virtual Status add_envelope(const StatementId& id, const DocumentId& envelope,
                                            const std::vector<AddedSignature>& signers,
                                            LeafIndex record) = 0;

  // Insert or replace a key or a principal. To record the revocation of a key, the caller replaces
  // the key. Errors: conflict when a revocation would be undone, or when a credential belongs to
  // another principal.
  [[nodiscard]] virtual Status put_key(const TrustedKey& key) = 0;
  [[nodiscard]] virtual Status put_principal(const Principal& principal) = 0;
  // Errors: not-found when there is no such principal.
  [[nodiscard]] virtual Status remove_principal(const std::string& name) = 0;
  // Inserts a trusted root, or replaces the one of this name.
  [[nodiscard]] virtual Status put_trusted_root(const TrustedRootRow& root) = 0;
  // Records that a statement is withdrawn. Takes the place of what is recorded of it when
  // `withdrawn` is by more signers, those before among them, or by operators. Errors: conflict when
  // it is not; not-found when there is no such statement.
  [[nodiscard]] virtual Status put_withdrawal(const Withdrawn& withdrawn) = 0;
  // Stores the epochs. Errors: trust-sequence when an epoch would become smaller.
  [[nodiscard]] virtual Status set_epochs(const Epochs& epochs) = 0;

  // Put a policy version into force, replacing any other version of that name; or take the name out
  // of force. Errors: not-found when the name is not in force.
  [[nodiscard]] virtual Status activate_policy(const ActivePolicyRow& policy) = 0;
  [[nodiscard]] virtual Status deactivate_policy(const std::string& name) = 0;

  // Errors: those of put_statement().
  [[nodiscard]] virtual Status put_decision(const DecisionRow& row) = 0;
};

class Store {
 public:
  virtual ~Store() = default;
  // Opens a view. Waits for a free read connection for at most SqliteOptions::reader_wait. A thread
  // that opens a second snapshot while it holds one may wait for itself. Errors: unavailable when
  // no read connection becomes free in time.
  [[nodiscard]] virtual Result<std::unique_ptr<Snapshot>> snapshot() = 0;

  // Runs `work` in the writer's transaction. Returns the log state that covers `work`, once
  // database and anchor are durable.
  //
  // `work` runs on the writer's thread, must be quick, and must not call the store. It may run
  // again when the database asks for a retry, so it must not keep state of an earlier run. An error
  // from `work` undoes its changes and is returned; other writes that share the commit are not
  // affected. When the database fails inside `work`, nothing is written, whatever `work` returns.
  // Errors: storage when database or anchor cannot be written. After such an error, the effects of
  // `work` may exist all the same; a caller that repeats the write finds them.
  [[nodiscard]] virtual Result<LogState> write(const std::function<Status(Transaction&)>& work) = 0;

  // Returns a handle on this store for those who answer API servers. While writes of both handles
  // wait, they take turns: each handle has half of every commit, so neither can keep the other
  // waiting. The handle lives as long as the store. A store without such shares returns itself.
  [[nodiscard]] virtual Store& for_admission() { return *this; }

  // Returns true when the last write of database and anchor did not fail, and the last snapshot()
  // could be opened. After a failure, the result becomes true without a restart once the disk takes
  // writes again, and a snapshot() succeeds.
  [[nodiscard]] virtual bool healthy() const = 0;
};

struct SqliteOptions {
  std::string path;  // of the database file, which is created if `create` is true
  bool create = false;
  std::string origin;           // of the log
  std::size_t readers = 4;      // open read connections
  std::size_t max_group = 256;  // most writes in one commit
  std::string anchor_path;      // see storage/anchor.h; empty only in tests

  // How long snapshot() waits for a free read connection.
  std::chrono::milliseconds reader_wait = std::chrono::seconds(5);
  // How long after a failed write the writer tests whether the disk takes writes again.
  std::chrono::milliseconds probe_interval = std::chrono::seconds(1);
  // Accepts a database that has a log but no anchor file, and makes a new anchor file. Set this
  // only when the database is certainly not an old copy.
  bool dangerous_recreate_anchor = false;

  // Rules that choose which reports decisions use (storage/report_rules.h). The rules must outlive
  // the store. A store without rules is refused with invalid-config.
  const ReportRules* rules = nullptr;

  // Returns the wall clock's time, which the store keeps beside the time of the last write
  // (storage/last_write.h). Needed where the `clock` of open_sqlite() may be ahead of the wall
  // clock. Empty: the time of the write is kept.
  std::function<Timestamp()> wall = {};
};

// Opens the database, applies migrations, verifies the stored state and starts the writer.
// `log_signer` (Ed25519) signs checkpoints. `log_signer` and `clock` must outlive the store. An
// empty database gets a signed checkpoint of size 0.
//
// The newest checkpoint must have the service's signature and fit the stored tree. The log must not
// be behind the anchor. The log is behind when it is shorter than in the anchor, differs at the
// anchor's size, has older epochs, or has records but no anchor file. The chain of trust and policy
// is followed from its newest record to its first. The chain must contain the anchor's record, and
// each record must be in the log. The stored keys, principals, appraisals, registrations,
// revocations and policies must have the digests in the newest record. Reads answer from this
// verified state, never from those rows.
//
// Errors: not-found when there is no database and `create` is false; unavailable while another
// process has it open; invalid-config for another origin, another log key, or a file that is not
// Assay's or of a later version; store-behind-anchor; data-loss and log-inconsistent for a damaged
// database.
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options,
                                                         const Signer& log_signer,
                                                         const Clock& clock);

}  // namespace assay::storage
