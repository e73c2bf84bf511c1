// SPDX-License-Identifier: Apache-2.0
#include "worker/command_evidence.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include "schemas/core/json.h"
#include "schemas/members.h"
#include "schemas/posix/child_process.h"

namespace assay::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{30};
constexpr std::size_t kMaxOutput =
    kMaxEvidenceCollateralBytes + 2 * (kMaxQuoteBytes + kMaxEventLogBytes);

std::unexpected<Error> none(const std::string& why) {
  return fail(ErrorCode::kEvidenceUnavailable, "The program that gives evidence " + why);
}

// Everything until the end of the pipe.
Result<Bytes> read_output(int pipe, Clock::time_point deadline) {
  Bytes output;
  std::array<std::uint8_t, 65536> block;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wait{pipe, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) == 0) {
      return none("takes longer than 30 seconds");
    }
    const ssize_t got = ::read(pipe, block.data(), block.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return none("cannot be read from");
    }
    if (got == 0) {
      return output;
    }
    output.insert(output.end(), block.begin(), block.begin() + got);
    if (output.size() > kMaxOutput) {
      return none("writes too much");
    }
  }
}

// What the program said about one piece of evidence.
struct Said {
  std::string platform;
  Evidence evidence;
};

class CommandEvidence final : public EvidenceSource {
 public:
  CommandEvidence(std::string command, std::string type)
      : command_(std::move(command)), type_(std::move(type)) {}

  [[nodiscard]] Result<std::string> platform() override {
    if (platform_.empty()) {  // a machine stays the one it is
      ASSAY_ASSIGN(Said said, run(ReportDataBytes{}));
      platform_ = std::move(said.platform);
    }
    return platform_;
  }

  [[nodiscard]] Result<std::optional<Evidence>> collect(const ReportDataBytes& data) override {
    ASSAY_ASSIGN(Said said, run(data));
    return std::move(said.evidence);
  }

 private:
  Result<Said> run(const ReportDataBytes& data) const {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return none("cannot be started: the system has no more pipes");
    }
    const Descriptor reading(ends[0]);
    Descriptor writing(ends[1]);
    const ChildProgram program{
        .path = command_, .words = {command_, hex_encode(data)}, .output = writing.get()};
    auto process = ChildProcess::start(program, {});
    if (!process) {
      return none("cannot be started: " + command_);
    }
    (void)writing.close();
    const auto deadline = Clock::now() + kPatience;
    ASSAY_ASSIGN(const Bytes output, read_output(reading.get(), deadline));
    if (const std::string end = process->wait(deadline); end != "exit status 0") {
      return none("ended with " + (end.empty() ? std::string("nothing") : end));
    }
    return read(output);
  }

  // The service checks all of it again.
  [[nodiscard]] Result<Said> read(const Bytes& output) const {
    const auto json = parse_json(output);
    if (!json || !json->is_object()) {
      return none("writes no JSON object");
    }
    for (const auto& [name, value] : json->items()) {
      const bool text = name == "platform" || name == "evidence" || name == "event_log";
      if (!(text && value.is_string()) && !(name == "collateral" && value.is_object())) {
        return none("writes a member that it should not, or of another type: " + name);
      }
    }
    const auto id = hex_decode(members::text(*json, "platform"));
    auto bytes = base64_decode(members::text(*json, "evidence"));
    auto log = base64_decode(members::text(*json, "event_log"));
    if (!id || id->empty() || !bytes || bytes->empty() || !log) {
      return none("writes no platform in hex, or no evidence in base64");
    }
    Evidence evidence{type_, *std::move(bytes), *std::move(log), Json()};
    if (json->contains("collateral")) {
      evidence.collateral = json->at("collateral");
    }
    return Said{plugin_platform(type_, *id), std::move(evidence)};
  }

  const std::string command_;
  const std::string type_;
  std::string platform_;
};

}  // namespace

Result<std::unique_ptr<EvidenceSource>> make_command_evidence(const EvidenceOptions& options) {
  if (options.command.empty() || options.type.empty()) {
    return fail(ErrorCode::kUsage,
                "--evidence command needs --evidence-command PROGRAM and --evidence-type TYPE");
  }
  if (options.type == kTdxEvidence) {
    return fail(ErrorCode::kUsage, "Evidence of the type tdx is taken by --evidence tdx");
  }
  return std::make_unique<CommandEvidence>(options.command, options.type);
}

}  // namespace assay::worker
