// SPDX-License-Identifier: Apache-2.0
// Puts simulated devices together.
#include "attestation/simulate/nvidia_machine.h"

#include "attestation/nvidia/topology.h"
#include "attestation/simulate/nvidia_faults.h"
#include "attestation/simulate/simulator.h"

namespace assay::attestation {
namespace {

Status check(const SimulatedGpus& options) {
  if (options.seed.empty() || options.seed.size() > kMaxSimulatorSeedBytes) {
    return fail(ErrorCode::kInvalidParameter, "a simulator's seed has 1 to 4096 bytes");
  }
  if (!options.fault.empty() && nvidia::find_device_fault(options.fault) == nullptr) {
    return fail(ErrorCode::kInvalidParameter,
                "the simulator has no fault of this name; 'assay evidence faults' lists them");
  }
  if (options.count == 0 || options.count > kMaxSimulatedGpus ||
      options.first > kMaxSimulatedGpuNumber ||
      options.architecture == nvidia::Architecture::kLs10) {
    return fail(ErrorCode::kInvalidParameter, "a simulated machine has 1 to 32 GPUs");
  }
  if (options.mode == nvidia::DeviceMode::kProtectedPcie &&
      (options.architecture != nvidia::Architecture::kHopper ||
       options.count != nvidia::kTopologyGpus || options.first % nvidia::kTopologyGpus != 0)) {
    return fail(ErrorCode::kInvalidParameter,
                "protected PCIe is eight Hopper GPUs, the first a multiple of eight");
  }
  return {};
}

}  // namespace

Result<SimulatedMachine> simulate_machine(const SimulatedGpus& options, Timestamp now,
                                          const nvidia::Nonce& nonce) {
  ASSAY_TRY(check(options));
  const nvidia::DeviceFault* fault = nvidia::find_device_fault(options.fault);
  SimulatedMachine machine;
  machine.collateral = Json::object();
  const auto add = [&](nvidia::NvidiaSimulation made) {
    machine.collateral.update(made.collateral);
    machine.devices.push_back(std::move(made));
  };
  nvidia::DeviceChoice device{options.architecture, options.first, options.mode};
  const auto spec = [&] {
    return nvidia::valid_nvidia_simulation(options.seed, now, device, nonce);
  };
  machine.root = make_certificate(spec().chain.back(), options.seed);
  for (unsigned i = 0; i < options.count; ++i, ++device.number) {
    const bool is_faulty = fault != nullptr && i + 1 == options.count;
    add(is_faulty ? simulate(spec(), *fault) : simulate(spec()));
  }
  if (options.mode == nvidia::DeviceMode::kProtectedPcie) {
    device.architecture = nvidia::Architecture::kLs10;
    // Eight GPUs are to four switches as two to one.
    device.number = options.first / 2;
    for (std::size_t i = 0; i < nvidia::kTopologySwitches; ++i, ++device.number) {
      add(simulate(spec()));
    }
  }
  return machine;
}

}  // namespace assay::attestation
