// SPDX-License-Identifier: Apache-2.0
// Heartbeats: shape by heartbeat and heartbeat-answer.schema.json.
#include "schemas/heartbeat.h"

#include "schemas/core/names.h"
#include "schemas/document.h"

namespace assay {
namespace {

constexpr JsonLimits kBeatLimits{1U << 20};

constexpr Names<InstanceState, 5> kStates = {{{{InstanceState::kPending, "pending"},
                                               {InstanceState::kVerified, "verified"},
                                               {InstanceState::kViolated, "violated"},
                                               {InstanceState::kUnknown, "unknown"},
                                               {InstanceState::kEnded, "ended"}}}};
constexpr Names<WatchCheck, 3> kChecks = {{{{WatchCheck::kTags, "tags"},
                                            {WatchCheck::kSha256, "sha256"},
                                            {WatchCheck::kRandom, "random"}}}};
constexpr std::uint64_t kAll = 100;  // percent

std::unexpected<Error> violation(std::string detail, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}

bool before(const InstanceBeat& left, const InstanceBeat& right) {
  return left.instance < right.instance;
}

}  // namespace

std::string_view name(InstanceState state) { return kStates.of(state); }

Result<InstanceState> instance_state_from(std::string_view text) {
  return kStates.parse(text, "an instance is pending, verified, violated, unknown or ended");
}

std::string_view name(WatchCheck check) { return kChecks.of(check); }

Result<WatchCheck> watch_check_from(std::string_view text) {
  return kChecks.parse(text, "a check is tags, sha256 or random");
}

static auto members_of(json::As<WatchedBy>) {
  using T = WatchedBy;
  return std::tuple(json::always("check", &T::check, json::named(watch_check_from)),
                    json::always("period_ms", &T::period_ms),
                    json::always("share_percent", &T::share_percent));
}
Json to_json(const WatchedBy& watch) { return json::write(watch); }
Result<WatchedBy> read_json(json::As<WatchedBy> /*type*/, const Json& json) {
  return json::read<WatchedBy>(json);
}

static auto members_of(json::As<BeatFinding>) {
  return std::tuple(json::always("tensor", &BeatFinding::tensor),
                    json::always("detail", &BeatFinding::detail));
}
Json to_json(const BeatFinding& finding) { return json::write(finding); }
Result<BeatFinding> read_json(json::As<BeatFinding> /*type*/, const Json& json) {
  return json::read<BeatFinding>(json);
}

static auto members_of(json::As<InstanceBeat>) {
  using T = InstanceBeat;
  return std::tuple(
      json::among(&T::instance, std::tuple(json::always("pod", &JobInstance::pod),
                                           json::always("instance", &JobInstance::instance))),
      json::always("artifact", &T::artifact),
      json::always("state", &T::state, json::named(instance_state_from)),
      json::or_null("report", &T::report), json::if_set("findings", &T::findings),
      json::if_set("watch", &T::watch));
}
static Status together(const InstanceBeat& beat) {
  if ((beat.state == InstanceState::kVerified || beat.state == InstanceState::kEnded) &&
      !beat.report) {
    return violation("an instance that is or was verified names its report", "/report");
  }
  if (!beat.findings.empty() && beat.state != InstanceState::kViolated) {
    return violation("findings are of a violated instance", "/findings");
  }
  if (!beat.watch) {
    return {};
  }
  if (beat.state != InstanceState::kVerified) {
    return violation("what is watched is a verified instance", "/watch");
  }
  if ((beat.watch->check == WatchCheck::kRandom) == (beat.watch->share_percent == kAll)) {
    return violation("only a random check looks at a share, and always does",
                     "/watch/share_percent");
  }
  return {};
}
static InstanceBeat start(json::As<InstanceBeat>) {
  return {{}, json::unread<ArtifactId>(), {}, {}};
}

static auto members_of(json::As<Heartbeat>) {
  using T = Heartbeat;
  return std::tuple(json::always("node", &T::node),
                    json::always("session", &T::session, document::kNonce),
                    json::always("sequence", &T::sequence),
                    json::always("instances", &T::instances, json::ascending(before)));
}
Json to_json(const Heartbeat& heartbeat) { return json::write(heartbeat); }

Result<Heartbeat> parse_heartbeat(ByteView payload) {
  return document::parse<Heartbeat>(payload, "heartbeat", kBeatLimits);
}

static auto members_of(json::As<HeartbeatAnswer>) {
  using T = HeartbeatAnswer;
  return std::tuple(json::always("counts", &T::counts),
                    json::always("session", &T::session, document::kNonce),
                    json::always("sequence", &T::sequence));
}
Json to_json(const HeartbeatAnswer& answer) { return json::write(answer); }

Result<HeartbeatAnswer> parse_heartbeat_answer(ByteView body) {
  return document::parse<HeartbeatAnswer>(body, "heartbeat-answer", kBeatLimits);
}

}  // namespace assay
