// SPDX-License-Identifier: Apache-2.0
// Facts about memory: shape by verification-report.schema.json, order and sums here.
#include "schemas/memory_facts.h"

#include <algorithm>
#include <functional>
#include <set>

#include "schemas/members.h"

namespace assay {
namespace {

std::unexpected<Error> violation(std::string detail, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}

Result<std::vector<std::string>> ascending_texts(const Json& json, const std::string& member) {
  std::vector<std::string> texts = members::texts(json, member);
  if (std::ranges::adjacent_find(texts, std::greater_equal<>()) != texts.end()) {
    return violation("these stand in order, none twice", "/" + member);
  }
  return texts;
}

Result<std::vector<ExtraTensor>> read_extra(const Json& json) {
  std::vector<ExtraTensor> out;
  for (const Json& item : json["extra_tensors"]) {
    ExtraTensor tensor{members::text(item, "name"), members::number(item, "size")};
    if (!out.empty() && out.back().name >= tensor.name) {
      return violation("extra tensors stand in order, none twice", "/extra_tensors");
    }
    out.push_back(std::move(tensor));
  }
  if (members::number(json, "extra_tensor_count") < out.size()) {
    return violation("this counts at least the extra tensors that are listed",
                     "/extra_tensor_count");
  }
  return out;
}

Result<MemoryReader> read_reader(const Json& json) {
  MemoryReader reader;
  ASSAY_ASSIGN(reader.ranks, members::ascending(json, "ranks"));
  reader.id = members::text(json, "id");
  reader.name = members::text(json, "name");
  reader.driver = members::text(json, "driver");
  if (json["uuid"].is_string()) {
    reader.uuid = members::text(json, "uuid");
  }
  if (json["pci"].is_string()) {
    reader.pci = members::text(json, "pci");
  }
  if (json["kernel_digest"].is_string()) {
    ASSAY_ASSIGN(reader.kernel_digest, Digest::parse(members::text(json, "kernel_digest")));
  }
  return reader;
}

Result<std::vector<MemoryReader>> read_readers(const Json& list, std::uint64_t world) {
  std::vector<MemoryReader> readers;
  std::set<std::uint64_t> ranks;
  for (const Json& item : list) {
    const std::string place = "/read_by/" + std::to_string(readers.size());
    auto reader = read_reader(item);
    if (!reader) {
      return members::under(place, std::move(reader).error());
    }
    for (const std::uint64_t rank : reader->ranks) {
      if (rank >= world || !ranks.insert(rank).second) {
        return violation("each rank of the world is read once", place + "/ranks");
      }
    }
    if (!readers.empty() && readers.back().ranks.front() >= reader->ranks.front()) {
      return violation("devices stand in the order of their first ranks", place);
    }
    readers.push_back(*std::move(reader));
  }
  return readers;
}

std::optional<std::uint64_t> read_device_bytes(const Json& json) {
  return json["device_bytes"].is_null()
             ? std::nullopt
             : std::optional<std::uint64_t>(members::number(json, "device_bytes"));
}

}  // namespace

Json to_json(const MemoryReader& reader) {
  const auto known = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"ranks", reader.ranks},
          {"id", reader.id},
          {"name", reader.name},
          {"driver", reader.driver},
          {"uuid", known(reader.uuid)},
          {"pci", known(reader.pci)},
          {"kernel_digest", reader.kernel_digest ? Json(reader.kernel_digest->text()) : Json()}};
}

Json to_json(const MemoryFacts& memory) {
  Json extra = Json::array();
  for (const ExtraTensor& tensor : memory.extra_tensors) {
    extra.push_back({{"name", tensor.name}, {"size", tensor.size}});
  }
  Json json = {{"world", memory.world},
               {"containers", memory.containers},
               {"devices", memory.devices},
               {"in_place", memory.in_place},
               {"on_devices", memory.on_devices},
               {"staged", memory.staged},
               {"staged_causes", memory.staged_causes},
               {"registered", memory.registered},
               {"uncovered", memory.uncovered},
               {"device_bytes", memory.device_bytes ? Json(*memory.device_bytes) : Json()},
               {"redrawn", memory.redrawn},
               {"detection", memory.detection},
               {"extra_tensors", std::move(extra)},
               {"extra_tensor_count", memory.extra_tensor_count}};
  if (memory.uncovered_count) {
    json["uncovered_count"] = *memory.uncovered_count;
  }
  if (!memory.read_by.empty()) {
    json["read_by"] = Json::array();
    for (const MemoryReader& reader : memory.read_by) {
      json["read_by"].push_back(to_json(reader));
    }
  }
  return json;
}

Result<MemoryFacts> memory_facts_from(const Json& json) {
  MemoryFacts memory;
  memory.world = members::number(json, "world");
  ASSAY_ASSIGN(memory.containers, ascending_texts(json, "containers"));
  ASSAY_ASSIGN(memory.devices, ascending_texts(json, "devices"));
  memory.in_place = members::number(json, "in_place");
  memory.on_devices = members::number(json, "on_devices");
  if (memory.on_devices > (memory.devices.empty() ? 0 : memory.in_place)) {
    return violation("on_devices is at most in_place, and 0 when there are no devices",
                     "/on_devices");
  }
  memory.staged = members::number(json, "staged");
  ASSAY_ASSIGN(memory.staged_causes, ascending_texts(json, "staged_causes"));
  if (memory.staged_causes.empty() != (memory.staged == 0)) {
    return violation("staged bytes have a cause, and causes have staged bytes", "/staged_causes");
  }
  memory.registered = members::number(json, "registered");
  memory.uncovered = members::number(json, "uncovered");
  if (json.contains("uncovered_count")) {
    memory.uncovered_count = members::number(json, "uncovered_count");
  }
  memory.device_bytes = read_device_bytes(json);
  if (memory.device_bytes && memory.devices.empty()) {
    return violation("device_bytes is null when there are no devices", "/device_bytes");
  }
  memory.redrawn = members::number(json, "redrawn");
  memory.detection = json["detection"].get<double>();
  ASSAY_ASSIGN(memory.extra_tensors, read_extra(json));
  memory.extra_tensor_count = members::number(json, "extra_tensor_count");
  ASSAY_ASSIGN(memory.read_by, memory_readers_from(json));
  return memory;
}

Result<std::vector<MemoryReader>> memory_readers_from(const Json& memory) {
  static const Json kNone = Json::array();
  return read_readers(members::child(memory, "read_by", kNone), members::number(memory, "world"));
}

}  // namespace assay
