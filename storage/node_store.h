// SPDX-License-Identifier: Apache-2.0
// The part of the store that is about nodes: challenges, registrations, enrolments, verification
// jobs, outlines, evidence. Pods: storage/pod_store.h.
// Read and written through Snapshot and Transaction (storage/store.h), whose rules hold here too.
// Rows change as nodes and jobs go on; what happened stands in documents and log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/trust.h"

namespace assay::storage {

struct ChallengeRow {
  Bytes nonce;  // 32 bytes
  std::string principal;
  std::string purpose;
  std::string node;
  std::string job;  // empty: bound to none
  Timestamp expires_at;
  std::optional<Timestamp> used_at;
};

struct NodeRow {
  std::string name;
  std::string principal;  // who enrolled it, and alone may act for it
  KeyId key;
  Bytes public_key;  // SubjectPublicKeyInfo DER
  std::string platform;
  Timestamp enrolled_at;  // of the newest enrolment
  // Since when the name has been this machine's without a break: what was reported on bytes that
  // were read before may be about another machine's.
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
    Digest anchor;
    bool anchor_is_vendor;
    bool operator==(const Measured&) const = default;
  };
  std::optional<Measured> measured;
  LeafIndex log_index;         // of the newest enrolment
  std::string registration{};  // id; empty: none was needed
  // Set when the enrolment was ended before its time.
  std::optional<Revocation> ended{};
  // How often a worker that was alive lost this name to another one, and the newest time.
  struct Superseded {
    std::uint64_t count = 0;
    std::optional<Timestamp> at{};
    std::string key{};  // id of the worker key that lost
    bool operator==(const Superseded&) const = default;
  };
  Superseded superseded{};
  bool operator==(const NodeRow&) const = default;
};

// Evidence that something stands on, and how it was appraised last.
struct EvidenceRow {
  std::string subject;     // "node:NAME" for an enrolment, "job:ID" for a report
  std::string node;        // whose it is
  std::string type;        // of the evidence
  DocumentId evidence;     // stored: see server/service/nodes/reappraise.h
  Bytes expected;          // report data, 64 bytes
  std::string platform;    // that it must be of
  DocumentId policy;       // digest of the appraisal it was held against
  std::string error;       // code of its refusal; empty: accepted
  DocumentId appraisal;    // stored result
  Timestamp appraised_at;  // when it was fresh: appraising again makes nothing younger
  std::string tcb_status;
  std::optional<Digest> anchor;
  bool anchor_is_vendor = false;
  Json marks = Json::object();  // high-water marks of the collateral, by name
};

enum class JobState : std::uint8_t {
  kQueued = 1,
  kLeased = 2,
  kOutline = 3,  // leased; a report is in, outline digests are awaited
  kSpot = 4,     // leased; a report is in, answers to a spot check are awaited
  kDone = 5,
};

struct JobRow {
  std::string id;  // UUIDv7
  ArtifactId artifact;
  std::string model_name;
  std::string scope;
  std::string node;
  std::string location;  // empty only with a pod or an instance
  // Uid of the pod whose mount is read or that runs the instance; empty: the worker's directory.
  std::string pod{};
  std::string pod_volume{};  // as the kubelet names it; set exactly with a pod whose mount is read
  std::string instance{};    // name of the model instance whose memory is read; empty: files are
  Json subset = Json::array();
  std::string created_by;
  Timestamp created_at;
  JobState state;
  std::uint64_t token = 0;                    // of the newest lease; 0: never leased
  std::optional<Timestamp> lease_expires_at;  // while leased
  Json pending;  // what the service must know while the job is leased; null otherwise
  // Of a finished job (`report` also of an open one, once a spot check of it was not answered):
  std::string result;                // "verified", "mismatch", "incomplete", "failed"; empty before
  Json detail = Json::object();      // what differs, spot checks, why it failed
  std::optional<DocumentId> report;  // envelope
  std::string volume{};              // behind the claim of a pvc:// location, as the report says
  // When the service gave out the nonce that the report answers: no byte was read before. Set
  // exactly with the report of a finished job.
  std::optional<Timestamp> read_since{};
  bool worker_measured = false;
  bool device_attested = false;
  std::optional<Timestamp> finished_at;
  LeafIndex log_index = 0;  // of the record that created it
  bool operator==(const JobRow&) const = default;
};

// What a report is about, beside node, artifact and scope.
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
  std::string after;        // id to continue after; empty: from the newest
  std::size_t limit = 100;  // 1 to 1000
};

class NodeReads {
 public:
  virtual ~NodeReads() = default;

  // not-found when there is none.
  [[nodiscard]] virtual Result<NodeRow> node(const std::string& name) = 0;
  [[nodiscard]] virtual Result<NodeRow> node_by_key(const KeyId& key) = 0;
  // Ascending by name, after `after`.
  [[nodiscard]] virtual Result<std::vector<NodeRow>> nodes(const std::string& after,
                                                           std::size_t limit) = 0;
  // Of this platform, with an enrolment that counts at `now`: not revoked, ended or over.
  [[nodiscard]] virtual Result<std::vector<NodeRow>> nodes_on(const std::string& platform,
                                                              Timestamp now) = 0;
  // The one registration that covers a node of this name: its own before a pattern; not-found.
  [[nodiscard]] virtual Result<Registration> registration_of(const std::string& node) = 0;
  // Ascending by id.
  [[nodiscard]] virtual Result<std::vector<Registration>> registrations() = 0;
  // Whether any node ever enrolled with this key, and which: not-found when none did.
  [[nodiscard]] virtual Result<std::string> key_owner(const KeyId& key) = 0;

  [[nodiscard]] virtual Result<JobRow> job(const std::string& id) = 0;
  // Newest first.
  [[nodiscard]] virtual Result<std::vector<JobRow>> jobs(const JobQuery& query) = 0;
  // The oldest job of the node that is queued, or whose lease is over at `now`; not-found.
  [[nodiscard]] virtual Result<JobRow> next_job(const std::string& node, Timestamp now) = 0;
  // The job whose report counts, of this node, artifact, scope and place; not-found. Before all
  // others an open job that speaks against the bytes when this view was opened: a mismatch is in
  // (kOutline), or the lease ran out before a spot check was answered (kSpot, and `report` of later
  // leases). Else the newest finished job with a report. Those that verified a part do not count,
  // nor those that verified but were leased before another report spoke against the bytes.
  [[nodiscard]] virtual Result<JobRow> newest_report(const std::string& node,
                                                     const ArtifactId& artifact,
                                                     const std::string& scope,
                                                     const ReportPlace& place) = 0;
  // The places for which newest_report may find something: of this pod, or of no pod when it is
  // empty. At most `limit`, in no particular order.
  [[nodiscard]] virtual Result<std::vector<ReportPlace>> report_places(const std::string& node,
                                                                       const ArtifactId& artifact,
                                                                       const std::string& scope,
                                                                       const std::string& pod,
                                                                       std::size_t limit) = 0;

  // The stored outline of an artifact: a document; not-found.
  [[nodiscard]] virtual Result<DocumentId> outline(const ArtifactId& artifact) = 0;

  // Rises with every put_node of this node, and with every put_job of it that may change which
  // report counts, or what that says, with its evidence, and when evidence becomes stale. 0 for a
  // node that nothing was written about.
  [[nodiscard]] virtual Result<std::uint64_t> node_version(const std::string& node) = 0;
  // Rises with every statement about this artifact, and with every signature added to one.
  [[nodiscard]] virtual Result<std::uint64_t> subject_version(const ArtifactId& artifact) = 0;

  // How evidence of a type is appraised; not-found when nobody said.
  [[nodiscard]] virtual Result<Appraisal> appraisal(const std::string& evidence_type) = 0;
  [[nodiscard]] virtual Result<std::vector<Appraisal>> appraisals() = 0;
  // SHA-256 of the canonical form of that appraisal; not-found.
  [[nodiscard]] virtual Result<DocumentId> appraisal_id(const std::string& evidence_type) = 0;

  // not-found when nothing stands on evidence under this name.
  [[nodiscard]] virtual Result<EvidenceRow> evidence(const std::string& subject) = 0;
  // Evidence that was not looked at since an appraisal was put or a mark rose, at most `limit`.
  [[nodiscard]] virtual Result<std::vector<EvidenceRow>> stale_evidence(std::size_t limit) = 0;

  // The highest value that was noted under a name (evaluation numbers of collateral); 0 for none.
  [[nodiscard]] virtual Result<std::uint64_t> high_water(const std::string& name) = 0;
  // The newest collateral with that value; not-found.
  [[nodiscard]] virtual Result<DocumentId> high_water_collateral(const std::string& name) = 0;
};

class NodeWrites {
 public:
  virtual ~NodeWrites() = default;

  // A new nonce: conflict when it is known. Also forgets nonces that expired more than a day ago.
  [[nodiscard]] virtual Status put_challenge(const ChallengeRow& row) = 0;
  // Marks the nonce used and returns its row as it was: the caller compares what it was bound to
  // and looks at used_at and expires_at. challenge-unknown when it was never issued.
  [[nodiscard]] virtual Result<ChallengeRow> consume_challenge(ByteView nonce) = 0;

  // Inserts or replaces a node and remembers its key for ever. A revocation is never undone:
  // conflict. key-not-unique when another node ever had the key.
  [[nodiscard]] virtual Status put_node(const NodeRow& row) = 0;

  // Inserts (log_index of its creation must exist) or replaces a job. conflict when it is done.
  [[nodiscard]] virtual Status put_job(const JobRow& row) = 0;

  // The first outline stays: another one for the same artifact is conflict, the same is nothing.
  [[nodiscard]] virtual Status put_outline(const ArtifactId& artifact,
                                           const DocumentId& document) = 0;
  // All evidence is stale after this until it was put again, as after a mark that rises.
  [[nodiscard]] virtual Status put_appraisal(const Appraisal& appraisal) = 0;
  // Inserts or replaces by subject; the evidence has been looked at now.
  [[nodiscard]] virtual Status put_evidence(const EvidenceRow& row) = 0;
  // Nothing when there is none.
  [[nodiscard]] virtual Status forget_evidence(const std::string& subject) = 0;
  // Inserts or replaces by id. conflict when another registration has the same name or pattern.
  [[nodiscard]] virtual Status put_registration(const Registration& registration) = 0;
  // not-found when there is none.
  [[nodiscard]] virtual Status remove_registration(const std::string& id) = 0;
  // Never goes back. `collateral`, a stored document or nothing, goes with the value.
  [[nodiscard]] virtual Status raise_high_water(const std::string& name, std::uint64_t value,
                                                const std::optional<DocumentId>& collateral) = 0;
};

}  // namespace assay::storage
