// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/generation.h"

#include <string>
#include <utility>

namespace assay::attestation::snp {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"milan", "genoa", "turin"};
constexpr std::array<std::string_view, 3> kProducts = {"Milan", "Genoa", "Turin"};

constexpr std::uint8_t kZen3And4 = 0x19;
constexpr std::uint8_t kZen5 = 0x1a;

// The byte of each part, in the order of kTcbParts; kNone: the generation has no such part.
constexpr std::size_t kNone = 8;
using Places = std::array<std::size_t, kTcbParts.size()>;
constexpr Places kBeforeTurin = {kNone, 0, 1, 6, 7};
constexpr Places kFromTurin = {0, 1, 2, 3, 7};

constexpr const Places& places_of(Generation generation) {
  return generation == Generation::kTurin ? kFromTurin : kBeforeTurin;
}

}  // namespace

std::string_view name(Generation generation) { return kNames[std::to_underlying(generation)]; }
std::string_view product(Generation generation) {
  return kProducts[std::to_underlying(generation)];
}

std::optional<Generation> generation_from(std::string_view text) {
  for (const Generation generation : kGenerations) {
    if (name(generation) == text) {
      return generation;
    }
  }
  return std::nullopt;
}

std::optional<Generation> generation_of_cpu(std::uint8_t family, std::uint8_t model) {
  if (family == kZen3And4 && model <= 0x0f) {
    return Generation::kMilan;
  }
  if (family == kZen3And4 &&
      ((model >= 0x10 && model <= 0x1f) || (model >= 0xa0 && model <= 0xaf))) {
    return Generation::kGenoa;
  }
  if (family == kZen5 && model <= 0x11) {
    return Generation::kTurin;
  }
  return std::nullopt;
}

std::optional<Tcb> decode(const RawTcb& raw, Generation generation) {
  Tcb tcb;
  RawTcb rest = raw;
  const Places& places = places_of(generation);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] != kNone) {
      tcb.*kTcbParts[i].second = raw[places[i]];
      rest[places[i]] = 0;
    }
  }
  return rest == RawTcb{} ? std::optional(tcb) : std::nullopt;
}

RawTcb encode(const Tcb& tcb, Generation generation) {
  RawTcb raw{};
  const Places& places = places_of(generation);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] != kNone) {
      raw[places[i]] = tcb.*kTcbParts[i].second;
    }
  }
  return raw;
}

bool has_part(Generation generation, std::string_view part) {
  const Places& places = places_of(generation);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (kTcbParts[i].first == part) {
      return places[i] != kNone;
    }
  }
  return false;
}

Json to_json(const Tcb& tcb, Generation generation) {
  Json json = Json::object();
  for (const auto& [part, member] : kTcbParts) {
    if (has_part(generation, part)) {
      json[std::string(part)] = tcb.*member;
    }
  }
  return json;
}

std::string_view first_below(const Tcb& tcb, const Tcb& floor) {
  for (const auto& [part, member] : kTcbParts) {
    if (tcb.*member < floor.*member) {
      return part;
    }
  }
  return {};
}

}  // namespace assay::attestation::snp
