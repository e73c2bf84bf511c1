// SPDX-License-Identifier: Apache-2.0
// Facts about memory: shape by verification-report.schema.json, order and sums here.
#include "schemas/memory_facts.h"

#include <functional>
#include <set>

#include "schemas/core/ids.h"
#include "schemas/core/json_object.h"
#include "schemas/core/names.h"

namespace assay {
namespace {

constexpr Names<LayoutKind, 3> kLayoutKinds = {{{{LayoutKind::kExact, "exact"},
                                                 {LayoutKind::kRecipe, "recipe"},
                                                 {LayoutKind::kPublished, "published"}}}};

std::unexpected<Error> violation(std::string detail, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}

// Each rank of the world is read once, and devices stand in the order of their first ranks.
Status check_readers(const MemoryFacts& memory) {
  std::set<std::uint64_t> ranks;
  const MemoryReader* last = nullptr;
  for (const MemoryReader& reader : memory.read_by) {
    const std::string place = "/read_by/" + std::to_string(&reader - memory.read_by.data());
    for (const std::uint64_t rank : reader.ranks) {
      if (rank >= memory.world || !ranks.insert(rank).second) {
        return violation("each rank of the world is read once", place + "/ranks");
      }
    }
    if (last != nullptr && last->ranks.front() >= reader.ranks.front()) {
      return violation("devices stand in the order of their first ranks", place);
    }
    last = &reader;
  }
  return {};
}

}  // namespace

static auto members_of(json::As<ExtraTensor>) {
  return std::tuple(json::always("name", &ExtraTensor::name),
                    json::always("size", &ExtraTensor::size));
}

std::string_view name(LayoutKind kind) { return kLayoutKinds.of(kind); }
Result<LayoutKind> layout_kind_from(std::string_view name) {
  return kLayoutKinds.parse(name, "there is no such kind of layout: use exact, recipe or published",
                            ErrorCode::kSchemaViolation);
}

static auto members_of(json::As<MemoryLayout>) {
  using T = MemoryLayout;
  return std::tuple(json::always("kind", &T::kind, json::named(layout_kind_from)),
                    json::always("digest", &T::digest, json::checked([](const std::string& text) {
                                   const bool known = LayoutId::parse(text).has_value() ||
                                                      ArtifactId::parse(text).has_value();
                                   return known ? Status() : violation("no digest", "");
                                 })),
                    json::always("by_table", &T::by_table));
}
static Status together(const MemoryLayout& layout) {
  if (layout.kind == LayoutKind::kExact) {
    return violation("tensors that are the entries have no layout", "/kind");
  }
  const bool published = layout.kind == LayoutKind::kPublished;
  if (published != ArtifactId::parse(layout.digest).has_value()) {
    return violation("a published layout is named by the artifact id of its tensors", "/digest");
  }
  return published && layout.by_table
             ? violation("what somebody published is by no table", "/by_table")
             : Status();
}
Json to_json(const MemoryLayout& layout) { return json::write(layout); }
Result<MemoryLayout> read_json(json::As<MemoryLayout> /*type*/, const Json& json) {
  return json::read<MemoryLayout>(json);
}

static auto members_of(json::As<MemoryReader>) {
  using T = MemoryReader;
  return std::tuple(json::always("ranks", &T::ranks, json::ascending()), json::always("id", &T::id),
                    json::always("name", &T::name), json::always("driver", &T::driver),
                    json::or_null("uuid", &T::uuid), json::or_null("pci", &T::pci),
                    json::or_null("kernel_digest", &T::kernel_digest));
}
Json to_json(const MemoryReader& reader) { return json::write(reader); }
Result<MemoryReader> read_json(json::As<MemoryReader> /*type*/, const Json& json) {
  return json::read<MemoryReader>(json);
}

static auto members_of(json::As<MemoryFacts>) {
  using T = MemoryFacts;
  return std::tuple(
      json::always("world", &T::world),
      json::always("containers", &T::containers, json::ascending()),
      json::always("devices", &T::devices, json::ascending()),
      json::always("in_place", &T::in_place), json::always("on_devices", &T::on_devices),
      json::always("staged", &T::staged),
      json::always("staged_causes", &T::staged_causes, json::ascending()),
      json::always("registered", &T::registered), json::always("uncovered", &T::uncovered),
      json::or_null("device_bytes", &T::device_bytes), json::always("redrawn", &T::redrawn),
      json::always("detection", &T::detection),
      // Absent in what is stored of a job, which has them elsewhere.
      json::or_default("extra_tensors", &T::extra_tensors,
                       json::ascending(std::less<>(), &ExtraTensor::name)),
      json::always("extra_tensor_count", &T::extra_tensor_count),
      json::if_set("read_by", &T::read_by), json::if_set("uncovered_count", &T::uncovered_count),
      json::if_set("layout", &T::layout));
}
static Status together(const MemoryFacts& memory) {
  if (memory.on_devices > (memory.devices.empty() ? 0 : memory.in_place)) {
    return violation("on_devices is at most in_place, and 0 when there are no devices",
                     "/on_devices");
  }
  if (memory.staged_causes.empty() != (memory.staged == 0)) {
    return violation("staged bytes have a cause, and causes have staged bytes", "/staged_causes");
  }
  if (memory.device_bytes && memory.devices.empty()) {
    return violation("device_bytes is null when there are no devices", "/device_bytes");
  }
  if (memory.extra_tensor_count < memory.extra_tensors.size()) {
    return violation("this counts at least the extra tensors that are listed",
                     "/extra_tensor_count");
  }
  return check_readers(memory);
}
Json to_json(const MemoryFacts& memory) { return json::write(memory); }
Result<MemoryFacts> read_json(json::As<MemoryFacts> /*type*/, const Json& json) {
  return json::read<MemoryFacts>(json);
}

}  // namespace assay
