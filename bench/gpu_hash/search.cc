// SPDX-License-Identifier: Apache-2.0
// long-file: builds with a compiler and OpenCL alone, on machines that have nothing else
// Looks for the fastest variant of the leaf kernel on one OpenCL device: which additions
// go to the multiply pipe, how much is unrolled, the work-group size. What it finds is
// written into gpu_hash/opencl/variants.cc by hand; the engine chooses among those by measuring
// (gpu_hash/opencl/tune.h).
//
// Usage: gpu_hash_search KERNEL_DIR DEVICE_NAME_PART SECONDS MEBIBYTES OUT_DIR [sha256|sha384]
//
// Prints one line a measurement and writes search-HASH.json and the best program's binary. Programs
// are built by several processes at once, which share the driver's cache with this one. Every
// variant's digests are compared with OpenSSL's before it is timed.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <openssl/evp.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

namespace {

using Clock = std::chrono::steady_clock;
const auto kStart = Clock::now();

double now() { return std::chrono::duration<double>(Clock::now() - kStart).count(); }

void need(cl_int result, const char* what) {
  if (result != CL_SUCCESS) {
    std::fprintf(stderr, "%s: OpenCL error %d\n", what, result);
    std::exit(2);
  }
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return text.str();
}

struct Device {
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  bool nvidia = false;
  cl_uint units = 0;
  std::string name, driver;
};

Device open_device(const std::string& part) {
  cl_uint count = 0;
  need(clGetPlatformIDs(0, nullptr, &count), "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    cl_uint devices = 0;
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    std::vector<cl_device_id> ids(devices);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, devices, ids.data(), nullptr);
    for (cl_device_id id : ids) {
      char name[256] = "", driver[256] = "", vendor[256] = "";
      clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof(name), name, nullptr);
      clGetDeviceInfo(id, CL_DRIVER_VERSION, sizeof(driver), driver, nullptr);
      clGetDeviceInfo(id, CL_DEVICE_VENDOR, sizeof(vendor), vendor, nullptr);
      if (std::strstr(name, part.c_str()) == nullptr) {
        continue;
      }
      Device device;
      device.id = id;
      device.name = name;
      device.driver = driver;
      device.nvidia = std::strstr(vendor, "NVIDIA") != nullptr;
      clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(device.units), &device.units,
                      nullptr);
      cl_int error = 0;
      device.context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error);
      need(error, "clCreateContext");
      device.queue = clCreateCommandQueue(device.context, id, CL_QUEUE_PROFILING_ENABLE, &error);
      need(error, "clCreateCommandQueue");
      return device;
    }
  }
  std::fprintf(stderr, "no device has %s in its name\n", part.c_str());
  std::exit(2);
}

std::string extra;  // options for every program

struct Variant {
  int ptx = 1, multiply = 1, even = 127, odd = 127, schedule = 7, roll = 0, ahead = 0, load = 0,
      registers = 0, tags = 0;
  auto operator<=>(const Variant&) const = default;
  [[nodiscard]] std::string options(bool nvidia) const {
    std::string text = "-cl-std=CL1.2 -DASSAY_LEAVES_ONLY=1";
    const auto add = [&](const char* name, int value) {
      text += std::string(" -DASSAY_") + name + "=" + std::to_string(value);
    };
    add("PTX", ptx);
    add("MULTIPLY", multiply);
    if (multiply != 0) {
      add("ADDS_EVEN", even);
      add("ADDS_ODD", odd);
      add("ADDS_SCHEDULE", schedule);
    }
    add("ROLL", roll);
    add("AHEAD", ahead);
    add("LOAD", load);
    add("TAGS", tags);
    text += extra;
    if (registers != 0 && nvidia) {
      text += " -cl-nv-maxrregcount=" + std::to_string(registers);
    }
    return text;
  }
  [[nodiscard]] std::string label() const {
    char text[160];
    std::snprintf(text, sizeof(text), "x%d m%d e%3d o%3d s%d r%d a%d l%d g%2d%s", ptx, multiply,
                  even, odd, schedule, roll, ahead, load, registers, tags != 0 ? " tags" : "");
    return text;
  }
};

struct Result {
  Variant variant;
  int group = 0;
  double gbps = 0;
};

cl_program build(const Device& device, const std::string& source, const std::string& options,
                 bool loud) {
  const char* text = source.c_str();
  const std::size_t size = source.size();
  cl_int error = 0;
  cl_program program = clCreateProgramWithSource(device.context, 1, &text, &size, &error);
  need(error, "clCreateProgramWithSource");
  if (clBuildProgram(program, 1, &device.id, options.c_str(), nullptr, nullptr) != CL_SUCCESS) {
    if (loud) {
      std::vector<char> log(1 << 16);
      clGetProgramBuildInfo(program, device.id, CL_PROGRAM_BUILD_LOG, log.size(), log.data(),
                            nullptr);
      std::printf("build failed: %s\n%.2000s\n", options.c_str(), log.data());
    }
    clReleaseProgram(program);
    return nullptr;
  }
  return program;
}

class Search {
 public:
  Search(Device device, std::string kernels, std::string hash, std::uint64_t bytes, std::string out,
         double seconds, std::string self, std::string part)
      : device_(std::move(device)),
        hash_(std::move(hash)),
        out_(std::move(out)),
        end_(now() + seconds),
        bytes_(bytes),
        self_(std::move(self)),
        part_(std::move(part)),
        kernels_(std::move(kernels)) {
    for (const std::string& name : {std::string("buffers.cl"), std::string("tags.cl"),
                                    hash_ + ".cl", std::string("tree.cl")}) {
      source_ += read_text(kernels_ + "/" + name);
    }
    slots_ = static_cast<cl_uint>(bytes_ / kChunk);
    words_ = hash_ == "sha256" ? 8 : 12;  // of 32 bits in a digest
  }

  static constexpr cl_uint kChunk = 16384;

  // A process of its own builds every `stride`-th of the listed options.
  void warm(const std::vector<std::string>& options, std::size_t first, std::size_t stride) {
    for (std::size_t i = first; i < options.size(); i += stride) {
      if (cl_program program = build(device_, source_, options[i], false)) {
        clReleaseProgram(program);
      }
    }
  }

  void prepare() {
    cl_int error = 0;
    data_ = clCreateBuffer(device_.context, CL_MEM_READ_WRITE, bytes_, nullptr, &error);
    need(error, "clCreateBuffer");
    digests_ = clCreateBuffer(device_.context, CL_MEM_READ_WRITE, slots_ * 48ULL, nullptr, &error);
    need(error, "clCreateBuffer");
    const std::uint64_t extents[2] = {0, bytes_};
    std::uint32_t tables[8] = {0, 0, 0, 0, 0, slots_, 0, 0};
    std::memcpy(tables, extents, sizeof(extents));
    tables_ = clCreateBuffer(device_.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                             sizeof(tables), tables, &error);
    need(error, "clCreateBuffer");
    std::vector<std::uint32_t> key(1028);
    std::mt19937 random(7);
    std::ranges::generate(key, random);
    key_ = clCreateBuffer(device_.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, 4 * key.size(),
                          key.data(), &error);
    tags_ = clCreateBuffer(device_.context, CL_MEM_READ_WRITE, bytes_ / 256, nullptr, &error);
    need(error, "clCreateBuffer");
    const char* fill =
        "__kernel void fill(__global uint* d, const ulong n) {"
        " for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {"
        "  ulong x = i + 0x9e3779b97f4a7c15UL; x ^= x >> 30; x *= 0xbf58476d1ce4e5b9UL;"
        "  x ^= x >> 27; x *= 0x94d049bb133111ebUL; x ^= x >> 31; d[i] = (uint)x; } }";
    cl_program program = build(device_, fill, "-cl-std=CL1.2", true);
    cl_kernel kernel = clCreateKernel(program, "fill", &error);
    need(error, "fill");
    const cl_ulong count = bytes_ / 4;
    clSetKernelArg(kernel, 0, sizeof(data_), &data_);
    clSetKernelArg(kernel, 1, sizeof(count), &count);
    const std::size_t global = 1 << 18;
    need(clEnqueueNDRangeKernel(device_.queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr,
                                nullptr),
         "fill");
    need(clFinish(device_.queue), "fill");
    expect();
  }

  // Measures what is new in `variants`, and keeps all results.
  void measure(const std::vector<Variant>& variants, const std::vector<int>& groups) {
    std::vector<Variant> fresh;
    for (const Variant& variant : variants) {
      if (seen_.insert(variant).second) {
        fresh.push_back(variant);
      }
    }
    prebuild(fresh);
    for (const Variant& variant : fresh) {
      if (now() > end_) {
        return;
      }
      run(variant, groups);
    }
    write();
  }

  [[nodiscard]] bool in_time() const { return now() < end_; }
  [[nodiscard]] std::vector<Result> best(std::size_t count) const {
    std::map<Variant, Result> top;
    for (const Result& result : results_) {
      if (result.variant.tags == 0 && top[result.variant].gbps < result.gbps) {
        top[result.variant] = result;
      }
    }
    std::vector<Result> sorted;
    for (const auto& [variant, result] : top) {
      sorted.push_back(result);
    }
    std::ranges::sort(sorted, [](const Result& a, const Result& b) { return a.gbps > b.gbps; });
    sorted.resize(std::min(count, sorted.size()));
    return sorted;
  }

  void write() const {
    std::ofstream json(out_ + "/search-" + hash_ + ".json");
    json << "{\"device\":\"" << device_.name << "\",\"driver\":\"" << device_.driver
         << "\",\"units\":" << device_.units << ",\"bytes\":" << bytes_ << ",\"results\":[";
    for (std::size_t i = 0; i < results_.size(); ++i) {
      json << (i == 0 ? "\n" : ",\n") << "{\"options\":\""
           << results_[i].variant.options(device_.nvidia) << "\",\"group\":" << results_[i].group
           << ",\"gbps\":" << results_[i].gbps << "}";
    }
    json << "\n]}\n";
  }

  void keep_binary(const Variant& variant) const {
    cl_program program = build(device_, source_, variant.options(device_.nvidia), false);
    std::size_t size = 0;
    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr);
    std::string binary(size, '\0');
    unsigned char* data = reinterpret_cast<unsigned char*>(binary.data());
    clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, nullptr);
    std::ofstream(out_ + "/best-" + hash_ + ".ptx", std::ios::binary) << binary;
  }

  // Reading alone, with tags.
  void tag_pass() {
    const std::string source = read_text(kernels_ + "/buffers.cl") +
                               read_text(kernels_ + "/tags.cl") +
                               read_text(kernels_ + "/tag_pass.cl");
    for (const char* unroll : {"", "_Pragma(\"unroll\")", "_Pragma(\"unroll 8\")",
                               "_Pragma(\"unroll 4\")", "_Pragma(\"unroll 2\")"}) {
      std::string text = source;
      if (*unroll != '\0') {
        text = std::string("#define ASSAY_TAG_UNROLL ") + unroll + "\n" + source;
      }
      cl_program program = build(device_, text, "-cl-std=CL1.2", true);
      if (program == nullptr) {
        return;
      }
      cl_int error = 0;
      cl_kernel kernel = clCreateKernel(program, "tag_blocks", &error);
      need(error, "tag_blocks");
      set(kernel, 0, data_);
      tables(kernel, 1);
      set(kernel, 8, key_);
      set(kernel, 9, tags_);
      set(kernel, 10, cl_uint{0});
      std::string line = std::string("tag pass [") + unroll + "]";
      for (const std::size_t per_unit : {4U, 8U, 16U, 32U, 64U}) {
        const double gbps = time(kernel, std::size_t{device_.units} * per_unit * 128, 128, 4);
        line += " " + std::to_string(per_unit) + ":" + std::to_string(static_cast<int>(gbps));
      }
      std::printf("%s\n", line.c_str());
      clReleaseKernel(kernel);
      clReleaseProgram(program);
    }
    std::fflush(stdout);
  }

 private:
  template <typename T>
  static void set(cl_kernel kernel, cl_uint index, const T& value) {
    need(clSetKernelArg(kernel, index, sizeof(value), &value), "clSetKernelArg");
  }
  void tables(cl_kernel kernel, cl_uint index) const {
    set(kernel, index, tables_);
    const cl_uint values[6] = {0, 4, 6, 1, slots_, kChunk};
    for (cl_uint i = 0; i < 6; ++i) {
      set(kernel, index + 1 + i, values[i]);
    }
  }

  void prebuild(const std::vector<Variant>& variants) {
    if (!device_.nvidia || variants.size() < 3) {
      return;
    }
    const std::string list = out_ + "/warm.txt";
    {
      std::ofstream file(list);
      for (const Variant& variant : variants) {
        file << variant.options(true) << "\n";
      }
    }
    const std::size_t count = std::min<std::size_t>(
        variants.size(), std::max(1U, std::thread::hardware_concurrency() - 1));
    std::vector<pid_t> children;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string first = std::to_string(i), stride = std::to_string(count);
      const pid_t pid = fork();
      if (pid == 0) {
        execl(self_.c_str(), self_.c_str(), "--warm", kernels_.c_str(), part_.c_str(),
              hash_.c_str(), list.c_str(), first.c_str(), stride.c_str(), nullptr);
        _exit(127);
      }
      children.push_back(pid);
    }
    for (const pid_t child : children) {
      waitpid(child, nullptr, 0);
    }
    unlink(list.c_str());
  }

  void run(const Variant& variant, const std::vector<int>& groups) {
    cl_program program = build(device_, source_, variant.options(device_.nvidia), failures_ < 3);
    if (program == nullptr) {
      ++failures_;
      return;
    }
    cl_int error = 0;
    cl_kernel kernel = clCreateKernel(program, "hash_leaves", &error);
    need(error, "hash_leaves");
    set(kernel, 0, data_);
    tables(kernel, 1);
    set(kernel, 8, cl_uint{1});
    set(kernel, 9, digests_);
    set(kernel, 10, cl_uint{0});
    if (variant.tags != 0) {
      set(kernel, 11, key_);
      set(kernel, 12, tags_);
    }
    std::string line = variant.label();
    bool right = false;
    for (const int group : groups) {
      const double gbps = time(kernel, slots_, static_cast<std::size_t>(group), right ? 1 : 2);
      if (gbps == 0) {
        continue;
      }
      right = right || check();
      if (!right) {
        line += " WRONG";
        break;
      }
      results_.push_back({variant, group, gbps});
      char text[40];
      std::snprintf(text, sizeof(text), " %d:%.0f", group, gbps);
      line += text;
    }
    std::printf("%6.1f %s\n", now(), line.c_str());
    std::fflush(stdout);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  }

  // GB/s of the best of some runs, 0 when the device cannot run it.
  double time(cl_kernel kernel, std::size_t items, std::size_t group, int repeats) const {
    const std::size_t global = (items + group - 1) / group * group;
    double best = 0;
    for (int i = 0; i < repeats; ++i) {
      cl_event event = nullptr;
      if (clEnqueueNDRangeKernel(device_.queue, kernel, 1, nullptr, &global, &group, 0, nullptr,
                                 &event) != CL_SUCCESS) {
        return 0;
      }
      need(clWaitForEvents(1, &event), "a kernel");
      cl_ulong from = 0, to = 0;
      clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(from), &from, nullptr);
      clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(to), &to, nullptr);
      clReleaseEvent(event);
      best = std::max(best, static_cast<double>(bytes_) / static_cast<double>(to - from));
    }
    return best;
  }

  // Digests of some chunks by OpenSSL.
  void expect() {
    for (cl_uint slot = 0; slot < slots_; slot += std::max(1U, slots_ / 37)) {
      std::vector<unsigned char> message(kChunk + 1);
      need(clEnqueueReadBuffer(device_.queue, data_, CL_TRUE, std::uint64_t{slot} * kChunk, kChunk,
                               message.data() + 1, 0, nullptr, nullptr),
           "clEnqueueReadBuffer");
      std::vector<std::uint32_t> digest(16);
      unsigned size = 0;
      EVP_Digest(message.data(), message.size(), reinterpret_cast<unsigned char*>(digest.data()),
                 &size, hash_ == "sha256" ? EVP_sha256() : EVP_sha384(), nullptr);
      for (std::uint32_t& word : digest) {
        word = __builtin_bswap32(word);
      }
      if (words_ == 12) {
        for (std::size_t i = 0; i < 12; i += 2) {
          std::swap(digest[i], digest[i + 1]);
        }
      }
      digest.resize(words_);
      expected_[slot] = digest;
    }
  }

  bool check() const {
    for (const auto& [slot, digest] : expected_) {
      std::vector<std::uint32_t> got(words_);
      need(clEnqueueReadBuffer(device_.queue, digests_, CL_TRUE, slot * words_ * 4ULL, words_ * 4,
                               got.data(), 0, nullptr, nullptr),
           "clEnqueueReadBuffer");
      if (got != digest) {
        return false;
      }
    }
    const std::uint32_t zero = 0;
    clEnqueueFillBuffer(device_.queue, digests_, &zero, 4, 0, slots_ * words_ * 4ULL, 0, nullptr,
                        nullptr);
    return true;
  }

  Device device_;
  std::string hash_, out_, source_;
  double end_;
  std::uint64_t bytes_;
  std::string self_, part_, kernels_;
  cl_uint slots_ = 0;
  std::size_t words_ = 8;
  cl_mem data_ = nullptr, digests_ = nullptr, tables_ = nullptr, key_ = nullptr, tags_ = nullptr;
  std::map<cl_uint, std::vector<std::uint32_t>> expected_;
  std::vector<Result> results_;
  std::set<Variant> seen_;
  int failures_ = 0;
};

// Statements of the kernel below, one operation each, on its chains x and u.
std::string operation(char code) {
  const std::map<char, const char*> texts = {
      {'s', "shf.l.wrap.b32 %0, %0, %0, 7"},
      {'l', "lop3.b32 %0, %0, %1, %2, 0x96"},
      {'L', "lop3.b32 %0, %0, %3, %2, 0x96"},
      {'a', "add.u32 %0, %0, 0x428a2f98"},
      {'A', "add.u32 %0, %0, %3"},
      {'m', "mad.lo.u32 %0, %0, %1, %2"},
      {'M', "mad.lo.u32 %0, %0, %3, %3"},
      {'c', "mad.lo.u32 %0, %0, %3, 0x428a2f98"},
      {'h', "mul.hi.u32 %0, %0, %1"},
      {'d', "dp4a.u32.u32 %0, %0, %1, %2"},
      {'D', "dp2a.lo.u32.u32 %0, %0, %1, %2"},

      {'b', "brev.b32 %0, %0"},
  };
  const char* chain = std::strchr("mMchbdD", code) != nullptr ? "u[i]" : "x[i]";
  return std::string("asm volatile(\"") + texts.at(code) + ";\" : \"+r\"(" + chain +
         ") : \"r\"(y), \"r\"(z), \"r\"(v));";
}

// The pipes of an NVIDIA multiprocessor: operations a clock, alone and together.
// long-function: a table, and the kernel that it fills
void pipes(const Device& device) {
  struct Row {
    const char* name;
    std::string operations;
  };
  const Row rows[] = {
      {"shf", "s"},
      {"lop3", "l"},
      {"mad of uniform values", "m"},
      {"mad of registers", "M"},
      {"mad, constant added", "c"},
      {"mul.hi", "h"},
      {"brev", "b"},
      {"dp4a", "d"},
      {"lop3, add constant", "La"},
      {"lop3, add register", "LA"},
      {"shf, add constant", "sa"},
      {"shf | mad of uniform values", "sm"},
      {"shf | mad of registers", "sM"},
      {"lop3 | mad of registers", "LM"},
      {"shf x6, lop3 x4 | mad x7", "sMLMsMsMLMsMsMLsL"},
      {"the same, mul.hi for a mad", "sMLMsMsMLhsMsMLsL"},
      {"the same, dp4a beside", "sMLMsMsMLMsMdsMLsL"},
      {"the same, brev beside", "sMLMsMsMLMsMbsMLsL"},
      {"the same, dp2a x2 beside", "sMLDMsMsMLMsMDsMLsL"},
      {"the same, dp2a x3 beside", "sMLDMsMsMLDMsMDsMLsL"},
  };
  for (const Row& row : rows) {
    std::string body;
    for (const char code : row.operations) {
      body += operation(code);
    }
    const std::string source =
        std::string(
            "__kernel __attribute__((reqd_work_group_size(1024,1,1))) void k("
            "__global ulong* out, const uint y, const uint z) {"
            " uint x[4], u[4]; const uint v = get_local_id(0) * y + z;"
            " for (int i = 0; i < 4; ++i) { x[i] = get_local_id(0) + i; u[i] = x[i] * 3; }"
            " ulong a, b; asm volatile(\"bar.sync 0; mov.u64 %0, %%clock64;\" : \"=l\"(a));\n"
            "#pragma unroll 1\n for (int n = 0; n < 64; ++n) {\n#pragma unroll\n"
            " for (int m = 0; m < 16; ++m) {\n#pragma unroll\n for (int i = 0; i < 4; ++i) {") +
        body +
        "}}}"
        " asm volatile(\"bar.sync 0; mov.u64 %0, %%clock64;\" : \"=l\"(b));"
        " uint s = 0; for (int i = 0; i < 4; ++i) s += x[i] + u[i];"
        " if (get_local_id(0) == 0) out[2 * get_group_id(0)] = b - a;"
        " if (s == 0x12345) out[1] = s; }";
    cl_program program = build(device, source, "-cl-std=CL1.2", true);
    if (program == nullptr) {
      continue;
    }
    cl_int error = 0;
    cl_kernel kernel = clCreateKernel(program, "k", &error);
    cl_mem out = clCreateBuffer(device.context, CL_MEM_READ_WRITE, 1 << 16, nullptr, &error);
    const cl_uint y = 5, z = 9;
    clSetKernelArg(kernel, 0, sizeof(out), &out);
    clSetKernelArg(kernel, 1, sizeof(y), &y);
    clSetKernelArg(kernel, 2, sizeof(z), &z);
    const std::size_t group = 1024, global = 1024ULL * device.units;
    cl_ulong clocks[2] = {};
    for (int i = 0; i < 2; ++i) {
      need(clEnqueueNDRangeKernel(device.queue, kernel, 1, nullptr, &global, &group, 0, nullptr,
                                  nullptr),
           row.name);
      need(clEnqueueReadBuffer(device.queue, out, CL_TRUE, 0, sizeof(clocks), clocks, 0, nullptr,
                               nullptr),
           row.name);
    }
    std::printf("pipe %-34s %6.1f operations a clock and multiprocessor\n", row.name,
                1024.0 * 64 * 16 * 4 * static_cast<double>(row.operations.size()) /
                    static_cast<double>(clocks[0]));
    std::fflush(stdout);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  }
}

std::vector<Variant> first_round(bool nvidia, bool sha256) {
  std::vector<Variant> list;
  Variant plain;
  plain.ptx = plain.multiply = 0;
  list.push_back(plain);
  if (!nvidia) {
    return list;
  }
  plain.ptx = 1;
  list.push_back(plain);
  Variant base;
  list.push_back(base);
  if (!sha256) {
    plain.roll = 1;
    base.roll = 1;
    for (const int registers : {0, 56, 64, 68, 72, 76, 80, 88, 96, 104, 128}) {
      plain.registers = base.registers = registers;
      list.push_back(plain);
      base.schedule = 0;
      for (const int mask : {2, 16, 64}) {
        base.even = base.odd = mask;
        list.push_back(base);
      }
      base.even = base.odd = 0;
      base.schedule = 1;
      list.push_back(base);
    }
    return list;
  }
  for (const int registers : {48, 64, 72, 80}) {
    for (const auto& [even, odd] : std::vector<std::pair<int, int>>{
             {62, 111}, {126, 111}, {62, 39}, {62, 119}, {126, 103}, {127, 127}}) {
      base.registers = registers;
      base.even = even;
      base.odd = odd;
      list.push_back(base);
    }
  }
  base.even = 62;
  base.odd = 119;
  Variant tags = base;
  tags.tags = 1;
  list.push_back(tags);
  return list;
}

// Compilers differ in how they spell asm.
void choose_asm(const Device& device) {
  for (const char* spelling : {"__asm__", "asm", "__asm"}) {
    const std::string options = std::string(" -DASSAY_ASM=") + spelling;
    cl_program program =
        build(device,
              "__kernel void k(__global uint* x) { uint r; ASSAY_ASM(\"mov.u32 %0, %1;\" : "
              "\"=r\"(r) : \"r\"(x[0])); x[1] = r; }",
              "-cl-std=CL1.2" + options, true);
    if (program != nullptr) {
      std::printf("asm is spelled %s\n", spelling);
      clReleaseProgram(program);
      extra = options;
      return;
    }
  }
}

// Neighbours of a variant: one choice changed.
std::vector<Variant> neighbours(const Variant& from, bool sha256) {
  std::vector<Variant> list;
  for (int bit = 1; bit < 128; bit *= 2) {
    Variant next = from;
    next.even ^= bit;
    list.push_back(next);
    next = from;
    next.odd ^= bit;
    list.push_back(next);
  }
  for (int bit = 1; bit < 8; bit *= 2) {
    Variant next = from;
    next.schedule ^= bit;
    list.push_back(next);
  }
  for (const int registers : sha256 ? std::vector{0, 48, 52, 56, 60, 64, 68, 72, 80}
                                    : std::vector{0, 64, 72, 80, 88, 96, 104, 128}) {
    Variant next = from;
    next.registers = registers;
    list.push_back(next);
  }
  Variant next = from;
  next.load ^= 1;
  list.push_back(next);
  next = from;
  next.load ^= 2;
  list.push_back(next);
  next = from;
  next.ahead ^= 1;
  list.push_back(next);
  next = from;
  next.roll ^= 1;
  list.push_back(next);
  return list;
}

}  // namespace

// long-function: the order of the search
int main(int argc, char** argv) {
  if (argc == 8 && std::strcmp(argv[1], "--warm") == 0) {
    Search search(open_device(argv[3]), argv[2], argv[4], 1 << 20, "", 0, argv[0], argv[3]);
    std::vector<std::string> options;
    std::ifstream list(argv[5]);
    for (std::string line; std::getline(list, line);) {
      options.push_back(line);
    }
    search.warm(options, std::strtoul(argv[6], nullptr, 10), std::strtoul(argv[7], nullptr, 10));
    return 0;
  }
  if (argc < 6) {
    std::fprintf(stderr,
                 "usage: gpu_hash_search KERNEL_DIR DEVICE SECONDS MEBIBYTES OUT_DIR [HASH]\n");
    return 2;
  }
  const std::string hash = argc > 6 ? argv[6] : "sha256";
  Device device = open_device(argv[2]);
  std::printf("%s, driver %s, %u units\n", device.name.c_str(), device.driver.c_str(),
              device.units);
  const bool nvidia = device.nvidia;
  const bool sha256 = hash == "sha256";
  if (nvidia && sha256) {
    pipes(device);
  }
  if (nvidia) {
    choose_asm(device);
  }
  const std::uint64_t bytes = std::strtoull(argv[4], nullptr, 10) << 20;
  Search search(device, argv[1], hash, bytes, argv[5], std::strtod(argv[3], nullptr),
                "/proc/self/exe", argv[2]);
  search.prepare();
  if (sha256) {
    search.tag_pass();
  }
  const std::vector<int> groups =
      nvidia ? std::vector<int>{128, 256, 512, 1024} : std::vector<int>{64};
  search.measure(first_round(nvidia, sha256), groups);
  std::mt19937 random(1);
  while (nvidia && search.in_time()) {
    const std::vector<Result> best = search.best(6);
    std::vector<Variant> next;
    for (std::size_t i = 0; i < std::min<std::size_t>(best.size(), 2); ++i) {
      for (const Variant& variant : neighbours(best[i].variant, sha256)) {
        next.push_back(variant);
      }
    }
    // Two steps away, at random.
    for (const Result& result : best) {
      for (int i = 0; i < 4; ++i) {
        const std::vector<Variant> near = neighbours(result.variant, sha256);
        const std::vector<Variant> far = neighbours(near[random() % near.size()], sha256);
        next.push_back(far[random() % far.size()]);
      }
    }
    const std::set<int> used = {best[0].group,
                                best[std::min<std::size_t>(1, best.size() - 1)].group, 512, 1024};
    search.measure(next, {used.begin(), used.end()});
  }
  std::printf("best:\n");
  for (const Result& result : search.best(12)) {
    std::printf("%8.1f GB/s, groups of %d: %s\n", result.gbps, result.group,
                result.variant.options(nvidia).c_str());
  }
  if (!search.best(1).empty()) {
    search.keep_binary(search.best(1)[0].variant);
  }
  return 0;
}
