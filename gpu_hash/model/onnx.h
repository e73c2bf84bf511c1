// SPDX-License-Identifier: Apache-2.0
// Finds the files that an ONNX model keeps tensors in. Internal to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_hash/safetensors.h"
#include "gpu_hash/walk.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Limits of what is read. The first one is that of Protocol Buffers.
inline constexpr std::uint64_t kMaxOnnxFile = 2'147'483'647;  // bytes
inline constexpr std::uint64_t kMaxOnnxFields = 16'777'216;   // fields of messages
inline constexpr int kMaxOnnxDepth = 100;                     // messages in messages
inline constexpr std::uint64_t kMaxOnnxText = 4096;           // bytes of a location
inline constexpr std::size_t kMaxOnnxLocations = 65536;

// Whether the file must be an ONNX model by its name. Letters of either case count.
[[nodiscard]] bool is_onnx_path(std::string_view path);

// For each location of external data, the bytes that its file must have.
using OnnxLocations = std::map<std::string, std::uint64_t>;

// Scans a ModelProto: tensors of graphs, of their nodes' attributes, of functions and of training
// information. Skips everything else unread, the tensors' own data too. Errors: schema-violation
// when the file is no well-formed message or has external data without a location; limit-exceeded;
// those of `read`.
[[nodiscard]] Result<OnnxLocations> read_onnx_locations(std::uint64_t file_size,
                                                        const ReadAt& read);

// Returns why `model` does not fit the files around it, for people; empty when it does. A location
// may lead out of the model's directory, name no file of `files`, or name a file that is too short.
// A model that cannot be read does not fit. `files` are ordered by path.
[[nodiscard]] std::string onnx_lack(const WalkedFile& model, const std::vector<WalkedFile>& files);

}  // namespace assay::gpu_hash
