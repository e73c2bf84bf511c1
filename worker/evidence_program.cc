// SPDX-License-Identifier: Apache-2.0
#include "worker/evidence_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "schemas/evidence.h"
#include "schemas/posix/child_process.h"

namespace assay::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{30};
constexpr std::size_t kMaxOutput =
    kMaxEvidenceCollateralBytes + 2 * (kMaxOtherEvidenceBytes + kMaxEventLogBytes);

// Everything until the end of the pipe.
Result<Bytes> read_output(int pipe, Clock::time_point deadline) {
  Bytes output;
  std::array<std::uint8_t, 65536> block;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wait{pipe, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) == 0) {
      return no_evidence("takes longer than 30 seconds");
    }
    const ssize_t got = ::read(pipe, block.data(), block.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return no_evidence("cannot be read from");
    }
    if (got == 0) {
      return output;
    }
    output.insert(output.end(), block.begin(), block.begin() + got);
    if (output.size() > kMaxOutput) {
      return no_evidence("writes too much");
    }
  }
}

Result<Bytes> output_of(const std::string& path, const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return no_evidence("cannot be started: the system has no more pipes");
  }
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  ChildProgram program{.path = path, .words = {path}, .output = writing.get()};
  program.words.insert(program.words.end(), arguments.begin(), arguments.end());
  auto process = ChildProcess::start(program, {});
  if (!process) {
    return no_evidence("cannot be started: " + path);
  }
  (void)writing.close();
  const auto deadline = Clock::now() + kPatience;
  ASSAY_ASSIGN(Bytes output, read_output(reading.get(), deadline));
  if (const std::string end = process->wait(deadline); end != "exit status 0") {
    return no_evidence("ended with " + (end.empty() ? std::string("nothing") : end));
  }
  return output;
}

}  // namespace

std::unexpected<Error> no_evidence(const std::string& why) {
  return fail(ErrorCode::kEvidenceUnavailable, "The program that gives evidence " + why);
}

Result<Json> run_evidence_program(const std::string& path,
                                  const std::vector<std::string>& arguments,
                                  const ProgramMembers& members) {
  ASSAY_ASSIGN(const Bytes output, output_of(path, arguments));
  auto json = parse_json(output);
  if (!json || !json->is_object()) {
    return no_evidence("writes no JSON object");
  }
  for (const auto& [name, value] : json->items()) {
    const auto& names = value.is_object() ? members.objects : members.texts;
    if ((!value.is_string() && !value.is_object()) ||
        std::ranges::find(names, name) == names.end()) {
      return no_evidence("writes a member that it should not, or of another type: " + name);
    }
  }
  return *std::move(json);
}

}  // namespace assay::worker
