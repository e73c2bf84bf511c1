// SPDX-License-Identifier: Apache-2.0
// assay evidence simulate and faults, --type nvidia-gpu.
#include "attestation/nvidia/evidence_file.h"
#include "attestation/simulate/nvidia_faults.h"
#include "attestation/simulate/nvidia_machine.h"
#include "attestation/simulate/pki.h"
#include "attestation/simulate/simulator.h"
#include "cli/output.h"
#include "cli/verbs/evidence.h"
#include "cli/verbs/evidence_nvidia.h"
#include "client/files.h"
#include "schemas/core/sha.h"

namespace assay::cli {
namespace {

namespace nv = attestation::nvidia;

Result<attestation::SimulatedGpus> gpus_of(const NvidiaSimulation& options) {
  attestation::SimulatedGpus gpus;
  ASSAY_ASSIGN(gpus.seed, client::read_file(options.seed, attestation::kMaxSimulatorSeedBytes));
  const NvidiaSimulateOptions& device = options.device;
  if (device.devices > attestation::kMaxSimulatedGpus ||
      device.first > attestation::kMaxSimulatedGpuNumber) {
    return fail(ErrorCode::kUsage, "A simulated machine has at most 32 GPUs");
  }
  gpus.architecture =
      nv::architecture_from(device.architecture).value_or(nv::Architecture::kHopper);
  gpus.count = static_cast<unsigned>(device.devices);
  gpus.first = static_cast<unsigned>(device.first);
  gpus.mode =
      device.mode == "ppcie" ? nv::DeviceMode::kProtectedPcie : nv::DeviceMode::kConfidential;
  gpus.fault = options.fault;
  return gpus;
}

Status write_machine(const NvidiaSimulation& options,
                     const attestation::SimulatedMachine& machine) {
  if (!options.out_quote.empty()) {
    Json list = Json::array();
    for (const nv::NvidiaSimulation& device : machine.devices) {
      list.push_back(device.evidence);
    }
    ASSAY_TRY(client::write_file(options.out_quote, list.dump(2) + "\n"));
  }
  if (!options.out_collateral.empty()) {
    ASSAY_TRY(client::write_file(options.out_collateral, machine.collateral.dump(2) + "\n"));
  }
  if (!options.out_root.empty()) {
    ASSAY_TRY(client::write_file(options.out_root, attestation::tdx::to_pem(machine.root)));
  }
  return {};
}

}  // namespace

std::shared_ptr<NvidiaSimulateOptions> add_nvidia_simulation(const Command& verb) {
  auto options = std::make_shared<NvidiaSimulateOptions>();
  verb.option("--nonce", options->nonce, "HEX",
              "nvidia-gpu: 32 bytes that the reports answer (default zeros)");
  verb.option("--devices", options->devices, "N",
              "nvidia-gpu: number of GPUs, of which the last one has the fault (default 1)");
  verb.option(
      "--first-device", options->first, "N",
      "nvidia-gpu: number of the first GPU: other machines under the same root (default 0)");
  verb.choice("--architecture", options->architecture, {"hopper", "blackwell"},
              "nvidia-gpu: of the GPUs (default hopper)");
  verb.choice("--mode", options->mode, {"cc", "ppcie"},
              "nvidia-gpu: ppcie is eight GPUs with their four switches (default cc)");
  verb.example(
      "assay evidence simulate --type nvidia-gpu --seed seed --nonce $HEX --devices 2 "
      "--out-quote gpus.json --out-collateral c.json --out-root r.pem",
      "make the evidence of two GPUs");
  return options;
}

Result<Exit> simulate_nvidia(const Context& context, const NvidiaSimulation& options) {
  nv::Nonce nonce{};
  if (!options.device.nonce.empty()) {
    ASSAY_ASSIGN(nonce, parse_device_nonce(options.device.nonce));
  }
  ASSAY_ASSIGN(const attestation::SimulatedGpus gpus, gpus_of(options));
  ASSAY_ASSIGN(const Timestamp now, evidence_time(options.at, context.clock));
  ASSAY_ASSIGN(const attestation::SimulatedMachine machine,
               attestation::simulate_machine(gpus, now, nonce));
  ASSAY_TRY(write_machine(options, machine));
  Json uuids = Json::array();
  for (const nv::NvidiaSimulation& device : machine.devices) {
    uuids.push_back(device.uuid);
  }
  if (context.json()) {
    print_json({{"root", sha256(machine.root).text()},
                {"dangerous_anchor", base64_encode(machine.root)},
                {"devices", std::move(uuids)}});
    return Exit::kYes;
  }
  print_line("root " + sha256(machine.root).text());
  for (const Json& uuid : uuids) {
    print_line("device " + uuid.get<std::string>());
  }
  message(context, "Simulated: accepted only where this root is configured as a dangerous anchor");
  return Exit::kYes;
}

Exit list_nvidia_faults(const Context& context) {
  Json faults = Json::array();
  Table table({"fault", "error", "refused"});
  for (const nv::DeviceFault& fault : nv::device_faults()) {
    faults.push_back({{"name", fault.name},
                      {"error", fault.error.empty() ? Json(nullptr) : Json(fault.error)},
                      {"needs", fault.needs.empty() ? Json(nullptr) : Json(fault.needs)}});
    table.row({std::string(fault.name), fault.error.empty() ? "-" : std::string(fault.error),
               fault.needs.empty() ? "always" : "by " + std::string(fault.needs)});
  }
  if (context.json()) {
    print_json({{"faults", std::move(faults)}});
  } else {
    print_table(context, table);
  }
  return Exit::kYes;
}

}  // namespace assay::cli
