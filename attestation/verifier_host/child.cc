// SPDX-License-Identifier: Apache-2.0
#include "attestation/verifier_host/child.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attestation/plugin.h"
#include "attestation/plugin/wire.h"
#include "attestation/verifier_host/sandbox.h"

namespace assay::attestation::verifier_host {
namespace {

using plugin::AnswerHeader;
using plugin::AnswerKind;
using plugin::Part;
using plugin::RequestHeader;

constexpr int kSocket = 3;
constexpr int kPlugin = 4;  // part of kPluginName
constexpr int kOwnPlugin = 5;
constexpr int kCannotBegin = 70;

// The only descriptors from now on: /dev/null thrice, the socket, and the plug-in as the host has
// it and as a description of its own. Children must not share the place up to which it was read.
bool keep_descriptors(int socket, int plugin) {
  // Above all final numbers first, so that none is overwritten.
  const int socket_copy = ::fcntl(socket, F_DUPFD, 64);
  const int plugin_copy = ::fcntl(plugin, F_DUPFD, 64);
  if (socket_copy < 0 || plugin_copy < 0 || ::dup2(socket_copy, kSocket) < 0 ||
      ::dup2(plugin_copy, kPlugin) < 0) {
    return false;
  }
  const int own = ::open(kPluginName, O_RDONLY | O_CLOEXEC);
  return own >= 0 && ::dup2(own, kOwnPlugin) >= 0 &&
         ::syscall(SYS_close_range, kOwnPlugin + 1, ~0U, 0) == 0;
}

// What loading came to.
struct Loaded {
  const assay_plugin* plugin = nullptr;
  AnswerKind failure = AnswerKind::kAnswer;
  std::string_view words{};
};

Loaded load() {
  void* const library = ::dlopen(kPluginName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const words = ::dlerror();
    return {nullptr, AnswerKind::kNotLoaded, words == nullptr ? "" : words};
  }
  const auto* const found = static_cast<const assay_plugin*>(::dlsym(library, ASSAY_PLUGIN_SYMBOL));
  if (found == nullptr) {
    return {nullptr, AnswerKind::kNoPlugin};
  }
  if (found->abi_version != ASSAY_PLUGIN_ABI_VERSION || found->reserved != 0) {
    return {nullptr, AnswerKind::kOtherVersion};
  }
  if (found->type == nullptr || found->media_type == nullptr || found->appraise == nullptr) {
    return {nullptr, AnswerKind::kNoPlugin};
  }
  return {found};
}

bool write_whole(int pipe, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(pipe, at, size);
    if (written <= 0) {
      return false;
    }
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

// An answer in one write: whoever waits for it wakes once.
class Answer {
 public:
  [[nodiscard]] char* room() { return bytes_.data() + sizeof(AnswerHeader); }
  static constexpr std::size_t size() { return plugin::kMaxAnswerBytes; }

  [[noreturn]] void finish(int pipe, AnswerKind kind, std::size_t size) {
    const AnswerHeader header{kind, static_cast<std::uint32_t>(size)};
    std::memcpy(bytes_.data(), &header, sizeof header);
    const bool written = write_whole(pipe, bytes_.data(), sizeof header + size);
    // The other side waits for this. At the end of a process its memory would be freed first.
    (void)::close(pipe);
    ::_exit(written ? 0 : kCannotBegin);
  }
  [[noreturn]] void finish(int pipe, AnswerKind kind, std::string_view words) {
    const std::size_t size = std::min(words.size(), this->size());
    std::memcpy(room(), words.data(), size);
    finish(pipe, kind, size);
  }

 private:
  std::array<char, sizeof(AnswerHeader) + plugin::kMaxAnswerBytes> bytes_{};
};

// Not on the stack, which is the plug-in's.
Answer the_answer;

struct Taken {
  int request;
  int pipe;
};

Taken take_call() {
  plugin::CallMessage message{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> room{};
  iovec data{&message, sizeof message};
  msghdr received{};
  received.msg_iov = &data;
  received.msg_iovlen = 1;
  received.msg_control = room.data();
  received.msg_controllen = room.size();
  const ssize_t size = ::recvmsg(kSocket, &received, 0);
  const cmsghdr* const head = CMSG_FIRSTHDR(&received);
  if (size != sizeof message || head == nullptr || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(2 * sizeof(int))) {
    ::_exit(kCannotBegin);
  }
  std::array<int, 2> numbers{};
  std::memcpy(numbers.data(), CMSG_DATA(head), sizeof numbers);
  return {numbers[0], numbers[1]};
}

class Request {
 public:
  // Ends the process when the file is no request: the program that made it is of this build.
  explicit Request(int file) {
    struct stat facts{};
    // Not fstat(), which the C library turns into a call that the filter traps.
    if (::syscall(SYS_fstat, file, &facts) != 0 ||
        facts.st_size < static_cast<off_t>(sizeof(RequestHeader))) {
      ::_exit(kCannotBegin);
    }
    const auto size = static_cast<std::size_t>(facts.st_size);
    void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (start == MAP_FAILED) {  // NOLINT: the macro of the system
      ::_exit(kCannotBegin);
    }
    std::memcpy(&header_, start, sizeof header_);
    const auto* at = static_cast<const std::uint8_t*>(start) + sizeof(RequestHeader);
    std::size_t left = size - sizeof(RequestHeader);
    for (std::size_t i = 0; i < plugin::kParts; ++i) {
      if (header_.sizes[i] > left) {
        ::_exit(kCannotBegin);
      }
      parts_.at(i) = {at, static_cast<std::size_t>(header_.sizes[i])};
      at += parts_.at(i).size;
      left -= parts_.at(i).size;
    }
  }
  [[nodiscard]] assay_bytes part(Part part) const {
    return parts_.at(static_cast<std::size_t>(part));
  }
  [[nodiscard]] std::string_view text(Part which) const {
    const assay_bytes bytes = part(which);
    return {static_cast<const char*>(static_cast<const void*>(bytes.data)), bytes.size};
  }
  [[nodiscard]] assay_call call() const {
    assay_call call{};
    call.size = sizeof call;
    call.purpose = header_.purpose;
    call.now = header_.now;
    call.report_data = part(Part::kReportData);
    call.evidence = part(Part::kEvidence);
    call.event_log = part(Part::kEventLog);
    call.endorsements = part(Part::kEndorsements);
    call.policy = part(Part::kPolicy);
    return call;
  }

 private:
  RequestHeader header_{};
  std::array<assay_bytes, plugin::kParts> parts_{};
};

[[noreturn]] void answer_call(const assay_plugin& plugin, const Request& request, int pipe) {
  if (request.text(Part::kType) != plugin.type ||
      request.text(Part::kMediaType) != plugin.media_type) {
    the_answer.finish(pipe, AnswerKind::kOtherType, std::string_view(plugin.type));
  }
  const assay_call call = request.call();
  const std::size_t size = plugin.appraise(&call, the_answer.room(), Answer::size());
  if (size == 0) {
    the_answer.finish(pipe, AnswerKind::kNoDecision, size);
  }
  if (size > Answer::size()) {
    the_answer.finish(pipe, AnswerKind::kTooLong, std::size_t{0});
  }
  the_answer.finish(pipe, AnswerKind::kAnswer, size);
}

}  // namespace

void serve_one_call(int socket, int plugin, int parent, std::uint32_t cpu_seconds) {
  // The second look is for a parent that ended before the first call took effect.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent ||
      !keep_descriptors(socket, plugin) || !lock_in(kOwnPlugin, cpu_seconds)) {
    ::_exit(kCannotBegin);
  }
  const Loaded loaded = load();
  *the_answer.room() = '\0';  // so that its first page of memory is there before the call
  (void)::close(kPlugin);
  (void)::close(kOwnPlugin);
  constexpr char kReady = 'r';
  if (!write_whole(kSocket, &kReady, 1)) {
    ::_exit(kCannotBegin);
  }
  const Taken taken = take_call();
  (void)::close(kSocket);
  const Request request(taken.request);
  (void)::close(taken.request);
  if (loaded.plugin == nullptr) {
    the_answer.finish(taken.pipe, loaded.failure, loaded.words.substr(0, 512));
  }
  answer_call(*loaded.plugin, request, taken.pipe);
}

}  // namespace assay::attestation::verifier_host
