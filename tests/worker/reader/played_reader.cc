// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/reader/played_reader.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <map>
#include <sys/socket.h>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/cpu/leaf_hasher.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/drivers.h"
#include "gpu_hash/preparing.h"
#include "schemas/core/sha.h"
#include "schemas/posix/link.h"
#include "tests/worker/instances/several_devices.h"
#include "worker/reader/serve.h"

namespace assay::worker::test {
namespace {

Result<std::unique_ptr<gpu_hash::Engine>> engine_of(const std::string& device) {
  ASSAY_ASSIGN(const gpu_hash::DeviceChoice choice, gpu_hash::parse_device(device));
  return gpu_hash::make_engine(gpu_hash::drivers_in_this_process(), choice, {.threads = 1});
}

void mark(const std::string& marker) {
  const Descriptor file(::open(marker.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

// Another variant than the test program's own, where the processor has several.
Result<std::unique_ptr<gpu_hash::Engine>> engine_of_other_variant() {
  const auto used = gpu_hash::best_leaf_variant(HashAlgorithm::kSha256);
  for (const gpu_hash::LeafVariant one : gpu_hash::leaf_variants()) {
    if (one != used) {
      return gpu_hash::make_cpu_engine(1, one);
    }
  }
  return gpu_hash::make_cpu_engine(1, used);
}

// Right until its Nth message.
int play_signal(int signal, int at, const std::string& marker, const std::string& device) {
  static std::atomic<int> seen = 0;
  const auto count = [=] {
    if (++seen == at) {
      mark(marker);
      ::raise(signal);
    }
  };
  SystemRandom random;
  const Status ended = serve_reader(Descriptor(kReaderSocket),
                                    {.build = kBuild,
                                     .make_engine = [&] { return engine_of(device); },
                                     .before_sending = [=](const wire::FromReader&) { count(); },
                                     .on_message = [=](const wire::ToReader&) { count(); }},
                                    random);
  return ended ? EXIT_SUCCESS : EXIT_FAILURE;
}

// An engine that compiles for some time before its first pass, and says so like the real one.
class SlowEngine final : public gpu_hash::Engine {
 public:
  SlowEngine(std::unique_ptr<gpu_hash::Engine> engine, std::chrono::milliseconds time)
      : engine_(std::move(engine)), time_(time) {}
  [[nodiscard]] const gpu_hash::EngineInfo& info() const override { return engine_->info(); }
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash(
      std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request) override {
    if (const auto time = std::exchange(time_, {}); time.count() > 0) {
      const gpu_hash::Preparing preparing(request.progress);
      std::this_thread::sleep_for(time);  // the compiler works
    }
    return engine_->hash(regions, request);
  }

 private:
  std::unique_ptr<gpu_hash::Engine> engine_;
  std::chrono::milliseconds time_;
};

// An engine with one call that fails, as when the context of the device dies.
class BrokenEngine final : public gpu_hash::Engine {
 public:
  BrokenEngine(std::unique_ptr<gpu_hash::Engine> engine, int at, std::string marker)
      : engine_(std::move(engine)), at_(at), marker_(std::move(marker)) {}
  [[nodiscard]] const gpu_hash::EngineInfo& info() const override { return engine_->info(); }
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash(
      std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request) override {
    const bool breaks = at_ > 0 ? ++calls_ == at_ : std::filesystem::exists(marker_ + kNow);
    if (breaks && !std::filesystem::exists(marker_)) {
      mark(marker_);
      return fail(ErrorCode::kDeviceFailed, "the context is dead");
    }
    return engine_->hash(regions, request);
  }

 private:
  std::unique_ptr<gpu_hash::Engine> engine_;
  int at_;
  std::atomic<int> calls_ = 0;
  std::string marker_;
};

int play_broken(int at, const std::string& marker, const std::string& device) {
  SystemRandom random;
  const auto make = [&]() -> Result<std::unique_ptr<gpu_hash::Engine>> {
    ASSAY_ASSIGN(std::unique_ptr<gpu_hash::Engine> engine, engine_of(device));
    return std::make_unique<BrokenEngine>(std::move(engine), at, marker);
  };
  (void)serve_reader(Descriptor(kReaderSocket), {.build = kBuild, .make_engine = make}, random);
  return EXIT_SUCCESS;
}

int play_compiler(const std::string& milliseconds, const std::string& device) {
  SystemRandom random;
  const auto make = [&]() -> Result<std::unique_ptr<gpu_hash::Engine>> {
    ASSAY_ASSIGN(std::unique_ptr<gpu_hash::Engine> engine, engine_of(device));
    return std::make_unique<SlowEngine>(std::move(engine),
                                        std::chrono::milliseconds(std::stoi(milliseconds)));
  };
  (void)serve_reader(Descriptor(kReaderSocket), {.build = kBuild, .make_engine = make}, random);
  return EXIT_SUCCESS;
}

wire::Started right_answer(const wire::Start& start) {
  wire::Started started{start.check, {}, {0}};
  for (const std::vector<wire::Part>& parts : start.tensors) {
    started.roots.push_back(sha256({}));
    for (const wire::Part& part : parts) {
      started.slices[0] += part.size;
    }
  }
  return started;
}

using Frames = std::vector<Bytes>;
using Lie = std::function<Frames(const wire::Start&)>;

template <typename... Messages>
Frames frames(const Messages&... messages) {
  return {wire::write(wire::FromReader(messages))...};
}

using wire::Start;
using Lies = std::map<std::string, Lie>;

// Answers that do not fit the question.
Lies lies_in_answers() {
  return {
      {"a-root-too-few",
       [](const Start& s) {
         auto a = right_answer(s);
         a.roots.pop_back();
         return frames(a);
       }},
      {"a-root-too-many",
       [](const Start& s) {
         auto a = right_answer(s);
         a.roots.push_back(sha256({}));
         return frames(a);
       }},
      {"roots-of-another-algorithm",
       [](const Start& s) {
         auto a = right_answer(s);
         a.roots.back() = Digest::wrap(HashAlgorithm::kSha384, Bytes(48).data());
         return frames(a);
       }},
      {"bytes-that-were-not-read",
       [](const Start& s) {
         auto a = right_answer(s);
         a.slices[0] -= 1;
         return frames(a);
       }},
      {"sizes-that-run-over",
       [](const Start& s) {
         auto a = right_answer(s);
         a.slices = {~std::uint64_t{0}, a.slices[0] + 1};
         return frames(a);
       }},
  };
}

// Messages that nobody asked for, or that are none.
Lies lies_beside_answers() {
  return {
      {"the-answer-to-a-look",
       [](const Start& s) { return frames(wire::Looked{s.check, {}, 0, 0, {}}); }},
      {"the-answer-to-a-fetch", [](const Start& s) { return frames(wire::Fetched{s.check}); }},
      {"the-answer-to-a-draw",
       [](const Start& s) { return frames(wire::Drawn{s.check, 1, 1, {}}); }},
      {"another-check", [](const Start& s) { return frames(wire::Progress{s.check + 1}); }},
      {"an-end-that-nobody-asked-for", [](const Start& s) { return frames(wire::Ended{s.check}); }},
      {"hello-again",
       [](const Start&) { return frames(wire::Hello{kBuild, {}, {}, {}, {}, {}, {}}); }},
      {"two-answers",
       [](const Start& s) {
         const wire::Failed failed{s.check, {"file-unreadable", {}, {}}};
         return frames(failed, failed, failed, failed, failed, failed, failed, failed);
       }},
      {"a-failure-without-an-error",
       [](const Start& s) { return frames(wire::Failed{s.check, {}}); }},
      {"no-message", [](const Start&) { return Frames{{}}; }},
      {"an-unknown-type", [](const Start&) { return Frames{{99, 1, 2, 3}}; }},
      {"bytes-after-the-message",
       [](const Start& s) {
         Frames some = frames(right_answer(s));
         some[0].push_back(0);
         return some;
       }},
      {"half-a-message",
       [](const Start& s) {
         Frames some = frames(right_answer(s));
         some[0].resize(some[0].size() / 2);
         return some;
       }},
  };
}

// Requests to the owner that the check does not need.
Lies lies_to_owners() {
  return {
      {"pieces-that-there-are-not",
       [](const Start& s) { return frames(wire::Export{s.check, {s.pieces.size()}}); }},
      {"pieces-in-another-order",
       [](const Start& s) { return frames(wire::Export{s.check, {1, 0}}); }},
      {"no-pieces", [](const Start& s) { return frames(wire::Export{s.check, {}}); }},
      {"pieces-again-and-again",
       [](const Start& s) {
         const wire::Export one{s.check, {0}};
         return frames(one, one, one);
       }},
      {"staged-bytes-of-none",
       [](const Start& s) { return frames(wire::Stage{s.check, 0, 0, 1}); }},
  };
}

const Lies& all_lies() {
  static const Lies all = [] {
    Lies some = lies_in_answers();
    some.merge(lies_beside_answers());
    some.merge(lies_to_owners());
    return some;
  }();
  return all;
}

// A frame that says to be longer than any may be.
void send_endless() {
  const std::array<std::uint8_t, 8> head = {255, 255, 255, 255, 0, 0, 0, 0};
  (void)::send(kReaderSocket, head.data(), head.size(), MSG_NOSIGNAL);
}

int play_lie(const std::string& name, const std::string& marker, const std::string& device) {
  const auto engine = engine_of(device);
  if (!engine) {
    return EXIT_FAILURE;
  }
  Link link{Descriptor(kReaderSocket)};
  const gpu_hash::EngineInfo& info = (*engine)->info();
  const wire::Hello hello{kBuild,
                          info.id,
                          info.device,
                          info.uuid,
                          info.pci,
                          info.driver,
                          info.kernel_digest ? info.kernel_digest->text() : ""};
  (void)link.send(wire::write(wire::FromReader(hello)));
  while (true) {
    const auto frame = link.receive({.bytes = wire::kMaxToReader, .descriptors = 253});
    if (!frame) {
      return EXIT_SUCCESS;
    }
    const auto message = wire::parse_to_reader(frame->body);
    const auto* const start = message ? std::get_if<wire::Start>(&*message) : nullptr;
    if (start == nullptr) {
      continue;  // never lets go
    }
    mark(marker);
    if (name == "an-endless-frame") {
      send_endless();
    } else if (name == "descriptors") {
      (void)link.send(wire::write(wire::FromReader(right_answer(*start))),
                      std::array<int, 1>{STDIN_FILENO});
    } else {
      for (const Bytes& one : all_lies().at(name)(*start)) {
        (void)link.send(one);
      }
    }
  }
}

}  // namespace

std::vector<std::string> lies() {
  std::vector<std::string> names = {"an-endless-frame", "descriptors"};
  for (const auto& [name, lie] : all_lies()) {
    names.push_back(name);
  }
  return names;
}

// By the CPU, in a variant that is not chosen by measuring.
class Several final : public gpu_hash::Engine {
 public:
  explicit Several(const std::string& device = {})
      : cpu_(gpu_hash::make_cpu_engine(1, gpu_hash::leaf_variants().front())), all_(*cpu_) {
    for (const char* uuid : {"GPU-a", "GPU-b"}) {
      Engine* const found = all_.of_device(uuid);
      one_ = found->info().id == device ? found : one_;
    }
  }
  [[nodiscard]] const gpu_hash::EngineInfo& info() const override { return one_->info(); }
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash(
      std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request) override {
    return one_->hash(regions, request);
  }
  [[nodiscard]] Engine* of_device(std::string_view uuid) override {
    return one_->info().uuid == uuid ? this : all_.of_device(uuid);
  }
  [[nodiscard]] gpu_hash::Imports imports() const override { return one_->imports(); }
  [[nodiscard]] Result<std::shared_ptr<const gpu_hash::DeviceMemory>> import_memory(
      Descriptor fd, std::uint64_t size) override {
    return one_->import_memory(std::move(fd), size);
  }

 private:
  std::unique_ptr<Engine> cpu_;
  SeveralDevices all_;
  Engine* one_ = &all_;
};

std::unique_ptr<gpu_hash::Engine> several_devices() { return std::make_unique<Several>(); }

int play_reader(const std::vector<std::string>& arguments) {
  const std::string& way = arguments.at(0);
  const std::string& argument = arguments.at(1);
  const std::string& marker = arguments.at(2);
  const std::string& device = arguments.at(3);
  if (way == kRight || std::filesystem::exists(marker)) {
    return play_signal(SIGKILL, 0, marker, device);
  }
  if (way == kLies) {
    return play_lie(argument, marker, device);
  }
  if (way == kForeign) {
    mark(marker);
    SystemRandom random;
    (void)serve_reader(Descriptor(kReaderSocket),
                       {.build = "another", .make_engine = [&] { return engine_of(device); }},
                       random);
    return EXIT_FAILURE;
  }
  if (way == kBreaks) {
    return play_broken(std::stoi(argument), marker, device);
  }
  if (way == kCompiles) {
    return play_compiler(argument, device);
  }
  if (way == kSeveral) {
    SystemRandom random;
    (void)serve_reader(Descriptor(kReaderSocket),
                       {.build = kBuild,
                        .make_engine = [&]() -> Result<std::unique_ptr<gpu_hash::Engine>> {
                          return std::make_unique<Several>(device);
                        }},
                       random);
    return EXIT_SUCCESS;
  }
  if (way == kVariant) {
    SystemRandom random;
    (void)serve_reader(Descriptor(kReaderSocket),
                       {.build = kBuild, .make_engine = engine_of_other_variant}, random);
    return EXIT_SUCCESS;
  }
  return play_signal(way == kDies ? SIGKILL : SIGSTOP, std::stoi(argument), marker, device);
}

}  // namespace assay::worker::test

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == assay::worker::test::kPlay) {
    return assay::worker::test::play_reader({arguments.begin() + 1, arguments.end()});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
