// SPDX-License-Identifier: Apache-2.0
// Formats of files by their names.
#include "schemas/core/model_format.h"

#include <gtest/gtest.h>

#include "schemas/core/sha.h"

namespace assay {
namespace {

TEST(ModelFormat, WeightsThatAreNoCode_AreKnownByTheirEnding) {
  EXPECT_EQ(format_of("a/model-00001-of-00002.safetensors"), ModelFormat::kSafetensors);
  EXPECT_EQ(format_of("model.Q4_K_M.gguf"), ModelFormat::kGguf);
  EXPECT_EQ(format_of("onnx/decoder.ONNX"), ModelFormat::kOnnx);
}

TEST(ModelFormat, WhatMayBeAPickle_IsExecutable) {
  for (const char* path :
       {"pytorch_model.bin", "a.b/consolidated.00.pth", "x.pt", "X.PT", "x.pkl", "x.ckpt", ".bin",
        "model.pth.tar", "model.bin.1", "model.bin.old", "model.pt.tar.gz", "x.joblib"}) {
    EXPECT_EQ(format_of(path), ModelFormat::kExecutable) << path;
  }
}

TEST(ModelFormat, EverythingElse_IsOther) {
  for (const char* path :
       {"config.json", "README", "bin", "pt/config", "a.bin/config.txt",
        "model.safetensors.index.json", "tokenizer.model", "modeling.py", "x.", "", "safetensors",
        "x.safetensors.old", "README.pt.md", "data.tar.gz", "part.1", "..."}) {
    EXPECT_EQ(format_of(path), ModelFormat::kOther) << path;
  }
}

TEST(ModelFormat, OfAnArtifact_AreThoseOfItsFiles) {
  const Digest root = sha256(as_bytes("x"));
  const Cut cut{CutFormat::kSafetensors, 84, root};
  std::vector<Entry> entries = {FileEntry{"b.safetensors", 100, root, cut},
                                FileEntry{"config.json", 1, root}, FileEntry{"other.json", 1, root},
                                TensorEntry{"t", "U8", {}, "b.safetensors", 84, 1, root}};
  EXPECT_EQ(formats_of(entries), (std::vector{ModelFormat::kOther, ModelFormat::kSafetensors}));
  entries.erase(entries.begin(), entries.begin() + 3);
  EXPECT_EQ(formats_of(entries), std::nullopt) << "tensors alone do not say which files there are";
}

TEST(ModelFormat, OfAFile_IsThatOfItsCut) {
  const Digest root = sha256(as_bytes("x"));
  const Cut gguf{CutFormat::kGguf, 24, root};
  const auto of = [&](const char* path, std::optional<Cut> cut) {
    return formats_of({FileEntry{path, 100, root, std::move(cut)}})->front();
  };
  EXPECT_EQ(of("weights", gguf), ModelFormat::kGguf);
  EXPECT_EQ(of("weights.safetensors", gguf), ModelFormat::kGguf);
  EXPECT_EQ(of("weights.safetensors", {}), ModelFormat::kExecutable)
      << "its bytes may be a pickle's";
  EXPECT_EQ(of("weights.GGUF", {}), ModelFormat::kExecutable);
  EXPECT_EQ(of("pytorch_model.bin.index.json", {}), ModelFormat::kExecutable);
  EXPECT_EQ(of("m.joblib.lz4", {}), ModelFormat::kExecutable);
  EXPECT_EQ(of("weights.bin", gguf), ModelFormat::kExecutable);
}

TEST(ModelFormat, Names_AreReadBack) {
  for (const ModelFormat format : {ModelFormat::kExecutable, ModelFormat::kGguf, ModelFormat::kOnnx,
                                   ModelFormat::kOther, ModelFormat::kSafetensors}) {
    EXPECT_EQ(*model_format_from(name(format)), format);
  }
  EXPECT_FALSE(model_format_from("pickle"));
}

}  // namespace
}  // namespace assay
