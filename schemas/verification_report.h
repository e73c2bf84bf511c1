// SPDX-License-Identifier: Apache-2.0
// Verification reports: what a node found when it hashed a model.
// Schemas: verification-report.schema.json, report-submission.schema.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/enrolment.h"
#include "schemas/job.h"
#include "schemas/memory_facts.h"

namespace assay {

// DSSE payload, signed by the node's worker key.
inline constexpr std::string_view kVerificationReportPayloadType =
    "application/vnd.assay.verification-report+json";

// Extra files that a report lists; the others are only counted.
inline constexpr std::size_t kMaxExtraFiles = 1000;

// A file that is there, that no file entry covers and no pattern of the parameters leaves out.
struct ExtraFile {
  std::string path;    // as in artifacts
  std::uint64_t size;  // bytes
  bool operator==(const ExtraFile&) const = default;
};

// An entry that was not hashed, and why.
struct NotCovered {
  std::uint64_t entry;  // position in the artifact
  std::string reason;
  bool operator==(const NotCovered&) const = default;
};

struct VerificationReport {
  std::string job;
  std::string node;
  Nonce nonce;
  std::uint64_t lease;  // token
  ArtifactId artifact;  // that was asked for
  TreeParameters parameters;
  JobScope scope;
  std::string location;  // of the job; what was read lies there
  // The persistent volume behind the claim of a pvc:// location. Empty: unknown, or no claim.
  std::string volume;
  std::optional<JobPod> pod;  // whose own mount was read
  // Both are set exactly with kDeviceMemory.
  std::optional<JobInstance> instance{};
  std::optional<MemoryFacts> memory{};
  // What was found: every entry as computed from the bytes on the node, in the order of artifacts.
  // With a subset: those entries alone. In memory: for each tensor entry of the manifest whose name
  // a registered tensor has, that entry with dtype, shape, size and root as found; `file` and
  // `offset` are the manifest's.
  std::vector<Entry> entries;
  std::vector<NotCovered> not_covered;
  std::vector<ExtraFile> extra{};  // by path; none of them was hashed
  std::uint64_t extra_count = 0;   // with those that `extra` has no room for
  NodeDevice device;
  std::optional<Digest> kernel_digest;  // absent for the CPU
  // Which check it was: "full" hashed every byte now. Others follow.
  std::string check = "full";
  std::uint64_t bytes;  // hashed
  Timestamp started_at;
  Timestamp finished_at;
  bool operator==(const VerificationReport&) const = default;
};
[[nodiscard]] Json to_json(const VerificationReport& report);
// Strict JSON, schema, entries in order and each as check() of an artifact wants it.
[[nodiscard]] Result<VerificationReport> parse_verification_report(ByteView payload);

// Body of POST /v1/jobs/{id}/report: {"envelope":BASE64,"evidence":{...}|null}. The envelope's
// bytes are kept as they are.
struct ReportSubmission {
  Bytes envelope;
  std::optional<Evidence> evidence;  // its report data binds the report's payload
};
[[nodiscard]] Json to_json(const ReportSubmission& submission);
[[nodiscard]] Result<ReportSubmission> parse_report_submission(ByteView body);

// A span that a spot check asks for: bytes [index * span, ...) of an entry.
struct SpotSpan {
  std::uint64_t entry;  // position in the artifact
  std::uint64_t index;
  bool operator==(const SpotSpan&) const = default;
};
// What the service wants next, in the answer to a report.
// {"state":"verified|mismatch|incomplete|outline|spot", ...}. Schema: report-answer.schema.json.
struct ReportAnswer {
  enum class State : std::uint8_t {
    kVerified,    // done
    kMismatch,    // done: the bytes differ
    kIncomplete,  // done: what was covered is right, but not everything was covered
    kOutline,     // send the outline digests of `entries` at `span`
    kSpot,        // send the answers for `spans` under `challenge`
  };
  State state;
  std::vector<std::uint64_t> entries;
  std::uint64_t span = 0;  // bytes
  std::vector<SpotSpan> spans;
  std::optional<Challenge> challenge;  // purpose spot
};
[[nodiscard]] std::string_view name(ReportAnswer::State state);
[[nodiscard]] Json to_json(const ReportAnswer& answer);
[[nodiscard]] Result<ReportAnswer> parse_report_answer(ByteView body);

// Body of POST /v1/jobs/{id}/outline: {"span":N,"entries":[{"entry":N,"digests":[HEX...]}]}.
struct OutlineSubmission {
  struct Item {
    std::uint64_t entry;
    std::vector<Digest> digests;
  };
  std::uint64_t span;
  std::vector<Item> entries;
};
[[nodiscard]] Json to_json(const OutlineSubmission& submission);
[[nodiscard]] Result<OutlineSubmission> parse_outline_submission(ByteView body,
                                                                 HashAlgorithm algorithm);

// Body of POST /v1/jobs/{id}/spot: {"nonce":HEX,"answers":[HEX...]}, one answer for each span.
struct SpotSubmission {
  Nonce nonce;
  std::vector<Digest> answers;
};
[[nodiscard]] Json to_json(const SpotSubmission& submission);
[[nodiscard]] Result<SpotSubmission> parse_spot_submission(ByteView body);

// HMAC-SHA-256(nonce, "assay/spot/v1" || artifact || entry || index || span bytes): the artifact's
// root as raw bytes, entry and index as 64-bit big-endian numbers.
[[nodiscard]] Digest spot_answer(const Nonce& nonce, const ArtifactId& artifact,
                                 const SpotSpan& place, ByteView span_bytes);
// 1 - (1 - f)^k: the chance that k random spans meet at least one of a fraction f that is missing.
[[nodiscard]] double spot_detection_probability(std::size_t k, double f);

}  // namespace assay
