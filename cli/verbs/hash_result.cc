// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/hash_result.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs/alike_names.h"
#include "schemas/core/model_format.h"

namespace assay::cli {
namespace {

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%.*f", digits, value));
  return text.data();
}

std::string protection_summary(const ReadProtection& protection) {
  constexpr std::array<std::pair<Protection, std::string_view>, kProtections> kWords = {
      {{Protection::kFsVerity, "fs-verity"},
       {Protection::kLease, "a lease"},
       {Protection::kReadOnlyMount, "a read-only mount"},
       {Protection::kNone, "nothing"}}};
  std::string text;
  for (const auto& [kind, word] : kWords) {
    if (protection.files(kind) > 0) {
      text += (text.empty() ? "" : ", ") + counted(protection.files(kind), "file") + " by " +
              std::string(word);
    }
  }
  return text;
}

// Names look alike in NFC and NFD, so they are written in ASCII.
void tell_alike_names(const Context& context, const gpu_hash::HashedArtifact& hashed) {
  constexpr std::size_t kListed = 10;
  std::vector<std::string_view> paths;
  paths.reserve(hashed.files.size());
  for (const auto& [path, file] : hashed.files) {
    paths.push_back(path);
  }
  const auto ascii = [](const std::string& path) { return Json(path).dump(-1, ' ', true); };
  const auto pairs = alike_names(paths);
  for (std::size_t i = 0; i < std::min(kListed, pairs.size()); ++i) {
    message(context,
            "names that differ only by case or Unicode form, which some file systems take "
            "for one: " +
                ascii(pairs[i].first) + " and " + ascii(pairs[i].second));
  }
  if (pairs.size() > kListed) {
    message(context, "and " + counted(pairs.size() - kListed, "more pair"));
  }
}

}  // namespace

Result<gpu_hash::HashedArtifact> hash_with_progress(const Context& context, const std::string& path,
                                                    const gpu_hash::ArtifactOptions& options,
                                                    const DeviceFlags& device,
                                                    std::optional<Fallback>& fallback) {
  std::optional<gpu_hash::HashedArtifact> hashed;
  const auto work = [&](gpu_hash::Engine& engine) -> Status {
    Progress progress(context, "hashing");
    ASSAY_ASSIGN(hashed, gpu_hash::hash_artifact(path, options, engine,
                                                 [&](std::uint64_t done, std::uint64_t total) {
                                                   progress.update(done, total);
                                                 }));
    return {};
  };
  ASSAY_TRY(with_engine(context, device, work, fallback));
  return *std::move(hashed);
}

Json entries_json(const std::vector<Entry>& entries) {
  Json list = Json::array();
  for (const Entry& entry : entries) {
    list.push_back(to_json(entry));
  }
  return list;
}

void tell_findings(const Context& context, const gpu_hash::HashedArtifact& hashed) {
  for (const gpu_hash::Lack& lack : hashed.lacks) {
    message(context, "not the whole model: " + lack.file + ": " + lack.detail);
  }
  if (!hashed.pickles.empty()) {
    message(context, std::string(name(ModelFormat::kExecutable)) + ": " +
                         few_names(hashed.pickles) +
                         ": to load a pickle can run code in it, whoever signed it; write the "
                         "weights as safetensors");
  }
  tell_alike_names(context, hashed);
  tell_protection(context, hashed.read_protection);
}

std::string few_names(const std::vector<std::string>& names) {
  constexpr std::size_t kListed = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, names.size()); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  return names.size() > kListed ? text + " and " + std::to_string(names.size() - kListed) + " more"
                                : text;
}

void tell_protection(const Context& context, const ReadProtection& protection) {
  if (!protection.empty()) {
    message(context,
            "protected from writers while they were read: " + protection_summary(protection));
  }
}

Json hashed_json(const gpu_hash::HashedArtifact& hashed) {
  Json json = {{"root", hashed.id.root().hex()},
               {"artifact", hashed.id.text()},
               {"parameters", to_json(hashed.artifact.parameters)},
               {"objects", entries_json(hashed.artifact.entries)},
               {"bytes", hashed.bytes},
               {"seconds", hashed.seconds},
               {"device", hashed.engine.id},
               {"device_name", hashed.engine.device},
               {"driver", hashed.engine.driver}};
  add_protection(json, hashed.read_protection);
  for (const gpu_hash::Lack& lack : hashed.lacks) {
    json["lacks"].push_back({{"file", lack.file}, {"detail", lack.detail}});
  }
  add_pickles(json, hashed.pickles);
  return json;
}

void add_pickles(Json& json, const std::vector<std::string>& pickles) {
  if (!pickles.empty()) {
    json["executable_format"] = pickles;
  }
}

void add_protection(Json& json, const ReadProtection& protection) {
  if (!protection.empty()) {
    json["read_protection"] = to_json(protection);
  }
}

std::string count_entries(const std::vector<Entry>& entries) {
  std::uint64_t files = 0;
  for (const Entry& entry : entries) {
    files += std::holds_alternative<FileEntry>(entry) ? 1U : 0U;
  }
  const std::uint64_t tensors = entries.size() - files;
  std::string text = files > 0 ? counted(files, "file") : "";
  if (tensors > 0) {
    text += (text.empty() ? "" : ", ") + counted(tensors, "tensor");
  }
  return text;
}

std::string rate_summary(std::uint64_t bytes, double seconds, const gpu_hash::EngineInfo& engine) {
  const auto amount = static_cast<double>(bytes);
  std::string text = human_bytes(amount) + " in " + fixed(seconds, 2) + " s";
  if (seconds > 0) {
    text += " (" + human_bytes(amount / seconds) + "/s)";
  }
  return text + " on " + engine.id + " (" + engine.device + ", " + engine.driver + ")";
}

std::string hashed_summary(const gpu_hash::HashedArtifact& hashed) {
  return count_entries(hashed.artifact.entries) + ", " +
         rate_summary(hashed.bytes, hashed.seconds, hashed.engine);
}

}  // namespace assay::cli
