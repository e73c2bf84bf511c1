// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/worker_reader.h"

#include <utility>

#include "cli/output.h"
#include "client/files.h"
#include "gpu_hash/device.h"
#include "gpu_hash/driver_folder.h"
#include "schemas/core/error_json.h"
#include "worker/engine_on_demand.h"
#include "worker/reader/serve.h"

namespace assay::cli {
namespace {

// Less than by default: what is served needs the memory of the device, and a full pass gets no
// faster with more (bench/results/README.md).
constexpr std::uint64_t kBatchBytes = std::uint64_t{24} << 20;

Result<Exit> read_memory(const Context& context, const DeviceFlags& device) {
  worker::end_first_without_memory();  // a protected process may no longer do that
  client::protect_process();
  gpu_hash::use_driver_folder();
  ASSAY_TRY(worker::serve_reader(Descriptor(worker::kReaderSocket),
                                 {.build = context.version,
                                  .make_engine =
                                      [&device] {
                                        return make_engine(gpu_hash::drivers_in_this_process(),
                                                           device, kBatchBytes);
                                      }},
                                 context.random));
  return Exit::kYes;
}

}  // namespace

void add_reader(const Command& group, Context& context) {
  auto device = std::make_shared<DeviceFlags>();
  const Command verb = group.add("reader", "Read memory for the node agent that starts this");
  verb.hide();
  add_device_options(verb, *device);
  verb.action([device, &context] { return read_memory(context, *device); });
}

worker::ReadersSetup readers_of(const Context& context, std::optional<std::uint64_t> silent_seconds,
                                std::uint64_t threads, const worker::Parts& parts) {
  worker::ReadersSetup setup;
  setup.arguments = {"worker", "reader", "--threads", std::to_string(threads), "--device"};
  setup.build = context.version;
  if (silent_seconds) {
    setup.times.silent = std::chrono::seconds(*silent_seconds);
  }
  setup.tell = [&events = parts.events, &metrics = parts.metrics](const worker::ReaderNews& news) {
    Json members = {{"device", news.device}, {"pid", news.pid}};
    if (news.error) {
      members["error"] = error_json(*news.error);
      metrics.reader_failed();
    }
    events.tell(news.error ? "reader-failed" : "reader-started", std::move(members));
  };
  setup.tell_pass = [&events = parts.events](const worker::PassNews& news) {
    const auto seconds = [](std::chrono::microseconds time) {
      return std::chrono::duration<double>(time).count();
    };
    events.tell("memory-hashed", {{"device", news.device},
                                  {"bytes", news.bytes},
                                  {"pieces", news.pieces},
                                  {"exports_seconds", seconds(news.times.exports)},
                                  {"imports_seconds", seconds(news.times.imports)},
                                  {"hashing_seconds", seconds(news.times.hashing)}});
  };
  return setup;
}

Result<WorkerEngines> make_worker_engines(const Context& context, const DeviceFlags& flags,
                                          bool registers) {
  WorkerEngines engines;
  ASSAY_ASSIGN(const auto drivers, make_drivers(context, flags.timeout_seconds));
  engines.devices = gpu_hash::list_devices(*drivers).devices;
  DeviceFlags cpu = flags;
  cpu.device = "cpu";
  auto made = make_engine(*drivers, flags);
  if (!made && is_about_device(made.error().code) && falls_back(flags)) {
    warning("the device failed, so the CPU hashes files: " + to_string(made.error()));
    made = make_engine(*drivers, cpu);
  }
  ASSAY_ASSIGN(engines.engine, std::move(made));
  const std::string id = engines.engine->info().id;
  if (id == "cpu") {
    return engines;
  }
  if (falls_back(flags)) {
    ASSAY_ASSIGN(engines.fallback, make_engine(*drivers, cpu));
  }
  if (registers) {
    DeviceFlags chosen = flags;
    chosen.device = id;  // not measured again
    const auto first =
        std::make_shared<std::unique_ptr<gpu_hash::Engine>>(std::move(engines.engine));
    ASSAY_ASSIGN(engines.engine,
                 worker::EngineOnDemand::create(
                     [&context, chosen, first]() -> Result<std::unique_ptr<gpu_hash::Engine>> {
                       if (*first) {
                         return std::move(*first);
                       }
                       ASSAY_ASSIGN(const auto again,
                                    make_drivers(context, chosen.timeout_seconds));
                       return make_engine(*again, chosen);
                     }));
  }
  return engines;
}

}  // namespace assay::cli
