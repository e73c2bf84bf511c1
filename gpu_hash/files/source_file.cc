// SPDX-License-Identifier: Apache-2.0
// Opening files below a held directory, and reading them through the page cache or past it.
#include "gpu_hash/source_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <optional>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "gpu_hash/files/read_protection.h"
#include "schemas/core/bytes.h"
#include "schemas/posix/files.h"

namespace assay::gpu_hash {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::unexpected<Error> unreadable(int error, const std::string& label) {
  return fail(ErrorCode::kFileUnreadable, std::generic_category().message(error), label);
}

std::unexpected<Error> changed(const char* how, const std::string& label) {
  return fail(ErrorCode::kFileChanged, how, label);
}

// O_NONBLOCK: a FIFO or device that took the file's place must not block the open.
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// Parts of a file that one system call fills; the kernel takes up to 1024.
constexpr std::size_t kMaxParts = 64;

// What reads past the page cache begin and end at, in the file and in memory: no device asks for
// more.
constexpr std::size_t kDirectUnit = DirectBuffer::kUnit;
// Smaller parts are brought together in the buffer.
constexpr std::size_t kMinInPlace = std::size_t{256} << 10;  // bytes
// Smaller reads are not worth the trip.
constexpr std::uint64_t kMinDirect = std::uint64_t{128} << 10;  // bytes
// The kernel's read-ahead takes as much by itself.
constexpr std::uint64_t kMinAhead = std::uint64_t{128} << 10;  // bytes

std::uint64_t round_down(std::uint64_t value) { return value / kDirectUnit * kDirectUnit; }
std::uint64_t round_up(std::uint64_t value) { return round_down(value + kDirectUnit - 1); }

// What is looked at to tell whether a read finds its bytes in the page cache.
constexpr std::uint64_t kMaxLook = std::uint64_t{8} << 20;  // bytes

// cachestat(2), which older headers do not have; the same number on every architecture.
struct CacheRange {
  std::uint64_t offset;
  std::uint64_t size;
};
struct CacheState {
  std::uint64_t cached;  // pages; what follows is not used here
  std::array<std::uint64_t, 4> others;
};
constexpr long kCacheStat = 451;

// Pages of [begin, begin + count pages) in the page cache; nothing when the system does not tell.
// A read that is not to wait would tell as well, but it starts to read ahead.
std::optional<std::uint64_t> cached_pages(int fd, std::uint64_t begin, std::size_t count,
                                          std::uint64_t page) {
  const CacheRange range{begin, count * page};
  CacheState state{};
  if (::syscall(kCacheStat, fd, &range, &state, 0U) == 0) {
    return state.cached;
  }
  void* const memory =
      ::mmap(nullptr, range.size, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(begin));
  if (memory == MAP_FAILED) {
    return std::nullopt;
  }
  std::vector<unsigned char> pages(count);
  const bool told = ::mincore(memory, range.size, pages.data()) == 0;
  ::munmap(memory, range.size);
  const auto there =
      std::ranges::count_if(pages, [](unsigned char one) { return (one & 1U) != 0; });
  return told ? std::optional(static_cast<std::uint64_t>(there)) : std::nullopt;
}

// Whether half of these bytes are in the page cache; also when the system does not tell. It tells
// of files that this user owns or may write.
bool mostly_cached(int fd, std::uint64_t offset, std::uint64_t size) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page * page;
  const std::size_t count = (offset + size - begin + page - 1) / page;
  const auto there = cached_pages(fd, begin, count, page);
  return !there || 2 * *there >= count;
}

// Whether a call failed because something else is where the file was. Every other failure leaves
// open what is there.
bool is_replaced(int error) {
  return error == ENOENT || error == ELOOP || error == ENOTDIR || error == ENXIO;
}

// Splits "a/b/c" into the directory "a/b" and the name "c".
std::pair<std::string_view, const char*> split_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return {{}, path.c_str()};
  }
  return {std::string_view(path).substr(0, slash), path.c_str() + slash + 1};
}

// Status of what is at `path` below `base`, a symlink itself included; sets errno on failure.
bool stat_beneath(const std::shared_ptr<const Directory>& base, const std::string& path,
                  NearDirectory& near, struct stat& out) {
  const auto [parent, last] = split_path(path);
  const int directory = near.find(base, parent);
  return directory >= 0 && ::fstatat(directory, last, &out, AT_SYMLINK_NOFOLLOW) == 0;
}

// The same, opened for reading.
Descriptor open_beneath(const std::shared_ptr<const Directory>& base, const std::string& path,
                        NearDirectory& near, int flags) {
  const auto [parent, last] = split_path(path);
  const int directory = near.find(base, parent);
  return directory < 0 ? Descriptor() : open_below(directory, last, kReadFlags | flags);
}

}  // namespace

// Where the bytes of a read go, and how much of it is filled.
class OpenFile::Places {
 public:
  explicit Places(std::span<const std::span<std::uint8_t>> parts) : parts_(parts) {
    for (const std::span<std::uint8_t> part : parts) {
      left_ += part.size();
    }
    advance(0);
  }

  [[nodiscard]] std::uint64_t left() const { return left_; }  // bytes
  // What is to be filled next; not empty while something is left.
  [[nodiscard]] std::span<std::uint8_t> first() const { return parts_.front().subspan(skip_); }

  // `size` bytes are there, at most left().
  void advance(std::uint64_t size) {
    left_ -= size;
    skip_ += size;
    while (!parts_.empty() && skip_ >= parts_.front().size()) {
      skip_ -= parts_.front().size();
      parts_ = parts_.subspan(1);
    }
  }

  void copy(ByteView bytes) {
    while (!bytes.empty()) {
      const std::span<std::uint8_t> place = first();
      const std::size_t size = std::min(place.size(), bytes.size());
      std::copy_n(bytes.begin(), size, place.begin());
      advance(size);
      bytes = bytes.subspan(size);
    }
  }

  // For one system call; the number of those filled in.
  [[nodiscard]] int vectors(std::span<iovec> out) const {
    const std::size_t count = std::min(parts_.size(), out.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<std::uint8_t> rest = parts_[i].subspan(i == 0 ? skip_ : 0);
      out[i] = {rest.data(), rest.size()};
    }
    return static_cast<int>(count);
  }

 private:
  std::span<const std::span<std::uint8_t>> parts_;
  std::uint64_t skip_ = 0;  // bytes of the first part that are there already
  std::uint64_t left_ = 0;
};

FileIdentity identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

std::uint64_t page_cache_room() {
  std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
  std::ifstream memory("/proc/meminfo");
  std::string word;
  while (memory >> word) {
    std::uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && memory >> kibibytes) {
      available = kibibytes << 10U;
      break;
    }
  }
  std::uint64_t most = 0;  // "max" without a limit
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> most) {
    available = std::min(available, most);
  }
  return available == std::numeric_limits<std::uint64_t>::max() ? available : available / 2;
}

std::span<std::uint8_t> DirectBuffer::memory() {
  if (!memory_) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): no other way to aligned memory or null
    memory_.reset(new (std::align_val_t{kUnit}, std::nothrow) std::uint8_t[kSize]);
  }
  return {memory_.get(), memory_ ? kSize : 0};
}

Result<std::shared_ptr<const Directory>> Directory::open(const std::filesystem::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    if (error == ENOTDIR) {
      return fail(ErrorCode::kUnsupportedFileType, "not a directory", path.filename().string());
    }
    return unreadable(error, path.filename().string());
  }
  return std::make_shared<const Directory>(std::move(fd));
}

int NearDirectory::find(const std::shared_ptr<const Directory>& base, std::string_view path) {
  if (path.empty()) {
    return base->fd();
  }
  if (base_ != base || path_ != path) {
    close();
    fd_ = open_below(base->fd(), path, O_PATH | O_DIRECTORY);
    if (!fd_) {
      return -1;
    }
    base_ = base;
    path_ = path;
  }
  return fd_.get();
}

SourceFile::SourceFile(std::shared_ptr<const Directory> base, std::string path, std::string label,
                       FileIdentity seen, std::vector<SeenLink> links)
    : base_(std::move(base)),
      path_(std::move(path)),
      label_(std::move(label)),
      seen_(seen),
      links_(std::move(links)) {}

Result<std::shared_ptr<const SourceFile>> SourceFile::find(std::shared_ptr<const Directory> base,
                                                           std::string path, std::string label) {
  struct stat status{};
  NearDirectory near;
  if (!stat_beneath(base, path, near, status)) {
    return unreadable(errno, label);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kUnsupportedFileType, "only regular files can be hashed", label);
  }
  return std::make_shared<const SourceFile>(std::move(base), std::move(path), std::move(label),
                                            identity_of(status));
}

Result<std::shared_ptr<const SourceFile>> SourceFile::find(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  ASSAY_ASSIGN(auto base, Directory::open(parent.empty() ? "." : parent));
  const std::string last = path.filename().string();
  if (last.empty()) {
    return fail(ErrorCode::kUnsupportedFileType, "a directory is not a file", path.string());
  }
  return find(std::move(base), last, last);
}

Result<std::shared_ptr<const OpenFile>> SourceFile::open() const {
  NearDirectory near;
  return open(near);
}

Result<std::shared_ptr<const OpenFile>> SourceFile::open(NearDirectory& near) const {
  const std::scoped_lock lock(mutex_);
  if (auto held = open_.lock()) {
    return held;
  }
  // Looked at once more before it is opened, because opening a device can have effects.
  ASSAY_TRY(check_unchanged(near));
  Descriptor fd = open_beneath(base_, path_, near, 0);
  if (!fd) {
    const int error = errno;
    if (is_replaced(error)) {
      return changed("the file was replaced after it was found", label_);
    }
    return unreadable(error, label_);
  }
  // Before the file is looked at: what was written earlier shows in its times.
  const Protection protection = protect(fd.get());
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    return unreadable(errno, label_);
  }
  if (!S_ISREG(status.st_mode) || identity_of(status) != seen_) {
    return changed("the file changed after it was found", label_);
  }
  if (seen_.size > kMinAhead) {
    // Only a hint: doubles the kernel's read-ahead.
    (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  Descriptor direct;
  if (read_once_) {
    // File systems without such reads refuse here (tmpfs) or at the first one.
    direct = open_beneath(base_, path_, near, O_DIRECT);
    if (direct && (::fstat(direct.get(), &status) != 0 || identity_of(status) != seen_)) {
      return changed("the file was replaced while it was opened", label_);
    }
  }
  auto opened = std::make_shared<const OpenFile>(*this, std::move(fd), std::move(direct),
                                                 protection == Protection::kLease);
  open_ = opened;
  protection_ = std::min(protection, protection_.value_or(protection));
  return opened;
}

void SourceFile::note(Protection protection) const {
  const std::scoped_lock lock(mutex_);
  protection_ = std::min(protection, protection_.value_or(protection));
}

std::optional<Protection> SourceFile::protection() const {
  const std::scoped_lock lock(mutex_);
  return protection_;
}

Status SourceFile::check_unchanged() const {
  NearDirectory near;
  return check_unchanged(near);
}

Status SourceFile::check_unchanged(NearDirectory& near) const {
  const auto check = [&](const std::string& path, mode_t type, const FileIdentity& seen) -> Status {
    struct stat status{};
    if (!stat_beneath(base_, path, near, status)) {
      const int error = errno;
      if (is_replaced(error)) {
        return changed("the file is gone", label_);
      }
      return unreadable(error, label_);
    }
    if ((status.st_mode & S_IFMT) != type || identity_of(status) != seen) {
      return changed("the file changed after it was found", label_);
    }
    return {};
  };
  for (const SeenLink& link : links_) {
    ASSAY_TRY(check(link.path, S_IFLNK, link.identity));
  }
  return check(path_, S_IFREG, seen_);
}

Status OpenFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  return read(offset, std::span<const std::span<std::uint8_t>>(&out, 1));
}

Status OpenFile::read(std::uint64_t offset, std::span<const std::span<std::uint8_t>> parts,
                      DirectBuffer* buffer, std::uint64_t end) const {
  Places places(parts);
  if (buffer != nullptr) {
    take_held(offset, places, *buffer);
    if (wants_direct(offset, places.left()) && !buffer->memory().empty()) {
      ASSAY_TRY(read_direct(offset, places, *buffer, end));
    }
  }
  ASSAY_TRY(read_cached(offset, places));
  return check_unchanged();
}

std::atomic<std::uint64_t> OpenFile::total = 0;

bool OpenFile::wants_direct(std::uint64_t offset, std::uint64_t size) const {
  return direct_works_ && size >= kMinDirect &&
         !mostly_cached(fd_.get(), offset, std::min(size, kMaxLook));
}

// What `buffer` has of the bytes from `offset` on.
void OpenFile::take_held(std::uint64_t& offset, Places& places, DirectBuffer& buffer) const {
  if (buffer.file_ != number_ || offset < buffer.begin_ || offset >= buffer.begin_ + buffer.size_) {
    return;
  }
  const std::uint64_t skip = offset - buffer.begin_;
  const std::uint64_t size = std::min(buffer.size_ - skip, places.left());
  places.copy(ByteView(buffer.memory()).subspan(skip, size));
  offset += size;
  direct_bytes_ += size;
}

// Leaves in `places` what the file system does not read this way.
Status OpenFile::read_direct(std::uint64_t& offset, Places& places, DirectBuffer& buffer,
                             std::uint64_t end) const {
  // A large read takes no more than it needs; small ones have others behind them.
  const std::uint64_t last =
      std::max(offset + places.left(), std::min(end, round_down(offset) + DirectBuffer::kRead));
  while (places.left() > 0) {
    const std::span<std::uint8_t> place = places.first();
    const std::uint64_t begin = round_down(offset);
    const bool in_place = begin == offset && place.size() >= kMinInPlace &&
                          reinterpret_cast<std::uintptr_t>(place.data()) % kDirectUnit == 0;
    const std::span<std::uint8_t> target = in_place
                                               ? place.first(round_down(place.size()))
                                               : buffer.memory().first(std::min<std::uint64_t>(
                                                     DirectBuffer::kSize, round_up(last - begin)));
    const iovec vector{target.data(), target.size()};
    const ssize_t got = ::preadv(direct_.get(), &vector, 1, static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {  // whatever it is, the other way says what it means
      direct_works_ = false;
      buffer.file_ = 0;
      return {};
    }
    const auto there = static_cast<std::uint64_t>(got);
    if (there <= offset - begin) {
      return changed("the file became shorter while it was read", source_.label_);
    }
    if (in_place) {
      places.advance(there);
      offset += there;
      direct_bytes_ += there;
    } else {
      buffer.file_ = number_;
      buffer.begin_ = begin;
      buffer.size_ = there;
      take_held(offset, places, buffer);
    }
  }
  return {};
}

Status OpenFile::read_cached(std::uint64_t offset, Places& places) const {
  std::array<iovec, kMaxParts> vectors{};
  while (places.left() > 0) {
    const ssize_t got =
        ::preadv(fd_.get(), vectors.data(), places.vectors(vectors), static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return unreadable(errno, source_.label_);
    }
    if (got == 0) {
      return changed("the file became shorter while it was read", source_.label_);
    }
    offset += static_cast<std::uint64_t>(got);
    places.advance(static_cast<std::uint64_t>(got));
  }
  return {};
}

Status OpenFile::check_unchanged() const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) {
    return unreadable(errno, source_.label_);
  }
  if (identity_of(status) != source_.seen_) {
    return changed("the file changed while it was read", source_.label_);
  }
  if (leased_ && !keeps_lease(fd_.get())) {
    return changed("another process opened the file for writing while it was read", source_.label_);
  }
  return {};
}

}  // namespace assay::gpu_hash
