// SPDX-License-Identifier: Apache-2.0
// assay device: what can hash here, whether it computes right, how fast it is.
#include "gpu_hash/device.h"

#include <memory>

#include "cli/hashing.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "gpu_hash/auto_choice.h"

namespace assay::cli {

namespace {

Json device_json(const gpu_hash::DeviceInfo& device) {
  return {{"id", device.id},
          {"name", device.name},
          {"platform", device.platform},
          {"driver", device.driver},
          {"type", device.type},
          {"memory_bytes", device.memory_bytes},
          {"max_allocation_bytes", device.max_allocation_bytes},
          {"compute_units", device.compute_units}};
}

Result<Exit> list(const Context& context) {
  ASSAY_ASSIGN(const auto devices, gpu_hash::list_devices());
  const gpu_hash::AutoChoice choice = gpu_hash::choose_auto();
  if (context.json()) {
    Json items = Json::array();
    for (const auto& device : devices) {
      items.push_back(device_json(device));
    }
    print_json({{"devices", std::move(items)},
                {"auto", {{"device", choice.id}, {"reason", choice.reason}}}});
    return Exit::kYes;
  }
  Table table({"DEVICE", "TYPE", "NAME", "MEMORY", "UNITS", "PLATFORM", "DRIVER"});
  for (const auto& device : devices) {
    table.row({device.id, device.type, device.name,
               human_bytes(static_cast<double>(device.memory_bytes)),
               std::to_string(device.compute_units), device.platform, device.driver});
  }
  print_text(table.text());
  print_line("auto takes " + choice.id + ": " + choice.reason);
  return Exit::kYes;
}

Result<Exit> self_test(const Context& context) {
  ASSAY_ASSIGN(const auto tests, gpu_hash::self_test_devices());
  bool all_passed = true;
  Json items = Json::array();
  Table table({"DEVICE", "NAME", "RESULT"});
  for (const auto& test : tests) {
    all_passed = all_passed && test.result.has_value();
    Json item = {
        {"id", test.device.id}, {"name", test.device.name}, {"passed", test.result.has_value()}};
    if (!test.result) {
      item["error"] = error_json(test.result.error());
    }
    items.push_back(std::move(item));
    table.row({test.device.id, test.device.name,
               test.result ? "passed" : to_string(test.result.error())});
  }
  if (context.json()) {
    print_json({{"passed", all_passed}, {"devices", std::move(items)}});
  } else {
    print_text(table.text());
  }
  return all_passed ? Exit::kYes : Exit::kNo;
}

struct BenchOptions {
  DeviceFlags device;
  std::string hash = "sha256";
  std::uint64_t megabytes = 1024;
};

std::string rate(double bytes_per_second) { return human_bytes(bytes_per_second) + "/s"; }

Result<Exit> bench(const Context& context, const BenchOptions& options) {
  constexpr std::uint64_t kMaxMegabytes = 1U << 20U;
  if (options.megabytes == 0 || options.megabytes > kMaxMegabytes) {
    return fail(ErrorCode::kUsage, "The size must be 1 to 1048576 MiB");
  }
  ASSAY_ASSIGN(const gpu_hash::DeviceChoice choice, gpu_hash::parse_device(options.device.device));
  ASSAY_ASSIGN(const HashAlgorithm hash, hash_algorithm_from(options.hash));
  gpu_hash::EngineOptions engine;
  engine.threads = static_cast<unsigned>(options.device.threads);
  ASSAY_ASSIGN(const gpu_hash::BenchResult result,
               gpu_hash::bench_device(choice, hash, options.megabytes << 20U, engine));
  if (context.json()) {
    print_json({{"device", result.engine.id},
                {"device_name", result.engine.device},
                {"driver", result.engine.driver},
                {"hash", options.hash},
                {"bytes", result.bytes},
                {"resident_bytes_per_second", result.resident},
                {"resident_copy_bytes_per_second", result.resident_copy},
                {"streamed_bytes_per_second", result.streamed},
                {"streamed_copy_bytes_per_second", result.streamed_copy}});
    return Exit::kYes;
  }
  Table table({"DATA", "HASHED", "LIMIT: COPY ALONE"});
  table.row({"resident in the device", rate(result.resident), rate(result.resident_copy)});
  table.row({"streamed from host memory", rate(result.streamed), rate(result.streamed_copy)});
  print_text(table.text());
  message(context, result.engine.id + " (" + result.engine.device + "), " + options.hash + ", " +
                       human_bytes(static_cast<double>(result.bytes)) + " each");
  return Exit::kYes;
}

}  // namespace

void add_device(const Command& root, Context& context) {
  const Command group = root.add("device", "Devices that can hash");
  const Command list_verb = group.add("list", "Show the devices and their names for --device");
  list_verb.example("assay device list", "what --device can name on this machine");
  list_verb.action([&context] { return list(context); });

  const Command test_verb = group.add("selftest", "Compute known answers on every device");
  test_verb.note("Exits with 1 when a device computes a wrong digest.");
  test_verb.example("assay device selftest", "before trusting a new machine or driver");
  test_verb.action([&context] { return self_test(context); });

  auto options = std::make_shared<BenchOptions>();
  const Command bench_verb = group.add("bench", "Measure how fast a device hashes");
  add_device_options(bench_verb, options->device);
  bench_verb.choice("--hash", options->hash, {"sha256", "sha384"},
                    "hash algorithm (default sha256)");
  bench_verb.option("--size", options->megabytes, "MIB", "data per figure (default 1024)");
  bench_verb.example("assay device bench --device cpu --size 256",
                     "the CPU engine on this machine");
  bench_verb.action([options, &context] { return bench(context, *options); });
}

}  // namespace assay::cli
