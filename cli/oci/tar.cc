// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/tar.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace assay::oci {
namespace {

// Fields of a header (POSIX.1-2017, pax, "ustar Interchange Format").
constexpr std::size_t kNameAt = 0;
constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kNumberBytes = 12;
constexpr std::size_t kChecksumAt = 148;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345;
constexpr std::size_t kPrefixBytes = 155;
constexpr std::uint64_t kMaxSize = (std::uint64_t{1} << 53) - 1;

using Block = ByteView;

std::unexpected<Error> broken(const std::string& why) {
  return fail(ErrorCode::kInvalidEncoding, "The archive cannot be read: " + why);
}

// Up to the first NUL.
std::string text_at(Block block, std::size_t at, std::size_t length) {
  const std::string_view field = as_text(block.subspan(at, length));
  return std::string(field.substr(0, field.find('\0')));
}

// Octal digits, or with the highest bit set a number of 95 bits (GNU).
std::optional<std::uint64_t> number_at(Block block, std::size_t at, std::size_t length) {
  const ByteView field = block.subspan(at, length);
  if ((field[0] & 0x80U) != 0) {
    std::uint64_t value = field[0] & 0x7fU;
    for (const std::uint8_t byte : field.subspan(1)) {
      if (value > (kMaxSize >> 8)) {
        return std::nullopt;
      }
      value = (value << 8) | byte;
    }
    return value;
  }
  std::string_view digits = as_text(field);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_first_of(std::string_view("\0 ", 2)));
  std::uint64_t value = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  const bool whole = error == std::errc() && stop == digits.data() + digits.size();
  return digits.empty()               ? std::optional<std::uint64_t>(0)
         : whole && value <= kMaxSize ? std::optional(value)
                                      : std::nullopt;
}

bool checksum_is_right(Block block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= kChecksumAt && i < kChecksumAt + kChecksumBytes;
    sum += own ? std::uint64_t{' '} : block[i];
  }
  return number_at(block, kChecksumAt, kChecksumBytes) == sum;
}

std::string path_in(Block block) {
  const std::string name = text_at(block, kNameAt, kNameBytes);
  // GNU's own format has other fields in the place of the prefix.
  const bool posix = as_text(block.subspan(kMagicAt, 6)) == std::string_view("ustar\0", 6);
  const std::string prefix = posix ? text_at(block, kPrefixAt, kPrefixBytes) : "";
  return prefix.empty() ? name : prefix + "/" + name;
}

// "./a/" is a.
std::string plain(std::string path) {
  while (path.starts_with("./")) {
    path.erase(0, 2);
  }
  while (path.ends_with('/')) {
    path.pop_back();
  }
  return path == "." ? "" : path;
}

}  // namespace

Status TarReader::feed(ByteView piece) {
  while (!piece.empty()) {
    if (what_ == What::kHeader) {
      const std::size_t take = std::min(piece.size(), kBlock - filled_);
      std::copy_n(piece.begin(), take, block_.begin() + static_cast<std::ptrdiff_t>(filled_));
      filled_ += take;
      piece = piece.subspan(take);
      if (filled_ == kBlock) {
        filled_ = 0;
        ASSAY_TRY(take_block());
      }
    } else if (what_ == What::kOver) {
      // Blocks of zeros fill the last record.
      if (std::ranges::any_of(piece, [](std::uint8_t byte) { return byte != 0; })) {
        return broken("something follows its end");
      }
      return {};
    } else if (left_ > 0) {
      const std::size_t take =
          static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), left_));
      ASSAY_TRY(take_content(piece.first(take)));
      left_ -= take;
      piece = piece.subspan(take);
      if (left_ == 0) {
        ASSAY_TRY(end_content());
      }
    } else {
      const std::size_t take =
          static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), padding_));
      padding_ -= take;
      piece = piece.subspan(take);
    }
    if (what_ != What::kHeader && what_ != What::kOver && left_ == 0 && padding_ == 0) {
      what_ = What::kHeader;
    }
  }
  return {};
}

Status TarReader::finish() const {
  // Some writers leave out the blocks of zeros at the end, but none ends inside of an entry.
  const bool at_a_border = what_ == What::kHeader && filled_ == 0 && !has_path_ && !has_size_;
  return what_ == What::kOver || at_a_border ? Status() : broken("it ends inside of an entry");
}

Status TarReader::take_block() {
  const Block block(block_);
  if (std::ranges::all_of(block, [](std::uint8_t byte) { return byte == 0; })) {
    if (has_path_ || has_size_) {
      return broken("an extended header is for no entry");
    }
    what_ = ++zero_blocks_ == 2 ? What::kOver : What::kHeader;
    return {};
  }
  if (zero_blocks_ != 0) {
    return broken("an entry follows a block of zeros");
  }
  if (!checksum_is_right(block) || as_text(block.subspan(kMagicAt, 5)) != "ustar") {
    return broken("a header is none of ustar");
  }
  const auto size = number_at(block, kSizeAt, kNumberBytes);
  return size ? begin_entry(static_cast<char>(block[kTypeAt]), *size) : broken("a size is none");
}

Status TarReader::begin_entry(char type, std::uint64_t size) {
  left_ = size;
  switch (type) {
    case 'x':
      what_ = What::kPax;
      break;
    case 'g':
      what_ = What::kGlobal;
      break;
    case 'L':
      what_ = What::kLongName;
      break;
    case 'K':
      what_ = What::kLongLink;
      break;
    default: {
      TarEntry entry{has_path_ ? next_path_ : path_in(block_), TarKind::kFile,
                     has_size_ ? next_size_ : size};
      const bool slash = entry.path.ends_with('/');
      if (type == '0' || type == '\0' || type == '7') {
        entry.kind = slash ? TarKind::kDirectory : TarKind::kFile;
      } else if (type == '5') {
        entry.kind = TarKind::kDirectory;
      } else if (type == '1' || type == '2') {
        entry.kind = type == '1' ? TarKind::kHardLink : TarKind::kSymlink;
      } else if (type == '3' || type == '4' || type == '6') {
        entry.kind = TarKind::kDevice;
      } else {
        return broken("it has an entry of a kind that is not read");
      }
      has_path_ = has_size_ = false;
      entry.path = plain(std::move(entry.path));
      if (entry.kind != TarKind::kFile) {
        entry.size = 0;  // no content follows, whatever the size says
      }
      what_ = What::kFile;
      left_ = entry.size;
      padding_ = (kBlock - left_ % kBlock) % kBlock;
      ASSAY_TRY(sink_.begin(entry));
      if (left_ == 0) {
        what_ = What::kHeader;
        return entry.kind == TarKind::kFile ? sink_.end() : Status();
      }
      return {};
    }
  }
  if (size == 0 || size > kMaxTarHeaders) {
    return fail(ErrorCode::kLimitExceeded,
                "An extended header has 1 to " + std::to_string(kMaxTarHeaders) + " bytes");
  }
  extended_.clear();
  padding_ = (kBlock - left_ % kBlock) % kBlock;
  return {};
}

Status TarReader::take_content(ByteView piece) {
  if (what_ == What::kFile) {
    return sink_.data(piece);
  }
  extended_ += as_text(piece);
  return {};
}

Status TarReader::end_content() {
  switch (what_) {
    case What::kFile:
      return sink_.end();
    case What::kPax:
      return read_pax(false);
    case What::kGlobal:
      return read_pax(true);
    case What::kLongName:
      return take_pax("path", extended_.substr(0, extended_.find('\0')), false);
    default:
      return {};  // where a link leads does not matter: it is followed by nobody
  }
}

// Records "LENGTH KEY=VALUE\n", where the length counts all of the record.
Status TarReader::read_pax(bool global) {
  std::string_view rest = extended_;
  while (!rest.empty()) {
    std::size_t length = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto head = static_cast<std::size_t>(stop - rest.data()) + 1;
    if (error != std::errc() || length > rest.size() || length <= head || *stop != ' ' ||
        rest[length - 1] != '\n') {
      return broken("an extended header has a record that is none");
    }
    const std::string_view record = rest.substr(head, length - head - 1);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) {
      return broken("an extended header has a record that is none");
    }
    ASSAY_TRY(take_pax(std::string(record.substr(0, equals)),
                       std::string(record.substr(equals + 1)), global));
    rest.remove_prefix(length);
  }
  return {};
}

Status TarReader::take_pax(const std::string& key, const std::string& value, bool global) {
  // Times, owners and the like do not matter; a sparse file has another content than its bytes.
  if (key.starts_with("GNU.sparse")) {
    return broken("sparse files are not read");
  }
  if (key != "path" && key != "size") {
    return {};
  }
  if (global || (key == "path" ? has_path_ : has_size_)) {
    return broken("path or size of an entry is said twice, or of all entries");
  }
  if (key == "path") {
    if (value.empty() || value.size() > kMaxTarPath || value.find('\0') != std::string::npos) {
      return broken("a path has 1 to " + std::to_string(kMaxTarPath) + " bytes, none of them 0");
    }
    next_path_ = value;
    has_path_ = true;
    return {};
  }
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), next_size_);
  if (error != std::errc() || stop != value.data() + value.size() || next_size_ > kMaxSize) {
    return broken("a size is none");
  }
  has_size_ = true;
  return {};
}

}  // namespace assay::oci
