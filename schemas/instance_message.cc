// SPDX-License-Identifier: Apache-2.0
// Frames of the protocol of docs/instances.md: shape by instance-message.schema.json.
#include "schemas/instance_message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/core/printable.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

// The deepest member of a frame is the layout of a registration.
constexpr std::size_t kMaxDepth = 1 + kMaxLayoutJsonDepth;
// By the measure of the parser (JsonLimits). A registration that fills its frame with parts takes
// four fifths.
constexpr std::size_t kMaxMemory = std::size_t{240} << 20;
constexpr std::array kStates = {InstanceState::kPending, InstanceState::kVerified,
                                InstanceState::kViolated, InstanceState::kUnknown};
constexpr std::array kFindingKinds = {
    InstanceFinding::Kind::kMissing, InstanceFinding::Kind::kExtra,
    InstanceFinding::Kind::kMismatch, InstanceFinding::Kind::kChanged,
    InstanceFinding::Kind::kError};

// Parses a frame. A peer of another version is named as such.
Result<Json> read_frame(ByteView frame) {
  ASSAY_ASSIGN(Json json, parse_json(frame, {kMaxOwnerFrame, kMaxDepth, kMaxMemory}));
  if (json.is_object() && json.contains("protocol") &&
      json["protocol"] != kInstanceProtocolVersion) {
    return fail(ErrorCode::kSchemaViolation,
                "the other side speaks another version of the protocol", "/protocol");
  }
  return json;
}

std::unexpected<Error> from_the_other_side() {
  return fail(ErrorCode::kSchemaViolation, "a frame of this type comes from the other side",
              "/type");
}

Json write(const OwnerHello& hello) {
  return {{"type", "hello"}, {"protocol", kInstanceProtocolVersion}, {"client", hello.client}};
}
Json write(const InstanceRegistration& registration) { return to_json(registration); }
Json write(const OwnerPieces& pieces) {
  return {{"type", "pieces"},
          {"request", pieces.request},
          {"first", pieces.first},
          {"count", pieces.count}};
}
Json write(const OwnerCopied& copied) { return {{"type", "copied"}, {"request", copied.request}}; }
Json write(const OwnerFailed& failed) {
  return {{"type", "failed"}, {"request", failed.request}, {"detail", failed.detail}};
}
Json write(const OwnerVerify& verify) { return {{"type", "verify"}, {"request", verify.request}}; }
Json write(const OwnerChanged& changed) {
  return {{"type", "changed"}, {"tensors", changed.tensors}};
}
Json write(const OwnerYield& yield) {
  return {{"type", "yield"}, {"request", yield.request}, {"max_ms", yield.max.count()}};
}
Json write(const OwnerRelease& release) {
  return {{"type", "release"}, {"request", release.request}};
}

// Cuts `text` to `size` bytes, at the border of a character.
std::string cut(const std::string& text, std::size_t size) {
  return std::string(utf8_prefix(text, size));
}

Json write(const AgentWelcome& welcome) {
  return {{"type", "welcome"},
          {"protocol", kInstanceProtocolVersion},
          {"pod", welcome.pod},
          {"container", welcome.container}};
}
Json write(const AgentRegistered& registered) {
  return {{"type", "registered"}, {"registration", registered.registration}};
}
Json write(const AgentRefused& refused) {
  return {{"type", "refused"}, {"code", refused.code}, {"detail", cut(refused.detail, kMaxDetail)}};
}
Json write(const AgentState& state) {
  Json findings = Json::array();
  for (const InstanceFinding& finding : state.findings) {
    if (findings.size() == kMaxFrameFindings) {
      break;
    }
    findings.push_back({{"kind", name(finding.kind)},
                        {"tensor", cut(finding.tensor, kMaxDetail)},
                        {"detail", cut(finding.detail, kMaxDetail)}});
  }
  return {{"type", "state"},
          {"request", state.request},
          {"state", name(state.state)},
          {"checked_at", state.checked_at ? Json(to_rfc3339(*state.checked_at)) : Json()},
          {"findings", std::move(findings)}};
}
Json write(const AgentExport& wanted) {
  return {{"type", "export"}, {"request", wanted.request}, {"pieces", wanted.pieces}};
}
Json write(const AgentRead& wanted) {
  return {{"type", "read"},
          {"request", wanted.request},
          {"piece", wanted.piece},
          {"offset", wanted.offset},
          {"size", wanted.size}};
}
Json write(const AgentReleased& released) {
  return {{"type", "released"}, {"request", released.request}};
}
Json write(const AgentYielded& yielded) {
  using std::chrono::milliseconds;
  return {{"type", "yielded"},
          {"request", yielded.request},
          {"slices", std::min(yielded.slices, kMaxYieldedSlices)},
          {"next_ms", std::clamp(yielded.next, milliseconds(1), kMaxNextYield).count()}};
}

Result<AgentMessage> read_state(const Json& json) {
  AgentState state{members::number(json, "request"), {}, {}, {}};
  for (const InstanceState candidate : kStates) {
    if (name(candidate) == members::text(json, "state")) {
      state.state = candidate;
    }
  }
  if (json.at("checked_at").is_string()) {
    ASSAY_ASSIGN(state.checked_at, members::time(json, "checked_at"));
  }
  for (const Json& item : json.at("findings")) {
    for (const InstanceFinding::Kind kind : kFindingKinds) {
      if (name(kind) == members::text(item, "kind")) {
        state.findings.push_back(
            {kind, members::text(item, "tensor"), members::text(item, "detail")});
      }
    }
  }
  return state;
}

}  // namespace

Result<OwnerMessage> parse_owner_message(ByteView frame) {
  ASSAY_ASSIGN(Json json, read_frame(frame));
  const std::string type = json.is_object() ? members::text(json, "type") : "";
  if (type == "register") {
    return parse_instance_registration(std::move(json));
  }
  ASSAY_TRY(validate("instance-message", json));
  const std::uint64_t request = members::number(json, "request");
  if (type == "hello") {
    return OwnerHello{members::text(json, "client")};
  }
  if (type == "pieces") {
    return OwnerPieces{request, members::number(json, "first"), members::number(json, "count")};
  }
  if (type == "copied") {
    return OwnerCopied{request};
  }
  if (type == "failed") {
    return OwnerFailed{request, members::text(json, "detail")};
  }
  if (type == "verify") {
    return OwnerVerify{request};
  }
  if (type == "changed") {
    return OwnerChanged{members::texts(json, "tensors")};
  }
  if (type == "yield") {
    return OwnerYield{request, std::chrono::milliseconds(members::number(json, "max_ms"))};
  }
  if (type == "release") {
    return OwnerRelease{request};
  }
  return from_the_other_side();
}

Json to_json(const OwnerMessage& message) {
  return std::visit([](const auto& kind) { return write(kind); }, message);
}

std::string write_agent_message(const AgentMessage& message) {
  const Json json = std::visit([](const auto& kind) { return write(kind); }, message);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<AgentMessage> parse_agent_message(ByteView frame) {
  ASSAY_ASSIGN(const Json json, read_frame(frame));
  ASSAY_TRY(validate("instance-message", json));
  const std::string type = members::text(json, "type");
  const std::uint64_t request = members::number(json, "request");
  if (type == "welcome") {
    return AgentWelcome{members::text(json, "pod"), members::text(json, "container")};
  }
  if (type == "registered") {
    return AgentRegistered{members::text(json, "registration")};
  }
  if (type == "refused") {
    return AgentRefused{members::text(json, "code"), members::text(json, "detail")};
  }
  if (type == "state") {
    return read_state(json);
  }
  if (type == "export") {
    ASSAY_ASSIGN(auto pieces, members::ascending(json, "pieces"));
    return AgentExport{request, std::move(pieces)};
  }
  if (type == "read") {
    return AgentRead{request, members::number(json, "piece"), members::number(json, "offset"),
                     members::number(json, "size")};
  }
  if (type == "released") {
    return AgentReleased{request};
  }
  if (type == "yielded") {
    return AgentYielded{request, members::number(json, "slices"),
                        std::chrono::milliseconds(members::number(json, "next_ms"))};
  }
  return from_the_other_side();
}

}  // namespace assay
