// SPDX-License-Identifier: Apache-2.0
// Reports: shape by verification-report, report-submission, report-answer, outline-submission and
// spot-submission.schema.json; entries by the rules of artifacts.
#include "schemas/verification_report.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "schemas/claim.h"
#include "schemas/core/hmac.h"
#include "schemas/core/names.h"
#include "schemas/document.h"
#include "schemas/document_size.h"
#include "schemas/report_size.h"

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

constexpr Names<ReportAnswer::State, 5> kStates = {
    {{{ReportAnswer::State::kVerified, "verified"},
      {ReportAnswer::State::kMismatch, "mismatch"},
      {ReportAnswer::State::kIncomplete, "incomplete"},
      {ReportAnswer::State::kOutline, "outline"},
      {ReportAnswer::State::kSpot, "spot"}}}};

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

// An entry says its hash by the length of its root alone; check_parameters() compares it.
Result<Entry> read_entry(const Json& json) {
  const auto root = json.find("root");
  const bool longer =
      root != json.end() && root->is_string() &&
      root->get_ref<const std::string&>().size() == 2 * digest_size(HashAlgorithm::kSha384);
  return entry_from_json(json, longer ? HashAlgorithm::kSha384 : HashAlgorithm::kSha256);
}

Status check_parameters(const VerificationReport& report) {
  const HashAlgorithm hash = report.parameters.hash;
  if (hash != report.artifact.root().algorithm()) {
    return violation("the hash is not that of the artifact", "/parameters/hash");
  }
  for (std::size_t i = 0; i < report.entries.size(); ++i) {
    const auto root = [](const auto& entry) { return entry.root.algorithm(); };
    if (std::visit(root, report.entries[i]) != hash) {
      return fail(ErrorCode::kInvalidDigest, "the root is no digest of this hash",
                  "/entries/" + std::to_string(i) + "/root");
    }
  }
  // A report may list tensors without their file, and some of them: what it lists is compared with
  // the manifest, whose tensors lead to the roots of their files.
  if (report.entries.empty()) {
    return {};
  }
  if (auto status = check_some({report.parameters, report.entries}); !status) {
    return fail(status.error().code, std::move(status).error().detail, "/entries");
  }
  return {};
}

// Only claims have a volume behind them.
Status check_volume(const VerificationReport& report) {
  const bool claim = claim_in(report.location).has_value();
  if (report.volume.empty() || (claim && check_volume_name(report.volume))) {
    return {};
  }
  return violation("only a pvc:// location has a volume, which is a lowercase DNS name", "/volume");
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

Status check_digests(const std::vector<Digest>& digests, HashAlgorithm algorithm) {
  const bool same = std::ranges::all_of(
      digests, [algorithm](const Digest& digest) { return digest.algorithm() == algorithm; });
  return same ? Status()
              : fail(ErrorCode::kInvalidDigest, "these are no digests of the artifact's hash");
}

// Digests as hex, whose length says the hash.
constexpr auto kHexDigests = json::each(
    [](const Json& json) {
      return json::parsed(json, [](std::string_view hex) {
        const bool longer = hex.size() == 2 * digest_size(HashAlgorithm::kSha384);
        return Digest::from_hex(longer ? HashAlgorithm::kSha384 : HashAlgorithm::kSha256, hex);
      });
    },
    [](const Digest& digest) { return Json(digest.hex()); });

Result<ReportAnswer::State> state_from(std::string_view name) {
  return kStates.parse(name, "there is no such state", ErrorCode::kSchemaViolation);
}

}  // namespace

static auto members_of(json::As<NotCovered>) {
  return std::tuple(json::always("entry", &NotCovered::entry),
                    json::always("reason", &NotCovered::reason));
}

static auto members_of(json::As<ExtraFile>) {
  const auto is_path = [](const std::string& path) { return check_path(path); };
  return std::tuple(json::always("path", &ExtraFile::path, json::checked(is_path)),
                    json::always("size", &ExtraFile::size));
}

static auto members_of(json::As<VerificationReport>) {
  using T = VerificationReport;
  return std::tuple(
      json::always("job", &T::job), json::always("node", &T::node),
      json::always("nonce", &T::nonce, document::kNonce), json::always("lease", &T::lease),
      json::always("artifact", &T::artifact),
      json::always("parameters", &T::parameters, json::by(tree_parameters_from_json)),
      json::always("scope", &T::scope, json::named(job_scope_from)),
      json::always("location", &T::location), json::always("volume", &T::volume),
      json::if_set("pod", &T::pod), json::if_set("instance", &T::instance),
      json::if_set("memory", &T::memory),
      json::always("entries", &T::entries, json::each(read_entry)),
      json::always("not_covered", &T::not_covered,
                   json::ascending(std::less<>(), &NotCovered::entry)),
      json::always("extra", &T::extra, json::ascending(std::less<>(), &ExtraFile::path)),
      json::always("extra_count", &T::extra_count), json::always("device", &T::device),
      json::if_set("kernel_digest", &T::kernel_digest), json::always("check", &T::check),
      json::always("bytes", &T::bytes),
      json::if_set("read_protection", &T::read_protection, json::by(read_protection_from)),
      json::always("started_at", &T::started_at), json::always("finished_at", &T::finished_at));
}
static VerificationReport start(json::As<VerificationReport>) {
  return {{}, {}, {}, {}, json::unread<ArtifactId>(),
          {}, {}, {}, {}, {},
          {}, {}, {}, {}, {},
          {}, {}, {}, {}, {},
          {}, {}, {}};
}
static Status together(const VerificationReport& report) {
  ASSAY_TRY(check_instance(report.instance, report.scope));
  ASSAY_TRY(check_volume(report));
  ASSAY_TRY(check_parameters(report));
  if (report.extra_count < report.extra.size()) {
    return violation("this counts at least the extra files that are listed", "/extra_count");
  }
  return check_memory_report(report);
}
Json to_json(const VerificationReport& report) { return json::write(report); }
Result<VerificationReport> parse_verification_report(ByteView payload) {
  return document::parse<VerificationReport>(payload, "verification-report", kPayloadLimits);
}

static auto members_of(json::As<ReportSubmission>) {
  return std::tuple(json::always("envelope", &ReportSubmission::envelope),
                    json::or_default("evidence", &ReportSubmission::evidence));
}
Json to_json(const ReportSubmission& submission) { return json::write(submission); }
Result<ReportSubmission> parse_report_submission(ByteView body) {
  return document::parse<ReportSubmission>(body, "report-submission", kSubmissionLimits);
}

std::string_view name(ReportAnswer::State state) { return kStates.of(state); }

static auto members_of(json::As<SpotSpan>) {
  return std::tuple(json::always("entry", &SpotSpan::entry),
                    json::always("index", &SpotSpan::index));
}

static auto members_of(json::As<ReportAnswer>) {
  using T = ReportAnswer;
  return std::tuple(json::always("state", &T::state, json::named(state_from)),
                    json::if_set("entries", &T::entries, json::ascending()),
                    json::if_set("span", &T::span, json::checked(check_span)),
                    json::if_set("spans", &T::spans), json::if_set("challenge", &T::challenge));
}
static Status together(const ReportAnswer& answer) {
  return !answer.challenge || answer.challenge->purpose == ChallengePurpose::kSpot
             ? Status()
             : fail(ErrorCode::kChallengeMismatch, "the nonce is not for a spot check",
                    "/challenge");
}
Json to_json(const ReportAnswer& answer) { return json::write(answer); }
Result<ReportAnswer> parse_report_answer(ByteView body) {
  return document::parse<ReportAnswer>(body, "report-answer", kAnswerLimits);
}

static auto members_of(json::As<OutlineSubmission::Item>) {
  using T = OutlineSubmission::Item;
  return std::tuple(json::always("entry", &T::entry),
                    json::always("digests", &T::digests, kHexDigests));
}
static auto members_of(json::As<OutlineSubmission>) {
  using T = OutlineSubmission;
  return std::tuple(
      json::always("span", &T::span, json::checked(check_span)),
      json::always("entries", &T::entries, json::ascending(std::less<>(), &T::Item::entry)));
}
Json to_json(const OutlineSubmission& submission) { return json::write(submission); }
Result<OutlineSubmission> parse_outline_submission(ByteView body, HashAlgorithm algorithm) {
  ASSAY_ASSIGN(auto submission, document::parse<OutlineSubmission>(body, "outline-submission"));
  for (std::size_t i = 0; i < submission.entries.size(); ++i) {
    if (auto status = check_digests(submission.entries[i].digests, algorithm); !status) {
      return fail(status.error().code, std::move(status).error().detail,
                  "/entries/" + std::to_string(i) + "/digests");
    }
  }
  return submission;
}

static auto members_of(json::As<SpotSubmission>) {
  using T = SpotSubmission;
  return std::tuple(json::always("nonce", &T::nonce, document::kNonce),
                    json::always("answers", &T::answers, kHexDigests));
}
Json to_json(const SpotSubmission& submission) { return json::write(submission); }
Result<SpotSubmission> parse_spot_submission(ByteView body) {
  ASSAY_ASSIGN(auto submission,
               document::parse<SpotSubmission>(body, "spot-submission", kSpotLimits));
  if (auto status = check_digests(submission.answers, HashAlgorithm::kSha256); !status) {
    return fail(status.error().code, std::move(status).error().detail, "/answers");
  }
  return submission;
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
