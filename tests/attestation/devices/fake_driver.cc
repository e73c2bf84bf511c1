// SPDX-License-Identifier: Apache-2.0
// A library with the functions of NVML and NSCQ that attestation/provider calls, as no driver
// should be but could. The environment of the test says how it answers. ASSAY_FAKE_ITEMS is a file
// with the evidence of simulated devices. ASSAY_FAKE_MODE is "cc", "ppcie", "devtools", "ppcie
// devtools", "off" or "unsupported". ASSAY_FAKE_FAULT is a function that fails, or a fault below.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}
bool has_fault(const char* name) { return setting("ASSAY_FAKE_FAULT") == name; }

struct Item {
  std::string uuid;
  std::string report;
  std::string chain;
};

std::string unhex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

// Lines "UUID REPORT CHAIN", the latter two in hex.
std::vector<Item> items(const char* prefix) {
  std::vector<Item> all;
  std::ifstream in(setting("ASSAY_FAKE_ITEMS"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    Item item;
    words >> item.uuid >> item.report >> item.chain;
    if (item.uuid.starts_with(prefix)) {
      all.push_back({item.uuid, unhex(item.report), unhex(item.chain)});
    }
  }
  return all;
}

Item item_of(const void* handle) {
  return items("GPU-").at(reinterpret_cast<std::size_t>(handle) - 1);
}

int outcome(const char* function) { return has_fault(function) ? 999 : 0; }

struct GpuReport {
  unsigned is_cec;
  unsigned size;
  unsigned cec_size;
  std::uint8_t nonce[32];
  std::uint8_t report[0x2000];
  std::uint8_t cec[0x1000];
};
struct GpuChain {
  unsigned size;
  unsigned attestation_size;
  std::uint8_t chain[0x1000];
  std::uint8_t attestation[0x1400];
};

}  // namespace

extern "C" {

int nvmlInit_v2() { return outcome("init"); }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = has_fault("many") ? 257 : static_cast<unsigned>(items("GPU-").size());
  return outcome("count");
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = reinterpret_cast<void*>(static_cast<std::size_t>(index) + 1);
  return outcome("handle");
}
int nvmlDeviceGetUUID(void* handle, char* out, unsigned size) {
  const std::string uuid = has_fault("odd uuid") ? "GPU \n" : item_of(handle).uuid;
  std::memset(out, has_fault("endless uuid") ? 'a' : 0, size);
  std::memcpy(out, uuid.data(), uuid.size());
  return outcome("uuid");
}
int nvmlDeviceGetArchitecture(void*, unsigned* architecture) {
  *architecture = has_fault("old architecture") ? 7 : has_fault("blackwell") ? 10 : 9;
  return outcome("architecture");
}
int nvmlSystemGetConfComputeState(unsigned* state) {
  if (setting("ASSAY_FAKE_MODE") == "unsupported") {
    return 3;
  }
  state[1] = setting("ASSAY_FAKE_MODE") == "cc" || setting("ASSAY_FAKE_MODE") == "devtools";
  state[2] = setting("ASSAY_FAKE_MODE") == "devtools";
  return outcome("state");
}
int nvmlSystemGetConfComputeSettings(unsigned* settings) {
  if (has_fault("settings")) {
    return 999;
  }
  settings[3] = setting("ASSAY_FAKE_MODE").ends_with("devtools");
  settings[4] = setting("ASSAY_FAKE_MODE").starts_with("ppcie");
  return settings[0] == (20 | 1U << 24) ? 0 : 25;
}
int nvmlDeviceGetConfComputeGpuAttestationReport(void* handle, GpuReport* out) {
  const Item item = item_of(handle);
  out->size = has_fault("long report") ? 0x2001 : static_cast<unsigned>(item.report.size());
  std::memcpy(out->report, item.report.data(), item.report.size());
  if (has_fault("short report")) {
    out->size = 36;
  }
  if (has_fault("not supported")) {
    return 3;
  }
  return outcome("report");
}
int nvmlDeviceGetConfComputeGpuCertificate(void* handle, GpuChain* out) {
  const Item item = item_of(handle);
  out->attestation_size =
      has_fault("long chain") ? 0x1401 : static_cast<unsigned>(item.chain.size());
  std::memcpy(out->attestation, item.chain.data(), item.chain.size());
  if (has_fault("odd chain")) {
    out->attestation[0] = '?';
  }
  return outcome("certificate");
}

// --- NSCQ: the UUID of a switch is its number.

struct Uuid {
  std::uint8_t bytes[16];
};
struct Label {
  char text[64];
};
struct Session {
  int unused;
};
struct Opened {
  std::int8_t code;
  Session* session;
};
struct SwitchReport {
  std::uint32_t size;
  std::uint8_t bytes[0x2000];
};
struct SwitchChain {
  std::uint8_t bytes[0x1400];
  std::uint32_t size;
};

Opened nscq_session_create(std::uint32_t) {
  static Session session{};
  return {static_cast<std::int8_t>(has_fault("session") ? -7 : 0),
          has_fault("null session") ? nullptr : &session};
}
void nscq_session_destroy(Session*) {}
std::int8_t nscq_uuid_to_label(const Uuid* uuid, Label* label, std::uint32_t) {
  const std::string text = items("SWX-").at(uuid->bytes[0]).uuid;
  std::memset(label, 0, sizeof *label);
  std::memcpy(label->text, text.data(), text.size());
  return has_fault("label") ? -2 : 0;
}
std::int8_t nscq_session_set_input(Session*, std::uint32_t, void*, std::uint32_t size) {
  return size == 32 && !has_fault("input") ? 0 : -5;
}
std::int8_t nscq_session_path_observe(Session*, const char* path, void (*call)(), void* data,
                                      std::uint32_t) {
  const std::string name = path;
  const std::size_t count = has_fault("many switches") ? 65 : items("SWX-").size();
  const std::int8_t code = has_fault("switch") ? -7 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Uuid uuid{{static_cast<std::uint8_t>(i)}};
    if (name.ends_with("arch") || name.ends_with("mode")) {
      const std::int8_t architecture = has_fault("old switch") ? 1 : 2;
      const std::int8_t mode = has_fault("switch off") ? 0 : has_fault("other mode") ? 2 : 3;
      reinterpret_cast<void (*)(const Uuid*, std::int8_t, std::int8_t, void*)>(call)(
          has_fault("no mode device") && name.ends_with("mode") ? nullptr : &uuid, code,
          name.ends_with("arch") ? architecture : mode, data);
      continue;
    }
    const Item item = items("SWX-").at(i);
    if (name.ends_with("report")) {
      SwitchReport report{};
      report.size =
          has_fault("long switch report") ? 0x2001 : static_cast<std::uint32_t>(item.report.size());
      std::memcpy(report.bytes, item.report.data(), item.report.size());
      reinterpret_cast<void (*)(const Uuid*, std::int8_t, SwitchReport, void*)>(call)(
          has_fault("no device") ? nullptr : &uuid, code, report, data);
    } else {
      SwitchChain chain{};
      chain.size = static_cast<std::uint32_t>(item.chain.size());
      std::memcpy(chain.bytes, item.chain.data(), item.chain.size());
      reinterpret_cast<void (*)(const Uuid*, std::int8_t, SwitchChain, void*)>(call)(&uuid, code,
                                                                                     chain, data);
    }
  }
  return has_fault("observe") ? -8 : 0;
}
}
