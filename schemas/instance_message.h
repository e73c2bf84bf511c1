// SPDX-License-Identifier: Apache-2.0
// Frames (messages) between the node agent and the processes that register memory with it (owners).
// docs/instances.md says what each frame and member means.
// Schema: instance-message.schema.json.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "schemas/instance.h"

namespace assay {

// Largest size in bytes of one frame of an owner, and of one frame of the node agent, without the
// length that precedes the frame.
inline constexpr std::size_t kMaxOwnerFrame = std::size_t{24} << 20;
inline constexpr std::size_t kMaxAgentFrame = std::size_t{1} << 20;
// Largest size in bytes of a frame of an owner other than `register`.
inline constexpr std::size_t kMaxSmallFrame = std::size_t{64} << 10;
// Largest number of findings in one frame `state`, and largest size of a detail in bytes.
inline constexpr std::size_t kMaxFrameFindings = 16;
inline constexpr std::size_t kMaxDetail = 512;

// --- from the owner

struct OwnerHello {
  std::string client;  // program and version, for people
  bool operator==(const OwnerHello&) const = default;
};

// Announces the descriptors that are sent beside this frame: those of pieces [first, first +
// count).
struct OwnerPieces {
  std::uint64_t request;  // number of the AgentExport that is answered; 0: after `register`
  std::uint64_t first;
  std::uint64_t count;
  bool operator==(const OwnerPieces&) const = default;
};

struct OwnerCopied {
  std::uint64_t request;
  bool operator==(const OwnerCopied&) const = default;
};

struct OwnerFailed {
  std::uint64_t request;
  std::string detail;
  bool operator==(const OwnerFailed&) const = default;
};

struct OwnerVerify {
  std::uint64_t request;
  bool operator==(const OwnerVerify&) const = default;
};

struct OwnerChanged {
  std::vector<std::string> tensors;
  bool operator==(const OwnerChanged&) const = default;
};

struct OwnerRelease {
  std::uint64_t request;
  bool operator==(const OwnerRelease&) const = default;
};

// The owner says that this is a good moment to check a part (slice) of its memory, and waits for at
// most `max`.
struct OwnerYield {
  std::uint64_t request;
  std::chrono::milliseconds max;  // 1 ms to kMaxYield
  bool operator==(const OwnerYield&) const = default;
};
inline constexpr std::chrono::milliseconds kMaxYield{10'000};

using OwnerMessage = std::variant<OwnerHello, InstanceRegistration, OwnerPieces, OwnerCopied,
                                  OwnerFailed, OwnerVerify, OwnerChanged, OwnerYield, OwnerRelease>;

// Parses a frame of an owner, without the length that precedes the frame. The caller must bound the
// size of `frame` (kMaxSmallFrame), because this function accepts up to kMaxOwnerFrame bytes of any
// type. Errors: malformed-json; duplicate-key; unknown-member; schema-violation; limit-exceeded;
// those of parse_instance_registration().
[[nodiscard]] Result<OwnerMessage> parse_owner_message(ByteView frame);
[[nodiscard]] Json to_json(const OwnerMessage& message);

// --- from the node agent

struct AgentWelcome {
  std::string pod;        // uid; empty: none
  std::string container;  // id; empty: none
  bool operator==(const AgentWelcome&) const = default;
};

struct AgentRegistered {
  std::string registration;  // UUIDv7
  bool operator==(const AgentRegistered&) const = default;
};

// The last frame of a connection that the node agent ends.
struct AgentRefused {
  std::string code;  // of schemas/core/error_codes.def, or kAlreadyRegistered
  std::string detail;
  bool operator==(const AgentRefused&) const = default;
};
// Code in AgentRefused: another process is already registered under the same pod, instance and
// rank.
inline constexpr std::string_view kAlreadyRegistered = "already-registered";

struct AgentState {
  std::uint64_t request;  // number of the OwnerVerify that is answered; 0: none
  InstanceState state;
  std::optional<Timestamp> checked_at;  // last time of state verified or violated; nullopt: never
  std::vector<InstanceFinding> findings;
  bool operator==(const AgentState&) const = default;
};

struct AgentExport {
  std::uint64_t request;
  std::vector<std::uint64_t> pieces;  // ascending
  bool operator==(const AgentExport&) const = default;
};

struct AgentRead {
  std::uint64_t request;
  std::uint64_t piece;
  std::uint64_t offset;  // bytes
  std::uint64_t size;    // bytes
  bool operator==(const AgentRead&) const = default;
};

struct AgentReleased {
  std::uint64_t request;
  bool operator==(const AgentReleased&) const = default;
};

struct AgentYielded {
  std::uint64_t request;
  std::uint64_t slices;            // checked since the yield; at most kMaxYieldedSlices
  std::chrono::milliseconds next;  // until another yield is useful; 1 ms to kMaxNextYield
  bool operator==(const AgentYielded&) const = default;
};
inline constexpr std::uint64_t kMaxYieldedSlices = 1000;
inline constexpr std::chrono::milliseconds kMaxNextYield{60'000};

using AgentMessage = std::variant<AgentWelcome, AgentRegistered, AgentRefused, AgentState,
                                  AgentExport, AgentRead, AgentReleased, AgentYielded>;

// Returns the frame as text, ready to send. Makes every message valid: cuts texts that are too
// long, replaces bytes that are not UTF-8, leaves out findings beyond kMaxFrameFindings, and
// replaces a number of a frame `yielded` that is outside its limits by the nearest limit.
[[nodiscard]] std::string write_agent_message(const AgentMessage& message);
// Parses a frame of the node agent, for owners of memory. Errors: malformed-json; duplicate-key;
// unknown-member; schema-violation; limit-exceeded; invalid-time.
[[nodiscard]] Result<AgentMessage> parse_agent_message(ByteView frame);

}  // namespace assay
