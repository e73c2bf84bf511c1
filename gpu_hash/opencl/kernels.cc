// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/kernels.h"

#include <algorithm>
#include <utility>

#include "embedded/gpu_hash_kernels.h"

namespace assay::gpu_hash {
namespace {

// Divides what every device likes; small, because such launches have few items.
constexpr std::size_t kSmallGroup = 64;
// Groups for every compute unit before groups are made larger than that.
constexpr std::size_t kGroupsPerUnit = 8;
// Work-groups of the tag kernel for every compute unit; they take blocks in turn.
constexpr std::size_t kTagGroupsPerUnit = 32;
constexpr std::size_t kTagGroup = 128;  // TAG_GROUP in tag_pass.cl
constexpr std::uint32_t kOne = 1;       // `one` of the kernels

std::string_view hash_source(HashAlgorithm algorithm) {
  return algorithm == HashAlgorithm::kSha256 ? embedded::kSha256Cl : embedded::kSha384Cl;
}

std::size_t group_for(const ClSession& session, std::size_t items, std::size_t wanted) {
  const std::size_t enough = kGroupsPerUnit * std::max(session.device().info.compute_units, 1U);
  while (wanted > kSmallGroup && items / wanted < enough) {
    wanted /= 2;
  }
  return wanted;
}

// The data buffers, the last one repeated for parameters that the launch does not use.
void add_buffers(KernelArguments& arguments, std::span<const cl_mem> buffers,
                 std::uint32_t parameters) {
  for (std::uint32_t i = 0; i < parameters; ++i) {
    arguments.add(buffers[std::min<std::size_t>(i, buffers.size() - 1)]);
  }
}

void add_runs(KernelArguments& arguments, const LeafLaunch& launch) {
  const std::uint32_t base = launch.tables_begin;
  arguments.add(launch.tables)
      .add(base + launch.runs.at_extents)
      .add(base + launch.runs.at_first_item)
      .add(base + launch.runs.at_places)
      .add(launch.runs.runs)
      .add(launch.runs.items)
      .add(launch.chunk_size);
}

}  // namespace

std::uint32_t ClKernels::max_buffers(const ClSession& session) {
  // Other arguments take less than this.
  constexpr std::size_t kOthers = 128;
  const std::size_t size = session.device().max_parameter_bytes;
  for (const std::uint32_t count : {256U, 64U}) {
    if (count * sizeof(cl_mem) + kOthers <= size) {
      return count;
    }
  }
  return 1;
}

ProgramSource ClKernels::source(std::uint32_t buffers, bool tags) const {
  ProgramSource result{
      {embedded::kBuffersCl, embedded::kTagsCl, hash_source(algorithm_), embedded::kTreeCl},
      "-cl-std=CL1.2 -DASSAY_BUFFERS=" + std::to_string(buffers)};
  if (tags) {
    result.options += " -DASSAY_TAGS=1";
  }
  result.options += variant_.options;
  return result;
}

std::string kernel_cache_key(const ClSession& session, HashAlgorithm algorithm,
                             const KernelVariant& variant) {
  const ProgramSource source{
      {embedded::kBuffersCl, embedded::kTagsCl, hash_source(algorithm), embedded::kTreeCl},
      "-cl-std=CL1.2 -DASSAY_BUFFERS=1" + std::string(variant.options)};
  return program_cache_key(session, source);
}

Result<ClKernels> ClKernels::load(const ClSession& session, HashAlgorithm algorithm,
                                  const KernelVariant& variant, const KernelCache& cache) {
  const ClKernels form(algorithm, variant, cache);
  ASSAY_ASSIGN(LoadedProgram program, load_program(session, form.source(1, false), cache));
  const bool cached = program.from_cache;
  auto kernels = create(session, algorithm, variant, cache, std::move(program));
  return kernels || !cached ? std::move(kernels) : build(session, algorithm, variant, cache);
}

Result<ClKernels> ClKernels::build(const ClSession& session, HashAlgorithm algorithm,
                                   const KernelVariant& variant, const KernelCache& cache) {
  const ClKernels form(algorithm, variant, cache);
  ASSAY_ASSIGN(LoadedProgram program, build_program(session, form.source(1, false), cache));
  return create(session, algorithm, variant, cache, std::move(program));
}

Result<ClKernels> ClKernels::create(const ClSession& session, HashAlgorithm algorithm,
                                    const KernelVariant& variant, const KernelCache& cache,
                                    LoadedProgram program) {
  ClKernels kernels(algorithm, variant, cache);
  kernels.from_cache_ = program.from_cache;
  const cl_program built = program.program.get();
  ASSAY_ASSIGN(kernels.nodes_, make_kernel(session, built, "hash_nodes"));
  ASSAY_ASSIGN(kernels.gather_roots_, make_kernel(session, built, "gather_roots"));
  Leaves leaves;
  ASSAY_ASSIGN(leaves.aligned, make_kernel(session, built, "hash_leaves"));
  ASSAY_ASSIGN(leaves.anywhere, make_kernel(session, built, "hash_leaves_anywhere"));
  ASSAY_ASSIGN(leaves.gather, make_kernel(session, built, "gather_bytes"));
  leaves.program = std::move(program.program);
  kernels.leaves_[0][0] = std::move(leaves);
  return kernels;
}

void ClKernels::note_use(cl_kernel kernel) {
  const bool is_new = kernel == nullptr || std::ranges::find(used_, kernel) == used_.end();
  if (is_new && kernel != nullptr) {
    used_.push_back(kernel);
  }
  if (is_new && on_first_use_) {
    on_first_use_();
  }
}

Result<ClKernels::Leaves*> ClKernels::program_for(const ClSession& session, std::size_t buffers,
                                                  bool tags) {
  const bool many = buffers > 1;
  std::optional<Leaves>& slot = leaves_[many ? 1 : 0][tags ? 1 : 0];
  if (slot) {
    return &*slot;
  }
  note_use(nullptr);
  Leaves leaves;
  leaves.buffers = many ? max_buffers(session) : 1;
  ASSAY_ASSIGN(LoadedProgram program, load_program(session, source(leaves.buffers, tags), cache_));
  ASSAY_ASSIGN(leaves.aligned, make_kernel(session, program.program.get(), "hash_leaves"));
  if (!tags) {
    ASSAY_ASSIGN(leaves.anywhere,
                 make_kernel(session, program.program.get(), "hash_leaves_anywhere"));
    ASSAY_ASSIGN(leaves.gather, make_kernel(session, program.program.get(), "gather_bytes"));
  }
  leaves.program = std::move(program.program);
  slot = std::move(leaves);
  return &*slot;
}

Status ClKernels::leaves(const ClSession& session, cl_command_queue queue, const LeafLaunch& launch,
                         ClEvents& events) {
  const bool tags = launch.tags != nullptr;
  ASSAY_ASSIGN(Leaves* const leaves, program_for(session, launch.buffers.size(), tags));
  if (launch.buffers.size() > leaves->buffers || (tags && !launch.aligned)) {
    return fail(ErrorCode::kInternal, "a launch does not fit its kernel");
  }
  const cl_kernel kernel = launch.aligned ? leaves->aligned.get() : leaves->anywhere.get();
  note_use(kernel);
  KernelArguments arguments(kernel);
  add_buffers(arguments, launch.buffers, leaves->buffers);
  add_runs(arguments, launch);
  arguments.add(kOne).add(launch.digests).add(launch.first_digest);
  if (tags) {
    arguments.add(launch.key).add(launch.tags);
  }
  return enqueue(session, queue, events, kernel, arguments, launch.runs.items,
                 group_for(session, launch.runs.items, variant_.group));
}

Status ClKernels::nodes(const ClSession& session, cl_command_queue queue, const NodeLaunch& launch,
                        const SegmentTables& segments, const LevelTable& level,
                        ClEvents& events) const {
  KernelArguments arguments(nodes_.get());
  arguments.add(launch.digests)
      .add(launch.tables)
      .add(launch.tables_begin + segments.at_first_slot)
      .add(launch.tables_begin + level.at_first_block)
      .add(segments.segments)
      .add(level.level)
      .add(level.levels)
      .add(kOne);
  return enqueue(session, queue, events, nodes_.get(), arguments, level.blocks * kSmallGroup,
                 kSmallGroup);
}

Status ClKernels::gather_roots(const ClSession& session, cl_command_queue queue,
                               const NodeLaunch& launch, const SegmentTables& segments,
                               cl_mem roots, std::uint64_t roots_begin, ClEvents& events) const {
  KernelArguments arguments(gather_roots_.get());
  arguments.add(launch.digests)
      .add(launch.tables)
      .add(launch.tables_begin + segments.at_first_slot)
      .add(segments.segments)
      .add(roots)
      .add(roots_begin);
  return enqueue(session, queue, events, gather_roots_.get(), arguments, segments.segments,
                 kSmallGroup);
}

Status ClKernels::gather_bytes(const ClSession& session, cl_command_queue queue,
                               std::span<const cl_mem> buffers, cl_mem tables,
                               std::uint32_t at_copies, std::uint32_t copies, cl_mem out,
                               ClEvents& events) {
  ASSAY_ASSIGN(Leaves* const leaves, program_for(session, buffers.size(), false));
  note_use(leaves->gather.get());
  KernelArguments arguments(leaves->gather.get());
  add_buffers(arguments, buffers, leaves->buffers);
  arguments.add(tables).add(at_copies).add(out);
  return enqueue(session, queue, events, leaves->gather.get(), arguments, copies * kSmallGroup,
                 kSmallGroup);
}

Result<cl_kernel> ClKernels::tag_pass_for(const ClSession& session, std::size_t buffers,
                                          std::uint32_t& padded) {
  const bool many = buffers > 1;
  padded = many ? max_buffers(session) : 1;
  std::optional<TagPass>& slot = tag_pass_[many ? 1 : 0];
  if (!slot) {
    note_use(nullptr);
    const ProgramSource source{{embedded::kBuffersCl, embedded::kTagsCl, embedded::kTagPassCl},
                               "-cl-std=CL1.2 -DASSAY_BUFFERS=" + std::to_string(padded)};
    ASSAY_ASSIGN(LoadedProgram program, load_program(session, source, cache_));
    TagPass pass;
    ASSAY_ASSIGN(pass.kernel, make_kernel(session, program.program.get(), "tag_blocks"));
    pass.program = std::move(program.program);
    slot = std::move(pass);
  }
  return slot->kernel.get();
}

Status ClKernels::tag_blocks(const ClSession& session, cl_command_queue queue,
                             const LeafLaunch& launch, ClEvents& events) {
  std::uint32_t padded = 1;
  ASSAY_ASSIGN(const cl_kernel kernel, tag_pass_for(session, launch.buffers.size(), padded));
  if (launch.buffers.size() > padded || !launch.aligned) {
    return fail(ErrorCode::kInternal, "a launch does not fit its kernel");
  }
  note_use(kernel);
  KernelArguments arguments(kernel);
  add_buffers(arguments, launch.buffers, padded);
  add_runs(arguments, launch);
  arguments.add(launch.key).add(launch.tags).add(launch.first_digest);
  constexpr std::size_t kBlocksPerGroup = 16;  // TAG_TEAMS
  constexpr std::size_t kBlock = 4096;         // bytes
  const std::size_t blocks = std::size_t{launch.runs.items} * (launch.chunk_size / kBlock);
  const std::size_t groups = std::clamp<std::size_t>(
      (blocks + kBlocksPerGroup - 1) / kBlocksPerGroup, 1,
      kTagGroupsPerUnit * std::max(session.device().info.compute_units, 1U));
  return enqueue(session, queue, events, kernel, arguments, groups * kTagGroup, kTagGroup);
}

}  // namespace assay::gpu_hash
