// SPDX-License-Identifier: Apache-2.0
// A device that fails: every call that the engine makes, made to go wrong one after the other by a
// layer of the OpenCL loader (fault_layer.h) above the real driver. Whatever happens, hash() gives
// the right digests or an error that names the device, and leaves nothing running.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gpu_hash/opencl/engine.h"
#include "gpu_hash/tags.h"
#include "schemas/core/random.h"
#include "tests/gpu_hash/opencl/fault_layer.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

// Before anything asks for a platform.
const bool kLayered = [] {
  ::setenv("OPENCL_LAYERS", ASSAY_FAULT_LAYER, 1);
  ::unsetenv("FAULT_LAYER_PLAN");
  return true;
}();

// The calls of a hash(), each with an error that drivers give it.
struct Fault {
  const char* call;
  const char* error;
};
constexpr Fault kRefusals[] = {
    {"clCreateContext", "CL_DEVICE_NOT_AVAILABLE"},
    {"clCreateCommandQueue", "CL_OUT_OF_HOST_MEMORY"},
    {"clCreateBuffer", "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {"clCreateProgramWithSource", "CL_OUT_OF_HOST_MEMORY"},
    {"clCreateProgramWithBinary", "CL_OUT_OF_RESOURCES"},
    {"clBuildProgram", "CL_DEVICE_NOT_AVAILABLE"},
    {"clCreateKernel", "CL_OUT_OF_RESOURCES"},
    {"clSetKernelArg", "CL_OUT_OF_RESOURCES"},
    {"clEnqueueWriteBuffer", "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {"clEnqueueFillBuffer", "CL_OUT_OF_RESOURCES"},
    {"clEnqueueReadBuffer", "CL_OUT_OF_RESOURCES"},
    {"clEnqueueNDRangeKernel", "CL_OUT_OF_RESOURCES"},
    {"clEnqueueMapBuffer", "CL_OUT_OF_HOST_MEMORY"},
    {"clEnqueueMarkerWithWaitList", "CL_OUT_OF_RESOURCES"},
    {"clEnqueueBarrierWithWaitList", "CL_OUT_OF_RESOURCES"},
    {"clFlush", "CL_INVALID_COMMAND_QUEUE"},
    {"clFinish", "CL_OUT_OF_RESOURCES"},
    {"clWaitForEvents", "CL_DEVICE_NOT_AVAILABLE"},
    {"clGetEventInfo", "CL_OUT_OF_RESOURCES"},
};
constexpr Fault kLate[] = {
    {"clEnqueueWriteBuffer", "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {"clEnqueueReadBuffer", "CL_OUT_OF_RESOURCES"},
    {"clEnqueueNDRangeKernel", "CL_OUT_OF_RESOURCES"},
};
constexpr Fault kGone[] = {
    {"clCreateBuffer", "CL_DEVICE_NOT_AVAILABLE"},
    {"clEnqueueWriteBuffer", "CL_DEVICE_NOT_AVAILABLE"},
    {"clEnqueueReadBuffer", "CL_DEVICE_NOT_AVAILABLE"},
    {"clEnqueueNDRangeKernel", "CL_DEVICE_NOT_AVAILABLE"},
    {"clEnqueueMapBuffer", "CL_DEVICE_NOT_AVAILABLE"},
    {"clWaitForEvents", "CL_DEVICE_NOT_AVAILABLE"},
};

class DeviceFaults : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(assay_fault_plan(""), 0);
    devices_ = find_cl_devices();
    if (devices_.empty()) {
      GTEST_SKIP() << "no OpenCL device";
    }
    // Three slices and small objects around them.
    objects_ = {pattern(5), pattern((5U << 19) + 12345), Bytes(), pattern(16385), pattern(70'001)};
    for (const Bytes& object : objects_) {
      expected_.push_back(reference_root({}, object));
    }
  }
  void TearDown() override { (void)assay_fault_plan(""); }

  // Kernels that were built once are found by all tests of a program.
  static const KernelCache& cache() {
    static const TempDir dir;
    static const KernelCache cache(dir.path());
    return cache;
  }

  [[nodiscard]] Result<std::unique_ptr<ClEngine>> open() const {
    EngineOptions options;
    options.slice_bytes = 1;  // the smallest: 1 MiB
    options.threads = 2;
    return ClEngine::open(devices_.front(), options, cache());
  }

  using Work = std::function<Result<std::vector<ObjectDigests>>(ClEngine&)>;

  [[nodiscard]] Result<std::vector<ObjectDigests>> hash_host(ClEngine& engine) const {
    std::vector<Region> regions;
    for (const Bytes& object : objects_) {
      regions.push_back(host_region(object));
    }
    return engine.hash(regions, {TreeParameters{}, 0, {}, {}});
  }

  // The same objects in device memory, in two pieces each.
  [[nodiscard]] Result<std::vector<Region>> resident(ClEngine& engine) const {
    std::vector<Region> regions;
    for (const Bytes& object : objects_) {
      Region region;
      const std::size_t middle = object.size() / 2 / 16 * 16;
      for (const ByteView part :
           {ByteView(object).first(middle), ByteView(object).subspan(middle)}) {
        if (!part.empty()) {
          ASSAY_ASSIGN(const std::shared_ptr<ClMemory> memory, engine.allocate(part.size()));
          ASSAY_TRY(engine.write(*memory, 0, part));
          region.pieces.emplace_back(DevicePiece{memory, 0, part.size()});
        }
      }
      regions.push_back(std::move(region));
    }
    return regions;
  }

  // With tags.
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash_resident(ClEngine& engine) const {
    ASSAY_ASSIGN(const std::vector<Region> regions, resident(engine));
    SystemRandom random;
    ASSAY_ASSIGN(const TagKey key, TagKey::draw(random));
    const HashRequest request{TreeParameters{}, 0, {}, {}};
    std::vector<std::vector<Digest>> first;
    ASSAY_ASSIGN(std::vector<ObjectDigests> digests,
                 engine.hash_tagged(regions, request, key, first));
    ASSAY_ASSIGN(const auto second, engine.tags(regions, request, key));
    EXPECT_EQ(first, second);
    return digests;
  }

  void expect_right(const Result<std::vector<ObjectDigests>>& result) const {
    ASSERT_TRUE(result.has_value()) << to_string(result.error());
    ASSERT_EQ(result->size(), expected_.size());
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      EXPECT_EQ((*result)[i].root, expected_[i]) << i;
    }
  }

  // Right digests, or an error that names the device. Returns whether there were digests.
  bool expect_right_or_failed(const Result<std::vector<ObjectDigests>>& result) const {
    if (result) {
      expect_right(result);
      return true;
    }
    EXPECT_EQ(result.error().code, ErrorCode::kDeviceFailed) << to_string(result.error());
    EXPECT_NE(result.error().detail.find(devices_.front().info.name), std::string::npos)
        << result.error().detail;
    return false;
  }

  // Opens an engine, works with it while the N-th call of `fault.call` goes wrong, and again when
  // the plan is over. Returns whether the fault was reached.
  bool try_one(const Fault& fault, unsigned long number, const std::string& how, const Work& work,
               unsigned& errors) {
    const long before = assay_fault_objects();
    const std::string plan =
        std::string(fault.call) + ":" + std::to_string(number) + ":" + fault.error + ":" + how;
    SCOPED_TRACE(plan);
    EXPECT_EQ(assay_fault_plan(plan.c_str()), 0);
    bool reached = false;
    {
      auto engine = open();
      Result<std::vector<ObjectDigests>> result =
          engine ? work(**engine) : std::unexpected(engine.error());
      reached = assay_fault_made() > 0;
      const bool right = expect_right_or_failed(result);
      EXPECT_EQ(assay_fault_in_flight(), 0U);
      EXPECT_TRUE(right || reached);
      errors += right ? 0 : 1;
      if (how == "gone" && reached && engine) {
        EXPECT_FALSE(expect_right_or_failed(work(**engine)));  // still gone
      }
      EXPECT_EQ(assay_fault_plan(""), 0);
      if (engine && reached) {
        expect_right(work(**engine));  // as good as before
      }
    }
    EXPECT_EQ(assay_fault_in_flight(), 0U);
    EXPECT_EQ(assay_fault_objects(), before);
    return reached;
  }

  // Every N until the call is made less often than that. Some faults have no effect: while kernels
  // are loaded and tested, anything is tried once more from the source. There must be as many
  // errors as `least`.
  void try_all(const Fault& fault, const std::string& how, const Work& work, unsigned least) {
    unsigned errors = 0;
    unsigned long number = 1;
    while (number < kMostCalls && try_one(fault, number, how, work, errors)) {
      if (HasFailure()) {
        return;
      }
      // After the first ones not each, so that the test ends in time.
      number += 1 + number / kDense;
    }
    EXPECT_LT(number, kMostCalls);
    EXPECT_GE(errors, least) << fault.call << " " << how;
  }

  static constexpr unsigned long kMostCalls = 3000;
  static constexpr unsigned long kDense = 24;

  std::vector<ClDevice> devices_;
  std::vector<Bytes> objects_;
  std::vector<Digest> expected_;
};

TEST_F(DeviceFaults, Layer_SeesTheCallsOfTheEngine) {
  auto engine = open();
  ASSERT_TRUE(engine.has_value()) << to_string(engine.error());
  ASSERT_EQ(assay_fault_plan(""), 0);
  expect_right(hash_host(**engine));
  for (const char* call : {"clEnqueueWriteBuffer", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer",
                           "clWaitForEvents", "clGetEventInfo"}) {
    EXPECT_GT(assay_fault_calls(call), 2U) << call << ": was the layer loaded?";
  }
}

// While another process computes on the device, each wait costs a switch to that process and back.
TEST_F(DeviceFaults, CheckOfTags_WaitsOnceForTheDevice) {
  auto engine = open();
  ASSERT_TRUE(engine.has_value()) << to_string(engine.error());
  const auto regions = resident(**engine);
  ASSERT_TRUE(regions.has_value());
  SystemRandom random;
  const auto key = TagKey::draw(random);
  const HashRequest request{TreeParameters{}, 0, {}, {}};
  ASSERT_TRUE(
      (*engine)->tags(*regions, request, *key).has_value());  // buffers are there from now on
  ASSERT_EQ(assay_fault_plan(""), 0);
  ASSERT_TRUE((*engine)->tags(*regions, request, *key).has_value());
  EXPECT_GT(assay_fault_calls("clEnqueueNDRangeKernel"), 0U);
  EXPECT_EQ(assay_fault_calls("clFinish"), 0U);
  EXPECT_EQ(assay_fault_calls("clWaitForEvents"), 1U);
}

TEST_F(DeviceFaults, BadPlan_IsRefused) {
  for (const char* plan :
       {"clFinish", "clFinish:0:CL_OUT_OF_RESOURCES:once", "clFinish:1:CL_X:once",
        "clX:1:CL_OUT_OF_RESOURCES:once", "clFinish:1:CL_OUT_OF_RESOURCES:now"}) {
    EXPECT_NE(assay_fault_plan(plan), 0) << plan;
  }
}

class RefusedCalls : public DeviceFaults, public testing::WithParamInterface<Fault> {};
INSTANTIATE_TEST_SUITE_P(Every, RefusedCalls, testing::ValuesIn(kRefusals),
                         [](const auto& test) { return std::string(test.param.call); });

TEST_P(RefusedCalls, WhileHashingHostMemory_GivesRightDigestsOrAnError) {
  try_all(GetParam(), "once", [&](ClEngine& engine) { return hash_host(engine); }, 0);
}

TEST_P(RefusedCalls, WhileHashingDeviceMemory_GivesRightDigestsOrAnError) {
  try_all(GetParam(), "once", [&](ClEngine& engine) { return hash_resident(engine); }, 0);
}

class LateFailures : public DeviceFaults, public testing::WithParamInterface<Fault> {};
INSTANTIATE_TEST_SUITE_P(Every, LateFailures, testing::ValuesIn(kLate),
                         [](const auto& test) { return std::string(test.param.call); });

// Commands that are accepted and then not done: their results must not be taken for digests.
TEST_P(LateFailures, OfHostMemory_GiveRightDigestsOrAnError) {
  try_all(GetParam(), "late", [&](ClEngine& engine) { return hash_host(engine); }, 3);
}

TEST_P(LateFailures, OfDeviceMemory_GiveRightDigestsOrAnError) {
  try_all(GetParam(), "late", [&](ClEngine& engine) { return hash_resident(engine); }, 1);
}

class DeviceGone : public DeviceFaults, public testing::WithParamInterface<Fault> {};
INSTANTIATE_TEST_SUITE_P(Every, DeviceGone, testing::ValuesIn(kGone),
                         [](const auto& test) { return std::string(test.param.call); });

TEST_P(DeviceGone, InTheMiddleOfHostMemory_IsAnErrorForGood) {
  try_all(GetParam(), "gone", [&](ClEngine& engine) { return hash_host(engine); }, 3);
}

TEST_P(DeviceGone, InTheMiddleOfDeviceMemory_IsAnErrorForGood) {
  try_all(GetParam(), "gone", [&](ClEngine& engine) { return hash_resident(engine); }, 1);
}

// A device that computes something else: refused with its name and the first wrong digest.
TEST_F(DeviceFaults, WrongDigests_FailTheSelfTestWithNameAndDigest) {
  auto engine = open();
  ASSERT_TRUE(engine.has_value());
  ASSERT_EQ(assay_fault_plan("clEnqueueReadBuffer:1:CL_OUT_OF_RESOURCES:flip"), 0);
  const auto result = hash_host(**engine);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kDeviceSelfTestFailed) << to_string(result.error());
  const std::string& detail = result.error().detail;
  EXPECT_NE(detail.find(devices_.front().info.name), std::string::npos) << detail;
  // The known root of one byte is 96a296d2...: its first byte in memory is the last of its word.
  EXPECT_NE(detail.find("the sha256 root of 1 bytes came out as 97a296d2"), std::string::npos)
      << detail;
  EXPECT_NE(detail.find("instead of 96a296d2"), std::string::npos) << detail;
  // Nothing is hashed as long as the test fails; and a device that is repaired is taken again.
  EXPECT_FALSE(hash_host(**engine).has_value());
  ASSERT_EQ(assay_fault_plan(""), 0);
  expect_right(hash_host(**engine));
}

// The other ways over the device have their own self-test.
TEST_F(DeviceFaults, WrongDigestsOfDeviceMemory_FailTheSelfTest) {
  auto engine = open();
  ASSERT_TRUE(engine.has_value());
  expect_right(hash_host(**engine));
  ASSERT_EQ(assay_fault_plan("clEnqueueReadBuffer:1:CL_OUT_OF_RESOURCES:flip"), 0);
  const auto result = hash_resident(**engine);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kDeviceSelfTestFailed) << to_string(result.error());
  EXPECT_NE(result.error().detail.find(devices_.front().info.name), std::string::npos);
}

// A compiler that takes long: whoever waits hears meanwhile that work goes on, before any byte was
// hashed.
TEST_F(DeviceFaults, ASlowCompiler_IsHeardOf_WithHostAndDeviceMemory) {
  auto engine = open();
  ASSERT_TRUE(engine.has_value());
  std::atomic<unsigned> said = 0;
  HashRequest request;
  request.progress = [&](std::uint64_t done) { said += done == 0 ? 1U : 0U; };
  const Bytes object = pattern(5);
  for (const bool on_device : {false, true}) {
    said = 0;
    ASSERT_EQ(assay_fault_plan("clBuildProgram:1:CL_OUT_OF_RESOURCES:slow"), 0);
    std::vector<Region> regions{host_region(object)};
    if (on_device) {
      auto found = resident(**engine);
      ASSERT_TRUE(found.has_value());
      regions = *std::move(found);
    }
    ASSERT_TRUE((*engine)->hash(regions, request).has_value());
    EXPECT_EQ(assay_fault_made(), 1U);
    EXPECT_GE(said, 4U) << on_device;  // in 1.5 s
  }
}

}  // namespace
}  // namespace assay::gpu_hash::test
