// SPDX-License-Identifier: Apache-2.0
// Registrations of model instances: shape by instance-message.schema.json, here what a schema
// cannot say about memory.
#include "schemas/instance.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "schemas/core/dtype.h"
#include "schemas/core/names.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr Names<PieceKind, 3> kPieceKinds = {
    {{{PieceKind::kDevice, "device"}, {PieceKind::kHost, "host"}, {PieceKind::kStaged, "staged"}}}};
constexpr Names<InstanceFinding::Kind, 5> kFindingKinds = {
    {{{InstanceFinding::Kind::kMissing, "missing"},
      {InstanceFinding::Kind::kExtra, "extra"},
      {InstanceFinding::Kind::kMismatch, "mismatch"},
      {InstanceFinding::Kind::kChanged, "changed"},
      {InstanceFinding::Kind::kError, "error"}}}};
constexpr std::uint64_t kMaxBytes = kMaxSafeInteger;
// Whoever reads them maps each: a process has 65,530 mappings unless vm.max_map_count says more.
constexpr std::size_t kMaxHostPieces = 4096;

std::unexpected<Error> wrong(std::string detail, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), std::move(where));
}

std::string at(const char* list, std::size_t index, const char* member = "") {
  return "/" + std::string(list) + "/" + std::to_string(index) + member;
}

std::vector<InstancePiece> read_pieces(const Json& list) {
  std::vector<InstancePiece> pieces;
  pieces.reserve(list.size());
  for (const Json& item : list) {
    const std::string kind = members::text(item, "kind");
    const auto* const found =
        std::ranges::find(kPieceKinds.rows, kind, [](const auto& row) { return row.second; });
    pieces.push_back({members::number(item, "size"), found->first, members::text(item, "cause")});
  }
  return pieces;
}

// Takes the parts of all tensors out of a frame of any shape, and leaves empty lists: validate()
// would spend most of a second of CPU time on each 2^16 of them.
std::vector<Json> take_parts(Json& frame) {
  std::vector<Json> taken;
  const auto tensors = frame.is_object() ? frame.find("tensors") : frame.end();
  if (!frame.is_object() || tensors == frame.end() || !tensors->is_array()) {
    return taken;
  }
  for (Json& tensor : *tensors) {
    Json& parts = taken.emplace_back(Json::array());
    if (tensor.is_object() && tensor.contains("parts") && tensor["parts"].is_array()) {
      parts.swap(tensor["parts"]);
    }
  }
  return taken;
}

// As the schema describes parts: [piece, offset, size].
Result<std::vector<InstancePart>> read_parts(const Json& list, std::size_t tensor) {
  std::vector<InstancePart> parts;
  parts.reserve(list.size());
  for (const Json& item : list) {
    const bool three = item.is_array() && item.size() == 3;
    std::array<std::uint64_t, 3> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!three || !item[i].is_number_integer() || item[i].get<std::int64_t>() < 0) {
        return wrong("a part is [piece, offset, size]",
                     at("tensors", tensor, "/parts/") + std::to_string(parts.size()));
      }
      numbers[i] = item[i].get<std::uint64_t>();
    }
    parts.push_back({numbers[0], numbers[1], numbers[2]});
  }
  return parts;
}

Status check_pieces(const InstanceRegistration& registration) {
  std::uint64_t total = 0;
  bool staged = false;
  std::size_t host = 0;
  for (std::size_t i = 0; i < registration.pieces.size(); ++i) {
    const InstancePiece& piece = registration.pieces[i];
    if (piece.size > kMaxBytes - total) {
      return fail(ErrorCode::kLimitExceeded, "the pieces have 2^53 bytes or more", at("pieces", i));
    }
    total += piece.size;
    host += piece.kind == PieceKind::kHost ? 1 : 0;
    if (host > kMaxHostPieces) {
      return fail(ErrorCode::kLimitExceeded, "there are more than 4096 pieces of host memory",
                  at("pieces", i));
    }
    const bool is_staged = piece.kind == PieceKind::kStaged;
    staged = staged || is_staged;
    if (is_staged == piece.cause.empty()) {
      return wrong("a staged piece has a cause, and no other has", at("pieces", i, "/cause"));
    }
    if (piece.kind == PieceKind::kDevice && registration.device.empty()) {
      return wrong("there are pieces of a device, but no device", "/device");
    }
  }
  return staged == (registration.window != 0)
             ? Status()
             : wrong("there is a window when a piece is staged, and only then", "/window");
}

// The parts of one tensor lie in their pieces, and have the bytes that dtype and shape say.
Status check_tensor(const InstanceRegistration& registration, std::size_t index) {
  const InstanceTensor& tensor = registration.tensors[index];
  const auto expected = tensor_size(tensor.dtype, tensor.shape);
  if (!expected) {
    return wrong("dtype and shape give no number of bytes", at("tensors", index, "/shape"));
  }
  std::uint64_t size = 0;
  for (const InstancePart& part : tensor.parts) {
    if (part.piece >= registration.pieces.size()) {
      return wrong("there is no such piece", at("tensors", index, "/parts"));
    }
    const std::uint64_t end = registration.pieces[part.piece].size;
    if (part.size == 0 || part.offset > end || part.size > end - part.offset) {
      return wrong("a part is empty, or lies outside of its piece", at("tensors", index, "/parts"));
    }
    if (part.size > kMaxBytes - size) {
      return fail(ErrorCode::kLimitExceeded, "the parts have 2^53 bytes or more",
                  at("tensors", index));
    }
    size += part.size;
  }
  return size == *expected
             ? Status()
             : wrong("the parts have not the bytes that dtype and shape say", at("tensors", index));
}

Status check_names(const std::vector<InstanceTensor>& tensors) {
  std::vector<std::pair<std::string_view, std::size_t>> names;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (const std::string& name : tensors[i].names) {
      names.emplace_back(name, i);
    }
  }
  std::ranges::sort(names);
  const auto twice =
      std::ranges::adjacent_find(names, {}, &std::pair<std::string_view, std::size_t>::first);
  return twice == names.end()
             ? Status()
             : wrong("a name stands twice", at("tensors", std::next(twice)->second, "/names"));
}

// No byte belongs to two parts, and no piece is without a part: what is hashed is bounded by what
// is there.
Status check_parts(const InstanceRegistration& registration) {
  std::vector<InstancePart> parts;
  for (const InstanceTensor& tensor : registration.tensors) {
    parts.insert(parts.end(), tensor.parts.begin(), tensor.parts.end());
  }
  std::ranges::sort(parts, {},
                    [](const InstancePart& part) { return std::tuple(part.piece, part.offset); });
  std::uint64_t next = 0;  // the first piece of which no part was seen
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const InstancePart& part = parts[i];
    const bool same = i > 0 && parts[i - 1].piece == part.piece;
    if (same && parts[i - 1].offset + parts[i - 1].size > part.offset) {
      return wrong("two parts share bytes of this piece", at("pieces", part.piece));
    }
    if (part.piece > next) {
      break;
    }
    next = part.piece + 1;
  }
  return next == registration.pieces.size()
             ? Status()
             : wrong("no tensor has a part in this piece", at("pieces", next));
}

// Takes the layout out of a frame of any shape, since layout_from_json() checks its shape.
std::optional<Json> take_layout(Json& frame) {
  const auto found = frame.is_object() ? frame.find("layout") : frame.end();
  if (!frame.is_object() || found == frame.end()) {
    return std::nullopt;
  }
  std::optional<Json> taken(std::move(*found));
  frame.erase(found);
  return taken;
}

Status read_layout(Json json, InstanceRegistration& registration) {
  auto layout = layout_from_json(std::move(json));
  if (!layout) {
    return members::under("/layout", std::move(layout).error());
  }
  if (layout->artifact != registration.artifact) {
    return fail(ErrorCode::kArtifactMismatch, "the layout is about another artifact",
                "/layout/artifact");
  }
  if (layout->ranks.size() != registration.world) {
    return wrong("the layout has as many ranks as the instance has processes", "/layout/ranks");
  }
  registration.layout = *std::move(layout);
  return {};
}

Status read_published(const Json& frame, InstanceRegistration& registration) {
  if (!frame.contains("published")) {
    return {};
  }
  if (registration.layout) {
    return fail(ErrorCode::kConflict, "a registration has a layout or names a published one",
                "/published");
  }
  auto published = ArtifactId::parse(members::text(frame, "published"));
  if (!published) {
    return members::under("/published", std::move(published).error());
  }
  registration.published = *std::move(published);
  return {};
}

}  // namespace

std::string_view name(PieceKind kind) { return kPieceKinds.of(kind); }

std::string_view name(InstanceFinding::Kind kind) { return kFindingKinds.of(kind); }

Json to_json(const InstanceRegistration& registration) {
  Json pieces = Json::array();
  for (const InstancePiece& piece : registration.pieces) {
    pieces.push_back({{"size", piece.size}, {"kind", name(piece.kind)}, {"cause", piece.cause}});
  }
  Json tensors = Json::array();
  for (const InstanceTensor& tensor : registration.tensors) {
    Json parts = Json::array();
    for (const InstancePart& part : tensor.parts) {
      parts.push_back(Json::array({part.piece, part.offset, part.size}));
    }
    tensors.push_back({{"names", tensor.names},
                       {"dtype", tensor.dtype},
                       {"shape", tensor.shape},
                       {"parts", std::move(parts)}});
  }
  Json json = {{"type", "register"},
               {"artifact", registration.artifact.text()},
               {"instance", registration.instance},
               {"rank", registration.rank},
               {"world", registration.world},
               {"device", registration.device},
               {"pieces", std::move(pieces)},
               {"tensors", std::move(tensors)},
               {"uncovered",
                {{"count", registration.uncovered_count}, {"bytes", registration.uncovered_bytes}}},
               {"window", registration.window}};
  if (registration.hints != 0) {
    json["hints"] = registration.hints;
  }
  if (registration.layout) {
    json["layout"] = to_json(*registration.layout);
  }
  if (registration.published) {
    json["published"] = registration.published->text();
  }
  return json;
}

Result<InstanceRegistration> parse_instance_registration(Json frame) {
  const std::vector<Json> all_parts = take_parts(frame);
  std::optional<Json> layout = take_layout(frame);
  ASSAY_TRY(validate("instance-message", frame));
  if (members::text(frame, "type") != "register") {
    return wrong("this frame is no registration", "/type");
  }
  auto artifact = ArtifactId::parse(members::text(frame, "artifact"));
  if (!artifact) {
    return members::under("/artifact", std::move(artifact).error());
  }
  InstanceRegistration registration{.artifact = *std::move(artifact),
                                    .instance = members::text(frame, "instance"),
                                    .rank = members::number(frame, "rank"),
                                    .world = members::number(frame, "world"),
                                    .device = members::text(frame, "device"),
                                    .pieces = read_pieces(frame["pieces"]),
                                    .tensors = {},
                                    .uncovered_count = members::number(frame["uncovered"], "count"),
                                    .uncovered_bytes = members::number(frame["uncovered"], "bytes"),
                                    .window = members::number(frame, "window"),
                                    .hints = members::number(frame, "hints")};
  if (registration.rank >= registration.world) {
    return wrong("rank is below world", "/rank");
  }
  ASSAY_TRY(check_pieces(registration));
  std::size_t count = 0;
  for (const Json& item : frame["tensors"]) {
    const std::size_t index = registration.tensors.size();
    count += all_parts[index].size();
    if (count > kMaxInstanceParts) {
      return fail(ErrorCode::kLimitExceeded, "a registration has at most 2^20 parts", "/tensors");
    }
    ASSAY_ASSIGN(auto parts, read_parts(all_parts[index], index));
    registration.tensors.push_back({members::texts(item, "names"), members::text(item, "dtype"),
                                    item["shape"].get<std::vector<std::uint64_t>>(),
                                    std::move(parts)});
    ASSAY_TRY(check_tensor(registration, index));
  }
  ASSAY_TRY(check_names(registration.tensors));
  ASSAY_TRY(check_parts(registration));
  if (layout) {
    ASSAY_TRY(read_layout(*std::move(layout), registration));
  }
  ASSAY_TRY(read_published(frame, registration));
  return registration;
}

}  // namespace assay
