// SPDX-License-Identifier: Apache-2.0
// Input that nobody meant: cut at any byte, far too much of everything. Each is refused with a
// code, in bounded time and memory. bits_test.cc flips bits.
#include <algorithm>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/nvidia/evidence_file.h"
#include "attestation/nvidia/fwid.h"
#include "attestation/nvidia/rim_content.h"
#include "attestation/nvidia/xml_limits.h"
#include "tests/attestation/nvidia/machine.h"
#include "tests/support/vectors.h"

namespace assay::test::nvidia {
namespace {

constexpr std::size_t kMillion = 1'000'000;
constexpr long kMaxGrowthKib = 192L << 10;  // sanitizers take several times what the parser does

std::string read_real(const std::string& file) {
  return read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/nvgpu" / file);
}

std::string repeated(const std::string& one, std::size_t times) {
  std::string all = one;
  while (all.size() < one.size() * times) {
    all.append(all, 0, one.size() * times - all.size());
  }
  return all;
}

template <typename T>
std::string outcome(const nv::Checked<T>& parsed) {
  return parsed ? "read" : std::string(name(parsed.error().error));
}

// --- cut at any byte

// Where JSON of a long text is cut: at each byte of its beginning and end, where its structure is,
// and now and then in the text between.
std::vector<std::size_t> cuts(std::size_t size) {
  constexpr std::size_t kEnds = 160;
  constexpr std::size_t kStep = 61;
  std::vector<std::size_t> all;
  for (std::size_t at = 0; at < size; at += at < kEnds || at + kEnds >= size ? 1 : kStep) {
    all.push_back(at);
  }
  return all;
}

TEST(CutInput, ReportOfEachKind_IsRefusedAtEachByte) {
  for (const char* file : {"hopper-580.json", "blackwell-575.json", "ls10.json"}) {
    const auto all = nv::parse_evidence(as_bytes(read_real(file))).value();
    const ByteView report(all.front().report);
    ASSERT_EQ(outcome(nv::parse_report(report)), "read") << file;
    for (std::size_t size = 0; size < report.size(); ++size) {
      ASSERT_EQ(outcome(nv::parse_report(report.first(size))), "REPORT_TRUNCATED") << size;
    }
    // No beginning of the opaque fields but one that ends with a field is read.
    const auto parsed = nv::parse_report(report).value();
    const ByteView opaque = report.subspan(
        static_cast<std::size_t>(parsed.opaque.front().second.data() - 4 - report.data()));
    std::size_t end = 0;
    for (const auto& [type, value] : parsed.opaque) {
      for (std::size_t cut = end + 1; cut < end + 4 + value.size(); ++cut) {
        ASSERT_EQ(outcome(nv::parse_opaque(opaque.first(cut))), "OPAQUE_FORMAT") << cut;
      }
      end += 4 + value.size();
      ASSERT_EQ(outcome(nv::parse_opaque(opaque.first(end))), "read");
    }
  }
}

TEST(CutInput, EvidenceOfADevice_IsRefused) {
  const Json list = Json::parse(read_real("ls10.json"));
  const std::string text = (list.is_array() ? list.front() : list).dump();
  ASSERT_EQ(outcome(nv::parse_device(as_bytes(text))), "read");
  for (const std::size_t size : cuts(text.size())) {
    ASSERT_EQ(outcome(nv::parse_device(as_bytes(text).first(size))), "EVIDENCE_FORMAT") << size;
    ASSERT_EQ(outcome(nv::parse_evidence(as_bytes(text).first(size))), "EVIDENCE_FORMAT") << size;
  }
}

TEST(CutInput, Rim_IsRefusedAtEachByte) {
  const std::string xml = make_rim(driver_rim());
  for (std::size_t size = 0; size < xml.size(); ++size) {
    ASSERT_EQ(outcome(open(xml.substr(0, size), kDriverId)), "RIM_FORMAT") << size;
  }
  const std::string answer = Json{{"id", kDriverId}, {"rim", base64_encode(as_bytes(xml))}}.dump();
  ASSERT_TRUE(nv::parse_rim_answer(as_bytes(answer)));
  for (const std::size_t size : cuts(answer.size())) {
    ASSERT_EQ(outcome(nv::parse_rim_answer(as_bytes(answer).first(size))), "RIM_FORMAT") << size;
  }
}

TEST(CutInput, OcspAnswerAndExtensions_AreRefusedAtEachByte) {
  const Device device = make_device();
  OcspSpec spec;
  spec.key = device_issuer_key({}, 2);
  const Bytes answer = make_ocsp(device.chain[1], device.chain[2], spec);
  for (std::size_t size = 0; size < answer.size(); ++size) {
    ASSERT_EQ(outcome(nv::OcspResponse::parse(ByteView(answer).first(size))), "OCSP_FORMAT");
  }
  for (const nv::FwidForm form : {nv::FwidForm::kHopper, nv::FwidForm::kBlackwell}) {
    const Bytes value =
        nv::make_fwid(form, Bytes(48, 0xf1), public_der(key_of("P-384", 40)), 0x80).second;
    const auto read = [&](Bytes bytes) {
      return outcome(nv::read_extensions(
          form == nv::FwidForm::kHopper ? nv::FirmwareExtensions{std::move(bytes), std::nullopt}
                                        : nv::FirmwareExtensions{std::nullopt, std::move(bytes)}));
    };
    ASSERT_EQ(read(value), "read");
    for (std::size_t size = 0; size < value.size(); ++size) {
      ASSERT_EQ(read(Bytes(value.begin(), value.begin() + static_cast<long>(size))), "FWID_FORMAT")
          << size;
    }
  }
}

// --- far too much

struct Cost {
  double cpu_seconds;
  long peak_kib;
};
Cost cost() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {static_cast<double>(usage.ru_utime.tv_sec) +
              static_cast<double>(usage.ru_utime.tv_usec) / 1e6,
          usage.ru_maxrss};
}

struct Flood {
  const char* what;
  const char* want;
  std::function<std::string(ByteView)> read;
  std::string input;
};

std::string read_rim(ByteView input) {
  return outcome(open(std::string(as_text(input)), kDriverId));
}
std::string read_content(ByteView input) { return outcome(nv::read_content(input)); }
std::string read_report(ByteView input) { return outcome(nv::parse_report(input)); }
std::string read_evidence(ByteView input) { return outcome(nv::parse_evidence(input)); }
std::string read_device(ByteView input) { return outcome(nv::parse_device(input)); }
std::string read_answer(ByteView input) { return outcome(nv::OcspResponse::parse(input)); }

std::string swid(const std::string& payload) {
  return R"(<SoftwareIdentity xmlns="http://standards.iso.org/iso/19770/-2/2015/schema.xsd" )"
         R"(name="GH100"><Meta edition="GPU" product="GH100" colloquialVersion="1"></Meta>)"
         "<Payload>" +
         payload + "</Payload></SoftwareIdentity>";
}

// A sequence of `count` empty ones, where an answer is expected.
std::string many_answers(std::size_t count) {
  const std::string all = repeated(std::string("\x30\0", 2), count);
  std::string head = "\x30\x83";
  for (const int shift : {16, 8, 0}) {
    head.push_back(static_cast<char>(all.size() >> shift));
  }
  return head + all;
}

// long-function: one table.
std::vector<Flood> floods() {
  // SPDM says the length of a record in three bytes; a report with that many has a header, and the
  // blocks of a million measurements, each of one byte.
  std::string report = repeated(std::string("\x01\x01\x04\0\0\x01\0\x07", 8), kMillion);
  report.insert(0, std::string("\x11\xe0\x01\xff", 4) + std::string(33, '\0') +
                       std::string("\x11\x60\0\0\xff\xff\xff\xff", 8));
  return {
      {"a report of a million measurements", "INPUT_TOO_LARGE", read_report, report},
      {"its beginning", "REPORT_TRUNCATED", read_report, report.substr(0, nv::kMaxReportBytes)},
      {"a RIM of a million measurements", "INPUT_TOO_LARGE", read_rim,
       swid(repeated("<Resource/>", kMillion))},
      {"signed content of a million measurements", "INPUT_TOO_LARGE", read_content,
       swid(repeated("<Resource/>", kMillion))},
      {"signed content of as many as tags are read", "RIM_CONTENT", read_content,
       swid(repeated("<Resource/>", nv::kMaxXmlTags - 6))},
      {"more tags", "INPUT_TOO_LARGE", read_content,
       swid(repeated("<Resource/>", nv::kMaxXmlTags))},
      {"a RIM of 16 MiB", "INPUT_TOO_LARGE", read_rim, std::string(16U << 20, ' ')},
      {"a million elements in each other", "INPUT_TOO_LARGE", read_rim,
       repeated("<a>", kMillion) + repeated("</a>", kMillion)},
      {"as deep as the number of tags lets", "RIM_FORMAT", read_content,
       repeated("<a>", nv::kMaxXmlTags / 2) + repeated("</a>", nv::kMaxXmlTags / 2)},
      {"a million entities", "RIM_FORMAT", read_rim,
       "<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaaaaaaaa\">" + repeated("<!ENTITY b \"&a;\">", 10'000) +
           "]><a>&b;</a>"},
      {"a million devices", "INPUT_TOO_LARGE", read_evidence,
       "[" + repeated("{},", 2 * kMillion) + "{}]"},
      {"a million devices in four megabytes", "EVIDENCE_FORMAT", read_evidence,
       "[" + repeated("{},", kMillion) + "{}]"},
      {"a million lists in each other", "EVIDENCE_FORMAT", read_evidence,
       repeated("[", kMillion) + repeated("]", kMillion)},
      {"a device of a million members", "INPUT_TOO_LARGE", read_device,
       "{" + repeated("\"a\":1,", kMillion) + "\"b\":1}"},
      {"an OCSP answer of a million answers", "INPUT_TOO_LARGE", read_answer,
       many_answers(kMillion)},
      {"as many as fit", "OCSP_FORMAT", read_answer, many_answers((nv::kMaxOcspBytes - 5) / 2)},
  };
}

TEST(FarTooMuch, IsRefusedInBoundedTimeAndMemory) {
  for (const Flood& flood : floods()) {
    const Cost before = cost();
    EXPECT_EQ(flood.read(as_bytes(flood.input)), flood.want) << flood.what;
    const Cost after = cost();
    EXPECT_LT(after.cpu_seconds - before.cpu_seconds, 1.0) << flood.what;
    EXPECT_LT(after.peak_kib - before.peak_kib, kMaxGrowthKib) << flood.what;
  }
}

}  // namespace
}  // namespace assay::test::nvidia
