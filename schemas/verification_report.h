// SPDX-License-Identifier: Apache-2.0
// Verification reports: what a node found when it hashed a model.
// Schemas: verification-report.schema.json, report-submission.schema.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/read_protection.h"
#include "schemas/enrolment.h"
#include "schemas/job.h"
#include "schemas/memory_facts.h"

namespace assay {

// DSSE payload type; the node's worker key signs the payload.
inline constexpr std::string_view kVerificationReportPayloadType =
    "application/vnd.assay.verification-report+json";

// Number of extra files up to which a report lists each file, as far as ExtraRoom
// (schemas/report_size.h) has room; further extra files are only counted.
inline constexpr std::size_t kMaxExtraFiles = 1000;

// A file on the node that no file entry covers and no ignore pattern leaves out.
struct ExtraFile {
  std::string path;    // spelled as in artifacts
  std::uint64_t size;  // bytes
  bool operator==(const ExtraFile&) const = default;
};

// An entry that was not hashed, and the reason.
struct NotCovered {
  std::uint64_t entry;  // position in the artifact
  std::string reason;
  bool operator==(const NotCovered&) const = default;
};

struct VerificationReport {
  std::string job;
  std::string node;
  Nonce nonce;
  std::uint64_t lease;  // token of the lease
  ArtifactId artifact;  // artifact that the job named
  TreeParameters parameters;
  JobScope scope;
  std::string location;  // location of the job, where the bytes were read
  // The persistent volume behind the claim of a pvc:// location. Empty: unknown, or not a claim.
  std::string volume;
  std::optional<JobPod> pod;  // pod whose own mount was read
  // Both members are set for scope device-memory and absent for scope files.
  std::optional<JobInstance> instance{};
  std::optional<MemoryFacts> memory{};
  // The entries as computed from the bytes on the node, in artifact order. For a job with a subset:
  // only the entries of the subset. For scope device-memory: each tensor entry of the manifest
  // whose name a registered tensor has. In this scope dtype, shape, size and root are those found
  // in memory; `file` and `offset` are copied from the manifest.
  std::vector<Entry> entries;
  std::vector<NotCovered> not_covered;
  std::vector<ExtraFile> extra{};  // sorted by path; not hashed
  std::uint64_t extra_count = 0;   // includes the files that `extra` does not list
  NodeDevice device;
  std::optional<Digest> kernel_digest;  // absent for the CPU
  // The kind of check. "full": every byte was hashed for this report. More kinds are planned.
  std::string check = "full";
  std::uint64_t bytes;  // bytes hashed
  // What kept the files from being written while they were read. Absent for scope device-memory,
  // when no file was read, and in reports of node agents that did not say it.
  std::optional<ReadProtection> read_protection{};
  Timestamp started_at;
  Timestamp finished_at;
  bool operator==(const VerificationReport&) const = default;
};
[[nodiscard]] Json to_json(const VerificationReport& report);
// Parses strict JSON and checks the schema. Entries must be valid as in check_some() of
// schemas/core/artifact.h.
[[nodiscard]] Result<VerificationReport> parse_verification_report(ByteView payload);

// Body of POST /v1/jobs/{id}/report: {"envelope":BASE64,"evidence":{...}|null}. The envelope's
// bytes are kept unchanged.
struct ReportSubmission {
  Bytes envelope;
  std::optional<Evidence> evidence;  // its report data contains a hash of the report's payload
};
[[nodiscard]] Json to_json(const ReportSubmission& submission);
[[nodiscard]] Result<ReportSubmission> parse_report_submission(ByteView body);

// A span of bytes of an entry that a spot check asks for. In a spot check, the service chooses
// random spans after a report, and the node proves that it has their bytes. The span begins at byte
// `index` * ReportAnswer::span of the own bytes of the entry and is ReportAnswer::span bytes long,
// or shorter at their end.
struct SpotSpan {
  std::uint64_t entry;  // position in the artifact
  std::uint64_t index;
  bool operator==(const SpotSpan&) const = default;
};
// The answer to a report: what the service wants next. JSON:
// {"state":"verified|mismatch|incomplete|outline|spot", ...}. Schema: report-answer.schema.json.
struct ReportAnswer {
  enum class State : std::uint8_t {
    kVerified,    // done
    kMismatch,    // done: the bytes differ
    kIncomplete,  // done: the covered bytes are right, but not all were covered
    kOutline,     // send the outline digests (schemas/core/outline.h) of `entries`
    kSpot,        // send spot_answer() for each of `spans`, with the nonce of `challenge`
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

// Returns HMAC-SHA-256(nonce, "assay/spot/v1" || artifact || entry || index || span bytes).
// `artifact` is the root as raw bytes; entry and index are 64-bit big-endian numbers.
[[nodiscard]] Digest spot_answer(const Nonce& nonce, const ArtifactId& artifact,
                                 const SpotSpan& place, ByteView span_bytes);
// Returns 1 - (1 - f)^k: the probability that `k` random spans hit at least one missing span when
// the fraction `f` of the spans is missing.
[[nodiscard]] double spot_detection_probability(std::size_t k, double f);

}  // namespace assay
