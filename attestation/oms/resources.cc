// SPDX-License-Identifier: Apache-2.0
#include "attestation/oms/resources.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "schemas/core/artifact.h"
#include "schemas/core/json.h"

namespace assay::attestation::oms {
namespace {

std::unexpected<Error> wrong(std::string why, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(why), std::move(where));
}

// A number below 2^53 in its one form.
std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || std::to_string(value) != text ||
      value > static_cast<std::uint64_t>(kMaxSafeInteger)) {
    return std::nullopt;
  }
  return value;
}

std::string place_of(const Statement& statement, std::size_t index) {
  return (statement.old_form ? "/subject/" : "/predicate/resources/") + std::to_string(index) +
         "/name";
}

// Order of section 6.5: names as code points. Bytes of UTF-8 have the same order.
std::string as_written(const Resource& resource, const Serialization& how) {
  return how.method == Method::kFiles ? resource.path
                                      : resource.path + ":" + std::to_string(resource.begin) + ":" +
                                            std::to_string(resource.end);
}

std::pair<std::uint64_t, std::uint64_t> place(const Resource& resource) {
  return {resource.begin, resource.end};
}

// Part by part: what lies below a directory comes right behind it.
bool path_before(std::string_view a, std::string_view b) {
  const auto [x, y] = std::ranges::mismatch(a, b);
  if (x == a.end() || y == b.end()) {
    return x == a.end() && y != b.end();
  }
  const auto rank = [](char c) { return c == '/' ? -1 : int{static_cast<unsigned char>(c)}; };
  return rank(*x) < rank(*y);
}

// Order of model_signing: by parts of paths, and shards by their place.
bool before_by_parts(const Resource& a, const Resource& b) {
  return a.path == b.path ? place(a) < place(b) : path_before(a.path, b.path);
}

bool is_sorted(const Statement& statement) {
  const auto& list = statement.resources;
  const auto by_name = [&](const Resource& a, const Resource& b) {
    return as_written(a, statement.serialization) < as_written(b, statement.serialization);
  };
  return std::ranges::is_sorted(list, by_name) || std::ranges::is_sorted(list, before_by_parts);
}

// A path of a statement: of a resource, or one that is ignored.
struct Path {
  std::string_view text;
  bool ignored;
  std::size_t index;  // of the resource
};

// Sorts paths so that all that lies below a path follows it at once.
std::vector<Path> sorted_paths(const Statement& statement) {
  std::vector<Path> paths;
  for (std::size_t i = 0; i < statement.resources.size(); ++i) {
    paths.push_back({statement.resources[i].path, false, i});
  }
  for (const std::string& path : statement.serialization.ignore_paths) {
    paths.push_back({path, true, 0});
  }
  std::ranges::sort(paths, [&](const Path& a, const Path& b) {
    if (a.text != b.text) {
      return path_before(a.text, b.text);
    }
    if (a.ignored != b.ignored) {
      return a.ignored;
    }
    return !a.ignored && place(statement.resources[a.index]) < place(statement.resources[b.index]);
  });
  return paths;
}

bool is_below(std::string_view path, std::string_view above) {
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

// Whether `next` may follow `before`, both resources, in the order of sorted_paths(). The shards of
// a file begin at its byte 0 and follow each other; only the last one is short.
Status check_pair(const Statement& statement, const Path* before, const Path& next) {
  const Serialization& how = statement.serialization;
  const Resource& one = statement.resources[next.index];
  const Resource* earlier = before != nullptr ? &statement.resources[before->index] : nullptr;
  const std::string where = place_of(statement, next.index);
  if (earlier == nullptr || earlier->path != one.path) {
    if (earlier != nullptr && is_below(one.path, earlier->path)) {
      return fail(ErrorCode::kInvalidPath, "a directory of this path is listed as a file", where);
    }
    return one.begin == 0 ? Status{} : wrong("the first shards of the file are missing", where);
  }
  if (place(*earlier) == place(one)) {
    return wrong("a resource is listed twice", where);
  }
  if (earlier->end != one.begin) {
    return wrong("the shards of a file follow each other without a gap", where);
  }
  return earlier->end - earlier->begin == how.shard_size
             ? Status{}
             : wrong("only the last shard of a file is short", where);
}

}  // namespace

Status check_name(std::string_view path, const std::string& where) {
  if (path.size() > kMaxNameBytes) {
    return fail(ErrorCode::kInvalidPath,
                "a name has at most " + std::to_string(kMaxNameBytes) + " bytes", where);
  }
  if (!check_path(path)) {
    return fail(ErrorCode::kInvalidPath,
                "a relative path in UTF-8 is needed, with / between parts that are neither empty "
                "nor . nor ..",
                where);
  }
  return {};
}

Result<Resource> read_name(const std::string& name, const Serialization& how,
                           const std::string& where) {
  Resource resource;
  resource.path = name;
  if (how.method == Method::kShards) {
    const std::size_t last = name.rfind(':');
    const std::size_t first =
        last == std::string::npos || last == 0 ? std::string::npos : name.rfind(':', last - 1);
    if (first == std::string::npos) {
      return wrong("the name of a shard is path:begin:end", where);
    }
    const auto begin = read_number(std::string_view(name).substr(first + 1, last - first - 1));
    const auto end = read_number(std::string_view(name).substr(last + 1));
    if (!begin || !end || *end <= *begin || *begin % how.shard_size != 0 ||
        *end - *begin > how.shard_size) {
      return wrong("not the range of a shard of " + std::to_string(how.shard_size) + " bytes",
                   where);
    }
    resource.path = name.substr(0, first);
    resource.begin = *begin;
    resource.end = *end;
  }
  if (resource.path != kOnlyFile) {
    ASSAY_TRY(check_name(resource.path, where));
  }
  return resource;
}

Result<Bytes> read_digest(std::string_view hex, FlatHash hash, const std::string& where) {
  auto bytes = hex_decode(hex);
  if (!bytes || bytes->size() != flat_size(hash)) {
    return fail(ErrorCode::kInvalidDigest,
                "a digest by " + std::string(name(hash)) + " is lowercase hex of " +
                    std::to_string(flat_size(hash)) + " bytes",
                where);
  }
  return bytes;
}

std::string shard_algorithm(const Serialization& how) {
  return how.method == Method::kShards
             ? std::string(name(how.hash)) + "-sharded-" + std::to_string(how.shard_size)
             : std::string();
}

Status check_resources(const Statement& statement) {
  const std::vector<Path> paths = sorted_paths(statement);
  const Path* ignored = nullptr;
  const Path* before = nullptr;
  for (const Path& path : paths) {
    if (path.ignored) {
      ignored = ignored != nullptr && is_below(path.text, ignored->text) ? ignored : &path;
      continue;
    }
    const std::string where = place_of(statement, path.index);
    if (ignored != nullptr && is_below(path.text, ignored->text)) {
      return wrong("a resource lies below a path that the statement ignores", where);
    }
    ASSAY_TRY(check_pair(statement, before, path));
    if (before != nullptr && before->text != path.text &&
        (before->text == kOnlyFile || path.text == kOnlyFile)) {
      return fail(ErrorCode::kInvalidPath, "a model of one file has no other file", where);
    }
    before = &path;
  }
  // Release 0.2 sorted nothing.
  if (!statement.old_form && !is_sorted(statement)) {
    return wrong("resources are sorted by name", "/predicate/resources");
  }
  return {};
}

void sort_resources(std::vector<Resource>& resources, const Serialization& how) {
  std::ranges::sort(resources, {},
                    [&how](const Resource& resource) { return as_written(resource, how); });
}

}  // namespace assay::attestation::oms
