// SPDX-License-Identifier: Apache-2.0
// Heartbeats: shape by heartbeat and heartbeat-answer.schema.json.
#include "schemas/heartbeat.h"

#include <algorithm>
#include <array>

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr JsonLimits kBeatLimits{1U << 20};

constexpr std::array kStates = {InstanceState::kPending, InstanceState::kVerified,
                                InstanceState::kViolated, InstanceState::kUnknown,
                                InstanceState::kEnded};

constexpr std::array kChecks = {WatchCheck::kTags, WatchCheck::kSha256, WatchCheck::kRandom};
constexpr std::uint64_t kAll = 100;  // percent

std::unexpected<Error> violation(std::string detail, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}

Result<std::optional<DocumentId>> read_report(const Json& json) {
  if (json["report"].is_null()) {
    return std::optional<DocumentId>();
  }
  auto report = DocumentId::parse(members::text(json, "report"));
  if (!report) {
    return members::under("/report", std::move(report).error());
  }
  return *std::move(report);
}

std::vector<BeatFinding> read_findings(const Json& json) {
  std::vector<BeatFinding> findings;
  static const Json kNone = Json::array();
  for (const Json& item : members::child(json, "findings", kNone)) {
    findings.push_back({members::text(item, "tensor"), members::text(item, "detail")});
  }
  return findings;
}

Result<std::optional<WatchedBy>> read_watch(const Json& json, InstanceState state) {
  const auto found = json.find("watch");
  if (found == json.end()) {
    return std::optional<WatchedBy>();
  }
  if (state != InstanceState::kVerified) {
    return violation("what is watched is a verified instance", "/watch");
  }
  ASSAY_ASSIGN(const WatchCheck check, watch_check_from(members::text(*found, "check")));
  const WatchedBy watch{check, members::number(*found, "period_ms"),
                        members::number(*found, "share_percent")};
  if ((check == WatchCheck::kRandom) == (watch.share_percent == kAll)) {
    return violation("only a random check looks at a share, and always does",
                     "/watch/share_percent");
  }
  return watch;
}

Result<InstanceBeat> read_beat(const Json& json) {
  JobInstance instance{members::text(json, "pod"), members::text(json, "instance")};
  auto artifact = ArtifactId::parse(members::text(json, "artifact"));
  if (!artifact) {
    return members::under("/artifact", std::move(artifact).error());
  }
  ASSAY_ASSIGN(const InstanceState state, instance_state_from(members::text(json, "state")));
  ASSAY_ASSIGN(auto report, read_report(json));
  if ((state == InstanceState::kVerified || state == InstanceState::kEnded) && !report) {
    return violation("an instance that is or was verified names its report", "/report");
  }
  std::vector<BeatFinding> findings = read_findings(json);
  if (!findings.empty() && state != InstanceState::kViolated) {
    return violation("findings are of a violated instance", "/findings");
  }
  ASSAY_ASSIGN(const auto watch, read_watch(json, state));
  return InstanceBeat{std::move(instance), *std::move(artifact), state,
                      std::move(report),   std::move(findings),  watch};
}

Result<std::vector<InstanceBeat>> read_beats(const Json& list) {
  std::vector<InstanceBeat> beats;
  for (const Json& item : list) {
    const std::string place = "/instances/" + std::to_string(beats.size());
    auto beat = read_beat(item);
    if (!beat) {
      return members::under(place, std::move(beat).error());
    }
    if (!beats.empty() && !(beats.back().instance < beat->instance)) {
      return violation("instances stand in order, none twice", place);
    }
    beats.push_back(*std::move(beat));
  }
  return beats;
}

}  // namespace

std::string_view name(InstanceState state) {
  switch (state) {
    case InstanceState::kPending:
      return "pending";
    case InstanceState::kVerified:
      return "verified";
    case InstanceState::kViolated:
      return "violated";
    case InstanceState::kEnded:
      return "ended";
    case InstanceState::kUnknown:
      break;
  }
  return "unknown";
}

Result<InstanceState> instance_state_from(std::string_view text) {
  const auto* const found =
      std::ranges::find(kStates, text, [](InstanceState state) { return name(state); });
  if (found == kStates.end()) {
    return fail(ErrorCode::kInvalidParameter,
                "an instance is pending, verified, violated, unknown or ended");
  }
  return *found;
}

std::string_view name(WatchCheck check) {
  switch (check) {
    case WatchCheck::kTags:
      return "tags";
    case WatchCheck::kSha256:
      return "sha256";
    case WatchCheck::kRandom:
      break;
  }
  return "random";
}

Result<WatchCheck> watch_check_from(std::string_view text) {
  const auto* const found =
      std::ranges::find(kChecks, text, [](WatchCheck check) { return name(check); });
  if (found == kChecks.end()) {
    return fail(ErrorCode::kInvalidParameter, "a check is tags, sha256 or random");
  }
  return *found;
}

Json to_json(const WatchedBy& watch) {
  return {{"check", name(watch.check)},
          {"period_ms", watch.period_ms},
          {"share_percent", watch.share_percent}};
}

Json to_json(const BeatFinding& finding) {
  return {{"tensor", finding.tensor}, {"detail", finding.detail}};
}

Json to_json(const Heartbeat& heartbeat) {
  Json instances = Json::array();
  for (const InstanceBeat& beat : heartbeat.instances) {
    instances.push_back({{"pod", beat.instance.pod},
                         {"instance", beat.instance.instance},
                         {"artifact", beat.artifact.text()},
                         {"state", name(beat.state)},
                         {"report", beat.report ? Json(beat.report->text()) : Json()}});
    for (const BeatFinding& finding : beat.findings) {
      instances.back()["findings"].push_back(to_json(finding));
    }
    if (beat.watch) {
      instances.back()["watch"] = to_json(*beat.watch);
    }
  }
  return {{"node", heartbeat.node},
          {"session", text(heartbeat.session)},
          {"sequence", heartbeat.sequence},
          {"instances", std::move(instances)}};
}

Result<Heartbeat> parse_heartbeat(ByteView payload) {
  ASSAY_ASSIGN(const Json json, parse_json(payload, kBeatLimits));
  ASSAY_TRY(validate("heartbeat", json));
  ASSAY_ASSIGN(const Nonce session, parse_nonce(members::text(json, "session")));
  ASSAY_ASSIGN(auto instances, read_beats(json["instances"]));
  return Heartbeat{members::text(json, "node"), session, members::number(json, "sequence"),
                   std::move(instances)};
}

Json to_json(const HeartbeatAnswer& answer) {
  return {
      {"counts", answer.counts}, {"session", text(answer.session)}, {"sequence", answer.sequence}};
}

Result<HeartbeatAnswer> parse_heartbeat_answer(ByteView body) {
  ASSAY_ASSIGN(const Json json, parse_json(body, kBeatLimits));
  ASSAY_TRY(validate("heartbeat-answer", json));
  ASSAY_ASSIGN(const Nonce session, parse_nonce(members::text(json, "session")));
  return HeartbeatAnswer{json["counts"].get<bool>(), session, members::number(json, "sequence")};
}

}  // namespace assay
