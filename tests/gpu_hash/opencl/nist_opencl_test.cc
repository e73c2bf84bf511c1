// SPDX-License-Identifier: Apache-2.0
// The kernels' compression on an OpenCL device against NIST's vectors of the hash alone.
#include <string>

#include <gtest/gtest.h>

#include "embedded/gpu_hash_kernels.h"
#include "gpu_hash/opencl/program.h"
#include "gpu_hash/opencl/variants.h"
#include "tests/gpu_hash/nist.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

class NistOnDevice : public testing::TestWithParam<HashAlgorithm> {
 protected:
  void SetUp() override {
    const std::vector<ClDevice> devices = find_cl_devices();
    if (devices.empty()) {
      GTEST_SKIP() << "no OpenCL device";
    }
    auto session = ClSession::open(devices.front());
    ASSERT_TRUE(session.has_value());
    session_ = std::make_unique<ClSession>(*std::move(session));
    auto queue = session_->make_queue();
    ASSERT_TRUE(queue.has_value());
    queue_ = *std::move(queue);
  }

  // The source that the engine builds, and the kernels of nist.cl behind it.
  void build(const std::string& options) {
    const Bytes nist =
        read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/gpu_hash/opencl/nist.cl");
    const bool sha256 = GetParam() == HashAlgorithm::kSha256;
    const ProgramSource source{
        {embedded::kBuffersCl, embedded::kTagsCl,
         sha256 ? embedded::kSha256Cl : embedded::kSha384Cl, embedded::kTreeCl, as_text(nist)},
        options};
    auto program = build_program(*session_, source, KernelCache(std::filesystem::path()));
    ASSERT_TRUE(program.has_value()) << to_string(program.error());
    program_ = std::move(program->program);
  }

  ClBuffer buffer(const void* bytes, std::size_t size) {
    auto made = session_->make_buffer(CL_MEM_READ_WRITE, size);
    EXPECT_TRUE(made.has_value());
    if (bytes != nullptr) {
      EXPECT_EQ(clEnqueueWriteBuffer(queue_.get(), made->get(), CL_TRUE, 0, size, bytes, 0, nullptr,
                                     nullptr),
                CL_SUCCESS);
    }
    return *std::move(made);
  }

  // Runs a kernel and reads `size` bytes of `out` from byte `begin` on.
  Bytes run(cl_kernel kernel, const KernelArguments& arguments, std::size_t items, cl_mem out,
            std::size_t begin, std::size_t size) {
    ClEvents events;
    EXPECT_TRUE(enqueue(*session_, queue_.get(), events, kernel, arguments, items, 1).has_value());
    Bytes result(size);
    EXPECT_EQ(clEnqueueReadBuffer(queue_.get(), out, CL_TRUE, begin, size, result.data(), 0,
                                  nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_TRUE(events.wait(*session_).has_value());
    return result;
  }

  void expect_digests() {
    const NistVectors vectors = load_nist(GetParam());
    const NistBlocks padded = pad(GetParam(), vectors.messages);
    const ClBuffer blocks = buffer(padded.blocks.data(), padded.blocks.size());
    const ClBuffer first =
        buffer(padded.first.data(), padded.first.size() * sizeof(padded.first[0]));
    const std::size_t size = vectors.messages.size() * digest_size(GetParam());
    const ClBuffer digests = buffer(nullptr, size);
    const auto kernel = make_kernel(*session_, program_.get(), "nist_messages");
    ASSERT_TRUE(kernel.has_value());
    KernelArguments arguments(kernel->get());
    arguments.add(blocks.get()).add(first.get());
    arguments.add(static_cast<cl_uint>(vectors.messages.size())).add(cl_uint{1});
    arguments.add(digests.get());
    EXPECT_EQ(digests_of(GetParam(), run(kernel->get(), arguments, vectors.messages.size(),
                                         digests.get(), 0, size)),
              vectors.digests);
  }

  void expect_monte_carlo() {
    const NistVectors vectors = load_nist(GetParam());
    const std::size_t width = digest_size(GetParam());
    Bytes image = swap_words(GetParam(), vectors.seed);
    image.resize(101 * width);
    const ClBuffer digests = buffer(image.data(), image.size());
    const auto kernel = make_kernel(*session_, program_.get(), "nist_monte");
    ASSERT_TRUE(kernel.has_value());
    KernelArguments arguments(kernel->get());
    arguments.add(digests.get()).add(cl_uint{100}).add(cl_uint{1});
    EXPECT_EQ(
        digests_of(GetParam(), run(kernel->get(), arguments, 1, digests.get(), width, 100 * width)),
        vectors.monte);
  }

  std::unique_ptr<ClSession> session_;
  ClQueue queue_;
  ClProgram program_;
};

INSTANTIATE_TEST_SUITE_P(Both, NistOnDevice,
                         testing::Values(HashAlgorithm::kSha256, HashAlgorithm::kSha384),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(NistOnDevice, PlainKernels_GiveTheDigestsAndPassMonteCarlo) {
  ASSERT_NO_FATAL_FAILURE(build("-cl-std=CL1.2 -DASSAY_LEAVES_ONLY=1"));
  expect_digests();
  expect_monte_carlo();
}

// Additions as products, in a loop: what GPUs may run is right on every device, if slow.
TEST_P(NistOnDevice, KernelsWithProducts_GiveTheDigests) {
  ASSERT_NO_FATAL_FAILURE(
      build("-cl-std=CL1.2 -DASSAY_LEAVES_ONLY=1 -DASSAY_MULTIPLY=1 -DASSAY_ROLL=1"));
  expect_digests();
}

}  // namespace
}  // namespace assay::gpu_hash::test
