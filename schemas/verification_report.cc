// SPDX-License-Identifier: Apache-2.0
// Reports: shape by verification-report, report-submission, report-answer, outline-submission and
// spot-submission.schema.json; entries by the rules of artifacts.
#include "schemas/verification_report.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "schemas/claim.h"
#include "schemas/core/hmac.h"
#include "schemas/document_size.h"
#include "schemas/members.h"
#include "schemas/report_size.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr std::string_view kSpotDomain = "assay/spot/v1";
constexpr JsonLimits kPayloadLimits{.max_bytes = kMaxReportPayload,
                                    .max_memory = kMaxStatementMemory};
// The envelope is one string; the collateral of the evidence has few values for its length.
constexpr JsonLimits kSubmissionLimits{.max_bytes = kMaxReportBody,
                                       .max_memory = 2 * kMaxReportBody};
constexpr JsonLimits kAnswerLimits{4U << 20};
// 4096 answers of 64 digits take 720 KiB.
constexpr std::size_t kMaxSpotMemory = 2U << 20;
constexpr JsonLimits kSpotLimits{.max_bytes = 1U << 20, .max_memory = kMaxSpotMemory};

constexpr std::array<std::pair<ReportAnswer::State, std::string_view>, 5> kStates = {
    {{ReportAnswer::State::kVerified, "verified"},
     {ReportAnswer::State::kMismatch, "mismatch"},
     {ReportAnswer::State::kIncomplete, "incomplete"},
     {ReportAnswer::State::kOutline, "outline"},
     {ReportAnswer::State::kSpot, "spot"}}};

std::unexpected<Error> violation(std::string detail, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}

std::array<std::uint8_t, 8> big_endian(std::uint64_t value) {
  std::array<std::uint8_t, 8> out{};
  for (std::size_t i = out.size(); i-- > 0; value >>= 8) {
    out.at(i) = static_cast<std::uint8_t>(value);
  }
  return out;
}

Status check_span(std::uint64_t span) {
  return std::has_single_bit(span) ? Status()
                                   : violation("a span is a power of two of bytes", "/span");
}

// --- entries

// A report may be about tensors alone whose files are in the artifact, but not in the subset.
// check() wants a tensor to lie in a listed file when files are listed, so those without theirs are
// checked apart.
Status check_entries(const TreeParameters& parameters, const std::vector<Entry>& entries) {
  std::set<std::string_view> files;
  for (const Entry& entry : entries) {
    if (const auto* file = std::get_if<FileEntry>(&entry)) {
      files.insert(file->path);
    }
  }
  Artifact with_files{parameters, {}};
  Artifact tensors{parameters, {}};
  for (const Entry& entry : entries) {
    const auto* tensor = std::get_if<TensorEntry>(&entry);
    Artifact& part = tensor != nullptr && !files.contains(tensor->file) ? tensors : with_files;
    part.entries.push_back(entry);
  }
  for (const Artifact* part : {&with_files, &tensors}) {
    if (!part->entries.empty()) {
      ASSAY_TRY(check(*part));
    }
  }
  std::vector<Entry> sorted = entries;
  sort_entries(sorted);
  return sorted == entries ? Status() : violation("entries must be in order", "");
}

Result<std::vector<Entry>> read_entries(const Json& list, const TreeParameters& parameters) {
  std::vector<Entry> entries;
  entries.reserve(list.size());
  for (const Json& item : list) {
    auto entry = entry_from_json(item, parameters.hash);
    if (!entry) {
      return members::under("/entries/" + std::to_string(entries.size()), std::move(entry).error());
    }
    entries.push_back(*std::move(entry));
  }
  if (auto status = check_entries(parameters, entries); !status) {
    Error error = std::move(status).error();
    error.where = "/entries";
    return std::unexpected(std::move(error));
  }
  return entries;
}

Result<std::vector<NotCovered>> read_not_covered(const Json& list) {
  std::vector<NotCovered> out;
  for (const Json& item : list) {
    const std::uint64_t entry = members::number(item, "entry");
    if (!out.empty() && out.back().entry >= entry) {
      return violation("entries must ascend, none twice", "/not_covered");
    }
    out.push_back({entry, members::text(item, "reason")});
  }
  return out;
}

Result<std::vector<ExtraFile>> read_extra(const Json& json) {
  std::vector<ExtraFile> out;
  for (const Json& item : json["extra"]) {
    ExtraFile file{members::text(item, "path"), members::number(item, "size")};
    if (auto status = check_path(file.path); !status) {
      return members::under("/extra", std::move(status).error());
    }
    if (!out.empty() && out.back().path >= file.path) {
      return violation("extra files stand in order, none twice", "/extra");
    }
    out.push_back(std::move(file));
  }
  if (members::number(json, "extra_count") < out.size()) {
    return violation("this counts at least the extra files that are listed", "/extra_count");
  }
  return out;
}

Result<ArtifactId> read_artifact(const Json& json) {
  auto artifact = ArtifactId::parse(members::text(json, "artifact"));
  if (!artifact) {
    return members::under("/artifact", std::move(artifact).error());
  }
  return artifact;
}

Result<std::optional<Digest>> read_kernel_digest(const Json& json) {
  if (!json.contains("kernel_digest")) {
    return std::optional<Digest>();
  }
  auto digest = Digest::parse(members::text(json, "kernel_digest"));
  if (!digest) {
    return members::under("/kernel_digest", std::move(digest).error());
  }
  return *std::move(digest);
}

Result<TreeParameters> read_parameters(const Json& json, const ArtifactId& artifact) {
  auto parameters = tree_parameters_from_json(json["parameters"]);
  if (!parameters) {
    return members::under("/parameters", std::move(parameters).error());
  }
  if (parameters->hash != artifact.root().algorithm()) {
    return violation("the hash is not that of the artifact", "/parameters/hash");
  }
  return parameters;
}

// Only claims have a volume behind them.
Status check_volume(const Json& json) {
  const std::string volume = members::text(json, "volume");
  const bool claim = claim_in(members::text(json, "location")).has_value();
  if (volume.empty() || (claim && check_volume_name(volume))) {
    return {};
  }
  return violation("only a pvc:// location has a volume, which is a lowercase DNS name", "/volume");
}

Result<std::optional<MemoryFacts>> read_memory(const Json& json) {
  if (!json.contains("memory")) {
    return std::optional<MemoryFacts>();
  }
  auto memory = memory_facts_from(json["memory"]);
  if (!memory) {
    return members::under("/memory", std::move(memory).error());
  }
  return *std::move(memory);
}

Result<std::optional<ReadProtection>> read_protection(const Json& json) {
  if (!json.contains("read_protection")) {
    return std::optional<ReadProtection>();
  }
  auto protection = read_protection_from(json["read_protection"]);
  if (!protection) {
    return members::under("/read_protection", std::move(protection).error());
  }
  return *protection;
}

// Memory has tensors, at no location; every byte was hashed in place or staged.
Status check_memory_report(const VerificationReport& report) {
  const bool about_memory = report.scope == JobScope::kDeviceMemory;
  if (report.memory.has_value() != about_memory) {
    return violation("scope device-memory has facts about memory, and no other scope has",
                     "/memory");
  }
  if (!about_memory) {
    return {};
  }
  const bool has_files = !report.location.empty() || !report.volume.empty() || report.pod ||
                         report.extra_count != 0 || report.read_protection ||
                         std::ranges::any_of(report.entries, [](const Entry& entry) {
                           return std::holds_alternative<FileEntry>(entry);
                         });
  if (has_files) {
    return violation("a report about memory has tensors alone, and no location or pod", "/scope");
  }
  // Both are below 2^53.
  return report.memory->in_place + report.memory->staged == report.bytes
             ? Status()
             : violation("these are the bytes hashed in place and those staged", "/bytes");
}

NodeDevice read_device(const Json& json) {
  return {members::text(json, "id"), members::text(json, "name"), members::text(json, "driver")};
}

// --- what is still asked for

Result<std::optional<Challenge>> read_challenge(const Json& json) {
  const auto found = json.find("challenge");
  if (found == json.end()) {
    return std::optional<Challenge>();
  }
  auto challenge = challenge_from_json(*found);
  if (!challenge) {
    return members::under("/challenge", std::move(challenge).error());
  }
  if (challenge->purpose != ChallengePurpose::kSpot) {
    return fail(ErrorCode::kChallengeMismatch, "the nonce is not for a spot check", "/challenge");
  }
  return *std::move(challenge);
}

Result<std::vector<Digest>> read_digests(const Json& list, HashAlgorithm algorithm) {
  std::vector<Digest> digests;
  digests.reserve(list.size());
  for (const Json& item : list) {
    auto digest = Digest::from_hex(algorithm, item.get<std::string>());
    if (!digest) {
      return members::under("/" + std::to_string(digests.size()), std::move(digest).error());
    }
    digests.push_back(*std::move(digest));
  }
  return digests;
}

Json hex_list(const std::vector<Digest>& digests) {
  Json out = Json::array();
  for (const Digest& digest : digests) {
    out.push_back(digest.hex());
  }
  return out;
}

}  // namespace

Json to_json(const VerificationReport& report) {
  Json entries = Json::array();
  for (const Entry& entry : report.entries) {
    entries.push_back(to_json(entry));
  }
  Json not_covered = Json::array();
  for (const NotCovered& item : report.not_covered) {
    not_covered.push_back({{"entry", item.entry}, {"reason", item.reason}});
  }
  Json extra = Json::array();
  for (const ExtraFile& file : report.extra) {
    extra.push_back({{"path", file.path}, {"size", file.size}});
  }
  Json json = {{"job", report.job},
               {"node", report.node},
               {"nonce", text(report.nonce)},
               {"lease", report.lease},
               {"artifact", report.artifact.text()},
               {"parameters", to_json(report.parameters)},
               {"scope", name(report.scope)},
               {"location", report.location},
               {"volume", report.volume},
               {"entries", std::move(entries)},
               {"not_covered", std::move(not_covered)},
               {"extra", std::move(extra)},
               {"extra_count", report.extra_count},
               {"device", to_json(report.device)},
               {"check", report.check},
               {"bytes", report.bytes},
               {"started_at", to_rfc3339(report.started_at)},
               {"finished_at", to_rfc3339(report.finished_at)}};
  if (report.pod) {
    json["pod"] = to_json(*report.pod);
  }
  if (report.instance) {
    json["instance"] = to_json(*report.instance);
  }
  if (report.memory) {
    json["memory"] = to_json(*report.memory);
  }
  if (report.read_protection) {
    json["read_protection"] = to_json(*report.read_protection);
  }
  if (report.kernel_digest) {
    json["kernel_digest"] = report.kernel_digest->text();
  }
  return json;
}

Result<VerificationReport> parse_verification_report(ByteView payload) {
  ASSAY_ASSIGN(const Json json, parse_json(payload, kPayloadLimits));
  ASSAY_TRY(validate("verification-report", json));
  ASSAY_ASSIGN(const Nonce nonce, parse_nonce(members::text(json, "nonce")));
  ASSAY_ASSIGN(ArtifactId artifact, read_artifact(json));
  ASSAY_ASSIGN(const TreeParameters parameters, read_parameters(json, artifact));
  ASSAY_ASSIGN(const JobScope scope, job_scope_from(members::text(json, "scope")));
  ASSAY_ASSIGN(auto pod, read_job_pod(json));
  ASSAY_ASSIGN(auto instance, read_job_instance(json, scope));
  ASSAY_ASSIGN(auto memory, read_memory(json));
  ASSAY_TRY(check_volume(json));
  ASSAY_ASSIGN(auto entries, read_entries(json["entries"], parameters));
  ASSAY_ASSIGN(auto not_covered, read_not_covered(json["not_covered"]));
  ASSAY_ASSIGN(auto extra, read_extra(json));
  ASSAY_ASSIGN(auto kernel_digest, read_kernel_digest(json));
  ASSAY_ASSIGN(auto protection, read_protection(json));
  ASSAY_ASSIGN(const Timestamp started_at, members::time(json, "started_at"));
  ASSAY_ASSIGN(const Timestamp finished_at, members::time(json, "finished_at"));
  VerificationReport report{.job = members::text(json, "job"),
                            .node = members::text(json, "node"),
                            .nonce = nonce,
                            .lease = members::number(json, "lease"),
                            .artifact = std::move(artifact),
                            .parameters = parameters,
                            .scope = scope,
                            .location = members::text(json, "location"),
                            .volume = members::text(json, "volume"),
                            .pod = std::move(pod),
                            .instance = std::move(instance),
                            .memory = std::move(memory),
                            .entries = std::move(entries),
                            .not_covered = std::move(not_covered),
                            .extra = std::move(extra),
                            .extra_count = members::number(json, "extra_count"),
                            .device = read_device(json["device"]),
                            .kernel_digest = std::move(kernel_digest),
                            .check = members::text(json, "check"),
                            .bytes = members::number(json, "bytes"),
                            .read_protection = protection,
                            .started_at = started_at,
                            .finished_at = finished_at};
  ASSAY_TRY(check_memory_report(report));
  return report;
}

Json to_json(const ReportSubmission& submission) {
  return {{"envelope", base64_encode(submission.envelope)},
          {"evidence", submission.evidence ? to_json(*submission.evidence) : Json()}};
}

Result<ReportSubmission> parse_report_submission(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kSubmissionLimits));
  ASSAY_TRY(validate("report-submission", json));
  auto envelope = base64_decode(members::text(json, "envelope"));
  if (!envelope) {
    return members::under("/envelope", std::move(envelope).error());
  }
  ReportSubmission submission{*std::move(envelope), std::nullopt};
  const auto evidence = json.find("evidence");
  if (evidence != json.end() && !evidence->is_null()) {
    auto read = evidence_from_json(*evidence);
    if (!read) {
      return members::under("/evidence", std::move(read).error());
    }
    submission.evidence = *std::move(read);
  }
  return submission;
}

std::string_view name(ReportAnswer::State state) {
  for (const auto& [value, known] : kStates) {
    if (value == state) {
      return known;
    }
  }
  return "unknown";
}

Json to_json(const ReportAnswer& answer) {
  Json json = {{"state", name(answer.state)}};
  if (!answer.entries.empty()) {
    json["entries"] = answer.entries;
  }
  if (answer.span != 0) {
    json["span"] = answer.span;
  }
  for (const SpotSpan& span : answer.spans) {
    json["spans"].push_back({{"entry", span.entry}, {"index", span.index}});
  }
  if (answer.challenge) {
    json["challenge"] = to_json(*answer.challenge);
  }
  return json;
}

Result<ReportAnswer> parse_report_answer(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kAnswerLimits));
  ASSAY_TRY(validate("report-answer", json));
  ReportAnswer answer{ReportAnswer::State::kMismatch, {}, 0, {}, {}};
  const std::string state = members::text(json, "state");
  for (const auto& [value, known] : kStates) {
    if (known == state) {
      answer.state = value;
    }
  }
  ASSAY_ASSIGN(answer.entries, members::ascending(json, "entries"));
  answer.span = members::number(json, "span");
  if (json.contains("span")) {
    ASSAY_TRY(check_span(answer.span));
  }
  const Json none = Json::array();
  for (const Json& span : members::child(json, "spans", none)) {
    answer.spans.push_back({members::number(span, "entry"), members::number(span, "index")});
  }
  ASSAY_ASSIGN(answer.challenge, read_challenge(json));
  return answer;
}

Json to_json(const OutlineSubmission& submission) {
  Json entries = Json::array();
  for (const OutlineSubmission::Item& item : submission.entries) {
    entries.push_back({{"entry", item.entry}, {"digests", hex_list(item.digests)}});
  }
  return {{"span", submission.span}, {"entries", std::move(entries)}};
}

Result<OutlineSubmission> parse_outline_submission(ByteView body, HashAlgorithm algorithm) {
  ASSAY_ASSIGN(const Json json, parse_json(body));
  ASSAY_TRY(validate("outline-submission", json));
  OutlineSubmission submission{members::number(json, "span"), {}};
  ASSAY_TRY(check_span(submission.span));
  for (const Json& item : json["entries"]) {
    const std::uint64_t entry = members::number(item, "entry");
    if (!submission.entries.empty() && submission.entries.back().entry >= entry) {
      return violation("entries must ascend, none twice", "/entries");
    }
    auto digests = read_digests(item["digests"], algorithm);
    if (!digests) {
      return members::under("/entries/" + std::to_string(submission.entries.size()) + "/digests",
                            std::move(digests).error());
    }
    submission.entries.push_back({entry, *std::move(digests)});
  }
  return submission;
}

Json to_json(const SpotSubmission& submission) {
  return {{"nonce", text(submission.nonce)}, {"answers", hex_list(submission.answers)}};
}

Result<SpotSubmission> parse_spot_submission(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kSpotLimits));
  ASSAY_TRY(validate("spot-submission", json));
  ASSAY_ASSIGN(const Nonce nonce, parse_nonce(members::text(json, "nonce")));
  auto answers = read_digests(json["answers"], HashAlgorithm::kSha256);
  if (!answers) {
    return members::under("/answers", std::move(answers).error());
  }
  return SpotSubmission{nonce, *std::move(answers)};
}

Digest spot_answer(const Nonce& nonce, const ArtifactId& artifact, const SpotSpan& place,
                   ByteView span_bytes) {
  return hmac_sha256(nonce, {as_bytes(kSpotDomain), artifact.root().bytes(),
                             big_endian(place.entry), big_endian(place.index), span_bytes});
}

double spot_detection_probability(std::size_t k, double f) {
  if (k == 0 || !(f > 0)) {
    return 0;
  }
  // 1 - (1 - f)^k without losing small f to rounding.
  return f >= 1 ? 1 : -std::expm1(static_cast<double>(k) * std::log1p(-f));
}

}  // namespace assay
