// SPDX-License-Identifier: Apache-2.0
// Instances with a layout: the memory of real processes of tests against roots that follow from the
// files, and what is said of the entries of the manifest.
#include "worker/laid_out.h"

#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "gpu_hash/cast.h"
#include "gpu_hash/cpu_engine.h"
#include "schemas/core/merkle.h"
#include "schemas/core/random.h"
#include "tests/schemas/layouts.h"
#include "tests/worker/instances/fake_owner.h"
#include "worker/instances/check.h"
#include "worker/instances/match.h"
#include "worker/recipe/recipe.h"
#include "worker/record.h"

namespace assay::worker::test {
namespace {

using namespace assay::test;  // NOLINT(google-build-using-namespace): short expressions

class Files final : public EntryBytes {
 public:
  explicit Files(const Artifact& artifact) : artifact_(artifact) {}
  Result<gpu_hash::Region> region(std::uint64_t entry, std::uint64_t offset,
                                  std::uint64_t size) override {
    const ByteView all = bytes.at(std::get<TensorEntry>(artifact_.entries.at(entry)).name);
    if (offset + size > all.size()) {
      return fail(ErrorCode::kContentMismatch, "The file is shorter");
    }
    return gpu_hash::host_region(all.subspan(offset, size));
  }
  std::map<std::string, Bytes> bytes;

 private:
  const Artifact& artifact_;
};

// Two processes hold q and k joined and in BF16, the halves of a matrix, and a norm each.
class LaidOutTest : public testing::Test {
 protected:
  void SetUp() override {
    manifest_.name = "acme/m";
    manifest_.artifact = toy_artifact({{"down", "F32", {4, 6}},
                                       {"k_proj.weight", "F32", {2, 3}},
                                       {"norm", "F32", {5}},
                                       {"q_proj.weight", "F32", {4, 3}},
                                       {"unused", "F32", {2}}});
    std::uint8_t next = 1;
    for (Entry& one : manifest_.artifact.entries) {
      auto& entry = std::get<TensorEntry>(one);
      Bytes& bytes = files_.bytes[entry.name];
      while (bytes.size() < entry.size) {
        bytes.push_back(next = static_cast<std::uint8_t>(next * 5 + 3));
      }
      entry.root = merkle_leaf(HashAlgorithm::kSha256, bytes);
    }
    const LayoutTensor norm{"norm", "F32", {5}, entry("norm")};
    layout_ =
        Layout{id(),
               {{{{"down", "F32", {2, 6}, slice(entry("down"), 0, 0, 2)},
                  norm,
                  {"qk",
                   "BF16",
                   {6, 3},
                   cast(concat({entry("q_proj.weight"), entry("k_proj.weight")}, 0), "BF16")}}},
                {{{"down", "F32", {2, 6}, slice(entry("down"), 0, 2, 2)}, norm}}},
               {{"unused"}},
               {{"norm"}}};
    Bytes joined = files_.bytes.at("q_proj.weight");
    joined.insert(joined.end(), files_.bytes.at("k_proj.weight").begin(),
                  files_.bytes.at("k_proj.weight").end());
    Bytes qk(joined.size() / 2);
    gpu_hash::cast_f32(joined, gpu_hash::HalfType::kBf16, qk);
    const ByteView down = files_.bytes.at("down");
    held_ = {{{"down", {down.begin(), down.begin() + 48}},
              {"norm", files_.bytes.at("norm")},
              {"qk", qk}},
             {{"down", {down.begin() + 48, down.end()}}, {"norm", files_.bytes.at("norm")}}};
  }
  [[nodiscard]] ArtifactId id() const { return artifact_id(manifest_.artifact).value(); }

  // Processes that hold held_ as layout_ describes it.
  std::vector<std::shared_ptr<Owner>> owners() {
    std::vector<std::shared_ptr<Owner>> made;
    for (std::uint64_t rank = 0; rank < held_.size(); ++rank) {
      auto owner = std::make_shared<FakeOwner>(id(), rank, held_.size());
      for (const auto& [name, bytes] : held_[rank]) {
        const auto& tensors = layout_.ranks.at(rank).tensors;
        const auto said = std::ranges::find(tensors, name, &LayoutTensor::name);
        const std::uint64_t piece = owner->add_piece(PieceKind::kHost, bytes);
        owner->edit().tensors.push_back({{name},
                                         said == tensors.end() ? "U8" : said->dtype,
                                         said == tensors.end() ? Shape{bytes.size()} : said->shape,
                                         {{piece, 0, bytes.size()}}});
      }
      owner->edit().layout = layout_;
      made.push_back(std::move(owner));
    }
    return made;
  }
  Result<LaidOut> make() {
    return LaidOut::make(layout_, id(), manifest_, [this] {
      return expected_roots(layout_, manifest_.artifact, files_, *engine_, {});
    });
  }
  // Hashes the memory, and returns what it says of the manifest.
  InstanceModel::Hashed hash() {
    LocalChecks checks(*engine_, random_);
    const LaidOut laid = make().value();
    InstanceModel model(owners(), id(), laid.expected(), checks, &Steady::now, nullptr, true);
    findings_ = model.findings();
    InstanceModel::Hashed hashed = model.hash(1, {}).value();
    laid.translate(manifest_.artifact, hashed);
    return hashed;
  }
  // Expects that the entry alone is not as in the manifest.
  void expect_differs(const std::string& name) {
    const InstanceModel::Hashed hashed = hash();
    ASSERT_EQ(hashed.entries.size(), manifest_.artifact.entries.size());
    for (std::size_t i = 0; i < hashed.entries.size(); ++i) {
      const bool same = hashed.entries[i] == manifest_.artifact.entries[i];
      EXPECT_EQ(same, std::get<TensorEntry>(hashed.entries[i]).name != name);
      EXPECT_EQ(size_of(hashed.entries[i]), size_of(manifest_.artifact.entries[i]));
    }
  }

  Manifest manifest_;
  Files files_{manifest_.artifact};
  Layout layout_{ArtifactId(digest_of("none")), {}};
  std::vector<std::map<std::string, Bytes>> held_;  // by rank
  std::vector<Finding> findings_;
  SystemRandom random_;
  std::unique_ptr<gpu_hash::Engine> engine_ = gpu_hash::make_cpu_engine(1);
};

TEST_F(LaidOutTest, MemoryAsTheLayoutSays_IsEveryEntryOfTheManifest) {
  const InstanceModel::Hashed hashed = hash();
  EXPECT_EQ(hashed.entries, manifest_.artifact.entries);
  EXPECT_TRUE(hashed.not_covered.empty());
  EXPECT_TRUE(findings_.empty());
  EXPECT_EQ(hashed.memory.extra_tensor_count, 0U);
  const LaidOut laid = make().value();
  EXPECT_EQ(laid.facts(), (MemoryLayout{LayoutKind::kRecipe, id_of(layout_).text(), false}));
}

TEST_F(LaidOutTest, OtherBytesOfOneTensor_AreOtherBytesOfItsEntries) {
  held_[1].at("down")[47] ^= 1;
  expect_differs("down");
  held_[1].at("down")[47] ^= 1;
  held_[1].at("norm")[0] ^= 1;  // one of the two places
  expect_differs("norm");
}

TEST_F(LaidOutTest, JoinedTensorThatDiffers_SpeaksAgainstAllItsEntries) {
  held_[0].at("qk")[0] ^= 1;
  const InstanceModel::Hashed hashed = hash();
  std::vector<std::string> differing;
  for (std::size_t i = 0; i < hashed.entries.size(); ++i) {
    if (hashed.entries[i] != manifest_.artifact.entries[i]) {
      differing.push_back(std::get<TensorEntry>(hashed.entries[i]).name);
    }
  }
  EXPECT_EQ(differing, (std::vector<std::string>{"k_proj.weight", "q_proj.weight"}));
}

// The very bytes of the file, where the layout says others.
TEST_F(LaidOutTest, BytesOfTheFileInAnotherOrder_AreNoEntryOfTheManifest) {
  layout_.ranks[0].tensors[0] = {"down", "F32", {4, 6}, permute(entry("down"), 0, {1, 0, 2, 3})};
  layout_.ranks[1].tensors.erase(layout_.ranks[1].tensors.begin());
  held_[0].at("down") = files_.bytes.at("down");
  held_[1].erase("down");
  expect_differs("down");
}

TEST_F(LaidOutTest, TensorOnAnotherRank_IsMissingThereAndExtraHere) {
  held_[1]["qk"] = held_[0].at("qk");
  held_[0].erase("qk");
  const InstanceModel::Hashed hashed = hash();
  EXPECT_EQ(hashed.entries.size(), 3U) << "q and k are not there";
  EXPECT_TRUE(hashed.not_covered.empty());
  EXPECT_EQ(hashed.memory.extra_tensor_count, 1U);
  ASSERT_EQ(findings_.size(), 2U);
  EXPECT_EQ(findings_[0].kind, Finding::Kind::kExtra);
  EXPECT_EQ(findings_[1].kind, Finding::Kind::kMissing);
}

TEST_F(LaidOutTest, HalvesOnEachOthersRank_Differ) {
  std::swap(held_[0].at("down"), held_[1].at("down"));
  expect_differs("down");
}

TEST_F(LaidOutTest, MemoryThatCannotBeRead_IsNotCovered) {
  const LaidOut laid = make().value();
  LocalChecks checks(*engine_, random_);
  std::vector<std::shared_ptr<Owner>> all = owners();
  static_cast<FakeOwner&>(*all[1]).hand_out(0, [] { return Descriptor(); });
  InstanceModel model(all, id(), laid.expected(), checks, &Steady::now, nullptr, true);
  InstanceModel::Hashed hashed = model.hash(1, {}).value();
  laid.translate(manifest_.artifact, hashed);
  ASSERT_EQ(hashed.not_covered.size(), 2U) << "down and norm are on both ranks";
  EXPECT_EQ(hashed.not_covered[0].entry, 0U);
  EXPECT_EQ(hashed.not_covered[1].entry, 2U);
  EXPECT_EQ(hashed.entries.size(), 3U);
}

TEST_F(LaidOutTest, FaultyLayoutAndOtherFiles_AreRefused) {
  files_.bytes.at("k_proj.weight")[0] ^= 1;
  EXPECT_EQ(code_of(make()), "content-mismatch");
  files_.bytes.at("k_proj.weight").pop_back();
  EXPECT_EQ(code_of(make()), "content-mismatch");
  layout_.dropped.clear();
  EXPECT_EQ(code_of(make()), "layout-bytes-unused");
}

TEST_F(LaidOutTest, ProcessesThatDisagree_HaveNoLayout) {
  std::vector<std::shared_ptr<Owner>> all = owners();
  EXPECT_EQ(*layout_of(all)->layout, layout_);
  static_cast<FakeOwner&>(*all[1]).edit().layout->replicated.clear();
  EXPECT_EQ(code_of(layout_of(all)), "conflict");
  static_cast<FakeOwner&>(*all[1]).edit().layout.reset();
  EXPECT_EQ(code_of(layout_of(all)), "conflict");
  static_cast<FakeOwner&>(*all[0]).edit().layout.reset();
  EXPECT_EQ(layout_of(all)->layout, nullptr);
  static_cast<FakeOwner&>(*all[0]).edit().published = id();
  EXPECT_EQ(code_of(layout_of(all)), "conflict");
  static_cast<FakeOwner&>(*all[1]).edit().published = id();
  EXPECT_EQ(layout_of(all)->published, id());
}

// A manifest of what two reference processes hold, and servers with the same bytes or others.
class PublishedLayout : public LaidOutTest {
 protected:
  Result<Manifest> record() {
    std::vector<std::shared_ptr<Owner>> all = owners();
    for (const std::shared_ptr<Owner>& owner : all) {
      static_cast<FakeOwner&>(*owner).edit().layout.reset();
    }
    change_(all);
    LocalChecks checks(*engine_, random_);
    return record_tensors(std::move(all), id(), "acme/m-served", checks, {});
  }
  // Hashes the memory against what record() returned before held_ was changed.
  InstanceModel::Hashed hash_published(const Manifest& recorded) {
    LocalChecks checks(*engine_, random_);
    const LaidOut laid =
        LaidOut::published(artifact_id(recorded).value(), recorded, held_.size()).value();
    InstanceModel model(owners(), id(), laid.expected(), checks, &Steady::now, nullptr, true);
    findings_ = model.findings();
    InstanceModel::Hashed hashed = model.hash(1, {}).value();
    laid.translate(manifest_.artifact, hashed);
    return hashed;
  }
  std::function<void(std::vector<std::shared_ptr<Owner>>&)> change_ = [](auto&) {};
};

TEST_F(PublishedLayout, TensorsOfReferenceProcesses_AreAManifestByRank) {
  const Manifest recorded = record().value();
  EXPECT_EQ(recorded.name, "acme/m-served");
  std::vector<std::string> labels;
  for (const Entry& entry : recorded.artifact.entries) {
    labels.push_back(label_of(entry));
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"rank-0000#down", "rank-0000#norm", "rank-0000#qk",
                                              "rank-0001#down", "rank-0001#norm"}));
  const Result<Statement> statement = to_statement(recorded);
  ASSERT_TRUE(statement);
  EXPECT_EQ(manifest_from(*statement)->artifact, recorded.artifact);
}

TEST_F(PublishedLayout, SameBytes_AreEveryEntryOfTheManifest) {
  const Manifest recorded = record().value();
  const InstanceModel::Hashed hashed = hash_published(recorded);
  EXPECT_EQ(hashed.entries, manifest_.artifact.entries);
  EXPECT_TRUE(hashed.not_covered.empty());
  EXPECT_TRUE(findings_.empty());
  const ArtifactId published = artifact_id(recorded).value();
  EXPECT_EQ(LaidOut::published(published, recorded, 2)->facts(),
            (MemoryLayout{LayoutKind::kPublished, published.text(), false}));
}

TEST_F(PublishedLayout, OneOtherByte_SpeaksAgainstEveryEntry) {
  const Manifest recorded = record().value();
  held_[1].at("norm")[3] ^= 1;
  const InstanceModel::Hashed hashed = hash_published(recorded);
  ASSERT_EQ(hashed.entries.size(), manifest_.artifact.entries.size());
  for (std::size_t i = 0; i < hashed.entries.size(); ++i) {
    EXPECT_NE(root_of(hashed.entries[i]), root_of(manifest_.artifact.entries[i]));
  }
}

TEST_F(PublishedLayout, MissingShard_IsNamedByRankAndNothingIsCovered) {
  const Manifest recorded = record().value();
  held_[1].erase("down");
  const InstanceModel::Hashed hashed = hash_published(recorded);
  EXPECT_TRUE(hashed.entries.empty());
  ASSERT_EQ(findings_.size(), 1U);
  EXPECT_EQ(findings_[0].tensor, "down");
  EXPECT_EQ(findings_[0].detail, "rank-0001 did not register it");
}

TEST_F(PublishedLayout, OtherNumberOfProcessesAndFiles_AreRefused) {
  Manifest recorded = record().value();
  const ArtifactId published = artifact_id(recorded).value();
  EXPECT_EQ(code_of(LaidOut::published(published, recorded, 1)), "layout-shape");
  EXPECT_EQ(code_of(LaidOut::published(published, recorded, 3)), "layout-shape");
  for (Entry& entry : recorded.artifact.entries) {
    std::get<TensorEntry>(entry).file = "model.safetensors";
  }
  EXPECT_EQ(code_of(LaidOut::published(published, recorded, 1)), "layout-shape");
  recorded.artifact.entries.emplace_back(FileEntry{"a", 0, digest_of("a")});
  EXPECT_EQ(code_of(LaidOut::published(published, recorded, 2)), "layout-shape");
}

TEST_F(PublishedLayout, ReferenceWithALayoutOrAnotherArtifactOrWithoutARank_IsNotRecorded) {
  change_ = [&](auto& all) { static_cast<FakeOwner&>(*all[1]).edit().layout = layout_; };
  EXPECT_EQ(code_of(record()), "conflict");
  change_ = [&](auto& all) { static_cast<FakeOwner&>(*all[1]).edit().published = id(); };
  EXPECT_EQ(code_of(record()), "conflict");
  change_ = [&](auto& all) {
    static_cast<FakeOwner&>(*all[1]).edit().artifact = ArtifactId(digest_of("other"));
  };
  EXPECT_EQ(code_of(record()), "conflict");
  change_ = [](auto& all) { all.pop_back(); };
  EXPECT_EQ(code_of(record()), "not-found");
}

TEST_F(PublishedLayout, ReferenceWhoseMemoryCannotBeRead_IsNotRecorded) {
  change_ = [](auto& all) {
    static_cast<FakeOwner&>(*all[1]).hand_out(0, [] { return Descriptor(); });
  };
  EXPECT_EQ(code_of(record()), "file-unreadable");
}

}  // namespace
}  // namespace assay::worker::test
