// SPDX-License-Identifier: Apache-2.0
// Generations of AMD's processors, each with a root of its own, and how each writes its TCB.
// Source: AMD 56860 "SEV Secure Nested Paging Firmware ABI", TCB_VERSION; AMD 57230 "VCEK
// Certificate and KDS Interface Specification".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/core/json.h"

namespace assay::attestation::snp {

enum class Generation : std::uint8_t { kMilan, kGenoa, kTurin };
inline constexpr std::array<Generation, 3> kGenerations = {Generation::kMilan, Generation::kGenoa,
                                                           Generation::kTurin};

// Returns "milan"; "Milan", as AMD's certificates write it.
[[nodiscard]] std::string_view name(Generation generation);
[[nodiscard]] std::string_view product(Generation generation);
[[nodiscard]] std::optional<Generation> generation_from(std::string_view name);
// Returns the generation of a processor by family and model, as reports from version 3 on give
// them. Bergamo and Siena count as Genoa, whose root they have.
[[nodiscard]] std::optional<Generation> generation_of_cpu(std::uint8_t family, std::uint8_t model);

// Security versions of the parts of a platform's TCB. Generations before Turin have no FMC.
struct Tcb {
  std::uint8_t fmc = 0;
  std::uint8_t boot_loader = 0;
  std::uint8_t tee = 0;
  std::uint8_t snp = 0;
  std::uint8_t microcode = 0;
  bool operator==(const Tcb&) const = default;
};
inline constexpr std::array<std::pair<std::string_view, std::uint8_t Tcb::*>, 5> kTcbParts = {{
    {"fmc", &Tcb::fmc},
    {"boot_loader", &Tcb::boot_loader},
    {"tee", &Tcb::tee},
    {"snp", &Tcb::snp},
    {"microcode", &Tcb::microcode},
}};

// TCB_VERSION as a report has it: eight bytes whose meaning depends on the generation.
using RawTcb = std::array<std::uint8_t, 8>;
// Reads it. Returns nullopt when a reserved byte is set.
[[nodiscard]] std::optional<Tcb> decode(const RawTcb& raw, Generation generation);
[[nodiscard]] RawTcb encode(const Tcb& tcb, Generation generation);

// Returns whether the generation has this part.
[[nodiscard]] bool has_part(Generation generation, std::string_view part);
// Returns {"boot_loader","tee","snp","microcode"}, and "fmc" where there is one.
[[nodiscard]] Json to_json(const Tcb& tcb, Generation generation);
// Returns the first part that is lower in `tcb` than in `floor`; empty when none is. A TCB is never
// compared as one number.
[[nodiscard]] std::string_view first_below(const Tcb& tcb, const Tcb& floor);

}  // namespace assay::attestation::snp
