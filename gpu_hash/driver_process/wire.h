// SPDX-License-Identifier: Apache-2.0
// The messages between a process that wants something hashed and one that drives its device
// (schemas/core/message_codec.h). Work follows work; while the process works, it is told nothing.
//
// One call of Engine::hash() is a Call, then any number of Folder, Files, Memory and Pieces, then
// Go. The answer is any number of Progress and Digests, then Done; or Failed. A call of
// Engine::derive() has any number of Moves and Rounds besides: its regions are the sources of all
// loads, and its digests are those of all sources, then of all results.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gpu_hash/device.h"
#include "gpu_hash/drivers.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/messages.h"

namespace assay::gpu_hash::driver {

using messages::Problem;

// Largest size in bytes of one message, in both directions. Longer lists are several messages.
inline constexpr std::size_t kMaxMessage = std::size_t{4} << 20;
// Largest number of items in one list. With the largest items, a path of kMaxText bytes and a
// digest, the list fits a message.
inline constexpr std::size_t kMaxFiles = 512;
inline constexpr std::size_t kMaxPieces = 65'536;
inline constexpr std::size_t kMaxMoves = 32'768;
inline constexpr std::size_t kMaxLoads = 65'536;  // and results, of a round
inline constexpr std::size_t kMaxDigests = 65'536;

// --- to the process

// Asks for the devices. Listed answers.
struct List {};
// Asks for the engine on device `index` of Listed, with these EngineOptions. Opened answers.
struct Open {
  std::uint32_t index = 0;
  std::uint32_t threads = 0;
  std::uint64_t slice_bytes = 0;
  std::uint64_t batch_bytes = 0;
};
// Asks for bench_opencl() of a device. Benched answers.
struct Bench {
  Open device;
  HashAlgorithm hash = HashAlgorithm::kSha256;
  std::uint64_t bytes = 0;
};
struct Call {
  HashAlgorithm hash = HashAlgorithm::kSha256;
  std::uint32_t chunk_size = 0;
  std::uint64_t outline_span = 0;
};
// One more directory, whose descriptor is sent with it.
struct Folder {};
struct File {
  std::uint32_t folder = 0;  // position among the folders of the call
  Bytes path;                // below the folder
  std::uint64_t device = 0;  // this and the following: FileIdentity
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  bool read_once = false;
};
// More files. A file has no label: errors name its position among the files of the call.
struct Files {
  std::vector<File> files;
};
// All host memory of the call, as a sealed memory file, which is sent with it.
struct Memory {
  std::uint64_t size = 0;  // bytes
};
enum class PieceSource : std::uint8_t { kNone, kFile, kMemory };
[[nodiscard]] constexpr bool is_known(PieceSource source) { return source <= PieceSource::kMemory; }
// A piece of a region; kNone stands in an empty region.
struct Piece {
  PieceSource source = PieceSource::kNone;
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool ends = false;  // the last one of its region
};
struct Pieces {
  std::vector<Piece> pieces;
};
struct Moves {
  std::vector<Move> moves;
};
// A load of a derivation: so many of the regions and of the moves, in turn.
struct Load {
  std::uint64_t sources = 0;
  std::uint64_t moves = 0;
};
// The next round of a derivation.
struct Round {
  std::vector<Load> loads;
  std::vector<std::uint64_t> results;  // bytes of each
  bool filled = false;
};
struct Go {};
using ToProcess =
    std::variant<List, Open, Bench, Call, Folder, Files, Memory, Pieces, Go, Moves, Round>;

// --- from the process

// The first message.
struct Hello {
  std::string build;
};
struct Failure {
  std::string platform;
  Problem problem;
};
struct Listed {
  std::vector<DeviceInfo> devices;
  std::vector<Failure> failed;
};
struct Opened {
  std::string device;
  std::string driver;
  std::string kernel;  // digest as text; empty: none
  std::string uuid;
  std::string pci;
};
struct Figure {
  std::string name;
  std::uint64_t rate = 0;  // bits of a double
  std::uint64_t limit = 0;
  std::string limit_is;
};
struct Benched {
  Opened engine;
  std::uint64_t bytes = 0;
  std::string variant;
  std::vector<Figure> figures;
  std::vector<std::uint64_t> limits;  // bits of the doubles of BenchLimits, in order
};
// HashRequest::progress.
struct Progress {
  std::uint64_t bytes = 0;
};
// More digests: of each region in turn its root, then its outline.
struct Digests {
  std::vector<Digest> digests;
};
// All digests were sent.
struct Done {
  // By file of the call: its Protection (schemas/core/read_protection.h) as a number, or
  // kNotOpened.
  Bytes protections;
};
inline constexpr std::uint8_t kNotOpened = 255;
// Answers List, Open, Bench or Go when the work failed.
struct Failed {
  Problem problem;
};
using FromProcess = std::variant<Hello, Listed, Opened, Benched, Progress, Digests, Done, Failed>;

[[nodiscard]] Bytes write(const ToProcess& message);
[[nodiscard]] Bytes write(const FromProcess& message);
// Parse `bytes`, which must be exactly one message. Errors: invalid-encoding for anything else.
[[nodiscard]] Result<ToProcess> parse_to_process(ByteView bytes);
[[nodiscard]] Result<FromProcess> parse_from_process(ByteView bytes);

// Conversions. Figures that are no finite numbers are invalid-encoding.
[[nodiscard]] Open open_of(unsigned index, const EngineOptions& options);
[[nodiscard]] EngineOptions options_of(const Open& open);
[[nodiscard]] Opened opened_of(const EngineInfo& info);
[[nodiscard]] Result<EngineInfo> info_of(const Opened& opened, const std::string& id);
[[nodiscard]] Benched benched_of(const BenchResult& result);
[[nodiscard]] Result<BenchResult> result_of(const Benched& benched, HashAlgorithm hash,
                                            const std::string& id);

}  // namespace assay::gpu_hash::driver
