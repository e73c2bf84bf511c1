// SPDX-License-Identifier: Apache-2.0
// An engine with the devices GPU-a and GPU-b. Memory of theirs is in truth memory files, and
// another engine hashes everything.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gpu_hash/engine.h"
#include "worker/instances/memory.h"

namespace assay::worker::test {

class SeveralDevices final : public gpu_hash::Engine {
 public:
  explicit SeveralDevices(gpu_hash::Engine& inner) : inner_(inner), info_(inner.info()) {
    for (const char* uuid : {"GPU-a", "GPU-b"}) {
      devices_.emplace(uuid, std::unique_ptr<Engine>(new SeveralDevices(inner, uuid)));
    }
  }

  [[nodiscard]] const gpu_hash::EngineInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash(
      std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request) override {
    std::vector<gpu_hash::Region> mapped(regions.begin(), regions.end());
    for (gpu_hash::Region& region : mapped) {
      for (gpu_hash::Piece& piece : region.pieces) {
        if (const auto* device = std::get_if<gpu_hash::DevicePiece>(&piece)) {
          const auto& memory = dynamic_cast<const Memory&>(*device->memory);
          piece =
              gpu_hash::HostPiece{memory.mapping->bytes().subspan(device->offset, device->size)};
        }
      }
    }
    return inner_.hash(mapped, request);
  }
  [[nodiscard]] Engine* of_device(std::string_view uuid) override {
    const auto found = devices_.find(uuid);
    return found == devices_.end() ? nullptr : found->second.get();
  }
  [[nodiscard]] gpu_hash::Imports imports() const override {
    return gpu_hash::Imports::kDriverDescriptors;
  }
  [[nodiscard]] Result<std::shared_ptr<const gpu_hash::DeviceMemory>> import_memory(
      Descriptor fd, std::uint64_t size) override {
    auto memory = std::make_shared<Memory>();
    ASSAY_ASSIGN(memory->mapping, HostMapping::map(fd, size));
    return memory;
  }

 private:
  struct Memory final : gpu_hash::DeviceMemory {
    [[nodiscard]] std::uint64_t size() const override { return mapping->bytes().size(); }
    std::shared_ptr<const HostMapping> mapping;
  };

  SeveralDevices(gpu_hash::Engine& inner, const std::string& uuid)
      : inner_(inner), info_(inner.info()) {
    info_.id = "device:" + uuid.substr(uuid.size() - 1);
    info_.uuid = uuid;
    info_.pci = "0000:1" + uuid.substr(uuid.size() - 1) + ":00.0";
  }

  gpu_hash::Engine& inner_;
  gpu_hash::EngineInfo info_;
  std::map<std::string, std::unique_ptr<Engine>, std::less<>> devices_;
};

}  // namespace assay::worker::test
