// SPDX-License-Identifier: Apache-2.0
// A slot is canonical JSON {"chain", "checksum", "epochs", "map", "note", "sequence", "v"}, then
// spaces up to a newline at its end. The checksum (SHA-256 over the canonical JSON of the rest)
// tells a torn slot from a good one; it is no signature. What an attacker could change is covered
// by the note's signature, which whoever opens the store checks. The higher sequence is the newer
// slot.
#include "storage/anchor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/core/json.h"
#include "schemas/core/sha.h"
#include "storage/durable_file.h"

namespace assay::storage {
namespace {

constexpr std::int64_t kVersion = 4;
constexpr std::size_t kSlots = 2;
constexpr std::size_t kFileBytes = kSlots * Anchor::kSlotBytes;

struct Slot {
  std::uint64_t sequence;
  Anchor::State state;
};

std::unexpected<Error> damaged() {
  return fail(ErrorCode::kDataLoss,
              "the anchor file is damaged; restore it, or the database and the anchor together");
}

Result<std::string> checksum(const Json& rest) {
  ASSAY_ASSIGN(const std::string text, canonical_json(rest));
  return sha256(as_bytes(text)).text();
}

std::unexpected<Error> failed(const char* what) {
  return fail(ErrorCode::kStorage, std::string(what) + ": " + std::strerror(errno));
}

Result<std::uint64_t> counter(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) {
    return damaged();
  }
  return found->get<std::uint64_t>();
}

Result<Epochs> epochs_from(const Json& json) {
  if (!json.is_object() || json.size() != 3) {
    return damaged();
  }
  Epochs epochs;
  ASSAY_ASSIGN(epochs.trust.trust, counter(json, "trust"));
  ASSAY_ASSIGN(epochs.trust.revocation, counter(json, "revocation"));
  ASSAY_ASSIGN(epochs.policy, counter(json, "policy"));
  return epochs;
}

Result<Digest> digest(const Json& object, const char* name) {
  const auto found = object.find(name);
  auto parsed = found != object.end() && found->is_string()
                    ? Digest::parse(found->get<std::string>())
                    : Result<Digest>(damaged());
  return parsed ? std::move(parsed) : Result<Digest>(damaged());
}

Json head_to_json(const std::optional<ChainHead>& head) {
  return head ? Json{{"index", head->index},
                     {"leaf", head->leaf.text()},
                     {"trust", head->state.trust.text()},
                     {"policies", head->state.policies.text()}}
              : Json();
}

Result<std::optional<ChainHead>> head_from(const Json& json) {
  if (json.is_null()) {
    return std::nullopt;
  }
  if (!json.is_object() || json.size() != 4) {
    return damaged();
  }
  ASSAY_ASSIGN(const std::uint64_t index, counter(json, "index"));
  ASSAY_ASSIGN(Digest leaf, digest(json, "leaf"));
  ASSAY_ASSIGN(Digest trust, digest(json, "trust"));
  ASSAY_ASSIGN(Digest policies, digest(json, "policies"));
  return ChainHead{index, std::move(leaf), {std::move(trust), std::move(policies)}};
}

Result<MapState> map_from(const Json& json) {
  if (!json.is_object() || json.size() != 2 || !json.contains("root") ||
      !json["root"].is_string()) {
    return damaged();
  }
  MapState map;
  ASSAY_ASSIGN(map.number, counter(json, "number"));
  const auto root = hex_decode(json["root"].get<std::string>());
  if (!root || root->size() != map.root.size()) {
    return damaged();
  }
  std::ranges::copy(*root, map.root.begin());
  return map;
}

Result<Slot> slot_from(std::string_view text) {
  const auto parsed = parse_json(as_bytes(text.substr(0, text.find_last_not_of(" \n") + 1)));
  if (!parsed || !parsed->is_object() || parsed->size() != 7 || !parsed->contains("checksum") ||
      !parsed->contains("chain") || !parsed->contains("epochs") || !parsed->contains("map") ||
      !parsed->contains("note") || !(*parsed)["note"].is_string() ||
      parsed->value("v", Json()) != Json(kVersion)) {
    return damaged();
  }
  Json document = *parsed;
  const Json claimed = document["checksum"];
  document.erase("checksum");
  ASSAY_ASSIGN(const std::string actual, checksum(document));
  if (claimed != Json(actual)) {
    return damaged();
  }
  ASSAY_ASSIGN(const std::uint64_t sequence, counter(document, "sequence"));
  ASSAY_ASSIGN(const Epochs epochs, epochs_from(document["epochs"]));
  ASSAY_ASSIGN(auto head, head_from(document["chain"]));
  ASSAY_ASSIGN(const MapState map, map_from(document["map"]));
  std::string note = document["note"].get<std::string>();
  const auto checkpoint = parse_checkpoint(note);
  if (!checkpoint) {
    return damaged();
  }
  return Slot{sequence, {std::move(note), checkpoint->checkpoint, epochs, std::move(head), map}};
}

// Exactly one slot.
Result<std::string> slot_text(std::uint64_t sequence, const std::string& note, const Epochs& epochs,
                              const std::optional<ChainHead>& head, const MapState& map) {
  Json document = {{"v", kVersion},
                   {"sequence", sequence},
                   {"note", note},
                   {"chain", head_to_json(head)},
                   {"map", {{"number", map.number}, {"root", hex_encode(map.root)}}},
                   {"epochs",
                    {{"trust", epochs.trust.trust},
                     {"revocation", epochs.trust.revocation},
                     {"policy", epochs.policy}}}};
  ASSAY_ASSIGN(document["checksum"], checksum(document));
  ASSAY_ASSIGN(std::string text, canonical_json(document));
  if (text.size() >= Anchor::kSlotBytes) {
    return fail(ErrorCode::kStorage, "the checkpoint is too long for the anchor file");
  }
  text.resize(Anchor::kSlotBytes - 1, ' ');
  text += '\n';
  return text;
}

// The newer slot that is whole.
Result<Slot> newest_slot(const std::string& path) {
  const auto bytes = read_file(path, kFileBytes);
  if (!bytes) {
    return bytes.error().code == ErrorCode::kLimitExceeded
               ? Result<Slot>(damaged())
               : Result<Slot>(std::unexpected(bytes.error()));
  }
  if (bytes->size() != kFileBytes) {
    return damaged();
  }
  std::optional<Slot> newest;
  for (std::size_t i = 0; i < kSlots; ++i) {
    auto slot = slot_from(as_text(*bytes).substr(i * Anchor::kSlotBytes, Anchor::kSlotBytes));
    if (slot && (!newest || slot->sequence > newest->sequence)) {
      newest = std::move(*slot);
    }
  }
  return newest ? Result<Slot>(std::move(*newest)) : Result<Slot>(damaged());
}

Status write_at(int file, ByteView bytes, std::size_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return failed("the anchor file cannot be written");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace

Result<Anchor::State> Anchor::load() const {
  ASSAY_ASSIGN(Slot slot, newest_slot(path_));
  return std::move(slot.state);
}

// Somebody may have moved or replaced the file: what goes into the old one would protect nothing.
bool Anchor::is_still_at_its_path() const {
  struct stat at_path{};
  struct stat of_file{};
  return ::stat(path_.c_str(), &at_path) == 0 && ::fstat(file_.get(), &of_file) == 0 &&
         at_path.st_dev == of_file.st_dev && at_path.st_ino == of_file.st_ino;
}

// Makes the file with `note` in its first slot when there is none, in one step: a file without any
// whole slot would refuse the next start.
Status Anchor::open(const std::string& note, const Epochs& epochs,
                    const std::optional<ChainHead>& head, const MapState& map) {
  auto slot = newest_slot(path_);
  if (!slot && slot.error().code != ErrorCode::kNotFound) {
    return std::unexpected(slot.error());
  }
  sequence_ = slot ? slot->sequence : 0;
  if (!slot) {
    ASSAY_TRY(replace(note, epochs, head, map));
  }
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  return file_ ? Status() : failed("the anchor file cannot be opened");
}

Status Anchor::replace(const std::string& note, const Epochs& epochs,
                       const std::optional<ChainHead>& head, const MapState& map) {
  file_ = {};
  ASSAY_ASSIGN(std::string text, slot_text(0, note, epochs, head, map));
  text.append(kFileBytes - text.size(), ' ');
  return replace_file(path_, as_bytes(text));
}

Status Anchor::save(const std::string& note, const Epochs& epochs,
                    const std::optional<ChainHead>& head, const MapState& map) {
  if (file_ && !is_still_at_its_path()) {
    file_ = {};
  }
  if (!file_) {
    ASSAY_TRY(open(note, epochs, head, map));
  }
  ASSAY_ASSIGN(const std::string text, slot_text(sequence_ + 1, note, epochs, head, map));
  Status written = write_at(file_.get(), as_bytes(text), (sequence_ + 1) % kSlots * kSlotBytes);
  if (written && ::fdatasync(file_.get()) != 0) {
    written = failed("the anchor file cannot be synced");
  }
  if (!written) {
    file_ = {};  // the next try looks at the file again
    return written;
  }
  ++sequence_;
  return {};
}

}  // namespace assay::storage
