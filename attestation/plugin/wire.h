// SPDX-License-Identifier: Apache-2.0
// What goes between a program that needs a plug-in's answer and assay-verifier-host. Both are of
// one build and run on one machine.
//
// The host has two descriptors from its start: a socket (SOCK_SEQPACKET) and the plug-in, a sealed
// memory file. Each message on the socket is a CallMessage with two descriptors beside it: the
// request, a sealed memory file, and the writing end of a pipe. One process of the host serves the
// call: it writes an AnswerHeader and the bytes after it into the pipe, and closes it. A pipe that
// ends before means that the process did.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::attestation::plugin {

// Numbers of the descriptors in the host.
inline constexpr int kHostSocket = 3;
inline constexpr int kHostPlugin = 4;

inline constexpr std::uint32_t kWireVersion = 1;
inline constexpr std::size_t kMaxPluginBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxRequestBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 10;

struct CallMessage {
  std::uint32_t version;      // kWireVersion
  std::uint32_t deadline_ms;  // from its arrival; then the process is killed
};

// The parts of a request follow its header in this order, without padding.
enum class Part : std::uint8_t {
  kType,
  kMediaType,
  kReportData,
  kEvidence,
  kEventLog,
  kEndorsements,
  kPolicy
};
inline constexpr std::size_t kParts = 7;

struct RequestHeader {
  std::uint32_t version;  // kWireVersion
  std::uint32_t purpose;  // enum assay_purpose
  std::int64_t now;       // seconds since 1970
  std::uint64_t sizes[kParts];
};

enum class AnswerKind : std::uint32_t {
  kAnswer = 1,    // what the plug-in wrote
  kNotLoaded,     // the system refuses to load the file; its words follow
  kNoPlugin,      // the file exports no assay_plugin_entry
  kOtherVersion,  // for another version of the interface
  kOtherType,     // for another type or media type than it is configured for
  kNoDecision,    // the plug-in returned 0
  kTooLong,       // the plug-in claims more bytes than there is room for
};

struct AnswerHeader {
  AnswerKind kind;
  std::uint32_t size;  // of the bytes that follow, at most kMaxAnswerBytes
};

}  // namespace assay::attestation::plugin
