// SPDX-License-Identifier: Apache-2.0
// Nodes that enrol, lease and report against a service: real quotes under a simulator's root, which
// the service is told to take, and a model of real bytes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attestation/simulate/simulation.h"
#include "schemas/core/outline.h"
#include "server/service/documents/outlines.h"
#include "server/service/governance/trust.h"
#include "server/service/jobs/jobs.h"
#include "server/service/jobs/report.h"
#include "server/service/jobs/report_follow_up.h"
#include "server/service/nodes/challenge.h"
#include "server/service/nodes/enrol.h"
#include "server/service/nodes/node_view.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {

// A worker on a node, and the principal it acts as.
struct Worker {
  std::string node;
  Principal principal;
  std::unique_ptr<Signer> key;
};

// Changes something of what is about to be made.
template <typename T>
using Change = std::function<void(T&)>;

class NodeTest : public ServiceTest {
 protected:
  NodeTest();

  static Worker make_worker(const std::string& node, const std::string& principal);
  // The platform that simulations are made of, without report data.
  attestation::tdx::SimulationSpec platform() const;
  // Under the simulator's root, with the references of platform().
  Appraisal simulator_appraisal() const;
  void put_appraisal(const Appraisal& appraisal);
  void revoke(const std::string& node);
  // The next change of trust, signed by both operators.
  Result<TrustApplied> change_trust(std::vector<TrustOperation> operations);
  // A node under its own name, for one principal.
  static Registration registration_of(const Worker& worker);
  void register_node(const Registration& registration);
  static Evidence evidence_of(const attestation::tdx::SimulationSpec& spec);
  // Each node is a machine of its own.
  Evidence evidence_for(const ReportDataBytes& data,
                        const Change<attestation::tdx::SimulationSpec>& change = {},
                        const std::string& node = "gpu-1") const;
  std::string platform_id(const std::string& node = "gpu-1") const;

  // --- enrolment

  Challenge challenge(const Worker& worker);
  // An enrolment that is accepted; `before` changes it before the evidence is made, `after` behind.
  Enrolment enrolment(const Worker& worker, const Nonce& nonce,
                      const Change<Enrolment>& before = {}, const Change<Enrolment>& after = {});
  static Bytes signed_enrolment(const Enrolment& enrolment, const Signer& key);
  Bytes good_enrolment(const Worker& worker);
  Result<Enrolled> enrol_with(const Worker& worker, const Change<Enrolment>& before,
                              const Change<Enrolment>& after = {});
  void enrol_ok(const Worker& worker);
  // The node's row as it stands; nothing when there is none.
  std::optional<Json> node_row(const std::string& node);
  // Types of the log's newest records.
  std::vector<std::string> newest_records(std::size_t count);

  // --- a model and its jobs

  // Chunks of 4096 bytes, outline spans of 8192.
  static constexpr std::uint64_t kSpan = 8192;
  struct Model {
    Manifest manifest;
    std::vector<Bytes> files;  // content by position
    Outline outline;
    ArtifactId id;
  };
  static Model make_model(std::vector<Bytes> files);
  // One file of 45,000 bytes: a header of 1000 bytes, and the tensors "a" of 20,000 and "b" of
  // 24,000.
  static Model make_cut_model();
  static FileEntry file_entry(const std::string& path, ByteView bytes);
  static std::vector<Digest> outline_digests(ByteView bytes);
  static Bytes content(std::size_t size, std::uint8_t seed);
  void store_model(const Model& model, bool with_outline = true);
  // Writes the files below directory_/mirror and configures it.
  void make_mirror(const Model& model);

  JobCreated new_job(const Model& model, const std::string& node, const Change<JobRequest>& = {});
  JobLease lease(const Worker& worker);
  // A report of what `model` says, for this lease.
  VerificationReport report(const JobLease& lease, const Model& model);
  Bytes submission(const Worker& worker, const VerificationReport& report,
                   const Change<ReportSubmission>& change = {});
  Result<ReportAnswer> send(const Worker& worker, const JobLease& lease, ByteView body);
  Result<ReportAnswer> send_report(const Worker& worker, const JobLease& lease,
                                   const VerificationReport& report);
  storage::JobRow job_row(const std::string& id);
  // The report that a decision at bind sees now; nothing when there is none.
  std::optional<policy::ReportFact> report_seen(const Worker& worker, const Model& model);

  static constexpr const char* kLocation = "pvc://inference/models";  // of every model here

  Bytes seed_ = to_bytes("tests of server/service");
  Worker worker_ = make_worker("gpu-1", "node-agent-1");
  Worker other_ = make_worker("gpu-2", "node-agent-2");
  Model model_ = make_model({content(40'000, 1), content(5'000, 2)});
};

}  // namespace assay::server::test
