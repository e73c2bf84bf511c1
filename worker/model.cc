// SPDX-License-Identifier: Apache-2.0
#include "worker/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gpu_hash/safetensors.h"
#include "gpu_hash/walk.h"
#include "schemas/core/outline.h"

namespace assay::worker {

namespace fs = std::filesystem;

namespace {

// How often hashing begins again without a file that turned out to be unreadable.
constexpr int kMaxRounds = 4;

// Paths hold no NUL, so keys of different entries differ and tensors of one file stand together.
std::string file_key(const std::string& path) { return std::string("f\0", 2) + path; }
std::string tensor_prefix(const std::string& file) {
  return std::string("t\0", 2) + file + std::string(1, '\0');
}
std::string key(const Entry& entry) {
  if (const auto* file = std::get_if<FileEntry>(&entry)) {
    return file_key(file->path);
  }
  const auto& tensor = std::get<TensorEntry>(entry);
  return tensor_prefix(tensor.file) + tensor.name;
}

std::string reason_of(const Error& why) {
  constexpr std::size_t kMaxReason = 200;
  std::string text(info(why.code).code);
  // A detail that would be cut inside a character is left out: reasons are valid UTF-8.
  if (text.size() + 2 + why.detail.size() <= kMaxReason && is_utf8(why.detail)) {
    text += ": " + why.detail;
  }
  return text;
}

// Stands in an entry until it has been hashed.
Digest no_digest(HashAlgorithm algorithm) {
  constexpr std::array<std::uint8_t, Digest::kMaxSize> kZeros{};
  return Digest::wrap(algorithm, kZeros.data());
}

bool is_about_file(ErrorCode code) {
  return code == ErrorCode::kFileChanged || code == ErrorCode::kFileUnreadable ||
         code == ErrorCode::kUnsupportedFileType;
}

std::unexpected<Error> cancelled() {
  return fail(ErrorCode::kCancelled, "The work was stopped on request");
}

}  // namespace

void NodeModel::expect(const Manifest& manifest, const std::vector<std::uint64_t>& subset) {
  const auto& entries = manifest.artifact.entries;
  all_ = subset.empty();
  for (const Entry& entry : entries) {
    if (const auto* file = std::get_if<FileEntry>(&entry)) {
      covered_.insert(file->path);
    }
  }
  const auto want = [&](std::uint64_t position) {
    const Entry& entry = entries[position];
    (std::holds_alternative<FileEntry>(entry) ? files_ : tensors_) = true;
    positions_.emplace(key(entry), position);
  };
  for (std::uint64_t i = 0; all_ && i < entries.size(); ++i) {
    want(i);
  }
  for (const std::uint64_t position : subset) {
    if (position < entries.size()) {
      want(position);
    }
  }
}

NodeModel NodeModel::absent(const Manifest& manifest) { return NodeModel(manifest); }

std::vector<std::uint64_t> NodeModel::wanted(const std::string& path, bool with_file) const {
  std::vector<std::uint64_t> found;
  if (const auto file = positions_.find(file_key(path)); with_file && file != positions_.end()) {
    found.push_back(file->second);
  }
  const std::string prefix = tensor_prefix(path);
  for (auto at = positions_.lower_bound(prefix);
       at != positions_.end() && at->first.starts_with(prefix); ++at) {
    found.push_back(at->second);
  }
  return found;
}

void NodeModel::leave_out(std::uint64_t position, const Error& why) {
  not_covered_.emplace(position, reason_of(why));
}

void NodeModel::add(Entry entry, const std::shared_ptr<const gpu_hash::SourceFile>& source,
                    std::uint64_t offset) {
  const auto found = positions_.find(key(entry));
  const bool known = found != positions_.end();
  if (known || (all_ && room_.take_entry(entry))) {
    objects_.push_back(
        {std::move(entry), source, offset, known ? std::optional(found->second) : std::nullopt});
  }
}

Status NodeModel::add_tensors(const std::string& path,
                              const std::shared_ptr<const gpu_hash::SourceFile>& source) {
  Result<gpu_hash::Safetensors> parsed = gpu_hash::read_safetensors(*source);
  if (!parsed) {
    for (const std::uint64_t position : wanted(path, false)) {
      leave_out(position, parsed.error());
    }
    return {};
  }
  const Digest none = no_digest(parameters_.hash);
  for (gpu_hash::Tensor& tensor : parsed->tensors) {
    const std::uint64_t offset = tensor.offset;
    add(TensorEntry{std::move(tensor.name), std::move(tensor.dtype), std::move(tensor.shape), path,
                    offset, tensor.size, none},
        source, offset);
  }
  return {};
}

// A path that a report cannot carry is counted without being listed.
void NodeModel::note_extra(const std::string& path, std::uint64_t size) {
  constexpr std::size_t kMaxPath = 4096;
  ++extra_count_;
  if (extra_.size() < kMaxExtraFiles && path.size() <= kMaxPath && room_.take_name(path)) {
    extra_.push_back({path, size});
  }
}

Status NodeModel::add_file(const std::string& path,
                           const std::shared_ptr<const gpu_hash::SourceFile>& source) {
  if (!covered_.contains(path)) {
    note_extra(path, source->size());
  }
  const std::vector<std::uint64_t> entries = wanted(path, true);
  if (entries.empty()) {
    return {};
  }
  if (const auto open = source->open(); !open) {
    for (const std::uint64_t position : entries) {
      leave_out(position, open.error());
    }
    return {};
  }
  if (files_ && covered_.contains(path)) {
    add(FileEntry{path, source->size(), no_digest(parameters_.hash)}, source, 0);
  }
  if (tensors_ && gpu_hash::is_safetensors_path(path)) {
    ASSAY_TRY(add_tensors(path, source));
  }
  return {};
}

Result<NodeModel> NodeModel::find(const fs::path& model, const Manifest& manifest,
                                  const std::vector<std::uint64_t>& subset,
                                  const std::stop_token& stop) {
  NodeModel found(manifest);
  found.expect(manifest, subset);
  ASSAY_ASSIGN(std::vector<gpu_hash::WalkedFile> files,
               gpu_hash::find_model(model, manifest.artifact));
  for (const gpu_hash::WalkedFile& file : files) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    ASSAY_TRY(found.add_file(file.path, file.source));
  }
  return found;
}

Status NodeModel::drop_file(const Error& why) {
  const auto is_in_it = [&](const Object& object) { return object.source->label() == why.where; };
  bool any = false;
  for (const Object& object : objects_) {
    if (!is_in_it(object)) {
      continue;
    }
    any = true;
    if (!object.position) {
      return std::unexpected(why);
    }
    leave_out(*object.position, why);
  }
  if (!any) {
    return std::unexpected(why);
  }
  std::erase_if(objects_, is_in_it);
  return {};
}

Result<std::vector<gpu_hash::ObjectDigests>> NodeModel::digest(gpu_hash::Engine& engine,
                                                               const gpu_hash::Progress& progress,
                                                               const std::stop_token& stop) {
  for (int round = 0;; ++round) {
    if (objects_.empty()) {
      return std::vector<gpu_hash::ObjectDigests>();
    }
    std::vector<gpu_hash::Region> regions;
    std::uint64_t total = 0;
    for (const Object& object : objects_) {
      regions.push_back(gpu_hash::file_region(object.source, object.offset, size_of(object.entry)));
      total += size_of(object.entry);
    }
    gpu_hash::HashRequest request{parameters_, 0, {}, stop};
    if (progress) {
      request.progress = [&progress, total](std::uint64_t done) { progress(done, total); };
    }
    auto digests = engine.hash(regions, request);
    if (digests || !is_about_file(digests.error().code) || round == kMaxRounds) {
      return digests;
    }
    ASSAY_TRY(drop_file(digests.error()));
  }
}

// A file that changed after its own bytes were read would leave a model that no moment saw.
Status NodeModel::drop_changed(std::vector<gpu_hash::ObjectDigests>& digests) {
  std::vector<Object> kept;
  std::vector<gpu_hash::ObjectDigests> kept_digests;
  std::map<const gpu_hash::SourceFile*, Status> looked;
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    Object& object = objects_[i];
    const auto [at, fresh] = looked.try_emplace(object.source.get());
    if (fresh) {
      at->second = object.source->check_unchanged();
    }
    if (at->second) {
      kept.push_back(std::move(object));
      kept_digests.push_back(std::move(digests[i]));
      continue;
    }
    if (!object.position) {
      return at->second;
    }
    leave_out(*object.position, at->second.error());
  }
  objects_ = std::move(kept);
  digests = std::move(kept_digests);
  return {};
}

Result<NodeModel::Hashed> NodeModel::hash(gpu_hash::Engine& engine,
                                          const gpu_hash::Progress& progress,
                                          const std::stop_token& stop) {
  ASSAY_ASSIGN(std::vector<gpu_hash::ObjectDigests> digests, digest(engine, progress, stop));
  ASSAY_TRY(drop_changed(digests));
  Hashed hashed;
  std::set<const gpu_hash::SourceFile*> files;
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    const gpu_hash::SourceFile& file = *objects_[i].source;
    if (const auto protection = file.protection(); protection && files.insert(&file).second) {
      hashed.read_protection.add(*protection);
    }
    std::visit([&](auto& entry) { entry.root = digests[i].root; }, objects_[i].entry);
    hashed.entries.push_back(objects_[i].entry);
    hashed.bytes += size_of(objects_[i].entry);
  }
  sort_entries(hashed.entries);
  hashed.extra = extra_;
  hashed.extra_count = extra_count_;
  for (const auto& [position, reason] : not_covered_) {
    hashed.not_covered.push_back({position, reason});
  }
  return hashed;
}

const NodeModel::Object* NodeModel::at(std::uint64_t position) const {
  const auto found = std::ranges::find_if(
      objects_, [position](const Object& object) { return object.position == position; });
  return found == objects_.end() ? nullptr : &*found;
}

Result<std::vector<OutlineSubmission::Item>> NodeModel::outline(
    gpu_hash::Engine& engine, const std::vector<std::uint64_t>& entries, std::uint64_t span,
    const std::stop_token& stop) const {
  ASSAY_TRY(check_outline_span(parameters_, span));
  std::vector<gpu_hash::Region> regions;
  for (const std::uint64_t position : entries) {
    const Object* object = at(position);
    if (object == nullptr) {
      return fail(ErrorCode::kNotFound, "The entry was not hashed", std::to_string(position));
    }
    regions.push_back(
        gpu_hash::file_region(object->source, object->offset, size_of(object->entry)));
  }
  ASSAY_ASSIGN(std::vector<gpu_hash::ObjectDigests> digests,
               engine.hash(regions, {parameters_, span, {}, stop}));
  std::vector<OutlineSubmission::Item> items;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    items.push_back({entries[i], std::move(digests[i].outline)});
  }
  return items;
}

Result<Bytes> NodeModel::read(const SpotSpan& place, std::uint64_t span) const {
  ASSAY_TRY(check_outline_span(parameters_, span));
  const Object* object = at(place.entry);
  if (object == nullptr) {
    return fail(ErrorCode::kNotFound, "The entry was not hashed", std::to_string(place.entry));
  }
  const std::uint64_t size = size_of(object->entry);
  if (place.index > size / span || place.index * span >= size) {
    return fail(ErrorCode::kInvalidParameter, "The span lies beyond the end of the entry",
                std::to_string(place.entry));
  }
  const std::uint64_t begin = place.index * span;
  // A span may be as large as a terabyte by its rules; an answer about so much is not asked for.
  constexpr std::uint64_t kMaxRead = std::uint64_t{64} << 20;
  const std::uint64_t length = std::min(span, size - begin);
  if (length > kMaxRead) {
    return fail(ErrorCode::kLimitExceeded, "The span is larger than 64 MiB");
  }
  Bytes bytes(length);
  ASSAY_ASSIGN(const auto open, object->source->open());
  ASSAY_TRY(open->read(object->offset + begin, bytes));
  return bytes;
}

}  // namespace assay::worker
