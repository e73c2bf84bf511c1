// SPDX-License-Identifier: Apache-2.0
// The part of the facts document about models in memory.
#include "policy/memory_fact.h"

#include "policy/facts/json_reader.h"

namespace assay::policy {

using reading::check_members;
using reading::Reader;

namespace {

Result<std::uint64_t> rank_of(const Json& item, const std::string& place) {
  if (!item.is_number_unsigned()) {
    return reading::violation("this must be a number from 0", place);
  }
  return item.get<std::uint64_t>();
}

Result<std::string> cause_of(const Json& item, const std::string& place) {
  if (!item.is_string()) {
    return reading::violation("this must be a string", place);
  }
  return item.get<std::string>();
}

Result<double> share_of(const Json& item, const std::string& place) {
  if (!item.is_number() || item.get<double>() < 0 || item.get<double>() > 1) {
    return reading::violation("this must be a number from 0 to 1", place);
  }
  return item.get<double>();
}

// Unknown values are null there.
Result<MemoryReader> reader_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where,
                          {"ranks", "id", "name", "driver", "uuid", "pci", "kernel_digest"}));
  const Reader in{json, where};
  MemoryReader reader;
  ASSAY_ASSIGN(reader.ranks, in.list<std::uint64_t>("ranks", rank_of));
  ASSAY_ASSIGN(reader.id, in.text("id"));
  ASSAY_ASSIGN(reader.name, in.text("name"));
  ASSAY_ASSIGN(reader.driver, in.text("driver"));
  if (!json["uuid"].is_null()) {
    ASSAY_ASSIGN(reader.uuid, in.text("uuid"));
  }
  if (!json["pci"].is_null()) {
    ASSAY_ASSIGN(reader.pci, in.text("pci"));
  }
  if (!json["kernel_digest"].is_null()) {
    ASSAY_ASSIGN(reader.kernel_digest, in.parsed("kernel_digest", Digest::parse));
  }
  return reader;
}

Result<BeatFinding> finding_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"tensor", "detail"}));
  const Reader in{json, where};
  BeatFinding finding;
  ASSAY_ASSIGN(finding.tensor, in.text("tensor"));
  ASSAY_ASSIGN(finding.detail, in.text("detail"));
  return finding;
}

Result<WatchedBy> watch_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"check", "period_ms", "share_percent"}));
  const Reader in{json, where};
  WatchedBy watch;
  ASSAY_ASSIGN(watch.check, in.parsed("check", watch_check_from));
  ASSAY_ASSIGN(watch.period_ms, in.number("period_ms"));
  ASSAY_ASSIGN(watch.share_percent, in.number("share_percent"));
  return watch;
}

}  // namespace

Json to_json(const MemoryFact& memory) {
  Json json = {{"world", memory.world},           {"in_place", memory.in_place},
               {"on_devices", memory.on_devices}, {"staged", memory.staged},
               {"registered", memory.registered}, {"uncovered", memory.uncovered},
               {"redrawn", memory.redrawn}};
  if (memory.device_bytes) {
    json["device_bytes"] = *memory.device_bytes;
  }
  for (const MemoryReader& reader : memory.read_by) {
    json["read_by"].push_back(to_json(reader));
  }
  if (!memory.check.empty()) {
    json["check"] = memory.check;
  }
  if (!memory.staged_causes.empty()) {
    json["staged_causes"] = memory.staged_causes;
  }
  if (memory.detection) {
    json["detection"] = *memory.detection;
  }
  if (memory.uncovered_count) {
    json["uncovered_count"] = *memory.uncovered_count;
  }
  return json;
}

Result<MemoryFact> memory_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(
      json, where,
      {"world", "in_place", "on_devices", "staged", "registered", "uncovered", "redrawn"},
      {"device_bytes", "read_by", "check", "staged_causes", "detection", "uncovered_count"}));
  const Reader in{json, where};
  MemoryFact memory;
  ASSAY_ASSIGN(memory.world, in.number("world"));
  ASSAY_ASSIGN(memory.in_place, in.number("in_place"));
  ASSAY_ASSIGN(memory.on_devices, in.number("on_devices"));
  ASSAY_ASSIGN(memory.staged, in.number("staged"));
  ASSAY_ASSIGN(memory.registered, in.number("registered"));
  ASSAY_ASSIGN(memory.uncovered, in.number("uncovered"));
  ASSAY_ASSIGN(memory.redrawn, in.number("redrawn"));
  if (json.contains("device_bytes")) {
    ASSAY_ASSIGN(memory.device_bytes, in.number("device_bytes"));
  }
  if (json.contains("read_by")) {
    ASSAY_ASSIGN(memory.read_by, in.list<MemoryReader>("read_by", reader_from_json));
  }
  if (json.contains("check")) {
    ASSAY_ASSIGN(memory.check, in.text("check"));
  }
  if (json.contains("staged_causes")) {
    ASSAY_ASSIGN(memory.staged_causes, in.list<std::string>("staged_causes", cause_of));
  }
  if (json.contains("detection")) {
    ASSAY_ASSIGN(memory.detection, share_of(json["detection"], in.place("detection")));
  }
  if (json.contains("uncovered_count")) {
    ASSAY_ASSIGN(memory.uncovered_count, in.number("uncovered_count"));
  }
  return memory;
}

Json to_json(const InstanceFact& instance) {
  Json json = {{"instance", instance.instance},
               {"state", instance.state},
               {"heard_at", to_rfc3339(instance.heard_at)}};
  for (const BeatFinding& finding : instance.findings) {
    json["findings"].push_back(to_json(finding));
  }
  if (instance.watch) {
    json["watch"] = to_json(*instance.watch);
  }
  return json;
}

Result<InstanceFact> instance_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"instance", "state", "heard_at"}, {"findings", "watch"}));
  const Reader in{json, where};
  InstanceFact instance;
  ASSAY_ASSIGN(instance.instance, in.text("instance"));
  ASSAY_ASSIGN(instance.state, in.text("state"));
  ASSAY_ASSIGN(instance.heard_at, in.time("heard_at"));
  if (json.contains("findings")) {
    ASSAY_ASSIGN(instance.findings, in.list<BeatFinding>("findings", finding_from_json));
  }
  if (json.contains("watch")) {
    ASSAY_ASSIGN(instance.watch, watch_from_json(json["watch"], where + "/watch"));
  }
  return instance;
}

}  // namespace assay::policy
