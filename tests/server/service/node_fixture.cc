// SPDX-License-Identifier: Apache-2.0
#include "tests/server/service/node_fixture.h"

#include <algorithm>
#include <fstream>

#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"
#include "tests/support/cut_file.h"

namespace assay::server::test {
namespace {

namespace tdx = attestation::tdx;

constexpr std::uint32_t kChunk = 4096;

std::string canonical(const Json& json) { return canonical_json(json).value(); }

Digest tree_root(ByteView bytes) {
  MerkleAccumulator tree(HashAlgorithm::kSha256);
  for (std::size_t begin = 0; begin < bytes.size(); begin += kChunk) {
    tree.append(
        merkle_leaf(HashAlgorithm::kSha256,
                    bytes.subspan(begin, std::min<std::size_t>(kChunk, bytes.size() - begin))));
  }
  return tree.root();
}

Bytes sign(std::string_view type, const Json& payload, const Signer& key) {
  const Signer* const signers[] = {&key};
  return to_bytes(attestation::encode_envelope(
      attestation::sign_envelope(type, as_bytes(canonical(payload)), signers).value()));
}

policy::Workload workload_on(const std::string& node) {
  policy::Workload workload;
  workload.node = node;
  return workload;
}

// What makes the machine of a node another one than that of gpu-1.
tdx::SimulationSpec on_machine_of(const std::string& node, tdx::SimulationSpec spec) {
  if (node != "gpu-1") {
    const Digest digest = sha256(as_bytes(node));
    std::ranges::copy_n(digest.bytes().begin(), spec.platform.ppid.size(),
                        spec.platform.ppid.begin());
  }
  return spec;
}

}  // namespace

NodeTest::NodeTest() {
  const auto applied =
      change_trust({PutAppraisal{simulator_appraisal()}, PutRegistration{registration_of(worker_)},
                    PutRegistration{registration_of(other_)}});
  EXPECT_TRUE(applied) << to_string(applied.error());
}

Result<TrustApplied> NodeTest::change_trust(std::vector<TrustOperation> operations) {
  const auto epochs = store_->snapshot().value()->epochs().value();
  return apply_trust_change(
      *services_,
      trust_change(epochs.trust.trust + 1, std::move(operations), {&operator1_, &operator2_}),
      actor_);
}

Registration NodeTest::registration_of(const Worker& worker) {
  return {worker.node, worker.node, worker.principal.name, {}, 1, {}};
}

void NodeTest::register_node(const Registration& registration) {
  const auto applied = change_trust({PutRegistration{registration}});
  ASSERT_TRUE(applied) << to_string(applied.error());
}

Worker NodeTest::make_worker(const std::string& node, const std::string& principal) {
  return {node,
          {principal, {AccessRole::kWorker}, {}, {}},
          attestation::generate_key(SignatureAlgorithm::kEcdsaP256).value()};
}

tdx::SimulationSpec NodeTest::platform() const {
  return tdx::valid_simulation(seed_, clock_.now());
}

Appraisal NodeTest::simulator_appraisal() const {
  const tdx::SimulationSpec spec = platform();
  const tdx::TdReport& report = spec.quote.report;
  Appraisal appraisal;
  appraisal.evidence_type = kTdxEvidence;
  appraisal.policy = {{"reference_values",
                       {{"mrtd", {hex_encode(report.mrtd)}},
                        {"rtmr0", {hex_encode(report.rtmr[0])}},
                        {"rtmr1", {hex_encode(report.rtmr[1])}},
                        {"rtmr2", {hex_encode(report.rtmr[2])}}}}};
  appraisal.dangerous_anchors = {tdx::simulate(spec).root};
  return appraisal;
}

void NodeTest::put_appraisal(const Appraisal& appraisal) {
  const auto applied = change_trust({PutAppraisal{appraisal}});
  ASSERT_TRUE(applied) << to_string(applied.error());
}

void NodeTest::revoke(const std::string& node) {
  const auto applied = change_trust({RevokeNode{node, "stolen"}});
  ASSERT_TRUE(applied) << to_string(applied.error());
}

Evidence NodeTest::evidence_of(const tdx::SimulationSpec& spec) {
  const tdx::Simulation simulation = tdx::simulate(spec);
  return {std::string(kTdxEvidence), simulation.quote, simulation.event_log,
          tdx::to_json(simulation.collateral)};
}

Evidence NodeTest::evidence_for(const ReportDataBytes& data,
                                const Change<tdx::SimulationSpec>& change,
                                const std::string& node) const {
  tdx::SimulationSpec spec = on_machine_of(node, platform());
  std::ranges::copy(data, spec.quote.report.report_data.begin());
  if (change) {
    change(spec);
  }
  return evidence_of(spec);
}

std::string NodeTest::platform_id(const std::string& node) const {
  return hex_encode(on_machine_of(node, platform()).platform.ppid);
}

Challenge NodeTest::challenge(const Worker& worker) {
  return issue_challenge(*services_, {ChallengePurpose::kEnrol, worker.node}, worker.principal)
      .value();
}

Enrolment NodeTest::enrolment(const Worker& worker, const Nonce& nonce,
                              const Change<Enrolment>& before, const Change<Enrolment>& after) {
  Enrolment made{{audience(*services_), worker.node, platform_id(worker.node)},
                 nonce,
                 worker.key->public_key(),
                 {},
                 {{"cpu", "a processor", "none"}}};
  if (before) {
    before(made);
  }
  made.evidence = evidence_for(enrolment_report_data(made.nonce, made.public_key, made.request), {},
                               worker.node);
  if (after) {
    after(made);
  }
  return made;
}

Bytes NodeTest::signed_enrolment(const Enrolment& enrolment, const Signer& key) {
  return sign(kEnrolmentPayloadType, to_json(enrolment), key);
}

Bytes NodeTest::good_enrolment(const Worker& worker) {
  return signed_enrolment(enrolment(worker, challenge(worker).nonce), *worker.key);
}

Result<Enrolled> NodeTest::enrol_with(const Worker& worker, const Change<Enrolment>& before,
                                      const Change<Enrolment>& after) {
  return enrol(
      *services_,
      signed_enrolment(enrolment(worker, challenge(worker).nonce, before, after), *worker.key),
      worker.principal);
}

void NodeTest::enrol_ok(const Worker& worker) {
  const auto enrolled = enrol(*services_, good_enrolment(worker), worker.principal);
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
}

std::optional<Json> NodeTest::node_row(const std::string& node) {
  const auto snapshot = store_->snapshot().value();
  const auto row = snapshot->node(node);
  return row ? std::optional(node_view(*snapshot, *row, clock_.now()).value()) : std::nullopt;
}

std::vector<std::string> NodeTest::newest_records(std::size_t count) {
  const auto snapshot = store_->snapshot().value();
  const TreeSize size = snapshot->log_state().value().size;
  std::vector<std::string> types;
  for (TreeSize i = size - std::min<TreeSize>(size, count); i < size; ++i) {
    types.push_back(parse_log_record(snapshot->log_record(i).value()).value().type);
  }
  return types;
}

FileEntry NodeTest::file_entry(const std::string& path, ByteView bytes) {
  return {path, bytes.size(), tree_root(bytes)};
}

std::vector<Digest> NodeTest::outline_digests(ByteView bytes) {
  std::vector<Digest> digests;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kSpan) {
    digests.push_back(
        tree_root(bytes.subspan(begin, std::min<std::size_t>(kSpan, bytes.size() - begin))));
  }
  return digests;
}

Bytes NodeTest::content(std::size_t size, std::uint8_t seed) {
  Bytes bytes(size);
  std::uint32_t state = seed;
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return bytes;
}

NodeTest::Model NodeTest::make_model(std::vector<Bytes> files) {
  Manifest manifest;
  manifest.name = "acme/demo";
  manifest.locations = {kLocation};
  manifest.artifact.parameters.chunk_size = kChunk;
  Outline outline{kSpan, {}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    manifest.artifact.entries.push_back(
        file_entry("weights/" + std::to_string(i) + ".bin", files[i]));
    outline.entries.push_back(outline_digests(files[i]));
  }
  ArtifactId id = artifact_id(manifest).value();
  return {std::move(manifest), std::move(files), std::move(outline), std::move(id)};
}

NodeTest::Model NodeTest::make_cut_model() {
  Model model = make_model({content(45'000, 7)});
  const ByteView all(model.files[0]);
  std::vector<TensorEntry> tensors;
  for (const auto& [name, offset, size] :
       {std::tuple("a", 1000U, 20'000U), std::tuple("b", 21'000U, 24'000U)}) {
    const ByteView part = all.subspan(offset, size);
    tensors.push_back(
        {name, "U8", {size}, "weights/0.bin", offset, size, file_entry("x", part).root});
    model.outline.entries.push_back(outline_digests(part));
  }
  const ByteView header = all.first(1000);
  Artifact& artifact = model.manifest.artifact;
  artifact.entries = {
      assay::test::cut_file("weights/0.bin", all.size(),
                            {CutFormat::kSafetensors, header.size(), file_entry("x", header).root},
                            tensors, artifact.parameters)};
  artifact.entries.insert(artifact.entries.end(), tensors.begin(), tensors.end());
  model.outline.entries.front() = outline_digests(header);
  model.id = artifact_id(model.manifest).value();
  return model;
}

void NodeTest::store_model(const Model& model, bool with_outline) {
  const auto accepted = accept_manifest(*services_, signed_manifest(model.manifest), actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  if (with_outline) {
    const auto outline =
        accept_outline(*services_, model.id,
                       encode_outline(model.outline, model.manifest.artifact).value(), actor_);
    ASSERT_TRUE(outline) << to_string(outline.error());
  }
}

void NodeTest::make_mirror(const Model& model) {
  const std::filesystem::path mirror = directory_ / "mirror";
  for (std::size_t i = 0; i < model.files.size(); ++i) {
    const auto& entry = std::get<FileEntry>(model.manifest.artifact.entries[i]);
    const std::filesystem::path path = mirror / model.manifest.name / entry.path;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << as_text(model.files[i]);
  }
  services_->nodes.mirror = mirror;
}

JobCreated NodeTest::new_job(const Model& model, const std::string& node,
                             const Change<JobRequest>& change) {
  JobRequest request{model.id, JobScope::kFiles, node, {}, {}};
  if (change) {
    change(request);
  }
  const auto created = create_job(*services_, request, actor_);
  EXPECT_TRUE(created) << to_string(created.error());
  return created.value();
}

JobLease NodeTest::lease(const Worker& worker) {
  auto answer = lease_job(*services_, worker.node, worker.principal, {});
  EXPECT_TRUE(answer) << to_string(answer.error());
  return answer.value().lease.value();
}

VerificationReport NodeTest::report(const JobLease& lease, const Model& model) {
  return {.job = lease.job,
          .node = lease.node,
          .nonce = lease.challenge.nonce,
          .lease = lease.token,
          .artifact = lease.artifact,
          .parameters = model.manifest.artifact.parameters,
          .scope = lease.scope,
          .location = lease.location,
          .volume = lease.location.empty() ? "" : "pv-1",
          .pod = lease.pod,
          .entries = model.manifest.artifact.entries,
          .not_covered = {},
          .device = {"cpu", "a processor", "none"},
          .kernel_digest = {},
          .check = "full",
          .bytes = 45'000,
          .started_at = clock_.now(),
          .finished_at = clock_.now()};
}

Bytes NodeTest::submission(const Worker& worker, const VerificationReport& report,
                           const Change<ReportSubmission>& change) {
  const Json payload = to_json(report);
  ReportSubmission made{sign(kVerificationReportPayloadType, payload, *worker.key),
                        evidence_for(report_report_data(report.nonce, worker.key->public_key(),
                                                        as_bytes(canonical(payload))),
                                     {}, worker.node)};
  if (change) {
    change(made);
  }
  return to_bytes(to_json(made).dump());
}

Result<ReportAnswer> NodeTest::send(const Worker& worker, const JobLease& lease, ByteView body) {
  return submit_report(*services_, {lease.job, lease.token, worker.principal}, body);
}

Result<ReportAnswer> NodeTest::send_report(const Worker& worker, const JobLease& lease,
                                           const VerificationReport& report) {
  return send(worker, lease, submission(worker, report));
}

storage::JobRow NodeTest::job_row(const std::string& id) {
  return store_->snapshot().value()->job(id).value();
}

std::optional<policy::ReportFact> NodeTest::report_seen(const Worker& worker, const Model& model) {
  policy::Facts facts;
  facts.artifact = model.id;
  const policy::Workload workload = workload_on(worker.node);
  const auto collected = collect_node(*services_, *store_->snapshot().value(), {workload}, facts);
  EXPECT_TRUE(collected) << to_string(collected.error());
  return facts.reports.empty() ? std::nullopt : std::optional(facts.reports.front());
}

}  // namespace assay::server::test
