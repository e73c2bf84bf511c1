// SPDX-License-Identifier: Apache-2.0
// The part of the store that is about nodes: challenges, enrolments, verification jobs, outlines.
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
  };
  std::optional<Measured> measured;
  LeafIndex log_index;  // of the newest enrolment
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
  std::string path;
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
  bool worker_measured = false;
  bool device_attested = false;
  std::optional<Timestamp> finished_at;
  LeafIndex log_index = 0;  // of the record that created it
};

struct JobQuery {
  std::string node;      // empty: any
  std::string artifact;  // text form; empty: any
  std::optional<bool> finished;
  std::string after;        // id to continue after; empty: from the newest
  std::size_t limit = 100;  // 1 to 1000
};

// A pod that was admitted at create: what a binding is about.
struct PodRow {
  std::string uid;
  std::string name_space;
  std::string name;
  std::string decision;  // id
  std::optional<ArtifactId> artifact;
  std::string model_name;
  Json workload = Json::object();  // canonical form of policy::Workload
  Timestamp admitted_at;
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
  // Whether any node ever enrolled with this key, and which: not-found when none did.
  [[nodiscard]] virtual Result<std::string> key_owner(const KeyId& key) = 0;

  [[nodiscard]] virtual Result<JobRow> job(const std::string& id) = 0;
  // Newest first.
  [[nodiscard]] virtual Result<std::vector<JobRow>> jobs(const JobQuery& query) = 0;
  // The oldest job of the node that is queued, or whose lease is over at `now`; not-found.
  [[nodiscard]] virtual Result<JobRow> next_job(const std::string& node, Timestamp now) = 0;
  // The job whose report counts, of this node, artifact and scope; not-found. Before all others an
  // open job that speaks against the bytes when this view was opened: a mismatch is in (kOutline),
  // or the lease ran out before a spot check was answered (kSpot, and `report` of later leases).
  // Else the newest finished job with a report; those that verified a part do not count. Jobs on
  // another path than the model's name are about other files.
  [[nodiscard]] virtual Result<JobRow> newest_report(const std::string& node,
                                                     const ArtifactId& artifact,
                                                     const std::string& scope) = 0;

  // The stored outline of an artifact: a document; not-found.
  [[nodiscard]] virtual Result<DocumentId> outline(const ArtifactId& artifact) = 0;

  // The newest pod admitted under this name; not-found.
  [[nodiscard]] virtual Result<PodRow> pod(const std::string& name_space,
                                           const std::string& name) = 0;

  // How evidence of a type is appraised; not-found when nobody said.
  [[nodiscard]] virtual Result<Appraisal> appraisal(const std::string& evidence_type) = 0;
  [[nodiscard]] virtual Result<std::vector<Appraisal>> appraisals() = 0;

  // The highest value that was noted under a name (evaluation numbers of collateral); 0 for none.
  [[nodiscard]] virtual Result<std::uint64_t> high_water(const std::string& name) = 0;
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
  // Replaces what was admitted under the same namespace and name.
  [[nodiscard]] virtual Status put_pod(const PodRow& row) = 0;
  [[nodiscard]] virtual Status put_appraisal(const Appraisal& appraisal) = 0;
  // Never goes back.
  [[nodiscard]] virtual Status raise_high_water(const std::string& name, std::uint64_t value) = 0;
};

}  // namespace assay::storage
