// SPDX-License-Identifier: Apache-2.0
// Any bytes as what an owner of memory sends. As frames over a real socket: what comes out is what
// went in, cut at its lengths. As one message: what is read is written, and reads back as the same.
// As a list of groups of a process: a pod that is found has a name that means nothing in a path.
#include <cstdlib>
#include <sys/socket.h>
#include <unistd.h>

#include "schemas/instance_message.h"
#include "schemas/job.h"
#include "schemas/posix/frames.h"
#include "worker/instances/cgroup.h"

namespace {

using namespace assay;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check_message(ByteView bytes) {
  const auto owner = parse_owner_message(bytes);
  if (owner) {
    const std::string written = to_json(*owner).dump();
    const auto again = parse_owner_message(as_bytes(written));
    require(again && *again == *owner);
    require(!parse_agent_message(bytes));
  }
  const auto agent = parse_agent_message(bytes);
  if (agent) {
    const auto again = parse_agent_message(as_bytes(write_agent_message(*agent)));
    require(again.has_value());
  }
}

void check_frames(ByteView bytes) {
  constexpr std::size_t kMost = 32768;  // fits the buffer of a socket
  const ByteView sent = bytes.first(std::min(bytes.size(), kMost));
  int ends[2] = {-1, -1};
  require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const FrameChannel channel{Descriptor(ends[0])};
  Descriptor other(ends[1]);
  require(::send(other.get(), sent.data(), sent.size(), MSG_DONTWAIT) ==
          static_cast<ssize_t>(sent.size()));
  (void)other.close();
  std::size_t at = 0;
  while (true) {
    const auto frame = channel.receive({.bytes = kMost, .descriptors = 1});
    if (!frame) {
      require(frame.error().code != ErrorCode::kCancelled || at == sent.size());
      return;
    }
    require(frame->descriptors.empty() && frame->body.size() <= sent.size() - at - 4);
    require(std::ranges::equal(frame->body, sent.subspan(at + 4, frame->body.size())));
    at += 4 + frame->body.size();
    check_message(frame->body);
  }
}

void check_groups(ByteView bytes) {
  const auto place = worker::place_of_process(as_text(bytes));
  if (place && *place) {
    require(check_pod_uid((*place)->pod).has_value());
    require((*place)->container.size() == 64);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  check_message(bytes);
  check_frames(bytes);
  check_groups(bytes);
  return 0;
}
