// SPDX-License-Identifier: Apache-2.0
// A library with the functions of NVML that worker/instances/nvml.cc calls. It says what the
// environment of the test says: ASSAY_NVML_SAYS is "GPU-a=17:4096,18:?;GPU-b=", which is devices
// with the pids of processes and their bytes ("?": not available); ASSAY_NVML_FAILS is the function
// that fails, or "more" for a list that is always longer than the room for it.
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kUnknownError = 999;
constexpr int kInsufficientSize = 7;

struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int outcome(const char* function) {
  return variable("ASSAY_NVML_FAILS") == function ? kUnknownError : 0;
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) {
    parts.push_back(part);
  }
  return parts;
}

std::vector<std::string> devices() { return split(variable("ASSAY_NVML_SAYS"), ';'); }

std::string device_of(const void* handle) {
  return devices().at(reinterpret_cast<std::size_t>(handle) - 1);
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return outcome("init"); }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(devices().size());
  return outcome("count");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = reinterpret_cast<void*>(std::size_t{index} + 1);
  return outcome("handle");
}

int nvmlDeviceGetUUID(void* handle, char* uuid, unsigned size) {
  const std::string text = device_of(handle);
  std::strncpy(uuid, text.substr(0, text.find('=')).c_str(), size);
  return outcome("uuid");
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, Process* list) {
  const std::string text = device_of(handle);
  const std::vector<std::string> found = split(text.substr(text.find('=') + 1), ',');
  const unsigned room = *count;
  *count = static_cast<unsigned>(found.size());
  if (variable("ASSAY_NVML_FAILS") == "more") {
    *count = room + 1;
  }
  if (*count > room) {
    return kInsufficientSize;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string bytes = found[i].substr(found[i].find(':') + 1);
    list[i] = {static_cast<unsigned>(std::stoul(found[i])),
               bytes == "?" ? ~0ULL : std::stoull(bytes), ~0U, ~0U};
  }
  return outcome("processes");
}

}  // extern "C"
