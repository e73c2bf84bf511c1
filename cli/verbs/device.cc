// SPDX-License-Identifier: Apache-2.0
// assay device: what can hash here, whether it computes right, how fast it is.
#include "gpu_hash/device.h"

#include <array>
#include <cstdio>
#include <memory>

#include "cli/output.h"
#include "cli/verbs/device_options.h"
#include "cli/verbs/verbs.h"
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

Result<Exit> list(const Context& context, std::uint64_t timeout_seconds) {
  ASSAY_ASSIGN(const auto drivers, make_drivers(context, timeout_seconds));
  const auto [devices, failed] = gpu_hash::list_devices(*drivers);
  const gpu_hash::AutoChoice choice = gpu_hash::choose_auto(*drivers);
  if (context.json()) {
    Json items = Json::array();
    for (const auto& device : devices) {
      items.push_back(device_json(device));
    }
    Json platforms = Json::array();
    for (const auto& [platform, error] : failed) {
      platforms.push_back({{"platform", platform}, {"error", error_json(error)}});
    }
    print_json({{"devices", std::move(items)},
                {"failed_platforms", std::move(platforms)},
                {"auto", {{"device", choice.id}, {"reason", choice.reason}}}});
    return Exit::kYes;
  }
  for (const auto& [platform, error] : failed) {
    warning("no device of the platform " + platform + " can be used: " + to_string(error));
  }
  Table table({"DEVICE", "TYPE", "NAME", "MEMORY", "UNITS", "PLATFORM", "DRIVER"});
  for (const auto& device : devices) {
    table.row({device.id, device.type, device.name,
               human_bytes(static_cast<double>(device.memory_bytes)),
               std::to_string(device.compute_units), device.platform, device.driver});
  }
  print_table(context, table);
  print_line("auto takes " + choice.id + ": " + choice.reason);
  return Exit::kYes;
}

Result<Exit> self_test(const Context& context, std::uint64_t timeout_seconds) {
  ASSAY_ASSIGN(const auto drivers, make_drivers(context, timeout_seconds));
  const std::vector<gpu_hash::SelfTest> tests = gpu_hash::self_test_devices(*drivers);
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
    print_table(context, table);
  }
  return all_passed ? Exit::kYes : Exit::kNo;
}

struct BenchOptions {
  std::string device = "all";
  std::uint64_t threads = 0;
  std::string hash = "both";
  std::uint64_t megabytes = 1024;
  std::uint64_t timeout_seconds = 300;
};

// What to measure: devices by --device's names, algorithms, and how.
struct BenchPlan {
  std::vector<std::string> devices;
  std::vector<HashAlgorithm> hashes;
  std::uint64_t bytes;
  gpu_hash::EngineOptions engine;
};

Result<BenchPlan> plan_bench(gpu_hash::Drivers& drivers, const BenchOptions& options) {
  constexpr std::uint64_t kMaxMegabytes = 1U << 20U;
  constexpr std::uint64_t kMaxThreads = 1024;
  if (options.megabytes == 0 || options.megabytes > kMaxMegabytes) {
    return fail(ErrorCode::kUsage, "The size must be 1 to 1048576 MiB");
  }
  if (options.threads > kMaxThreads) {
    return fail(ErrorCode::kUsage, "At most 1024 threads");
  }
  BenchPlan plan{{options.device}, {}, options.megabytes << 20U, {}};
  plan.engine.threads = static_cast<unsigned>(options.threads);
  if (options.device == "all") {
    plan.devices.clear();
    for (const auto& device : gpu_hash::list_devices(drivers).devices) {
      plan.devices.push_back(device.id);
    }
  }
  if (options.hash == "both") {
    plan.hashes = {HashAlgorithm::kSha256, HashAlgorithm::kSha384};
  } else {
    ASSAY_ASSIGN(const HashAlgorithm hash, hash_algorithm_from(options.hash));
    plan.hashes = {hash};
  }
  return plan;
}

// What was not measured is left out.
Json limits_json(const gpu_hash::BenchLimits& limits) {
  Json json = Json::object();
  const auto add = [&json](const char* name, double value) {
    if (value > 0) {
      json[name] = value;
    }
  };
  add("memory_read_bytes_per_second", limits.memory_read);
  add("pinned_copy_bytes_per_second", limits.pinned_copy);
  add("integer_operations_per_second", limits.integer_operations);
  add("cached_hash_bytes_per_second", limits.cached_hash);
  add("openssl_streams_bytes_per_second", limits.openssl_streams);
  return json;
}

Json bench_json(const gpu_hash::BenchResult& result) {
  Json figures = Json::object();
  for (const gpu_hash::BenchFigure& figure : result.figures) {
    figures[figure.name] = {{"rate", figure.rate},
                            {"limit", figure.limit},
                            {"fraction", figure.fraction()},
                            {"limit_is", figure.limit_is}};
  }
  Json json = {{"hash", name(result.hash)},
               {"bytes", result.bytes},
               {"figures", std::move(figures)},
               {"limits", limits_json(result.limits)}};
  if (!result.variant.empty()) {
    json["variant"] = result.variant;
  }
  return json;
}

std::string rate(double bytes_per_second) { return human_bytes(bytes_per_second) + "/s"; }

std::string percent(double fraction) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f %%", 100 * fraction);
  return text.data();
}

void add_rows(const gpu_hash::BenchResult& result, Table& table) {
  for (const gpu_hash::BenchFigure& figure : result.figures) {
    table.row({result.engine.id, std::string(name(result.hash)), figure.name, rate(figure.rate),
               rate(figure.limit), percent(figure.fraction()), figure.limit_is});
  }
}

Result<Exit> bench(const Context& context, const BenchOptions& options) {
  ASSAY_ASSIGN(const auto drivers, make_drivers(context, options.timeout_seconds));
  ASSAY_ASSIGN(const BenchPlan plan, plan_bench(*drivers, options));
  Json items = Json::array();
  Table table({"DEVICE", "HASH", "FIGURE", "RATE", "LIMIT", "FRACTION", "LIMIT IS"});
  bool all_measured = true;
  for (const std::string& device : plan.devices) {
    ASSAY_ASSIGN(const gpu_hash::DeviceChoice choice, gpu_hash::parse_device(device));
    Json item = {{"id", device}, {"results", Json::array()}};
    for (const HashAlgorithm hash : plan.hashes) {
      auto result = gpu_hash::bench_device(*drivers, choice, hash, plan.bytes, plan.engine);
      if (!result) {
        if (plan.devices.size() == 1) {
          return std::unexpected(std::move(result).error());
        }
        all_measured = false;
        item["error"] = error_json(result.error());
        warning(device + ": " + to_string(result.error()));
        break;
      }
      item["id"] = result->engine.id;
      item["name"] = result->engine.device;
      item["driver"] = result->engine.driver;
      item["results"].push_back(bench_json(*result));
      add_rows(*result, table);
      message(context, result->engine.id + " (" + result->engine.device + "), " +
                           std::string(name(hash)) + ": " +
                           human_bytes(static_cast<double>(result->bytes)) + " for each figure");
    }
    items.push_back(std::move(item));
  }
  if (context.json()) {
    print_json({{"devices", std::move(items)}});
  } else {
    print_table(context, table);
  }
  return all_measured ? Exit::kYes : Exit::kNo;
}

}  // namespace

void add_device(const Command& root, Context& context) {
  const Command group = root.add("device", "Devices that can hash");
  const Command list_verb = group.add("list", "Show the devices and their names for --device");
  list_verb.example("assay device list", "see what --device can name on this machine");
  auto list_timeout = std::make_shared<std::uint64_t>(300);
  add_timeout_option(list_verb, *list_timeout);
  list_verb.note(
      "A driver that fails, even by ending its process, is named with its reason on standard "
      "error, and the\nother devices are listed.");
  list_verb.action([list_timeout, &context] { return list(context, *list_timeout); });

  const Command test_verb = group.add("selftest", "Compute known answers on every device");
  test_verb.note("Exits with 1 when a device computes a wrong digest.");
  test_verb.example("assay device selftest", "test a new machine or driver before trusting it");
  auto test_timeout = std::make_shared<std::uint64_t>(300);
  add_timeout_option(test_verb, *test_timeout);
  test_verb.action([test_timeout, &context] { return self_test(context, *test_timeout); });

  auto options = std::make_shared<BenchOptions>();
  const Command bench_verb =
      group.add("bench", "Measure how fast devices hash, beside what bounds them");
  bench_verb.option("--device", options->device, "DEVICE",
                    "all, auto, cpu, opencl, opencl:N or opencl:NAME; see 'assay device list' "
                    "(default all, one after the other)");
  bench_verb.option("--threads", options->threads, "N", "CPU threads (default: one per core)");
  bench_verb.choice("--hash", options->hash, {"sha256", "sha384", "both"},
                    "hash algorithm (default both)");
  add_timeout_option(bench_verb, options->timeout_seconds);
  bench_verb.option("--size", options->megabytes, "MIB", "data per figure (default 1024)");
  bench_verb.note(
      "Every rate stands beside its limit, measured in the same run, and the fraction of it that "
      "was reached: resident data (in the device's memory), the same with keyed tags (tagged), the "
      "tags alone, and data streamed from host memory. Exits with 1 when one of several devices "
      "could not be measured.");
  bench_verb.example("assay device bench", "measure every device of this machine");
  bench_verb.example("assay device bench --device cpu --size 256", "measure the CPU engine");
  bench_verb.example("assay device bench --device opencl --hash sha256 -o json",
                     "measure the first OpenCL device, with output for a program");
  bench_verb.action([options, &context] { return bench(context, *options); });
  add_driver(group, context);
}

}  // namespace assay::cli
