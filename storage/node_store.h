// SPDX-License-Identifier: Apache-2.0
// long-file: the whole contract about nodes, challenges, registrations, enrolments, jobs, evidence.
// The part of the store about these (docs/glossary.md). Used through Snapshot and Transaction
// (storage/store.h), whose rules apply here too. Rows hold the present state; the log has history.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/anchor.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/trust.h"
#include "storage/evidence_row.h"

namespace assay::storage {

struct ChallengeRow {
  Bytes nonce;  // 32 bytes
  std::string principal;
  std::string purpose;
  std::string node;
  std::string job;  // empty: not bound to a job
  Timestamp expires_at;
  std::optional<Timestamp> used_at;
  Timestamp issued_at{};  // set by put_challenge()
};

struct NodeRow {
  std::string name;
  std::string principal;  // caller that enrolled the node, and alone may act for it
  KeyId key;
  Bytes public_key;  // SubjectPublicKeyInfo DER
  std::string platform;
  Timestamp enrolled_at;  // of the newest enrolment
  // Since when this machine has had the name without interruption. A report on bytes read before
  // this time may be about another machine.
  Timestamp held_since;
  Timestamp expires_at;
  std::optional<Revocation> revoked;
  Json devices = Json::array();
  DocumentId enrolment;  // envelope
  // Set exactly when the worker key is bound to accepted evidence.
  struct Measured {
    DocumentId appraisal;  // stored result
    Timestamp appraised_at;
    std::string evidence_type;
    std::string tcb_status;
    Anchor anchor;
    bool anchor_is_vendor;  // the anchor is the hardware vendor's production root
    bool operator==(const Measured&) const = default;
  };
  std::optional<Measured> measured;
  LeafIndex log_index;         // of the newest enrolment
  std::string registration{};  // id; empty: none was needed
  // Set when the enrolment was ended before it expired.
  std::optional<Revocation> ended{};
  // How often a live worker lost this name to another worker, and when this last happened.
  struct Superseded {
    std::uint64_t count = 0;
    std::optional<Timestamp> at{};
    std::string key{};  // id of the worker key that lost
    bool operator==(const Superseded&) const = default;
  };
  Superseded superseded{};
  // Devices with evidence of their own, in the order in which the node presented them:
  // [{"subject": EvidenceRow::subject, "uuid"}].
  Json device_evidence = Json::array();
  bool operator==(const NodeRow&) const = default;
};

enum class JobState : std::uint8_t {
  kQueued = 1,
  kLeased = 2,
  kOutline = 3,  // leased; report received, outline digests awaited
  kSpot = 4,     // leased; report received, answers to a spot check awaited
  kDone = 5,
};

struct JobRow {
  std::string id;  // UUIDv7
  ArtifactId artifact;
  std::string model_name;
  std::string scope;
  std::string node;
  std::string location;  // empty only with a pod or an instance
  // Uid of the pod whose mount is read, or that runs the instance. Empty: the worker's directory is
  // read, or the instance runs in no pod.
  std::string pod{};
  std::string pod_volume{};  // kubelet's name of the pod's volume; set exactly with a pod's mount
  std::string instance{};    // running model instance whose memory is read; empty: files
  Json subset = Json::array();
  std::string created_by;
  Timestamp created_at;
  JobState state;
  std::uint64_t token = 0;                    // of the newest lease; 0: never leased
  std::optional<Timestamp> lease_expires_at;  // while leased
  Json pending;  // the service's state while the job is leased; null otherwise
  // Set for a finished job. `report` is also set for an open job after an unanswered spot check.
  std::string result;                // "verified", "mismatch", "incomplete", "failed"; empty before
  Json detail = Json::object();      // differences, spot checks, reason of a failure
  std::optional<DocumentId> report;  // envelope
  std::string volume{};              // persistent volume behind a pvc:// location, as reported
  // When the service gave out the nonce that the report answers. Every byte was read after this
  // time. Set exactly when a finished job has a report.
  std::optional<Timestamp> read_since{};
  bool worker_measured = false;
  std::optional<Timestamp> finished_at;
  LeafIndex log_index = 0;  // of the record that created it
  bool operator==(const JobRow&) const = default;
};

// The place that a report is about. Node, artifact and scope are given separately.
struct ReportPlace {
  std::string location;
  std::string pod{};         // as in JobRow
  std::string pod_volume{};  // as in JobRow
  std::string instance{};    // as in JobRow
  bool operator==(const ReportPlace&) const = default;
};

struct JobQuery {
  std::string node;      // empty: any
  std::string artifact;  // text form; empty: any
  std::optional<bool> finished;
  std::string after;        // id to continue after; empty: start at the newest
  std::size_t limit = 100;  // 1 to 1000
};

class NodeReads {
 public:
  virtual ~NodeReads() = default;

  // Errors: not-found when there is no such node.
  [[nodiscard]] virtual Result<NodeRow> node(const std::string& name) = 0;
  // Returns nodes with names after `after`, ascending by name.
  [[nodiscard]] virtual Result<std::vector<NodeRow>> nodes(const std::string& after,
                                                           std::size_t limit) = 0;
  // Returns the nodes of this platform that at `now` are not revoked, ended or expired.
  [[nodiscard]] virtual Result<std::vector<NodeRow>> nodes_on(const std::string& platform,
                                                              Timestamp now) = 0;
  // Returns the registration that covers this name; an exact name comes before a pattern. Errors:
  // not-found.
  [[nodiscard]] virtual Result<Registration> registration_of(const std::string& node) = 0;
  // Returns all registrations, ascending by id.
  [[nodiscard]] virtual Result<std::vector<Registration>> registrations() = 0;
  // Returns the node that first enrolled with this key. Errors: not-found when no node ever did.
  [[nodiscard]] virtual Result<std::string> key_owner(const KeyId& key) = 0;

  [[nodiscard]] virtual Result<JobRow> job(const std::string& id) = 0;
  // Returns jobs, newest first.
  [[nodiscard]] virtual Result<std::vector<JobRow>> jobs(const JobQuery& query) = 0;
  // Returns the node's oldest job that is queued, or whose lease expired by `now`; else not-found.
  [[nodiscard]] virtual Result<JobRow> next_job(const std::string& node, Timestamp now) = 0;
  // Returns the job whose report decides for this node, artifact, scope and place. The rules that
  // the store was opened with choose the job (report_rules.h). Errors: not-found.
  [[nodiscard]] virtual Result<JobRow> newest_report(const std::string& node,
                                                     const ArtifactId& artifact,
                                                     const std::string& scope,
                                                     const ReportPlace& place) = 0;
  // Returns at most `limit` places for which newest_report() may find a job, in no particular
  // order. `pod` selects the places of this pod; empty selects the places without a pod.
  [[nodiscard]] virtual Result<std::vector<ReportPlace>> report_places(const std::string& node,
                                                                       const ArtifactId& artifact,
                                                                       const std::string& scope,
                                                                       const std::string& pod,
                                                                       std::size_t limit) = 0;

  // Returns the document with the outline of an artifact. Errors: not-found.
  [[nodiscard]] virtual Result<DocumentId> outline(const ArtifactId& artifact) = 0;

  // Returns a counter that rises with every put_node() and put_evidence() of this node, with every
  // put_job() that may change newest_report() or the job that it returns, and whenever evidence of
  // any node becomes stale. Returns 0 before the first of these.
  [[nodiscard]] virtual Result<std::uint64_t> node_version(const std::string& node) = 0;
  // Returns a counter that rises with every statement about this artifact, every new signature and
  // every put_evidence() for such a statement, and whenever evidence of any kind becomes stale.
  [[nodiscard]] virtual Result<std::uint64_t> subject_version(const ArtifactId& artifact) = 0;

  // Returns the appraisal with this name (appraisal_name() in schemas/trust.h), with what was
  // imported, which is in no result of appraisals(). Errors: not-found when none was put.
  [[nodiscard]] virtual Result<Appraisal> appraisal(const std::string& name) = 0;
  [[nodiscard]] virtual Result<std::vector<Appraisal>> appraisals() = 0;
  // Returns the tags of all appraisals, removed ones too, ascending by appraisal and id.
  [[nodiscard]] virtual Result<std::vector<ReferenceTag>> reference_tags() = 0;
  // Returns the SHA-256 of the canonical form of what appraisal() returns. Errors: not-found.
  [[nodiscard]] virtual Result<DocumentId> appraisal_id(const std::string& name) = 0;

  // Returns the evidence of a subject. Errors: not-found when there is none.
  [[nodiscard]] virtual Result<EvidenceRow> evidence(const std::string& subject) = 0;
  // Returns the evidence for a statement, ascending by key and type.
  [[nodiscard]] virtual Result<std::vector<EvidenceRow>> stage_evidence(
      const StatementId& statement) = 0;
  // Returns at most `limit` stale rows: last put before the newest appraisal or raised mark.
  [[nodiscard]] virtual Result<std::vector<EvidenceRow>> stale_evidence(std::size_t limit) = 0;
  // Returns at most `limit` rows with a `look_at` that is not after `now`, the earliest first.
  [[nodiscard]] virtual Result<std::vector<EvidenceRow>> due_evidence(Timestamp now,
                                                                      std::size_t limit) = 0;

  // Returns the highest value stored under a name (an evaluation number of collateral), or 0.
  [[nodiscard]] virtual Result<std::uint64_t> high_water(const std::string& name) = 0;
  // Returns the newest collateral stored with the highest value. Errors: not-found.
  [[nodiscard]] virtual Result<DocumentId> high_water_collateral(const std::string& name) = 0;
  // Returns names after `after`, ascending. `limit` is 1 to 1000.
  [[nodiscard]] virtual Result<std::vector<std::string>> high_waters(const std::string& after,
                                                                     std::size_t limit) = 0;
};

class NodeWrites {
 public:
  virtual ~NodeWrites() = default;

  // Stores a nonce; deletes some nonces expired over a day ago. Errors: conflict for a known nonce.
  [[nodiscard]] virtual Status put_challenge(const ChallengeRow& row) = 0;
  // Marks the nonce as used; returns its row as it was before. The caller must check `used_at`,
  // `expires_at` and what the nonce is bound to. Errors: challenge-unknown if not stored.
  [[nodiscard]] virtual Result<ChallengeRow> consume_challenge(ByteView nonce) = 0;

  // Inserts or replaces a node, and remembers its key permanently. Errors: conflict when a
  // revocation would be undone; key-not-unique when another node ever had the key.
  [[nodiscard]] virtual Status put_node(const NodeRow& row) = 0;

  // Inserts or replaces a job. The caller must have appended the job's record to the log in this or
  // an earlier write. Errors: conflict for a job that is stored as finished.
  [[nodiscard]] virtual Status put_job(const JobRow& row) = 0;

  // Stores an outline; storing it twice changes nothing. Errors: conflict for another outline.
  [[nodiscard]] virtual Status put_outline(const ArtifactId& artifact,
                                           const DocumentId& document) = 0;
  // Stores an appraisal. Evidence becomes stale until put_evidence() stores its row again.
  [[nodiscard]] virtual Status put_appraisal(const Appraisal& appraisal) = 0;
  // Inserts or replaces a tag; makes evidence stale as put_appraisal() does. Errors: not-found.
  [[nodiscard]] virtual Status put_reference_tag(const ReferenceTag& tag) = 0;
  // Inserts or replaces the row of a subject. The evidence is no longer stale afterwards.
  [[nodiscard]] virtual Status put_evidence(const EvidenceRow& row) = 0;
  // Removes the row of a subject. Changes nothing when there is none.
  [[nodiscard]] virtual Status forget_evidence(const std::string& subject) = 0;
  // Inserts or replaces by id. Errors: conflict if another id has the same node name or pattern.
  [[nodiscard]] virtual Status put_registration(const Registration& registration) = 0;
  // Errors: not-found when there is no such registration.
  [[nodiscard]] virtual Status remove_registration(const std::string& id) = 0;
  // Raises a high-water mark, which makes all evidence stale. A lower `value` changes nothing.
  // `collateral` is a stored document, or nullopt.
  [[nodiscard]] virtual Status raise_high_water(const std::string& name, std::uint64_t value,
                                                const std::optional<DocumentId>& collateral) = 0;
};

}  // namespace assay::storage
