// SPDX-License-Identifier: Apache-2.0
// One valid document of each type about nodes; tests change one thing in it.
#pragma once

#include "schemas/heartbeat.h"
#include "schemas/verification_report.h"
#include "tests/schemas/samples.h"

namespace assay::test {

inline const char* const kSampleJob = "0198f0a2-7c3e-7bbb-8123-456789abcdef";

inline Nonce sample_nonce(std::uint8_t first = 0x9f) {
  Nonce nonce{};
  nonce.fill(0x5a);
  nonce[0] = first;
  return nonce;
}

inline ArtifactId sample_artifact() { return ArtifactId(digest_of("artifact")); }

inline Challenge sample_challenge(ChallengePurpose purpose = ChallengePurpose::kReport) {
  const bool statement = purpose == ChallengePurpose::kStatement;
  return {.nonce = sample_nonce(),
          .audience = "assay.example.com/log",
          .purpose = purpose,
          .node = statement ? "" : "gpu-node-1.example",
          .job = statement || purpose == ChallengePurpose::kEnrol ? "" : kSampleJob,
          .expires_at = at("2026-01-02T03:04:05.678Z")};
}

inline Evidence sample_evidence() {
  Json collateral = Json::object();
  for (const char* name :
       {"pck_crl_issuer_chain", "root_ca_crl", "pck_crl", "tcb_info_issuer_chain", "tcb_info",
        "tcb_info_signature", "qe_identity_issuer_chain", "qe_identity", "qe_identity_signature"}) {
    collateral[name] = std::string("text of ") + name;
  }
  return {std::string(kTdxEvidence), Bytes(5000, 4), {}, std::move(collateral)};
}

inline NodeDevice sample_device() { return {"opencl:0", "NVIDIA H200", "580.65.06"}; }

inline Enrolment sample_enrolment() {
  return {.request = {"assay.example.com/log", "gpu-node-1", "00112233445566778899aabbccddeeff"},
          .nonce = sample_nonce(),
          .public_key = ed25519_spki(Bytes(32, 7)),
          .evidence = sample_evidence(),
          .devices = {sample_device(), {"cpu", "some processor", ""}}};
}

inline JobRequest sample_job_request() {
  return {.artifact = sample_artifact(),
          .scope = JobScope::kFiles,
          .node = "gpu-node-1",
          .location = "pvc://inference/models/llm",
          .subset = {0, 2, 7}};
}

inline JobLease sample_job_lease() {
  return {.job = kSampleJob,
          .artifact = sample_artifact(),
          .model_name = "acme/demo-llm",
          .scope = JobScope::kFiles,
          .node = "gpu-node-1.example",
          .location = "pvc://inference/models",
          .pod = JobPod{"5f1d0c52-6a3c-4a7e-9d0e-0b8f3a5d2c11", "pv-1"},
          .subset = {1, 2},
          .token = 3,
          .expires_at = at("2026-01-02T03:05:05.678Z"),
          .lease_seconds = 60,
          .challenge = sample_challenge()};
}

inline ReadProtection sample_protection() {
  ReadProtection protection;
  protection.add(Protection::kReadOnlyMount, 2);
  protection.add(Protection::kLease, 5);
  return protection;
}

inline VerificationReport sample_report() {
  return {.job = kSampleJob,
          .node = "gpu-node-1",
          .nonce = sample_nonce(),
          .lease = 3,
          .artifact = sample_artifact(),
          .parameters = {HashAlgorithm::kSha256, 4096},
          .scope = JobScope::kFiles,
          .location = "pvc://inference/models",
          .volume = "pv-1",
          .pod = JobPod{"5f1d0c52-6a3c-4a7e-9d0e-0b8f3a5d2c11", "pv-1"},
          .entries = sample_manifest().artifact.entries,
          .not_covered = {{3, "file-unreadable"}, {9, "gone"}},
          .extra = {{"modeling.py", 812}, {"x/y", 0}},
          .extra_count = 3,
          .device = sample_device(),
          .kernel_digest = digest_of("kernel"),
          .check = "full",
          .bytes = 9067,
          .read_protection = sample_protection(),
          .started_at = at("2026-01-02T03:04:05.678Z"),
          .finished_at = at("2026-01-02T03:04:06.001Z")};
}

inline JobInstance sample_instance() { return {"5f1d0c52-6a3c-4a7e-9d0e-0b8f3a5d2c11", "main"}; }

inline MemoryFacts sample_memory() {
  return {
      .world = 2,
      .containers = {"4f1d0c52", "5f1d0c52"},
      .devices = {"GPU-1", "GPU-2"},
      .in_place = 2,
      .on_devices = 1,
      .staged = 1,
      .staged_causes = {"cudaMalloc", "fabric handle"},
      .registered = 2097152,
      .uncovered = 512,
      .device_bytes = 2147483648,
      .redrawn = 16,
      .detection = 0.25,
      .extra_tensors = {{"", 0}, {"lora.a", 64}},
      .extra_tensor_count = 3,
      .read_by = {{{0}, "opencl:0", "A GPU", "580.1", "GPU-1", "0000:1b:00.0", digest_of("kernel")},
                  {{1}, "cpu", "A processor", "", {}, {}, {}}},
      .uncovered_count = 2};
}

// The same, about memory.
inline VerificationReport sample_memory_report() {
  VerificationReport report = sample_report();
  report.scope = JobScope::kDeviceMemory;
  report.location.clear();
  report.volume.clear();
  report.pod.reset();
  report.read_protection.reset();
  report.instance = sample_instance();
  report.memory = sample_memory();
  std::erase_if(report.entries,
                [](const Entry& entry) { return std::holds_alternative<FileEntry>(entry); });
  report.extra.clear();
  report.extra_count = 0;
  report.bytes = 3;
  return report;
}

inline Heartbeat sample_heartbeat() {
  const DocumentId report(digest_of("report"));
  return {.node = "gpu-node-1",
          .session = sample_nonce(),
          .sequence = 7,
          .instances = {{{"", "main"},
                         sample_artifact(),
                         InstanceState::kVerified,
                         report,
                         {},
                         WatchedBy{WatchCheck::kRandom, 500, 25}},
                        {{"pod-1", "a"}, sample_artifact(), InstanceState::kPending, {}},
                        {{"pod-1", "b"},
                         sample_artifact(),
                         InstanceState::kViolated,
                         report,
                         {{"embed", "bytes 0 to 4096"}, {"", "replaced"}}},
                        {{"pod-2", "a"}, sample_artifact(), InstanceState::kUnknown, {}}}};
}

inline ReportAnswer outline_answer() {
  return {ReportAnswer::State::kOutline, {0, 2}, 1048576, {}, std::nullopt};
}

inline ReportAnswer spot_answers() {
  return {ReportAnswer::State::kSpot,
          {},
          1048576,
          {{2, 0}, {0, 77}, {0, 77}},
          sample_challenge(ChallengePurpose::kSpot)};
}

}  // namespace assay::test
