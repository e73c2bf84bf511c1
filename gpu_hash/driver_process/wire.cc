// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/driver_process/wire.h"

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

#include "schemas/core/message_codec.h"

namespace assay::gpu_hash {

// The members of each type, in their order on the wire. Const or not, as the object is.
template <typename T>
  requires std::same_as<std::remove_const_t<T>, DeviceInfo>
auto members(T& m) {
  return std::tie(m.id, m.name, m.platform, m.driver, m.type, m.memory_bytes,
                  m.max_allocation_bytes, m.compute_units);
}

template <typename T>
  requires std::same_as<std::remove_const_t<T>, MoveLoop>
auto members(T& m) {
  return std::tie(m.count, m.from, m.to);
}
template <typename T>
  requires std::same_as<std::remove_const_t<T>, Move>
auto members(T& m) {
  return std::tie(m.kind, m.from, m.to, m.outer, m.inner);
}

namespace driver {
namespace {

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// In the order of BenchLimits.
template <typename Limits>
auto values(Limits& limits) {
  return std::array{&limits.memory_read, &limits.pinned_copy, &limits.integer_operations,
                    &limits.cached_hash, &limits.openssl_streams};
}

Result<double> number_of(std::uint64_t bits) {
  const double value = std::bit_cast<double>(bits);
  if (!std::isfinite(value)) {
    return fail(ErrorCode::kInvalidEncoding, "a figure is no number");
  }
  return value;
}

}  // namespace

template <messages::Members T>
auto members([[maybe_unused]] T& m) {
  if constexpr (Is<T, Open>) {
    return std::tie(m.index, m.threads, m.slice_bytes, m.batch_bytes);
  } else if constexpr (Is<T, Bench>) {
    return std::tie(m.device, m.hash, m.bytes);
  } else if constexpr (Is<T, Call>) {
    return std::tie(m.hash, m.chunk_size, m.outline_span);
  } else if constexpr (Is<T, File>) {
    return std::tie(m.folder, m.path, m.device, m.inode, m.size, m.mtime_ns, m.ctime_ns,
                    m.read_once);
  } else if constexpr (Is<T, Files>) {
    return std::tie(m.files);
  } else if constexpr (Is<T, Memory>) {
    return std::tie(m.size);
  } else if constexpr (Is<T, Piece>) {
    return std::tie(m.source, m.file, m.offset, m.size, m.ends);
  } else if constexpr (Is<T, Pieces>) {
    return std::tie(m.pieces);
  } else if constexpr (Is<T, Load>) {
    return std::tie(m.sources, m.moves);
  } else if constexpr (Is<T, Moves>) {
    return std::tie(m.moves);
  } else if constexpr (Is<T, Round>) {
    return std::tie(m.loads, m.results, m.filled);
  } else if constexpr (Is<T, Hello>) {
    return std::tie(m.build);
  } else if constexpr (Is<T, Failure>) {
    return std::tie(m.platform, m.problem);
  } else if constexpr (Is<T, Listed>) {
    return std::tie(m.devices, m.failed);
  } else if constexpr (Is<T, Opened>) {
    return std::tie(m.device, m.driver, m.kernel, m.uuid, m.pci);
  } else if constexpr (Is<T, Figure>) {
    return std::tie(m.name, m.rate, m.limit, m.limit_is);
  } else if constexpr (Is<T, Benched>) {
    return std::tie(m.engine, m.bytes, m.variant, m.figures, m.limits);
  } else if constexpr (Is<T, Progress>) {
    return std::tie(m.bytes);
  } else if constexpr (Is<T, Digests>) {
    return std::tie(m.digests);
  } else if constexpr (Is<T, Done>) {
    return std::tie(m.protections);
  } else if constexpr (Is<T, Failed>) {
    return std::tie(m.problem);
  } else {
    return std::tuple<>();
  }
}

Bytes write(const ToProcess& message) { return messages::write(message); }
Bytes write(const FromProcess& message) { return messages::write(message); }
Result<ToProcess> parse_to_process(ByteView bytes) { return messages::parse<ToProcess>(bytes); }
Result<FromProcess> parse_from_process(ByteView bytes) {
  return messages::parse<FromProcess>(bytes);
}

Open open_of(unsigned index, const EngineOptions& options) {
  return {index, options.threads, options.slice_bytes, options.batch_bytes};
}

EngineOptions options_of(const Open& open) {
  return {open.threads, open.slice_bytes, open.batch_bytes};
}

Opened opened_of(const EngineInfo& info) {
  return {info.device, info.driver, info.kernel_digest ? info.kernel_digest->text() : "", info.uuid,
          info.pci};
}

Result<EngineInfo> info_of(const Opened& opened, const std::string& id) {
  EngineInfo info{id, opened.device, opened.driver, std::nullopt, opened.uuid, opened.pci};
  if (!opened.kernel.empty()) {
    ASSAY_ASSIGN(info.kernel_digest, Digest::parse(opened.kernel));
  }
  return info;
}

Benched benched_of(const BenchResult& result) {
  Benched benched{opened_of(result.engine), result.bytes, result.variant, {}, {}};
  for (const BenchFigure& figure : result.figures) {
    benched.figures.push_back({figure.name, std::bit_cast<std::uint64_t>(figure.rate),
                               std::bit_cast<std::uint64_t>(figure.limit), figure.limit_is});
  }
  for (const double* const value : values(result.limits)) {
    benched.limits.push_back(std::bit_cast<std::uint64_t>(*value));
  }
  return benched;
}

Result<BenchResult> result_of(const Benched& benched, HashAlgorithm hash, const std::string& id) {
  BenchResult result{{}, hash, benched.bytes, benched.variant, {}, {}};
  ASSAY_ASSIGN(result.engine, info_of(benched.engine, id));
  for (const Figure& figure : benched.figures) {
    ASSAY_ASSIGN(const double rate, number_of(figure.rate));
    ASSAY_ASSIGN(const double limit, number_of(figure.limit));
    result.figures.push_back({figure.name, rate, limit, figure.limit_is});
  }
  const auto limits = values(result.limits);
  if (benched.limits.size() != limits.size()) {
    return fail(ErrorCode::kInvalidEncoding, "another number of limits");
  }
  for (std::size_t i = 0; i < limits.size(); ++i) {
    ASSAY_ASSIGN(*limits.at(i), number_of(benched.limits[i]));
  }
  return result;
}

}  // namespace driver
}  // namespace assay::gpu_hash
