// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/event_log.h"

#include <algorithm>
#include <utility>

#include "attestation/tdx/cursor.h"
#include "schemas/core/sha.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::uint32_t kIndexOfRtmr0 = 1;
constexpr std::uint32_t kIndexOfRtmr1 = 2;
constexpr std::uint32_t kIndexOfRtmr2 = 3;

// EFI_GLOBAL_VARIABLE (UEFI 2.10, section 3.3), as it lies in memory.
constexpr std::array<std::uint8_t, 16> kGlobalVariable = {
    0x61, 0xdf, 0xe4, 0x8b, 0xca, 0x93, 0xd2, 0x11, 0xaa, 0x0d, 0x00, 0xe0, 0x98, 0x03, 0x2b, 0x8c};
// "SecureBoot" in UTF-16LE.
constexpr std::string_view kSecureBootName{"S\0e\0c\0u\0r\0e\0B\0o\0o\0t\0", 20};

// What boot loaders write in front of a measured command line (grub-core/kern/efi and lib/tpm of
// GRUB; the form without a colon is that of Red Hat's branch).
constexpr auto kCommandLinePrefixes =
    std::to_array<std::string_view>({"kernel_cmdline: ", "grub_kernel_cmdline "});

// What GRUB of Red Hat's branch writes beside the digest of a file.
constexpr std::string_view kGrubKernel = "grub_linuxefi Kernel";
constexpr std::string_view kGrubInitrd = "grub_linuxefi Initrd";

// Sections of a unified kernel image that are read here (UAPI.5, "Unified Kernel Image").
constexpr std::string_view kLinuxSection = ".linux";
constexpr std::string_view kCommandLineSection = ".cmdline";
constexpr std::string_view kInitrdSection = ".initrd";

// Tags of the EFI stub of Linux (drivers/firmware/efi/libstub/efistub.h).
constexpr std::uint32_t kTagInitrd = 0x8f3b22ec;
constexpr std::uint32_t kTagLoadOptions = 0x8f3b22ed;

constexpr std::size_t kMaxCommandLineBytes = 4096;  // COMMAND_LINE_SIZE of Linux is 2048

Measurement sha384(ByteView bytes) {
  const Digest digest = sha(HashAlgorithm::kSha384, bytes);
  Measurement value{};
  std::ranges::copy(digest.bytes(), value.begin());
  return value;
}

bool is_hash_of(const LoggedEvent& event, ByteView bytes) { return sha384(bytes) == event.digest; }

template <typename T>
void add(std::optional<std::vector<T>>& list, T value) {
  if (list && list->size() == kMaxBooted) {
    list.reset();
  }
  if (list) {
    list->push_back(std::move(value));
  }
}

// UEFI_VARIABLE_DATA: GUID, length of the name in characters, length of the value, name, value.
std::optional<bool> secure_boot_of(const LoggedEvent& event) {
  Cursor cursor(event.data);
  const auto guid = cursor.take(kGlobalVariable.size());
  const auto name_length = cursor.take(8);
  const auto value_length = cursor.take(8);
  const auto name = cursor.take(kSecureBootName.size());
  if (!guid || !name_length || !value_length || !name ||
      !std::ranges::equal(*guid, kGlobalVariable) || as_text(*name) != kSecureBootName ||
      (*name_length)[0] != kSecureBootName.size() / 2 || !is_hash_of(event, event.data)) {
    return std::nullopt;
  }
  return cursor.remaining() == 1 && cursor.rest().front() == 1;
}

// GRUB hashes the command line; the event's data is a prefix and the same text with its NUL.
std::optional<std::string> command_line_of(const LoggedEvent& event) {
  const std::string_view data = as_text(event.data);
  for (const std::string_view prefix : kCommandLinePrefixes) {
    if (!data.starts_with(prefix)) {
      continue;
    }
    const std::string_view behind = data.substr(prefix.size());
    const std::string_view text = behind.substr(0, behind.find('\0'));
    if (text.size() <= kMaxCommandLineBytes && is_utf8(text) && is_hash_of(event, as_bytes(text))) {
      return std::string(text);
    }
  }
  return std::nullopt;
}

// TCG_PCClientTaggedEvent: id, size, data.
std::optional<std::uint32_t> tag_of(const LoggedEvent& event) { return Cursor(event.data).u32(); }

// The text of an event up to its NUL, which must be there: GRUB writes a byte more than it has.
std::optional<std::string_view> text_of(const LoggedEvent& event) {
  const std::string_view data = as_text(event.data);
  const std::size_t end = data.find('\0');
  return end == std::string_view::npos ? std::nullopt : std::optional(data.substr(0, end));
}

// The name of a section, which systemd-stub writes as UTF-16LE with its end; empty: no name
// that is read here.
std::string_view section_of(const LoggedEvent& event) {
  if (event.type != kEvIpl) {
    return {};
  }
  for (const std::string_view name : {kLinuxSection, kCommandLineSection, kInitrdSection}) {
    std::string wide;
    for (const char letter : name) {
      wide += {letter, '\0'};
    }
    wide.append(2, '\0');
    if (as_text(event.data) == wide) {
      return name;
    }
  }
  return {};
}

// Reads the events of RTMR2 in their order.
class BootLoaderReader {
 public:
  void read(const LoggedEvent& event, BootFacts& facts) {
    const std::string_view named = std::exchange(named_, {});
    const std::string_view section = section_of(event);
    if (!section.empty() && section == named) {
      add_section(section, event, facts);
    } else if (!section.empty() && is_hash_of(event, as_bytes(std::string(section) + '\0'))) {
      named_ = section;
    } else if (event.type == kEvIpl) {
      add_text(event, facts);
    } else if (event.type == kEvEventTag) {
      add_tagged(event, facts);
    }
  }

 private:
  // systemd-stub extends the name of a section, and then the section itself.
  static void add_section(std::string_view section, const LoggedEvent& event, BootFacts& facts) {
    add(section == kLinuxSection         ? facts.kernels
        : section == kCommandLineSection ? facts.load_options
                                         : facts.initrds,
        event.digest);
  }

  void add_text(const LoggedEvent& event, BootFacts& facts) {
    const auto text = text_of(event);
    if (text == kGrubKernel) {
      add(facts.kernels, event.digest);
    } else if (text == kGrubInitrd) {
      add(facts.initrds, event.digest);
    } else if (auto line = command_line_of(event)) {
      add_file_of(*line, facts);
      add(facts.command_lines, std::move(*line));
    } else if (text) {
      file_ = &event;
    }
  }

  // GRUB writes the name of each file that it reads, and a command line begins with the name of the
  // kernel, which is read just before.
  void add_file_of(std::string_view command_line, BootFacts& facts) {
    const LoggedEvent* file = std::exchange(file_, nullptr);
    if (file != nullptr && !command_line.empty() &&
        text_of(*file) == command_line.substr(0, command_line.find(' '))) {
      add(facts.kernels, file->digest);
    }
  }

  static void add_tagged(const LoggedEvent& event, BootFacts& facts) {
    const auto tag = tag_of(event);
    if (tag == kTagInitrd) {
      add(facts.initrds, event.digest);
    } else if (tag == kTagLoadOptions) {
      add(facts.load_options, event.digest);
    }
  }

  std::string_view named_;             // the section whose name the event before this one extends
  const LoggedEvent* file_ = nullptr;  // the last text that is none of the others
};

// UEFI_VARIABLE_DATA of SecureBoot with this value; empty: a variable that is not there.
Measurement digest_of_secure_boot(ByteView value) {
  Bytes data(kGlobalVariable.begin(), kGlobalVariable.end());
  for (const std::size_t length : {kSecureBootName.size() / 2, value.size()}) {
    data.push_back(static_cast<std::uint8_t>(length));
    data.insert(data.end(), 7, 0);  // the lengths have 64 bits
  }
  const ByteView name = as_bytes(kSecureBootName);
  data.insert(data.end(), name.begin(), name.end());
  data.insert(data.end(), value.begin(), value.end());
  return sha384(data);
}

struct SecureBootDigests {
  Measurement on = digest_of_secure_boot(std::array<std::uint8_t, 1>{1});
  Measurement off = digest_of_secure_boot(std::array<std::uint8_t, 1>{0});
  Measurement absent = digest_of_secure_boot({});
};

// What firmware extends into RTMR1 beside what it starts: a separator, and what it does
// (EV_SEPARATOR and EV_EFI_ACTION, TCG PC Client Platform Firmware Profile, sections 10.4.1 and
// 10.4.5).
std::vector<Measurement> firmware_digests() {
  std::vector<Measurement> digests = {sha384(std::array<std::uint8_t, 4>{})};
  for (const std::string_view action :
       {"Calling EFI Application from Boot Option",
        "Returning from EFI Application from Boot Option", "Exit Boot Services Invocation",
        "Exit Boot Services Returned with Failure", "Exit Boot Services Returned with Success"}) {
    digests.push_back(sha384(as_bytes(action)));
  }
  return digests;
}

// A partition table (UEFI_GPT_DATA): its bytes are in the log. No image that firmware could start
// begins like its header: signature, revision 1.0 and size (UEFI 2.10, section 5.3.2).
constexpr std::string_view kPartitionTable{"EFI PART\0\0\1\0\x5c\0\0\0", 16};
bool is_partition_table(const LoggedEvent& event) {
  return as_text(event.data).starts_with(kPartitionTable) && is_hash_of(event, event.data);
}

// Nothing of this is left out of RTMR2: boot loaders extend it with files and texts of any bytes. A
// file system for the initial RAM disk may begin like a partition table, and a command line may be
// the text of an action.
bool is_of_firmware(const LoggedEvent& event) {
  static const std::vector<Measurement> firmware = firmware_digests();
  return std::ranges::find(firmware, event.digest) != firmware.end() || is_partition_table(event);
}

void add_measured(const LoggedEvent& event, std::optional<std::vector<std::string>>& list) {
  std::string digest = hex_encode(event.digest);
  if (!list || std::ranges::find(*list, digest) != list->end()) {
    return;
  }
  if (list->size() == kMaxMeasured) {
    list.reset();
  } else {
    list->push_back(std::move(digest));
  }
}

std::string name_of_register(std::size_t i) { return "rtmr" + std::to_string(i); }

Json texts(const std::optional<std::vector<std::string>>& list) {
  return list ? Json(*list) : Json(nullptr);
}

Json digests(const std::optional<std::vector<Measurement>>& list) {
  if (!list) {
    return nullptr;
  }
  Json json = Json::array();
  for (const Measurement& value : *list) {
    json.push_back(hex_encode(value));
  }
  return json;
}

}  // namespace

Registers replay(const std::vector<LoggedEvent>& events) {
  Registers registers{};
  for (const LoggedEvent& event : events) {
    if (event.index < kIndexOfRtmr0 || event.type == kEvNoAction) {
      continue;
    }
    Measurement& value = registers.at(event.index - kIndexOfRtmr0);
    const Digest extended = sha(HashAlgorithm::kSha384, {value, event.digest});
    std::ranges::copy(extended.bytes(), value.begin());
  }
  return registers;
}

BootFacts boot_facts(const std::vector<LoggedEvent>& events) {
  BootFacts facts;
  BootLoaderReader boot_loader;
  for (const LoggedEvent& event : events) {
    if (event.index == kIndexOfRtmr0 && event.type == kEvEfiVariableDriverConfig) {
      if (const auto on = secure_boot_of(event)) {
        facts.secure_boot = facts.secure_boot.value_or(true) && *on;
      }
    } else if (event.index == kIndexOfRtmr1 && event.type == kEvEfiBootServicesApplication) {
      add(facts.applications, event.digest);
    } else if (event.index == kIndexOfRtmr2) {
      boot_loader.read(event, facts);
    }
  }
  return facts;
}

MeasuredBoot measured_boot(const std::vector<LoggedEvent>& events) {
  static const SecureBootDigests secure_boot;
  MeasuredBoot boot{std::nullopt, std::vector<std::string>(), std::vector<std::string>()};
  for (const LoggedEvent& event : events) {
    if (event.type == kEvNoAction) {
      continue;
    }
    if (event.index == kIndexOfRtmr0) {
      if (event.digest == secure_boot.on) {
        boot.secure_boot = boot.secure_boot.value_or(true);
      } else if (event.digest == secure_boot.off || event.digest == secure_boot.absent) {
        boot.secure_boot = false;
      }
    } else if (event.index == kIndexOfRtmr1 && !is_of_firmware(event)) {
      add_measured(event, boot.rtmr1);
    } else if (event.index == kIndexOfRtmr2) {
      add_measured(event, boot.rtmr2);
    }
  }
  return boot;
}

Checked<ReplayedLog> check_event_log(ByteView log, const TdReport& report, bool with_rtmr3) {
  auto view = parse_event_log(log);
  if (!view) {
    return std::unexpected(std::move(view).error());
  }
  const Registers registers = replay(view->events);
  for (std::size_t i = 0; i < registers.size(); ++i) {
    const bool counts = i < 3 || with_rtmr3;
    if (counts && registers[i] != report.rtmr[i]) {
      return reject(TdxError::kEventlogRtmrMismatch, hex_encode(report.rtmr[i]),
                    hex_encode(registers[i]), name_of_register(i));
    }
  }
  return ReplayedLog{sha256(log.first(view->size)), view->events.size(),
                     registers[3] == report.rtmr[3], boot_facts(view->events),
                     measured_boot(view->events)};
}

Json to_json(const ReplayedLog& log) {
  const BootFacts& boot = log.boot;
  return {
      {"digest", log.digest.text()},
      {"events", log.events},
      {"rtmr3", log.explains_rtmr3 ? "replayed" : "unexplained"},
      {"secure_boot", log.measured.secure_boot ? Json(*log.measured.secure_boot) : Json(nullptr)},
      {"applications", digests(boot.applications)},
      {"kernels", digests(boot.kernels)},
      {"command_lines", texts(boot.command_lines)},
      {"load_options", digests(boot.load_options)},
      {"initrds", digests(boot.initrds)},
      {"measured", assay::to_json(log.measured)}};
}

}  // namespace assay::attestation::tdx
