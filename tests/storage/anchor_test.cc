// SPDX-License-Identifier: Apache-2.0
// The anchor outside the database: old copies are noticed, and it is never ahead of the database.
#include "storage/anchor.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "storage/durable_file.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

namespace fs = std::filesystem;

class AnchorTest : public SqliteTest {
 protected:
  [[nodiscard]] Anchor::State anchor() const { return Anchor(anchor_path()).load().value(); }
  [[nodiscard]] std::string copy_path() const { return folder_.path() + "/old"; }

  // Copies the database of a closed store, or puts the copy back.
  void back_up() const {
    ASSERT_FALSE(fs::exists(path() + "-wal")) << "the file is not everything";
    fs::copy_file(path(), copy_path());
  }
  void restore() const {
    ASSERT_FALSE(fs::exists(path() + "-wal"));
    fs::copy_file(copy_path(), path(), fs::copy_options::overwrite_existing);
  }
  static LogState set_epochs(Store& store, const Epochs& epochs) {
    return store
        .write([&](Transaction& t) -> Status {
          ASSAY_TRY(t.set_epochs(epochs));
          ASSAY_TRY(t.append(make_record("trust.changed")));
          return {};
        })
        .value();
  }
  [[nodiscard]] std::string anchor_text() const {
    const Bytes bytes = read_file(anchor_path(), 1U << 20).value();
    return std::string(as_text(bytes));
  }
  void write_anchor(const std::string& text) const {
    std::ofstream(anchor_path(), std::ios::binary) << text;
  }
};

TEST_F(AnchorTest, SaveAndLoad_RoundTrip) {
  const Checkpoint checkpoint{kTestOrigin, 7, digest_of("root")};
  const std::string note = sign_checkpoint(checkpoint, signer_).value();
  Anchor file(anchor_path());
  EXPECT_EQ(file.load().error().code, ErrorCode::kNotFound);
  for (std::uint64_t epoch = 1; epoch < 6; ++epoch) {
    ASSERT_TRUE(file.save(note, {{epoch, 2}, 1}));
    const auto state = file.load().value();
    EXPECT_EQ(state.note, note);
    EXPECT_EQ(state.checkpoint, checkpoint);
    EXPECT_EQ(state.epochs, (Epochs{{epoch, 2}, 1}));
  }
  EXPECT_FALSE(fs::exists(anchor_path() + ".new"));
  EXPECT_EQ(fs::file_size(anchor_path()), 2 * Anchor::kSlotBytes);
}

// A write that the power cut short leaves one slot damaged: the other one stands.
TEST_F(AnchorTest, TornSlot_TheOtherOneStands) {
  const std::string note = sign_checkpoint({kTestOrigin, 7, digest_of("root")}, signer_).value();
  Anchor file(anchor_path());
  ASSERT_TRUE(file.save(note, {{1, 1}, 1}));
  ASSERT_TRUE(file.save(note, {{2, 1}, 1}));
  const std::string good = anchor_text();
  const std::size_t newer = good.find("\"trust\":2") / Anchor::kSlotBytes * Anchor::kSlotBytes;
  for (std::size_t i = 0; i < Anchor::kSlotBytes; i += 7) {
    std::string torn = good;
    torn.replace(newer + i, Anchor::kSlotBytes - i, Anchor::kSlotBytes - i, '\0');
    write_anchor(torn);
    const auto state = file.load();
    ASSERT_TRUE(state) << i;
    EXPECT_EQ(state->epochs.trust.trust, 1U) << i;
  }
  ASSERT_TRUE(Anchor(anchor_path()).save(note, {{3, 1}, 1}));
  EXPECT_EQ(file.load()->epochs.trust.trust, 3U);
}

TEST_F(AnchorTest, AnyChangedByteOfBothSlots_IsDataLoss) {
  const std::string note = sign_checkpoint({kTestOrigin, 7, digest_of("root")}, signer_).value();
  Anchor file(anchor_path());
  ASSERT_TRUE(file.save(note, {{3, 2}, 1}));
  ASSERT_TRUE(file.save(note, {{3, 2}, 1}));
  const std::string good = anchor_text();
  const std::size_t length = good.find(' ');
  for (std::size_t i = 0; i < length; ++i) {
    std::string bad = good;
    for (const std::size_t at : {i, Anchor::kSlotBytes + i}) {
      bad[at] = static_cast<char>(bad[at] ^ 1);
    }
    write_anchor(bad);
    const auto state = file.load();
    ASSERT_FALSE(state) << i;
    EXPECT_EQ(state.error().code, ErrorCode::kDataLoss) << i;
  }
  for (const std::size_t size : {std::size_t{0}, Anchor::kSlotBytes, good.size() - 1}) {
    write_anchor(good.substr(0, size));
    EXPECT_EQ(file.load().error().code, ErrorCode::kDataLoss) << size;
  }
  write_anchor(std::string(1U << 20, ' '));
  EXPECT_EQ(file.load().error().code, ErrorCode::kDataLoss);
}

TEST_F(AnchorTest, SaveToNowhere_IsAStorageError) {
  Anchor file(folder_.path() + "/none/anchor.json");
  EXPECT_EQ(file.save("note", {}).error().code, ErrorCode::kStorage);
}

TEST_F(AnchorTest, MovedAway_TheNextSaveMakesAFileAtThePath) {
  const std::string note = sign_checkpoint({kTestOrigin, 7, digest_of("root")}, signer_).value();
  Anchor file(anchor_path());
  ASSERT_TRUE(file.save(note, {{1, 1}, 1}));
  fs::rename(anchor_path(), anchor_path() + ".away");
  ASSERT_TRUE(file.save(note, {{2, 1}, 1}));
  EXPECT_EQ(file.load()->epochs.trust.trust, 2U);
}

TEST_F(AnchorTest, Close_LeavesTheNewestState) {
  auto store = open().value();
  append(*store, 3);
  const LogState state = set_epochs(*store, {{1, 1}, 1});
  store.reset();
  EXPECT_EQ(anchor().note, state.note);
  EXPECT_EQ(anchor().epochs, (Epochs{{1, 1}, 1}));
}

TEST_F(AnchorTest, EveryAcknowledgedWrite_IsAnchoredBefore) {
  const auto store = open().value();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const LogState state = append(*store, 1);
    EXPECT_EQ(anchor().note, state.note);
    set_epochs(*store, {{i, i}, 0});
    EXPECT_EQ(anchor().epochs, (Epochs{{i, i}, 0}));
  }
}

// What a kill and a damaged write-ahead log take away was acknowledged, so the service must not go
// on as if it had never been: it would sign other roots for the same sizes.
TEST_F(AnchorTest, LastGroupGoneFromTheDatabase_IsRefused) {
  for (const bool epochs : {false, true}) {
    SCOPED_TRACE(epochs);
    {
      auto store = open().value();
      append(*store, 2);
    }
    fs::remove(copy_path());
    back_up();
    {
      auto store = open().value();
      if (epochs) {
        set_epochs(*store, {{9, 9}, 0});
      } else {
        append(*store, 1);
      }
    }
    fs::rename(path(), path() + ".whole");
    fs::copy_file(copy_path(), path());
    EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
    fs::rename(path() + ".whole", path());
    EXPECT_TRUE(open());
  }
}

// The database is ahead for a moment; nobody is told before the anchor has it.
TEST_F(AnchorTest, AnchorThatCannotBeWritten_NothingAboveItIsShown) {
  const std::string folder = folder_.path() + "/anchors";
  fs::create_directory(folder);
  SqliteOptions wanted = options();
  wanted.anchor_path = folder + "/anchor.json";
  wanted.probe_interval = std::chrono::milliseconds(10);
  const auto store = open(wanted).value();
  const LogState before = append(*store, 1);
  EXPECT_TRUE(store->healthy());
  fs::rename(folder, folder + "-away");
  const auto refused = store->write([](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.append(make_record("test.unanswered")));
    return {};
  });
  ASSERT_FALSE(refused) << "not acknowledged: a start from an older database would not notice";
  EXPECT_EQ(refused.error().code, ErrorCode::kStorage);
  EXPECT_FALSE(store->healthy());
  {
    const auto view = store->snapshot().value();
    EXPECT_EQ(view->log_state()->note, before.note);
    EXPECT_FALSE(view->log_record(before.size));
    EXPECT_FALSE(view->log_root(before.size + 1));
  }
  fs::rename(folder + "-away", folder);
  // By itself: behind a readiness probe no write comes.
  while (!store->healthy()) {
    std::this_thread::yield();
  }
  const LogState state = append(*store, 1);
  EXPECT_EQ(state.size, before.size + 2) << "the unanswered record is there";
  EXPECT_EQ(Anchor(wanted.anchor_path).load()->note, state.note);
}

TEST_F(AnchorTest, OldCopyWithAShorterLog_IsRefused) {
  append(*open().value(), 3);
  back_up();
  append(*open().value(), 1);
  restore();
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

TEST_F(AnchorTest, DeletedDatabase_IsRefused) {
  append(*open().value(), 3);
  fs::remove(path());
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

TEST_F(AnchorTest, OldCopyThatGrewInAnotherWay_IsRefused) {
  append(*open().value(), 3);
  back_up();
  append(*open().value(), 2);
  const std::string newest = anchor_text();
  restore();
  fs::remove(anchor_path());
  SqliteOptions wanted = options();
  wanted.dangerous_recreate_anchor = true;
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(append(*open(wanted).value(), 4).size, 7U) << "longer than the anchor, other records";
  write_anchor(newest);
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

TEST_F(AnchorTest, OldCopyWithOlderEpochs_IsRefused) {
  set_epochs(*open().value(), {{1, 1}, 1});
  back_up();
  for (const Epochs& newer : {Epochs{{2, 1}, 1}, Epochs{{2, 2}, 1}, Epochs{{2, 2}, 2}}) {
    set_epochs(*open().value(), newer);
  }
  restore();
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

TEST_F(AnchorTest, EachOlderEpoch_IsRefused) {
  const std::string note = [&] {
    auto store = open().value();
    set_epochs(*store, {{5, 5}, 5});
    return append(*store, 1).note;
  }();
  for (const Epochs& epochs : {Epochs{{6, 5}, 5}, Epochs{{5, 6}, 5}, Epochs{{5, 5}, 6}}) {
    ASSERT_TRUE(Anchor(anchor_path()).save(note, epochs));
    EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
  }
  ASSERT_TRUE(Anchor(anchor_path()).save(note, {{5, 5}, 5}));
  EXPECT_TRUE(open());
}

TEST_F(AnchorTest, DatabaseAheadOfTheAnchor_IsTakenAndAnchoredAnew) {
  append(*open().value(), 3);
  const std::string older = anchor_text();
  const LogState state = append(*open().value(), 2);
  write_anchor(older);
  const auto store = open().value();
  EXPECT_EQ(anchor().note, state.note);
}

TEST_F(AnchorTest, MissingWithRecords_IsRefusedUnlessToldOtherwise) {
  const LogState state = append(*open().value(), 3);
  fs::remove(anchor_path());
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
  EXPECT_FALSE(fs::exists(anchor_path()));
  SqliteOptions wanted = options();
  wanted.dangerous_recreate_anchor = true;
  open(wanted).value().reset();
  EXPECT_EQ(anchor().note, state.note);
  EXPECT_TRUE(open());
}

TEST_F(AnchorTest, DangerousOption_DoesNotOverruleAnAnchorThatIsThere) {
  append(*open().value(), 3);
  back_up();
  append(*open().value(), 1);
  restore();
  SqliteOptions wanted = options();
  wanted.dangerous_recreate_anchor = true;
  EXPECT_EQ(open_error(wanted), ErrorCode::kStoreBehindAnchor);
}

TEST_F(AnchorTest, MissingWithAnEmptyLog_IsMade) {
  open().value().reset();
  fs::remove(anchor_path());
  EXPECT_TRUE(open());
  EXPECT_EQ(anchor().checkpoint.size, 0U);
}

TEST_F(AnchorTest, Damaged_IsRefused) {
  append(*open().value(), 3);
  write_anchor("{}");
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

// A note that parses, with a checksum that fits, but that the log's key never signed.
TEST_F(AnchorTest, ForgedNote_IsRefused) {
  append(*open().value(), 3);
  std::string note = sign_checkpoint({kTestOrigin, 0, digest_of("")}, signer_).value();
  note[note.find('\n') + 1] = '1';
  ASSERT_TRUE(Anchor(anchor_path()).save(note, {}));
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

TEST_F(AnchorTest, AnotherKeysNote_IsRefused) {
  append(*open().value(), 3);
  const TestSigner other(9);
  ASSERT_TRUE(Anchor(anchor_path())
                  .save(sign_checkpoint({kTestOrigin, 0, digest_of("")}, other).value(), {}));
  EXPECT_EQ(open_error(), ErrorCode::kInvalidConfig);
}

}  // namespace
}  // namespace assay::storage
