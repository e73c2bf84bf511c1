// SPDX-License-Identifier: Apache-2.0
#include "cli/audit/verify.h"

#include <algorithm>
#include <utility>

#include "attestation/key_rotation.h"
#include "schemas/core/merkle.h"
#include "schemas/log_chain.h"
#include "schemas/log_record.h"
#include "schemas/tiles.h"

namespace assay::cli {

namespace {

constexpr HashAlgorithm kHash = HashAlgorithm::kSha256;
constexpr std::size_t kDigestBytes = 32;

std::unexpected<Error> inconsistent(std::string detail, std::string where) {
  return fail(ErrorCode::kLogInconsistent, std::move(detail), std::move(where));
}

Error at(Error error, std::string where) {
  error.where = error.where.empty() ? std::move(where) : where + ": " + error.where;
  return error;
}

// What must come out at a size on the way: the root of an older checkpoint or of a receipt's.
struct ExpectedRoot {
  TreeSize size;
  Digest root;
  std::string name;
};

struct ExpectedLeaf {
  LeafIndex index;
  Digest leaf;
  std::string name;
};

// Checkpoints and the keys that may have signed them. Which those are shows when all entries have
// been read: each rotation is signed by the key that goes.
class Signatures {
 public:
  explicit Signatures(const attestation::NoteVerifier& first) : first_(first) {}

  // Reads a note. Its signature is checked at once if it claims to be of the first key, and in any
  // case by check().
  [[nodiscard]] Result<Checkpoint> open(std::string_view note, const std::string& name);
  [[nodiscard]] Status take(const LogRecord& record, LeafIndex index);
  // Every note was signed by the key that the log had at its size.
  [[nodiscard]] Status check(std::vector<HandOver>& hand_overs) const;

 private:
  struct Note {
    std::string text;
    TreeSize size;
    std::string name;
  };
  struct Heir {
    LeafIndex index;
    attestation::NoteVerifier verifier;
  };
  [[nodiscard]] const attestation::NoteVerifier& newest() const {
    return heirs_.empty() ? first_ : heirs_.back().verifier;
  }
  [[nodiscard]] Status check(const Note& note) const;

  const attestation::NoteVerifier& first_;
  std::vector<Heir> heirs_;
  std::vector<Note> notes_;
};

Result<Checkpoint> Signatures::open(std::string_view note, const std::string& name) {
  Result<Checkpoint> checkpoint = attestation::verify_checkpoint(note, first_);
  if (!checkpoint && checkpoint.error().code == ErrorCode::kSignatureMissing) {
    ASSAY_ASSIGN(SignedCheckpoint parsed, parse_checkpoint(note));
    checkpoint = std::move(parsed.checkpoint);
  }
  if (!checkpoint) {
    return std::unexpected(at(std::move(checkpoint).error(), name));
  }
  notes_.push_back({std::string(note), checkpoint->size, name});
  return checkpoint;
}

Status Signatures::take(const LogRecord& record, LeafIndex index) {
  if (record.type != event::kKeyRotated) {
    return {};
  }
  ASSAY_ASSIGN(const attestation::KeyRotation rotation, attestation::rotation_from(record));
  if (rotation.kind != attestation::RotatedKind::kLog || rotation.old_key != newest().key.der()) {
    return {};  // of another key: before the one that is known, for example
  }
  ASSAY_TRY(attestation::verify_rotation(rotation, first_.key_name, index));
  ASSAY_ASSIGN(attestation::PublicKey next, attestation::PublicKey::from_der(rotation.new_key));
  heirs_.push_back({index, {first_.key_name, std::move(next)}});
  return {};
}

// At the size just behind its rotation both keys sign; beyond, the new one alone counts.
Status Signatures::check(const Note& note) const {
  const attestation::NoteVerifier* verifier = &first_;
  for (const Heir& heir : heirs_) {
    if (note.size == heir.index + 1 && attestation::verify_checkpoint(note.text, *verifier)) {
      return {};
    }
    if (note.size <= heir.index) {
      break;
    }
    verifier = &heir.verifier;
  }
  Result<Checkpoint> verified = attestation::verify_checkpoint(note.text, *verifier);
  return verified ? Status() : std::unexpected(at(std::move(verified).error(), note.name));
}

Status Signatures::check(std::vector<HandOver>& hand_overs) const {
  for (const Note& note : notes_) {
    ASSAY_TRY(check(note));
  }
  for (const Heir& heir : heirs_) {
    ASSAY_ASSIGN(std::string key, note_verifier_key(first_.key_name, heir.verifier.key.der()));
    hand_overs.push_back({heir.index, std::move(key)});
  }
  return {};
}

// Walks the entries once, in order, and holds everything against what follows from them.
class Verifier {
 public:
  using Visit = std::function<Status(LeafIndex, const LogRecord&)>;
  Verifier(const ReadMirror& read, VerifiedLog& result, Signatures& signatures, const Visit& visit)
      : read_(read), result_(result), signatures_(signatures), visit_(visit), accumulator_(kHash) {}

  void expect(ExpectedRoot root) { roots_.push_back(std::move(root)); }
  void expect(ExpectedLeaf leaf) { leaves_.push_back(std::move(leaf)); }

  [[nodiscard]] Status run(const std::function<void(TreeSize, TreeSize)>& progress);

 private:
  [[nodiscard]] Status read_bundle(std::uint64_t index, unsigned width);
  [[nodiscard]] Status take_entry(ByteView entry, const std::string& where);
  [[nodiscard]] Status check_roots();
  [[nodiscard]] Status add_hash(std::size_t level, const Digest& digest);
  [[nodiscard]] Status finish_tile(std::size_t level);
  [[nodiscard]] Status check_tile_file(const TileAddress& tile, ByteView expected);
  void note_difference(const std::string& path, const TileAddress& tile, std::uint64_t hash);

  // The first hash in a tile that does not follow from the entries. Which of the two is wrong shows
  // at the end, when the root is known.
  struct Difference {
    std::string tile;   // place in the tile
    std::string entry;  // place of the entry; empty above level 0
  };

  // Hashes of the tile at a level that is being filled, and its index.
  struct Level {
    std::vector<Digest> hashes;
    std::uint64_t index = 0;
  };

  const ReadMirror& read_;
  VerifiedLog& result_;
  Signatures& signatures_;
  const Visit& visit_;
  MerkleAccumulator accumulator_;
  LogChain chain_;
  std::vector<Level> levels_;
  std::vector<ExpectedRoot> roots_;
  std::vector<ExpectedLeaf> leaves_;
  std::size_t next_root_ = 0;
  std::size_t next_leaf_ = 0;
  std::optional<Difference> difference_;
};

Status Verifier::check_roots() {
  while (next_root_ < roots_.size() && roots_[next_root_].size == accumulator_.size()) {
    const ExpectedRoot& expected = roots_[next_root_++];
    if (accumulator_.root() != expected.root) {
      return inconsistent(
          "The first " + std::to_string(expected.size) +
              " entries have another root than this checkpoint: history was changed",
          expected.name);
    }
  }
  return {};
}

void Verifier::note_difference(const std::string& path, const TileAddress& tile,
                               std::uint64_t hash) {
  if (difference_) {
    return;
  }
  difference_ = Difference{path + ", hash " + std::to_string(hash), ""};
  if (tile.level == 0) {
    difference_->entry = tile_path({std::nullopt, tile.index, tile.width}) + ", entry " +
                         std::to_string(tile.index * kTileWidth + hash);
  }
}

// `tile` is what is there: a full one may stand where the checkpoint needs a part of it.
Status Verifier::check_tile_file(const TileAddress& tile, ByteView expected) {
  const std::string path = tile_path(tile);
  Result<std::optional<Bytes>> file = read_(path);
  if (!file) {
    return std::unexpected(std::move(file).error());
  }
  if (!*file) {
    return {};
  }
  const Bytes& bytes = **file;
  if (bytes.size() != tile.width * kDigestBytes) {
    return inconsistent("The tile has " + std::to_string(bytes.size()) + " bytes instead of " +
                            std::to_string(tile.width * kDigestBytes),
                        path);
  }
  const auto [differs, unused] =
      std::ranges::mismatch(ByteView(bytes).first(expected.size()), expected);
  const auto place = static_cast<std::uint64_t>(differs - ByteView(bytes).begin());
  if (place < expected.size()) {
    note_difference(path, tile, place / kDigestBytes);
  }
  ++result_.tiles_checked;
  return {};
}

Status Verifier::finish_tile(std::size_t level) {
  Level& tile = levels_[level];
  const std::uint64_t width = tile.hashes.size();
  if (width == 0) {
    return {};
  }
  Bytes expected;
  expected.reserve(width * kDigestBytes);
  for (const Digest& digest : tile.hashes) {
    expected.insert(expected.end(), digest.bytes().begin(), digest.bytes().end());
  }
  const std::uint64_t checked = result_.tiles_checked;
  const TileAddress full{static_cast<unsigned>(level), tile.index};
  ASSAY_TRY(check_tile_file(full, expected));
  if (width < kTileWidth) {
    const TileAddress part{full.level, full.index, static_cast<unsigned>(width)};
    ASSAY_TRY(check_tile_file(part, expected));
  }
  result_.tiles_missing += result_.tiles_checked == checked ? 1U : 0U;
  tile.hashes.clear();
  ++tile.index;
  return {};
}

Status Verifier::add_hash(std::size_t level, const Digest& digest) {
  if (levels_.size() <= level) {
    levels_.emplace_back();
  }
  levels_[level].hashes.push_back(digest);
  if (levels_[level].hashes.size() < kTileWidth) {
    return {};
  }
  const Digest above = merkle_root(kHash, levels_[level].hashes);
  ASSAY_TRY(finish_tile(level));
  return add_hash(level + 1, above);
}

Status Verifier::take_entry(ByteView entry, const std::string& where) {
  const LeafIndex index = accumulator_.size();
  const std::string place = where + ", entry " + std::to_string(index);
  Result<LogRecord> record = parse_log_record(entry);
  if (!record) {
    return std::unexpected(at(std::move(record).error(), place));
  }
  ++result_.types[record->type];
  Status taken = signatures_.take(*record, index);
  if (taken && visit_) {
    taken = visit_(index, *record);
  }
  if (!taken) {
    return std::unexpected(at(std::move(taken).error(), place));
  }
  const Digest leaf = merkle_leaf(kHash, entry);
  if (const Status linked = chain_.take(index, *record, leaf); !linked) {
    return std::unexpected(at(linked.error(), place));
  }
  while (next_leaf_ < leaves_.size() && leaves_[next_leaf_].index == index) {
    const ExpectedLeaf& expected = leaves_[next_leaf_++];
    if (expected.leaf != leaf) {
      return inconsistent("Entry " + std::to_string(index) +
                              " of the log is not the record that the receipt is about",
                          expected.name);
    }
  }
  accumulator_.append(leaf);
  ASSAY_TRY(add_hash(0, leaf));
  return check_roots();
}

Status Verifier::read_bundle(std::uint64_t index, unsigned width) {
  std::string path = tile_path({std::nullopt, index, width});
  ASSAY_ASSIGN(std::optional<Bytes> bundle, read_(path));
  bool whole = width == kTileWidth;
  if (!bundle && !whole) {
    path = tile_path({std::nullopt, index});
    whole = true;
    ASSAY_ASSIGN(bundle, read_(path));
  }
  if (!bundle) {
    return inconsistent("The bundle of entries is missing; mirror the log again", path);
  }
  const Result<std::vector<ByteView>> entries = parse_bundle(*bundle);
  if (!entries) {
    return std::unexpected(at(entries.error(), path));
  }
  if (entries->size() < width || (!whole && entries->size() > width)) {
    return inconsistent("The bundle has " + std::to_string(entries->size()) +
                            " entries instead of " + std::to_string(width),
                        path);
  }
  for (std::uint64_t i = 0; i < width; ++i) {
    ASSAY_TRY(take_entry((*entries)[i], path));
  }
  return {};
}

// How many entries the bundle at `index` has in a log of `size` entries.
unsigned width_at(std::uint64_t index, TreeSize size) {
  return static_cast<unsigned>(std::min<TreeSize>(kTileWidth, size - index * kTileWidth));
}

Status Verifier::run(const std::function<void(TreeSize, TreeSize)>& progress) {
  std::ranges::stable_sort(roots_, {}, &ExpectedRoot::size);
  std::ranges::stable_sort(leaves_, {}, &ExpectedLeaf::index);
  const TreeSize size = result_.checkpoint.size;
  ASSAY_TRY(check_roots());
  for (std::uint64_t index = 0; index * kTileWidth < size; ++index) {
    ASSAY_TRY(read_bundle(index, width_at(index, size)));
    if (progress) {
      progress(accumulator_.size(), size);
    }
  }
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    ASSAY_TRY(finish_tile(level));
  }
  if (accumulator_.root() != result_.checkpoint.root) {
    return difference_ && !difference_->entry.empty()
               ? inconsistent("The entry is not the one that the tile and the checkpoint cover",
                              difference_->entry)
               : inconsistent("The entries have another root than the checkpoint", "checkpoint");
  }
  if (difference_) {
    return inconsistent("The hash differs from what follows from the entries", difference_->tile);
  }
  return {};
}

Result<Checkpoint> open_note(std::string_view note, const attestation::NoteVerifier& verifier,
                             const std::string& name) {
  Result<Checkpoint> checkpoint = attestation::verify_checkpoint(note, verifier);
  if (!checkpoint) {
    return std::unexpected(at(std::move(checkpoint).error(), name));
  }
  return checkpoint;
}

// What the receipt says fits its checkpoint.
Status check_against(const Receipt& receipt, const Checkpoint& checkpoint) {
  if (receipt.origin != checkpoint.origin || receipt.tree_size != checkpoint.size) {
    return inconsistent("The receipt says something else than its checkpoint", receipt.name);
  }
  Status proven = verify_inclusion(receipt.leaf_hash, receipt.index, receipt.tree_size,
                                   receipt.inclusion, checkpoint.root);
  return proven ? Status() : std::unexpected(at(std::move(proven).error(), receipt.name));
}

Status expect_receipt(Verifier& log, const Receipt& receipt, const VerifiedLog& result,
                      Signatures& signatures) {
  ASSAY_ASSIGN(const Checkpoint promised, signatures.open(receipt.checkpoint, receipt.name));
  ASSAY_TRY(check_against(receipt, promised));
  if (promised.size > result.checkpoint.size) {
    return inconsistent("The receipt is newer than the mirror (size " +
                            std::to_string(promised.size) + " against " +
                            std::to_string(result.checkpoint.size) + "); mirror the log again",
                        receipt.name);
  }
  log.expect(ExpectedRoot{promised.size, promised.root, receipt.name});
  log.expect(ExpectedLeaf{receipt.index, receipt.leaf_hash, receipt.name});
  return {};
}

}  // namespace

Result<Receipt> receipt_from_json(const Json& json, const std::string& name) {
  constexpr std::size_t kMembers = 6;
  const auto bad = [&name](const std::string& what) {
    return fail(ErrorCode::kSchemaViolation, "This is no receipt: " + what, name);
  };
  if (!json.is_object() || json.size() != kMembers) {
    return bad("it must have origin, index, leaf_hash, tree_size, checkpoint and inclusion");
  }
  for (const char* member : {"origin", "leaf_hash", "checkpoint"}) {
    if (!json.contains(member) || !json.at(member).is_string()) {
      return bad(std::string(member) + " must be a text");
    }
  }
  for (const char* member : {"index", "tree_size"}) {
    if (!json.contains(member) || !json.at(member).is_number_unsigned()) {
      return bad(std::string(member) + " must be a number");
    }
  }
  if (!json.contains("inclusion") || !json.at("inclusion").is_array()) {
    return bad("inclusion must be a list");
  }
  ASSAY_ASSIGN(Digest leaf, Digest::from_hex(kHash, json.at("leaf_hash").get<std::string>()));
  Receipt receipt{name,
                  json.at("origin").get<std::string>(),
                  json.at("index").get<std::uint64_t>(),
                  std::move(leaf),
                  json.at("tree_size").get<std::uint64_t>(),
                  json.at("checkpoint").get<std::string>(),
                  {}};
  for (const Json& item : json.at("inclusion")) {
    ASSAY_ASSIGN(Digest step,
                 Digest::from_hex(kHash, item.is_string() ? item.get<std::string>() : ""));
    receipt.inclusion.push_back(std::move(step));
  }
  return receipt;
}

Status check_receipt(const Receipt& receipt, const attestation::NoteVerifier& verifier) {
  ASSAY_ASSIGN(const Checkpoint checkpoint, open_note(receipt.checkpoint, verifier, receipt.name));
  return check_against(receipt, checkpoint);
}

Result<VerifiedLog> verify_log(const ReadMirror& read, const attestation::NoteVerifier& verifier,
                               const LogVerifyOptions& options) {
  ASSAY_ASSIGN(const std::optional<Bytes> note, read("checkpoint"));
  if (!note) {
    return inconsistent("The mirror has no checkpoint", "checkpoint");
  }
  Signatures signatures(verifier);
  ASSAY_ASSIGN(Checkpoint checkpoint, signatures.open(as_text(*note), "checkpoint"));
  VerifiedLog result{
      .checkpoint = std::move(checkpoint), .types = {}, .consistent_from = {}, .hand_overs = {}};
  Verifier log(read, result, signatures, options.visit);
  for (const std::string& older : options.older_checkpoints) {
    const std::string name = "older checkpoint";
    ASSAY_ASSIGN(Checkpoint old, signatures.open(older, name));
    if (old.size > result.checkpoint.size) {
      return inconsistent("The log was longer before: size " + std::to_string(old.size) + ", now " +
                              std::to_string(result.checkpoint.size),
                          name);
    }
    result.consistent_from.push_back(old.size);
    log.expect(ExpectedRoot{old.size, old.root, name + " of size " + std::to_string(old.size)});
  }
  for (const Receipt& receipt : options.receipts) {
    ASSAY_TRY(expect_receipt(log, receipt, result, signatures));
  }
  ASSAY_TRY(log.run(options.progress));
  ASSAY_TRY(signatures.check(result.hand_overs));
  return result;
}

}  // namespace assay::cli
