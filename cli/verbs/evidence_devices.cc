// SPDX-License-Identifier: Apache-2.0
// assay evidence devices: GPUs and switches of this machine, and their evidence.
#include <memory>
#include <string>

#include "attestation/provider/device_evidence.h"
#include "cli/output.h"
#include "cli/verbs/evidence.h"
#include "cli/verbs/evidence_nvidia.h"
#include "client/files.h"

namespace assay::cli {
namespace {

struct DevicesOptions {
  std::string nonce;
  std::string out;
  std::string nvml{attestation::kNvmlLibraryName};
  std::string nscq{attestation::kNscqLibraryName};
};

Result<Exit> list_machine(const Context& context, attestation::DeviceEvidenceSource& source) {
  ASSAY_ASSIGN(const auto devices, source.list());
  Json rows = Json::array();
  Table table({"DEVICE", "KIND", "ARCHITECTURE", "CONFIDENTIAL COMPUTING"});
  for (const attestation::ListedDevice& device : devices) {
    rows.push_back({{"uuid", device.uuid},
                    {"kind", device.kind},
                    {"architecture", device.architecture},
                    {"mode", device.mode}});
    table.row({device.uuid, device.kind, device.architecture.empty() ? "-" : device.architecture,
               device.mode});
  }
  if (context.json()) {
    print_json({{"devices", std::move(rows)}});
  } else {
    print_table(context, table);
  }
  return Exit::kYes;
}

Result<Exit> devices(const Context& context, const DevicesOptions& options) {
  if (options.nonce.empty() != options.out.empty()) {
    return fail(ErrorCode::kUsage, "Evidence needs --nonce and --out");
  }
  const auto source = attestation::make_machine_devices(options.nvml, options.nscq);
  if (options.nonce.empty()) {
    return list_machine(context, *source);
  }
  ASSAY_ASSIGN(const Nonce nonce, parse_device_nonce(options.nonce));
  ASSAY_ASSIGN(const auto collected, source->collect(nonce));
  Json list = Json::array();
  for (const PresentedDevice& device : collected) {
    ASSAY_ASSIGN(Json item, parse_json(device.evidence.quote));
    list.push_back(std::move(item));
  }
  ASSAY_TRY(client::write_file(options.out, list.dump(2) + "\n"));
  if (options.out != "-") {
    message(context, "Evidence of " + std::to_string(list.size()) + " devices");
  }
  return Exit::kYes;
}

}  // namespace

void add_evidence_devices(const Command& group, Context& context) {
  auto options = std::make_shared<DevicesOptions>();
  const Command verb =
      group.add("devices", "List NVIDIA GPUs and switches of this machine, or take their evidence");
  verb.option("--nonce", options->nonce, "HEX", "32 bytes that the evidence must answer");
  verb.option("--out", options->out, "FILE", "where to write the evidence");
  verb.option("--nvml", options->nvml, "LIBRARY",
              "of the driver, for GPUs (default " + options->nvml + ")");
  verb.option("--nscq", options->nscq, "LIBRARY",
              "of the driver, for switches (default " + options->nscq + ")");
  verb.note(
      "With confidential computing off there is no evidence: device-not-confidential. Switches\n"
      "are asked where GPUs are in protected PCIe mode.");
  verb.example("assay evidence devices", "see which devices can give evidence");
  verb.example("assay evidence devices --nonce $HEX --out gpus.json",
               "take evidence for 'evidence verify --type nvidia-gpu'");
  verb.action([&context, options] { return devices(context, *options); });
}

}  // namespace assay::cli
