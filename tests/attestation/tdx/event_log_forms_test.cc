// SPDX-License-Identifier: Apache-2.0
// Event logs that are written part by part: every field cut, out of range or of another kind; and
// events whose data is not what its type says.

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/simulate/writer.h"
#include "attestation/tdx/event_log.h"
#include "schemas/core/sha.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::uint16_t kSha256Id = 0x000b;
constexpr std::uint16_t kSha384Id = 0x000c;

struct LogAlgorithm {
  std::uint16_t id;
  std::uint16_t size;
};
struct LogDigest {
  std::uint16_t id;
  Bytes value;
};

// A header that names one algorithm, and an event of one digest.
struct LogForm {
  std::uint32_t header_type = kEvNoAction;
  Bytes specification = to_bytes(std::string_view("Spec ID Event03\0", 16));
  std::vector<LogAlgorithm> algorithms = {{kSha384Id, 48}};
  std::uint32_t more_algorithms = 0;  // that the header claims and does not have
  std::size_t header_cut = 0;         // bytes of its data that are missing
  std::vector<LogDigest> digests = {{kSha384Id, Bytes(48, 5)}};
  std::uint32_t more_digests = 0;
  std::uint32_t index = 1;
  Bytes behind;

  [[nodiscard]] Bytes header_data() const {
    Writer data;
    data.bytes(specification);
    data.zeros(8);
    data.number(algorithms.size() + more_algorithms, 4);
    for (const LogAlgorithm& algorithm : algorithms) {
      data.number(algorithm.id, 2);
      data.number(algorithm.size, 2);
    }
    Bytes bytes = data.take();
    bytes.resize(bytes.size() - header_cut);
    return bytes;
  }

  [[nodiscard]] Bytes written() const {
    const Bytes header = header_data();
    Writer out;
    out.number(0, 4);
    out.number(header_type, 4);
    out.zeros(20);
    out.number(header.size(), 4);
    out.bytes(header);
    out.number(index, 4);
    out.number(kEvIpl, 4);
    out.number(digests.size() + more_digests, 4);
    for (const LogDigest& digest : digests) {
      out.number(digest.id, 2);
      out.bytes(digest.value);
    }
    out.number(3, 4);
    out.bytes(Bytes{1, 2, 3});
    out.bytes(behind);
    return out.take();
  }
};

// The number of events, or the code.
std::string parsed_log(const Bytes& log) {
  const auto view = parse_event_log(log);
  return view ? std::to_string(view->events.size()) : code(view.error());
}

struct LogCase {
  const char* what;
  std::function<void(LogForm&)> change;
  const char* expected;
};

TEST(TdxEventLogForms, OneChange_HasItsError) {
  const std::vector<LogCase> cases = {
      {"nothing", [](LogForm&) {}, "1"},
      {"header of another type", [](LogForm& f) { f.header_type = kEvIpl; }, "EVENTLOG_FORMAT"},
      {"header of an older form",
       [](LogForm& f) { f.specification = to_bytes(std::string_view("Spec ID Event02\0", 16)); },
       "EVENTLOG_FORMAT"},
      {"header without a specification", [](LogForm& f) { f.header_cut = 25; }, "EVENTLOG_FORMAT"},
      {"header cut before its version", [](LogForm& f) { f.header_cut = 9; }, "EVENTLOG_TRUNCATED"},
      {"header cut in its count", [](LogForm& f) { f.header_cut = 5; }, "EVENTLOG_TRUNCATED"},
      {"header cut before a size", [](LogForm& f) { f.header_cut = 2; }, "EVENTLOG_TRUNCATED"},
      {"header cut before an algorithm", [](LogForm& f) { f.header_cut = 4; },
       "EVENTLOG_TRUNCATED"},
      {"header with six algorithms", [](LogForm& f) { f.more_algorithms = 5; }, "EVENTLOG_FORMAT"},
      {"header with one algorithm less than it says", [](LogForm& f) { f.more_algorithms = 1; },
       "EVENTLOG_TRUNCATED"},
      {"header with an unknown algorithm", [](LogForm& f) { f.algorithms.push_back({0x77, 32}); },
       "EVENTLOG_ALG_UNKNOWN"},
      {"header with all known algorithms",
       [](LogForm& f) {
         f.algorithms = {{0x04, 20}, {kSha256Id, 32}, {kSha384Id, 48}, {0x0d, 64}, {0x12, 32}};
       },
       "1"},
      {"header with a size of another algorithm",
       [](LogForm& f) { f.algorithms.push_back({kSha256Id, 48}); }, "EVENTLOG_FORMAT"},
      {"digests of five algorithms",
       [](LogForm& f) {
         f.digests.insert(f.digests.begin(), {{0x04, Bytes(20)}, {kSha256Id, Bytes(32)}});
         f.digests.push_back({0x0d, Bytes(64)});
         f.digests.push_back({0x12, Bytes(32)});
       },
       "1"},
      {"six digests", [](LogForm& f) { f.more_digests = 5; }, "EVENTLOG_TRUNCATED"},
      {"SHA-256 alone", [](LogForm& f) { f.digests = {{kSha256Id, Bytes(32)}}; },
       "EVENTLOG_NO_SHA384"},
      {"two digests of SHA-384", [](LogForm& f) { f.digests.push_back(f.digests.front()); },
       "EVENTLOG_FORMAT"},
      {"a register beyond RTMR3", [](LogForm& f) { f.index = 5; }, "EVENTLOG_INDEX"},
      {"padding of ones", [](LogForm& f) { f.behind = Bytes(8, 0xff); }, "1"},
      {"padding of zeros", [](LogForm& f) { f.behind = Bytes(100, 0); }, "1"},
      {"too little padding", [](LogForm& f) { f.behind = Bytes(7, 0xff); }, "EVENTLOG_TRUNCATED"},
      {"padding of something else", [](LogForm& f) { f.behind = Bytes(9, 0xfe); },
       "EVENTLOG_INDEX"},
      {"padding that changes", [](LogForm& f) { f.behind = {0, 0, 0, 0, 0, 0, 0, 0, 1}; },
       "EVENTLOG_FORMAT"},
  };
  for (const LogCase& c : cases) {
    LogForm form;
    c.change(form);
    EXPECT_EQ(parsed_log(form.written()), c.expected) << c.what;
  }
}

TEST(TdxEventLogForms, CutAnywhere_IsTruncated) {
  LogForm form;
  form.digests.push_back({kSha256Id, Bytes(32)});
  const Bytes log = form.written();
  const std::size_t header = 32 + form.header_data().size();
  for (std::size_t size = 0; size < log.size(); ++size) {
    const Bytes cut(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(parsed_log(cut), size == header ? "0" : "EVENTLOG_TRUNCATED") << size;
  }
}

// --- what events say

Measurement hash_of(ByteView data) {
  Measurement value{};
  const Digest digest = sha(HashAlgorithm::kSha384, data);
  std::ranges::copy(digest.bytes(), value.begin());
  return value;
}

// An event whose digest is that of its data.
LoggedEvent honest(std::uint32_t index, std::uint32_t type, const Bytes& data) {
  return {index, type, hash_of(data), data};
}

Bytes secure_boot_variable(std::uint8_t value) {
  Bytes data = valid_boot(testing::seed()).front().data;
  data.back() = value;
  return data;
}

std::optional<bool> secure_boot(const Bytes& variable) {
  return boot_facts({honest(1, kEvEfiVariableDriverConfig, variable)}).secure_boot;
}

TEST(TdxBootFacts, SecureBootVariable_IsReadWholeOrNotAtAll) {
  const Bytes on = secure_boot_variable(1);
  EXPECT_EQ(secure_boot(on), true);
  EXPECT_EQ(secure_boot(secure_boot_variable(0)), false);
  EXPECT_EQ(secure_boot(secure_boot_variable(2)), false);
  for (std::size_t size = 0; size < on.size(); ++size) {
    const Bytes cut(on.begin(), on.begin() + static_cast<std::ptrdiff_t>(size));
    // Without its value it is a variable that is not there.
    EXPECT_EQ(secure_boot(cut), size + 1 == on.size() ? std::optional(false) : std::nullopt)
        << size;
  }
  Bytes longer = on;
  longer.push_back(1);
  EXPECT_EQ(secure_boot(longer), false);
  for (const std::size_t at : {std::size_t{0}, std::size_t{16}, std::size_t{32}}) {
    Bytes other = on;
    other[at] ^= 1U;  // in the GUID, the length of the name, the name
    EXPECT_EQ(secure_boot(other), std::nullopt) << at;
  }
}

TEST(TdxBootFacts, SecureBoot_IsOffOnceItWasOff) {
  const Bytes on = secure_boot_variable(1);
  const Bytes off = secure_boot_variable(0);
  const auto both = [](const Bytes& first, const Bytes& second) {
    return boot_facts({honest(1, kEvEfiVariableDriverConfig, first),
                       honest(1, kEvEfiVariableDriverConfig, second)})
        .secure_boot;
  };
  EXPECT_EQ(both(on, on), true);
  EXPECT_EQ(both(on, off), false);
  EXPECT_EQ(both(off, on), false);
}

// The digest is that of the text behind the prefix.
std::size_t command_lines(const std::string& prefix, const std::string& text) {
  const Bytes data = to_bytes(prefix + text + '\0');
  return boot_facts({{3, kEvIpl, hash_of(as_bytes(text)), data}}).command_lines->size();
}

TEST(TdxBootFacts, CommandLine_IsText) {
  EXPECT_EQ(command_lines("kernel_cmdline: ", "quiet"), 1U);
  EXPECT_EQ(command_lines("grub_kernel_cmdline ", "quiet"), 1U);
  EXPECT_EQ(command_lines("another_cmdline: ", "quiet"), 0U);
  EXPECT_EQ(command_lines("kernel_cmdline: ", std::string(4096, 'a')), 1U);
  EXPECT_EQ(command_lines("kernel_cmdline: ", std::string(4097, 'a')), 0U);
  EXPECT_EQ(command_lines("kernel_cmdline: ", "quiet\xff"), 0U);
}

TEST(TdxBootFacts, TaggedEvents_AreTakenByTheirTag) {
  const Bytes initrd = {0xec, 0x22, 0x3b, 0x8f, 0, 0, 0, 0};
  const Bytes options = {0xed, 0x22, 0x3b, 0x8f, 0, 0, 0, 0};
  const Bytes unknown = {0xee, 0x22, 0x3b, 0x8f, 0, 0, 0, 0};
  const Bytes cut = {0xec, 0x22, 0x3b};
  const BootFacts facts =
      boot_facts({honest(3, kEvEventTag, initrd), honest(3, kEvEventTag, options),
                  honest(3, kEvEventTag, unknown), honest(3, kEvEventTag, cut),
                  honest(3, kEvEfiBootServicesApplication, initrd)});
  EXPECT_EQ(facts.initrds, std::vector{hash_of(initrd)});
  EXPECT_EQ(facts.load_options, std::vector{hash_of(options)});
  EXPECT_TRUE(facts.applications->empty());
}

// Text as GRUB of Red Hat's branch writes it: with its NUL and a byte behind that.
Bytes grub_text(std::string_view text) { return to_bytes(std::string(text) + '\0' + 'x'); }

TEST(TdxBootFacts, GrubOfRedHat_NamesKernelAndInitrd) {
  const Bytes kernel = grub_text("grub_linuxefi Kernel");
  const Bytes initrd = grub_text("grub_linuxefi Initrd");
  const Bytes longer = grub_text("grub_linuxefi Kernels");
  const Bytes open = to_bytes("grub_linuxefi Kernel");
  const BootFacts facts = boot_facts({honest(3, kEvIpl, kernel), honest(3, kEvIpl, initrd),
                                      honest(3, kEvIpl, longer), honest(3, kEvIpl, open),
                                      honest(2, kEvIpl, kernel), honest(3, kEvEventTag, kernel)});
  EXPECT_EQ(facts.kernels, std::vector{hash_of(kernel)});
  EXPECT_EQ(facts.initrds, std::vector{hash_of(initrd)});
}

// A command line, and the events before it.
std::vector<Measurement> kernels_of(std::vector<LoggedEvent> events, const Bytes& command_line) {
  const std::string_view behind = as_text(command_line).substr(16);
  events.push_back({3, kEvIpl, hash_of(as_bytes(behind)), command_line});
  return boot_facts(events).kernels.value();
}

TEST(TdxBootFacts, FileThatTheCommandLineNames_IsTheKernel) {
  const Bytes line = to_bytes("kernel_cmdline: /vmlinuz quiet");
  const Bytes bare = to_bytes("kernel_cmdline: /vmlinuz");
  const Bytes empty = to_bytes("kernel_cmdline: ");
  const Bytes file = to_bytes(std::string_view("/vmlinuz\0", 9));
  const Bytes other = to_bytes(std::string_view("/vmlinuz.old\0", 13));
  const Bytes nothing = {0};
  const LoggedEvent kernel{3, kEvIpl, hash_of(to_bytes("image")), file};
  EXPECT_EQ(kernels_of({kernel}, line), std::vector{kernel.digest});
  EXPECT_EQ(kernels_of({kernel}, bare), std::vector{kernel.digest});
  EXPECT_TRUE(kernels_of({kernel, honest(3, kEvIpl, other)}, line).empty());
  EXPECT_TRUE(kernels_of({honest(3, kEvIpl, other)}, line).empty());
  EXPECT_TRUE(kernels_of({honest(3, kEvIpl, nothing)}, empty).empty());
  EXPECT_TRUE(kernels_of({}, line).empty());
  // The second of two command lines has no file.
  EXPECT_EQ(kernels_of({kernel, {3, kEvIpl, hash_of(to_bytes("/vmlinuz")), bare}}, line),
            std::vector{kernel.digest});
}

Bytes utf16(std::string_view name) {
  Bytes wide;
  for (const char letter : name) {
    wide.push_back(static_cast<std::uint8_t>(letter));
    wide.push_back(0);
  }
  wide.insert(wide.end(), {0, 0});
  return wide;
}

// A section as systemd-stub measures it: its name, then its bytes.
struct Section {
  explicit Section(const std::string& name) : data(utf16(name)) {
    const std::string ended = name + '\0';
    events = {{3, kEvIpl, hash_of(as_bytes(ended)), data},
              {3, kEvIpl, hash_of(as_bytes("bytes of " + name)), data}};
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  [[nodiscard]] Measurement digest() const { return events[1].digest; }
  Bytes data;
  std::vector<LoggedEvent> events;
};

TEST(TdxBootFacts, SectionsOfSystemdStub_ComeBehindTheirNames) {
  const Section linux(".linux");
  const Section line(".cmdline");
  const Section initrd(".initrd");
  const Section uname(".uname");
  std::vector<LoggedEvent> events;
  for (const Section* section : {&linux, &uname, &line, &initrd}) {
    events.insert(events.end(), section->events.begin(), section->events.end());
  }
  // An event of another register does not stand between the two.
  events.insert(events.begin() + 1, LoggedEvent{2, kEvIpl, {}, uname.data});
  const BootFacts facts = boot_facts(events);
  EXPECT_EQ(facts.kernels, std::vector{linux.digest()});
  EXPECT_EQ(facts.load_options, std::vector{line.digest()});
  EXPECT_EQ(facts.initrds, std::vector{initrd.digest()});
  EXPECT_TRUE(facts.command_lines->empty());
}

TEST(TdxBootFacts, SectionWithoutTheDigestOfItsName_IsNone) {
  const Section linux(".linux");
  const LoggedEvent& name = linux.events[0];
  const LoggedEvent& bytes = linux.events[1];
  const auto kernels = [](const std::vector<LoggedEvent>& events) {
    return boot_facts(events).kernels.value();
  };
  EXPECT_EQ(kernels({name, bytes}).size(), 1U);
  EXPECT_TRUE(kernels({name}).empty());
  EXPECT_TRUE(kernels({bytes}).empty());
  EXPECT_TRUE(kernels({bytes, bytes}).empty());
  LoggedEvent between = bytes;
  between.type = kEvEventTag;
  EXPECT_TRUE(kernels({name, between, bytes}).empty());
  const Section initrd(".initrd");
  EXPECT_TRUE(kernels({name, initrd.events[0], bytes}).empty());
  EXPECT_TRUE(boot_facts({name, initrd.events[1]}).initrds->empty());
  // One name stands for one section, whatever the bytes of the section are.
  EXPECT_EQ(kernels({name, bytes, bytes}).size(), 1U);
  EXPECT_EQ(kernels({name, name, bytes}), std::vector{name.digest});
}

TEST(TdxBootFacts, ListsThatAreNotKnown_AreNull) {
  const Bytes line = to_bytes("kernel_cmdline: quiet");
  const Bytes image(32);
  std::vector<LoggedEvent> events;
  for (std::size_t i = 0; i < kMaxBooted + 2; ++i) {
    events.push_back(honest(2, kEvEfiBootServicesApplication, image));
    events.push_back({3, kEvIpl, hash_of(as_bytes("quiet")), line});
  }
  ReplayedLog log{sha256({}), events.size(), true, boot_facts(events), measured_boot(events)};
  const Json json = to_json(log);
  EXPECT_TRUE(json["applications"].is_null());
  EXPECT_TRUE(json["command_lines"].is_null());
  EXPECT_TRUE(json["secure_boot"].is_null());
  EXPECT_EQ(json["initrds"], Json::array());
  EXPECT_EQ(json["kernels"], Json::array());
}

TEST(TdxReplay, EventsThatExtendNothing_ChangeNothing) {
  const Bytes data = secure_boot_variable(1);
  const LoggedEvent event = honest(1, kEvEfiVariableDriverConfig, data);
  LoggedEvent of_mrtd = event;
  of_mrtd.index = 0;
  LoggedEvent no_action = event;
  no_action.type = kEvNoAction;
  EXPECT_EQ(replay({of_mrtd, no_action}), Registers{});
  EXPECT_NE(replay({event}), Registers{});
  EXPECT_EQ(replay({of_mrtd, event, no_action}), replay({event}));
  EXPECT_EQ(measured_boot({no_action}).secure_boot, std::nullopt);
  EXPECT_EQ(measured_boot({event}).secure_boot, true);
}

}  // namespace
}  // namespace assay::attestation::tdx
