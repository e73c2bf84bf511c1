// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_hash/opencl/fault_layer.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include <CL/cl_layer.h>

namespace {

// Every call of the engine that can fail. The order is that of kNames.
enum Call : std::size_t {
  kCreateContext,
  kCreateQueue,
  kCreateBuffer,
  kCreateProgram,
  kCreateProgramBinary,
  kBuildProgram,
  kCreateKernel,
  kSetKernelArg,
  kWrite,
  kFill,
  kRead,
  kRun,
  kMap,
  kMarker,
  kBarrier,
  kFlush,
  kFinish,
  kWait,
  kEventInfo,
  kCalls,
};
constexpr std::array<std::string_view, kCalls> kNames = {"clCreateContext",
                                                         "clCreateCommandQueue",
                                                         "clCreateBuffer",
                                                         "clCreateProgramWithSource",
                                                         "clCreateProgramWithBinary",
                                                         "clBuildProgram",
                                                         "clCreateKernel",
                                                         "clSetKernelArg",
                                                         "clEnqueueWriteBuffer",
                                                         "clEnqueueFillBuffer",
                                                         "clEnqueueReadBuffer",
                                                         "clEnqueueNDRangeKernel",
                                                         "clEnqueueMapBuffer",
                                                         "clEnqueueMarkerWithWaitList",
                                                         "clEnqueueBarrierWithWaitList",
                                                         "clFlush",
                                                         "clFinish",
                                                         "clWaitForEvents",
                                                         "clGetEventInfo"};

struct ErrorName {
  std::string_view name;
  cl_int code;
};
constexpr std::array<ErrorName, 5> kErrors = {{
    {"CL_DEVICE_NOT_AVAILABLE", CL_DEVICE_NOT_AVAILABLE},
    {"CL_OUT_OF_RESOURCES", CL_OUT_OF_RESOURCES},
    {"CL_OUT_OF_HOST_MEMORY", CL_OUT_OF_HOST_MEMORY},
    {"CL_MEM_OBJECT_ALLOCATION_FAILURE", CL_MEM_OBJECT_ALLOCATION_FAILURE},
    {"CL_INVALID_COMMAND_QUEUE", CL_INVALID_COMMAND_QUEUE},
}};

enum class How : std::uint8_t { kOnce, kLate, kGone, kFlip, kSlow, kDies, kHangs };

constexpr std::chrono::milliseconds kSlow{1'500};

struct Plan {
  Call call;
  unsigned long number;
  cl_int error;
  How how;
};

// What a call has to do.
struct Verdict {
  cl_int error = CL_SUCCESS;  // not passed on
  cl_int late = CL_SUCCESS;   // accepted, not done
  bool flip = false;
};

const cl_icd_dispatch* target = nullptr;
cl_icd_dispatch table;

std::mutex mutex;  // guards what follows
std::optional<Plan> plan;
std::array<unsigned long, kCalls> calls;
unsigned long made = 0;
std::vector<cl_event> commands;     // retained
std::map<cl_event, cl_int> failed;  // events of commands that were not done; retained
// In these queues nothing runs any more: what was to be written was not, and a driver does not run
// what comes behind such a command.
std::set<cl_command_queue> poisoned;
std::atomic<long> objects = 0;

template <typename Rows>
std::optional<std::size_t> find(const Rows& rows, std::string_view text) {
  const auto found = std::find(rows.begin(), rows.end(), text);
  return found == rows.end() ? std::nullopt : std::optional<std::size_t>(found - rows.begin());
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(colon + 1);
  }
}

std::optional<Plan> parse(std::string_view text) {
  const std::vector<std::string_view> parts = split(text);
  if (parts.size() != 4) {
    return std::nullopt;
  }
  const auto call = find(kNames, parts[0]);
  constexpr std::array<std::string_view, 7> ways = {"once", "late", "gone", "flip",
                                                    "slow", "dies", "hangs"};
  const auto how = find(ways, parts[3]);
  const auto* error = std::find_if(kErrors.begin(), kErrors.end(),
                                   [&](const ErrorName& row) { return row.name == parts[2]; });
  unsigned long number = 0;
  const auto [end, result] =
      std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), number);
  if (!call || !how || error == kErrors.end() || result != std::errc() ||
      end != parts[1].data() + parts[1].size() || number == 0) {
    return std::nullopt;
  }
  return Plan{static_cast<Call>(*call), number, error->code, static_cast<How>(*how)};
}

cl_int status_of(cl_event event) {
  cl_int status = CL_QUEUED;
  target->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
                         nullptr);
  return status;
}

// Forgets what is done.
void prune() {
  std::erase_if(commands, [](cl_event event) {
    const bool done = status_of(event) <= CL_COMPLETE;
    if (done) {
      target->clReleaseEvent(event);
    }
    return done;
  });
}

void write_log() {
  static const char* const file = std::getenv("FAULT_LAYER_LOG");
  if (file == nullptr) {
    return;
  }
  std::ofstream out(file);
  for (std::size_t i = 0; i < kCalls; ++i) {
    out << kNames[i] << ' ' << calls[i] << '\n';
  }
}

// Counts a call and says what becomes of it.
Verdict judge(Call call) {
  const std::scoped_lock lock(mutex);
  const unsigned long number = ++calls[call];
  write_log();
  if (!plan) {
    return {};
  }
  const bool reached = call == plan->call && number >= plan->number;
  switch (plan->how) {
    case How::kGone: {
      const bool already = made > 0;
      if (!already && !reached) {
        return {};
      }
      if (!already) {
        for (const cl_event event : commands) {
          target->clWaitForEvents(1, &event);  // what began before may not end after this
        }
      }
      ++made;
      return {.error = plan->error};
    }
    case How::kFlip:
      made += reached ? 1 : 0;
      return {.flip = reached};
    case How::kOnce:
    case How::kLate:
    case How::kSlow:
    case How::kDies:
    case How::kHangs:
      break;
  }
  if (!reached || number != plan->number) {
    return {};
  }
  ++made;
  if (plan->how == How::kSlow) {
    std::this_thread::sleep_for(kSlow);  // as long as the device takes
    return {};
  }
  if (plan->how == How::kDies) {
    std::fputs("driver: assertion `device != lost' failed\n", stderr);
    std::abort();
  }
  while (plan->how == How::kHangs) {
    ::pause();
  }
  return plan->how == How::kOnce ? Verdict{.error = plan->error} : Verdict{.late = plan->error};
}

void count(const void* object) { objects += object != nullptr ? 1 : 0; }

// Remembers a command by its event; `own` when the program did not ask for the event.
cl_int track(cl_int result, cl_event event, cl_event* asked) {
  if (result != CL_SUCCESS) {
    return result;
  }
  const std::scoped_lock lock(mutex);
  if (commands.size() > 256) {
    prune();
  }
  commands.push_back(event);
  if (asked != nullptr) {
    target->clRetainEvent(event);
    *asked = event;
    count(event);
  }
  return result;
}

// Whether a command must fail because one that it depends on has failed.
bool is_doomed(cl_command_queue queue, cl_uint waits, const cl_event* wait) {
  const std::scoped_lock lock(mutex);
  if (std::any_of(wait, wait + waits, [](cl_event event) { return failed.contains(event); })) {
    poisoned.insert(queue);
  }
  return poisoned.contains(queue);
}

// Instead of a command: an event that will tell of `error`.
cl_int fail_later(cl_command_queue queue, cl_int error, cl_event* asked) {
  if (asked == nullptr) {
    return error;  // there is nobody to tell it later
  }
  cl_event event = nullptr;
  const cl_int result = target->clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event);
  if (result != CL_SUCCESS) {
    return result;
  }
  {
    const std::scoped_lock lock(mutex);
    target->clRetainEvent(event);
    failed.emplace(event, error);
  }
  return track(result, event, asked);
}

// What all calls do that make an object.
template <typename Create>
auto make(Call call, cl_int* error, Create create) {
  using Object = decltype(create());
  const Verdict verdict = judge(call);
  if (verdict.error != CL_SUCCESS) {
    if (error != nullptr) {
      *error = verdict.error;
    }
    return Object{};
  }
  const Object object = create();
  count(object);
  return object;
}

// What all commands do. `enqueue` hands one to the driver.
template <typename Enqueue>
cl_int command(Call call, cl_command_queue queue, cl_uint waits, const cl_event* wait,
               cl_event* event, Enqueue enqueue) {
  const Verdict verdict = judge(call);
  if (verdict.error != CL_SUCCESS) {
    return verdict.error;
  }
  if (verdict.late != CL_SUCCESS) {
    if (call == kWrite) {
      const std::scoped_lock lock(mutex);
      poisoned.insert(queue);
    }
    return fail_later(queue, verdict.late, event);
  }
  if (is_doomed(queue, waits, wait)) {
    return fail_later(queue, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, event);
  }
  cl_event own = nullptr;
  const cl_int result = enqueue(verdict.flip, &own);
  return track(result, own, event);
}

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count_of,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*,
                                                                std::size_t, void*),
                                      void* data, cl_int* error) {
  return make(kCreateContext, error, [&] {
    return target->clCreateContext(properties, count_of, devices, notify, data, error);
  });
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* error) {
  return make(kCreateQueue, error,
              [&] { return target->clCreateCommandQueue(context, device, properties, error); });
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, std::size_t size,
                                 void* host, cl_int* error) {
  return make(kCreateBuffer, error,
              [&] { return target->clCreateBuffer(context, flags, size, host, error); });
}

cl_program CL_API_CALL create_program(cl_context context, cl_uint texts, const char** text,
                                      const std::size_t* sizes, cl_int* error) {
  return make(kCreateProgram, error, [&] {
    return target->clCreateProgramWithSource(context, texts, text, sizes, error);
  });
}

cl_program CL_API_CALL create_program_binary(cl_context context, cl_uint devices,
                                             const cl_device_id* device, const std::size_t* sizes,
                                             const unsigned char** binaries, cl_int* status,
                                             cl_int* error) {
  return make(kCreateProgramBinary, error, [&] {
    return target->clCreateProgramWithBinary(context, devices, device, sizes, binaries, status,
                                             error);
  });
}

cl_int CL_API_CALL build_program(cl_program program, cl_uint devices, const cl_device_id* device,
                                 const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                                 void* data) {
  const Verdict verdict = judge(kBuildProgram);
  return verdict.error != CL_SUCCESS
             ? verdict.error
             : target->clBuildProgram(program, devices, device, options, notify, data);
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* error) {
  return make(kCreateKernel, error, [&] { return target->clCreateKernel(program, name, error); });
}

cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint index, std::size_t size,
                                  const void* value) {
  const Verdict verdict = judge(kSetKernelArg);
  return verdict.error != CL_SUCCESS ? verdict.error
                                     : target->clSetKernelArg(kernel, index, size, value);
}

cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                std::size_t offset, std::size_t size, const void* memory,
                                cl_uint waits, const cl_event* wait, cl_event* event) {
  return command(kWrite, queue, waits, wait, event, [&](bool /*flip*/, cl_event* own) {
    return target->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, memory, waits, wait,
                                        own);
  });
}

cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void* pattern,
                               std::size_t pattern_size, std::size_t offset, std::size_t size,
                               cl_uint waits, const cl_event* wait, cl_event* event) {
  return command(kFill, queue, waits, wait, event, [&](bool /*flip*/, cl_event* own) {
    return target->clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, waits,
                                       wait, own);
  });
}

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                               std::size_t offset, std::size_t size, void* memory, cl_uint waits,
                               const cl_event* wait, cl_event* event) {
  return command(kRead, queue, waits, wait, event, [&](bool flip, cl_event* own) {
    const cl_int result = target->clEnqueueReadBuffer(queue, buffer, flip ? CL_TRUE : blocking,
                                                      offset, size, memory, waits, wait, own);
    if (flip && result == CL_SUCCESS && size > 0) {
      static_cast<unsigned char*>(memory)[0] ^= 1U;
    }
    return result;
  });
}

cl_int CL_API_CALL run_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const std::size_t* offset, const std::size_t* global,
                              const std::size_t* local, cl_uint waits, const cl_event* wait,
                              cl_event* event) {
  return command(kRun, queue, waits, wait, event, [&](bool /*flip*/, cl_event* own) {
    return target->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits,
                                          wait, own);
  });
}

void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                             cl_map_flags flags, std::size_t offset, std::size_t size,
                             cl_uint waits, const cl_event* wait, cl_event* event, cl_int* error) {
  if (const Verdict verdict = judge(kMap); verdict.error != CL_SUCCESS) {
    if (error != nullptr) {
      *error = verdict.error;
    }
    return nullptr;
  }
  return target->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, waits, wait,
                                    event, error);
}

cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_uint waits, const cl_event* wait,
                                  cl_event* event) {
  return command(kMarker, queue, waits, wait, event, [&](bool /*flip*/, cl_event* own) {
    return target->clEnqueueMarkerWithWaitList(queue, waits, wait, own);
  });
}

cl_int CL_API_CALL enqueue_barrier(cl_command_queue queue, cl_uint waits, const cl_event* wait,
                                   cl_event* event) {
  return command(kBarrier, queue, waits, wait, event, [&](bool /*flip*/, cl_event* own) {
    return target->clEnqueueBarrierWithWaitList(queue, waits, wait, own);
  });
}

cl_int CL_API_CALL retain_event(cl_event event) {
  count(event);
  return target->clRetainEvent(event);
}

cl_int CL_API_CALL flush(cl_command_queue queue) {
  const Verdict verdict = judge(kFlush);
  return verdict.error != CL_SUCCESS ? verdict.error : target->clFlush(queue);
}

cl_int CL_API_CALL finish(cl_command_queue queue) {
  const Verdict verdict = judge(kFinish);
  // When a driver refuses this, the device is lost and nothing runs there any more. Here commands
  // would run on, and PoCL ends the process when a kernel is released while one of them ends.
  const cl_int ended = target->clFinish(queue);
  return verdict.error != CL_SUCCESS ? verdict.error : ended;
}

cl_int CL_API_CALL wait_for_events(cl_uint number, const cl_event* events) {
  if (const Verdict verdict = judge(kWait); verdict.error != CL_SUCCESS) {
    return verdict.error;
  }
  const cl_int result = target->clWaitForEvents(number, events);
  const std::scoped_lock lock(mutex);
  const bool any =
      std::any_of(events, events + number, [](cl_event event) { return failed.contains(event); });
  return any ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : result;
}

cl_int CL_API_CALL event_info(cl_event event, cl_event_info what, std::size_t size, void* value,
                              std::size_t* needed) {
  if (const Verdict verdict = judge(kEventInfo); verdict.error != CL_SUCCESS) {
    return verdict.error;
  }
  const cl_int result = target->clGetEventInfo(event, what, size, value, needed);
  const std::scoped_lock lock(mutex);
  const auto found = failed.find(event);
  if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && value != nullptr && found != failed.end()) {
    std::memcpy(value, &found->second, sizeof(found->second));
  }
  return result;
}

// Releases are passed on, whatever the device is like.
template <auto Member, typename Object>
cl_int CL_API_CALL release(Object object) {
  --objects;
  return (target->*Member)(object);
}

void fill_table() {
  table.clCreateContext = create_context;
  table.clCreateCommandQueue = create_queue;
  table.clCreateBuffer = create_buffer;
  table.clCreateProgramWithSource = create_program;
  table.clCreateProgramWithBinary = create_program_binary;
  table.clBuildProgram = build_program;
  table.clCreateKernel = create_kernel;
  table.clSetKernelArg = set_kernel_arg;
  table.clEnqueueWriteBuffer = write_buffer;
  table.clEnqueueFillBuffer = fill_buffer;
  table.clEnqueueReadBuffer = read_buffer;
  table.clEnqueueNDRangeKernel = run_kernel;
  table.clEnqueueMapBuffer = map_buffer;
  table.clEnqueueMarkerWithWaitList = enqueue_marker;
  table.clEnqueueBarrierWithWaitList = enqueue_barrier;
  table.clRetainEvent = retain_event;
  table.clFlush = flush;
  table.clFinish = finish;
  table.clWaitForEvents = wait_for_events;
  table.clGetEventInfo = event_info;
  table.clReleaseContext = release<&cl_icd_dispatch::clReleaseContext, cl_context>;
  table.clReleaseCommandQueue = release<&cl_icd_dispatch::clReleaseCommandQueue, cl_command_queue>;
  table.clReleaseMemObject = release<&cl_icd_dispatch::clReleaseMemObject, cl_mem>;
  table.clReleaseProgram = release<&cl_icd_dispatch::clReleaseProgram, cl_program>;
  table.clReleaseKernel = release<&cl_icd_dispatch::clReleaseKernel, cl_kernel>;
  table.clReleaseEvent = release<&cl_icd_dispatch::clReleaseEvent, cl_event>;
}

}  // namespace

int assay_fault_plan(const char* text) {
  const std::scoped_lock lock(mutex);
  plan = parse(text);
  calls = {};
  made = 0;
  poisoned.clear();
  return plan || *text == '\0' ? 0 : 1;
}

unsigned long assay_fault_calls(const char* call) {
  const std::scoped_lock lock(mutex);
  const auto found = find(kNames, call);
  return found ? calls[*found] : 0;
}

unsigned long assay_fault_made() {
  const std::scoped_lock lock(mutex);
  return made;
}

unsigned long assay_fault_in_flight() {
  const std::scoped_lock lock(mutex);
  prune();
  return commands.size();
}

long assay_fault_objects() { return objects; }

ASSAY_FAULT_API cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, std::size_t size, void* value,
                                                  std::size_t* needed) {
  constexpr cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  constexpr char name[] = "assay faults";
  const void* answer = what == CL_LAYER_API_VERSION ? static_cast<const void*>(&version) : name;
  const std::size_t length = what == CL_LAYER_API_VERSION ? sizeof(version) : sizeof(name);
  if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) {
    return CL_INVALID_VALUE;
  }
  if (value != nullptr && size < length) {
    return CL_INVALID_VALUE;
  }
  if (value != nullptr) {
    std::memcpy(value, answer, length);
  }
  if (needed != nullptr) {
    *needed = length;
  }
  return CL_SUCCESS;
}

ASSAY_FAULT_API cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* next,
                                               cl_uint* entries_out,
                                               const cl_icd_dispatch** table_out) {
  constexpr std::size_t known = sizeof(table) / sizeof(void*);
  if (next == nullptr || entries_out == nullptr || table_out == nullptr) {
    return CL_INVALID_VALUE;
  }
  const std::size_t usable = std::min<std::size_t>(entries, known);
  std::memcpy(&table, next, usable * sizeof(void*));
  target = next;
  fill_table();
  *entries_out = static_cast<cl_uint>(usable);
  *table_out = &table;
  if (const char* text = std::getenv("FAULT_LAYER_PLAN"); text != nullptr) {
    if (assay_fault_plan(text) != 0) {
      return CL_INVALID_VALUE;
    }
  }
  return CL_SUCCESS;
}
