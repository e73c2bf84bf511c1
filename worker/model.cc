// SPDX-License-Identifier: Apache-2.0
#include "worker/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gpu_hash/walk.h"
#include "schemas/core/merkle.h"
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
  const std::set<std::uint64_t> chosen(subset.begin(), subset.end());
  for (std::uint64_t i = 0; i < entries.size(); ++i) {
    const bool wanted = all_ || chosen.contains(i);
    tensors_ = tensors_ || (wanted && std::holds_alternative<TensorEntry>(entries[i]));
    positions_.emplace(key(entries[i]), Position{i, wanted});
  }
}

NodeModel NodeModel::absent(const Manifest& manifest) { return NodeModel(manifest); }

std::optional<std::uint64_t> NodeModel::wanted_file(const std::string& path) const {
  const auto found = positions_.find(file_key(path));
  return found != positions_.end() && found->second.wanted ? std::optional(found->second.position)
                                                           : std::nullopt;
}

std::vector<std::uint64_t> NodeModel::wanted(const std::string& path, bool with_file) const {
  std::vector<std::uint64_t> found;
  if (const auto file = wanted_file(path); with_file && file) {
    found.push_back(*file);
  }
  const std::string prefix = tensor_prefix(path);
  for (auto at = positions_.lower_bound(prefix);
       at != positions_.end() && at->first.starts_with(prefix); ++at) {
    if (at->second.wanted) {
      found.push_back(at->second.position);
    }
  }
  return found;
}

void NodeModel::leave_out(std::uint64_t position, const Error& why) {
  not_covered_.emplace(position, reason_of(why));
}

void NodeModel::add_whole(const std::string& path, const Source& source) {
  objects_.push_back({source, 0, source->size(),
                      FileEntry{path, source->size(), no_digest(parameters_.hash)},
                      wanted_file(path)});
}

void NodeModel::add_header(const std::string& path, const Source& source, const Cut& cut) {
  objects_.push_back({source, 0, cut.size,
                      FileEntry{path, source->size(), no_digest(parameters_.hash), cut},
                      wanted_file(path)});
}

void NodeModel::add_tensor(TensorEntry entry, const Source& source, bool with_file) {
  const std::uint64_t offset = entry.offset;
  const std::uint64_t size = entry.size;
  std::optional<Entry> reported = std::move(entry);
  const auto found = positions_.find(key(*reported));
  const bool known = found != positions_.end();
  const auto position = known ? std::optional(found->second.position) : std::nullopt;
  if (!(known ? found->second.wanted : tensors_ && all_ && room_.take_entry(*reported))) {
    reported.reset();
  }
  if (reported || (with_file && size > 0)) {
    objects_.push_back({source, offset, size, std::move(reported), position});
  }
}

void NodeModel::add_cut_file(const std::string& path, const Source& source, CutFormat format) {
  const std::optional<std::uint64_t> file = wanted_file(path);
  Result<gpu_hash::CutHeader> header = gpu_hash::read_cut(*source, format);
  if (!header) {
    for (const std::uint64_t position : wanted(path, false)) {
      leave_out(position, header.error());
    }
    if (file && header.error().code == gpu_hash::malformed_code(format)) {
      add_whole(path, source);  // which is not the entry that is expected
    } else if (file) {
      leave_out(*file, header.error());
    }
    return;
  }
  using Kind = gpu_hash::FileSegment::Kind;
  const Digest none = no_digest(parameters_.hash);
  for (const gpu_hash::FileSegment& segment : gpu_hash::segments_of(*header, source->size())) {
    if (segment.kind == Kind::kTensor) {
      gpu_hash::Tensor& tensor = header->tensors[segment.tensor];
      add_tensor({std::move(tensor.name), std::move(tensor.dtype), std::move(tensor.shape), path,
                  segment.offset, segment.size, none},
                 source, file.has_value());
    } else if (file && segment.kind == Kind::kHeader) {
      add_header(path, source, {format, segment.size, none});
    } else if (file) {
      objects_.push_back({source, segment.offset, segment.size, std::nullopt, std::nullopt});
    }
  }
}

// A path that a report cannot carry is counted without being listed.
void NodeModel::note_extra(const std::string& path, std::uint64_t size) {
  constexpr std::size_t kMaxPath = 4096;
  ++extra_count_;
  if (extra_.size() < kMaxExtraFiles && path.size() <= kMaxPath && room_.take_name(path)) {
    extra_.push_back({path, size});
  }
}

void NodeModel::add_file(const std::string& path, const Source& source) {
  if (!covered_.contains(path)) {
    note_extra(path, source->size());
  }
  const std::vector<std::uint64_t> entries = wanted(path, true);
  if (entries.empty()) {
    return;
  }
  if (const auto open = source->open(); !open) {
    for (const std::uint64_t position : entries) {
      leave_out(position, open.error());
    }
    return;
  }
  if (const std::optional<CutFormat> format = rule_(path)) {
    add_cut_file(path, source, *format);
  } else if (wanted_file(path)) {
    add_whole(path, source);
  }
}

Result<NodeModel> NodeModel::find(const fs::path& model, const Manifest& manifest,
                                  const std::vector<std::uint64_t>& subset,
                                  const std::stop_token& stop, bool repository) {
  NodeModel found(manifest);
  found.expect(manifest, subset);
  gpu_hash::RepositoryFiles files;
  if (repository && !manifest.artifact.parameters.follow_symlinks) {
    ASSAY_ASSIGN(files, gpu_hash::find_in_repository(model, manifest.artifact));
  } else {
    ASSAY_ASSIGN(files.model, gpu_hash::find_model(model, manifest.artifact, false));
  }
  for (const gpu_hash::WalkedFile& file : files.others) {
    found.note_extra(file.path, file.source->size());
  }
  for (const gpu_hash::WalkedFile& file : files.model) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    found.add_file(file.path, file.source);
  }
  // A file of the revision may have the path of another one of its repository.
  std::ranges::sort(found.extra_, {}, &ExtraFile::path);
  const auto [again, end] = std::ranges::unique(found.extra_, {}, &ExtraFile::path);
  found.extra_.erase(again, end);
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
    if (object.entry && !object.position) {
      return std::unexpected(why);
    }
    if (object.entry) {
      leave_out(*object.position, why);
    }
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
      regions.push_back(gpu_hash::file_region(object.source, object.offset, object.size));
      total += object.size;
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
    if (object.entry && !object.position) {
      return at->second;
    }
    if (object.entry) {
      leave_out(*object.position, at->second.error());
    }
  }
  objects_ = std::move(kept);
  digests = std::move(kept_digests);
  return {};
}

void NodeModel::set_roots(std::size_t index, const std::vector<gpu_hash::ObjectDigests>& digests) {
  const Digest& own = digests[index].root;
  auto* file = std::get_if<FileEntry>(&*objects_[index].entry);
  if (file == nullptr || !file->cut) {
    std::visit([&](auto& entry) { entry.root = own; }, *objects_[index].entry);
    return;
  }
  std::vector<Digest> roots;
  for (std::size_t i = index; i < objects_.size() && objects_[i].source == objects_[index].source;
       ++i) {
    if (objects_[i].size > 0) {
      roots.push_back(digests[i].root);
    }
  }
  file->cut->root = own;
  file->root = merkle_root(parameters_.hash, roots);
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
    hashed.bytes += objects_[i].size;
    if (objects_[i].entry) {
      set_roots(i, digests);
      hashed.entries.push_back(*objects_[i].entry);
    }
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
    regions.push_back(gpu_hash::file_region(object->source, object->offset, object->size));
  }
  ASSAY_ASSIGN(std::vector<gpu_hash::ObjectDigests> digests,
               engine.hash(regions, {parameters_, span, {}, stop}));
  std::vector<OutlineSubmission::Item> items;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    items.push_back({entries[i], std::move(digests[i].outline)});
  }
  return items;
}

Result<gpu_hash::Region> NodeModel::region(std::uint64_t entry, std::uint64_t offset,
                                           std::uint64_t size) const {
  const Object* object = at(entry);
  if (object == nullptr) {
    return fail(ErrorCode::kNotFound, "The entry was not found", std::to_string(entry));
  }
  if (offset > object->size || size > object->size - offset) {
    return fail(ErrorCode::kContentMismatch, "The file has another size of the entry",
                std::to_string(entry));
  }
  return gpu_hash::file_region(object->source, object->offset + offset, size);
}

Result<Bytes> NodeModel::read(const SpotSpan& place, std::uint64_t span) const {
  ASSAY_TRY(check_outline_span(parameters_, span));
  const Object* object = at(place.entry);
  if (object == nullptr) {
    return fail(ErrorCode::kNotFound, "The entry was not hashed", std::to_string(place.entry));
  }
  const std::uint64_t size = object->size;
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
