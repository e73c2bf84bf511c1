// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/limits.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "embedded/gpu_hash_kernels.h"
#include "gpu_hash/bench_clock.h"
#include "gpu_hash/opencl/program.h"

namespace assay::gpu_hash {
namespace {

constexpr int kRepeats = 4;
constexpr std::size_t kGroup = 128;          // work-items
constexpr std::size_t kItemsPerUnit = 4096;  // more than any device holds at a time
constexpr std::size_t kVector = 16;          // bytes that a work-item reads at once
constexpr std::uint64_t kReadsPerStep = 4;   // read_memory in limits.cl
// integer_rate in limits.cl: steps, chains, operations of a step.
constexpr double kOperationsPerRound = 16 * 8 * 3;
// Long enough for the start of a launch not to count, short enough for a device that also draws.
constexpr std::chrono::milliseconds kRunTime{50};
constexpr std::uint32_t kMaxRounds = 1U << 24;

// The program with a queue and the place for a word of each work-item.
class Limits {
 public:
  static Result<Limits> create(const ClSession& session, const KernelCache& cache,
                               std::size_t items) {
    Limits limits(session);
    limits.items_ = items;
    const ProgramSource source{{embedded::kLimitsCl}, "-cl-std=CL1.2"};
    ASSAY_ASSIGN(LoadedProgram program, load_program(session, source, cache));
    limits.program_ = std::move(program.program);
    ASSAY_ASSIGN(limits.queue_, session.make_queue());
    ASSAY_ASSIGN(limits.out_,
                 session.make_buffer(CL_MEM_WRITE_ONLY, items * sizeof(std::uint32_t)));
    return limits;
  }

  Result<ClKernel> kernel(const char* name) const {
    return make_kernel(session_, program_.get(), name);
  }
  [[nodiscard]] cl_mem out() const { return out_.get(); }

  // One launch, from the call to its end.
  Status run(cl_kernel kernel, const KernelArguments& arguments) const {
    ClEvents events;
    ASSAY_TRY(enqueue(session_, queue_.get(), events, kernel, arguments, items_, kGroup));
    return events.wait(session_);
  }

 private:
  explicit Limits(const ClSession& session) : session_(session) {}

  const ClSession& session_;
  ClProgram program_;
  ClQueue queue_;
  ClBuffer out_;
  std::size_t items_ = 0;
};

std::size_t all_items(const ClSession& session) {
  return kItemsPerUnit * std::max(session.device().info.compute_units, 1U);
}

}  // namespace

Result<double> integer_rate(const ClSession& session, const KernelCache& cache) {
  const std::size_t items = all_items(session);
  ASSAY_ASSIGN(const Limits limits, Limits::create(session, cache, items));
  ASSAY_ASSIGN(const ClKernel kernel, limits.kernel("integer_rate"));
  const auto run = [&](std::uint32_t rounds) {
    KernelArguments arguments(kernel.get());
    arguments.add(rounds).add(rounds).add(limits.out());
    return limits.run(kernel.get(), arguments);
  };
  std::uint32_t rounds = 16;
  for (; rounds < kMaxRounds; rounds *= 2) {
    const auto start = std::chrono::steady_clock::now();
    ASSAY_TRY(run(rounds));
    if (std::chrono::steady_clock::now() - start >= kRunTime) {
      break;
    }
  }
  const double operations = kOperationsPerRound * rounds * static_cast<double>(items);
  return best_rate(operations, kRepeats, [&] { return run(rounds); });
}

Result<double> memory_read_rate(const ClSession& session, const KernelCache& cache,
                                const ClMemory& memory) {
  // As many work-items as have something to read, a power of two so that nearly all of it is read.
  const std::uint64_t steps = memory.size() / kVector / kReadsPerStep;
  const std::uint64_t items =
      std::min<std::uint64_t>(std::bit_floor(all_items(session)), std::bit_floor(steps));
  if (items < kGroup) {
    return fail(ErrorCode::kInvalidParameter, session.name() + ": too little memory to measure");
  }
  const cl_ulong count = steps / items * kReadsPerStep;
  // Neighbours read neighbouring vectors, which GPUs bring together. A CPU runs one work-item after
  // the other and would fetch every line again for each of them.
  const bool cpu = session.device().info.type == "cpu";
  const cl_ulong first = cpu ? count : 1;
  const cl_ulong step = cpu ? 1 : items;
  ASSAY_ASSIGN(const Limits limits, Limits::create(session, cache, items));
  ASSAY_ASSIGN(const ClKernel kernel, limits.kernel("read_memory"));
  const double bytes = static_cast<double>(items * count * kVector);
  return best_rate(bytes, kRepeats, [&] {
    KernelArguments arguments(kernel.get());
    const cl_mem data = memory.get();
    arguments.add(data).add(first).add(step).add(count).add(limits.out());
    return limits.run(kernel.get(), arguments);
  });
}

}  // namespace assay::gpu_hash
