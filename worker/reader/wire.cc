// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/wire.h"

#include <concepts>
#include <tuple>
#include <type_traits>

#include "schemas/core/message_codec.h"

namespace assay::worker::wire {

// The members of each type, in their order on the wire. Const or not, as the object is.
template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <messages::Members T>
auto members(T& m) {
  if constexpr (Is<T, Piece>) {
    return std::tie(m.size, m.kind);
  } else if constexpr (Is<T, Part>) {
    return std::tie(m.piece, m.offset, m.size);
  } else if constexpr (Is<T, Start>) {
    return std::tie(m.check, m.hash, m.chunk_size, m.slices, m.tags, m.pieces, m.tensors);
  } else if constexpr (Is<T, Look>) {
    return std::tie(m.check, m.slices, m.count);
  } else if constexpr (Is<T, Fetch> || Is<T, Draw>) {
    return std::tie(m.check, m.count);
  } else if constexpr (Is<T, Outline>) {
    return std::tie(m.check, m.span, m.tensors);
  } else if constexpr (Is<T, Exported> || Is<T, Staged> || Is<T, Failed>) {
    return std::tie(m.check, m.problem);
  } else if constexpr (Is<T, Hello>) {
    return std::tie(m.build, m.device, m.name, m.uuid, m.pci, m.driver, m.kernel);
  } else if constexpr (Is<T, Export>) {
    return std::tie(m.check, m.pieces);
  } else if constexpr (Is<T, Stage>) {
    return std::tie(m.check, m.piece, m.offset, m.size);
  } else if constexpr (Is<T, Started>) {
    return std::tie(m.check, m.roots, m.slices, m.exports, m.imports, m.hashing);
  } else if constexpr (Is<T, Looked>) {
    return std::tie(m.check, m.changed, m.drawn, m.pieces, m.replaced);
  } else if constexpr (Is<T, Drawn>) {
    return std::tie(m.check, m.drawn, m.pieces, m.changed);
  } else if constexpr (Is<T, Outlined>) {
    return std::tie(m.check, m.tensors);
  } else {
    return std::tie(m.check);
  }
}

Bytes write(const ToReader& message) { return messages::write(message); }
Bytes write(const FromReader& message) { return messages::write(message); }
Result<ToReader> parse_to_reader(ByteView bytes) { return messages::parse<ToReader>(bytes); }
Result<FromReader> parse_from_reader(ByteView bytes) { return messages::parse<FromReader>(bytes); }

}  // namespace assay::worker::wire
