// SPDX-License-Identifier: Apache-2.0
// Forms of what a device says of itself: fields of reports, extensions and names of certificates.
// One sound form, one fault a case.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/nvidia/evidence_file.h"
#include "attestation/nvidia/firmware.h"
#include "attestation/nvidia/fwid.h"
#include "attestation/nvidia/topology.h"
#include "attestation/simulate/der_writer.h"
#include "schemas/core/sha.h"
#include "tests/attestation/nvidia/machine.h"

namespace assay::test::nvidia {
namespace {

namespace der = attestation::tdx::der;

// --- fields of reports

struct Field {
  const char* what;
  std::string want;
  std::vector<std::pair<std::uint16_t, std::optional<Bytes>>> fields;
};

// "read", or the code; `facts` receives what was read.
std::string read_fields(const DeviceSpec& device, ReportSpec report, const Field& field,
                        nv::FirmwareFacts* facts = nullptr) {
  for (const auto& [type, value] : field.fields) {
    set_field(report, type, value);
  }
  const Bytes bytes = make_report(report, key_of("P-384", 40));
  const auto chain = nv::claimed_device_chain(make_device(device).pem).value();
  const auto firmware = nv::read_firmware(nv::parse_report(bytes).value(), chain);
  if (firmware && facts != nullptr) {
    *facts = *firmware;
  }
  return firmware ? "read" : code(firmware.error());
}

TEST(Fields, OfAGpu_HaveTheirForms) {
  const std::vector<Field> rows = {
      {"as it is", "read", {}},
      {"driver of NULs", "OPAQUE_FORMAT:3", {{3, Bytes(4, 0)}}},
      {"long driver", "OPAQUE_FORMAT:3", {{3, Bytes(65, '1')}}},
      {"all characters of names", "read", {{3, to_bytes("0.9-azAZ")}}},
      {"colon", "OPAQUE_FORMAT:3", {{3, to_bytes("1:2")}}},
      {"at sign", "OPAQUE_FORMAT:3", {{3, to_bytes("@")}}},
      {"bracket", "OPAQUE_FORMAT:3", {{3, to_bytes("[")}}},
      {"grave accent", "OPAQUE_FORMAT:3", {{3, to_bytes("`")}}},
      {"brace", "OPAQUE_FORMAT:3", {{3, to_bytes("{")}}},
      {"no SKU of the project", "OPAQUE_MISSING:18", {{18, std::nullopt}}},
      {"no SKU of the chip", "OPAQUE_MISSING:15", {{15, std::nullopt}}},
      {"version of no byte", "OPAQUE_FORMAT:34", {{34, Bytes()}}},
      {"version in eight bytes", "read", {{34, Bytes{1, 0, 0, 0, 0, 0, 0, 0}}}},
      {"no version", "read", {{34, std::nullopt}}},
      {"feature of no byte", "OPAQUE_FORMAT:36", {{36, Bytes()}}},
      {"one GPU passed through", "read", {{36, Bytes{1, 0}}}},
      {"two bytes of the state of PCIe", "OPAQUE_FORMAT:21", {{21, Bytes{0x55, 0x55}}}},
      {"protected by both", "read", {{36, Bytes{2, 0}}, {21, Bytes{0xaa}}}},
      {"protected by the feature alone", "read", {{36, Bytes{2, 0}}, {21, std::nullopt}}},
      {"protected by the state alone", "read", {{36, std::nullopt}, {21, Bytes{0xaa}}}},
      {"protected by the state, not by the feature", "MODE_CONTRADICTION", {{21, Bytes{0xaa}}}},
      {"neither says the mode", "read", {{36, std::nullopt}, {21, std::nullopt}}},
      {"more links than there are", "OPAQUE_FORMAT:22", {{22, Bytes(257 * 8, 1)}}},
  };
  for (const Field& row : rows) {
    EXPECT_EQ(read_fields({}, hopper_report(), row), row.want) << row.what;
  }
  nv::FirmwareFacts facts;
  for (const std::size_t row : {17U, 18U, 19U}) {
    ASSERT_EQ(read_fields({}, hopper_report(), rows[row], &facts), "read");
    EXPECT_EQ(name(facts.mode), "ppcie") << rows[row].what;
  }
  Bytes links(24, 0);
  links[0] = 1;
  links[8] = 1;
  ASSERT_EQ(read_fields({}, hopper_report(), {"links", "read", {{22, links}}}, &facts), "read");
  EXPECT_EQ(facts.neighbours, std::vector<std::string>(1, "0000000000000001"));
  const DeviceSpec blackwell{.chip = "GB100", .form = FwidForm::kBlackwell};
  ASSERT_EQ(read_fields(blackwell, hopper_report(), rows[0], &facts), "read");
  EXPECT_EQ(facts.wanted[0].id, "NV_GPU_CC_DRIVER_GB100_600.1");
}

TEST(Fields, OfASwitch_HaveTheirForms) {
  const DeviceSpec spec{.chip = "LS_10", .serial_prefix = "50"};
  ReportSpec report;
  report.nonce = some_nonce();
  report.measurements = {{1, value_of(1)}};
  Bytes gpus(8 * 8 + 4, 0);
  gpus[7] = 9;
  report.opaque = {{6, to_bytes("96.10.5a.00.01")}, {22, {1, 2, 3, 4, 5, 6, 7, 8}}, {26, gpus}};
  nv::FirmwareFacts facts;
  ASSERT_EQ(read_fields(spec, report, {"", "", {}}, &facts), "read");
  EXPECT_EQ(facts.wanted[0].id, "NV_SWITCH_BIOS_5612_0002_890_96105A0001");
  EXPECT_EQ(facts.neighbours, std::vector<std::string>(1, "0000000000000009"));
  const std::vector<Field> rows = {
      {"no BIOS", "OPAQUE_MISSING:6", {{6, std::nullopt}}},
      {"BIOS with a space", "OPAQUE_FORMAT:6", {{6, to_bytes("96 10")}}},
      {"no identity", "OPAQUE_MISSING:22", {{22, std::nullopt}}},
      {"short identity", "OPAQUE_FORMAT:22", {{22, Bytes(7, 1)}}},
      {"identity of another switch", "OPAQUE_FORMAT:22", {{22, Bytes(8, 1)}}},
      {"seven GPUs", "OPAQUE_FORMAT:26", {{26, Bytes(63, 1)}}},
      {"no GPUs", "read", {{26, std::nullopt}}},
  };
  for (const Field& row : rows) {
    EXPECT_EQ(read_fields(spec, report, row), row.want) << row.what;
  }
  // A certificate whose serial number is no identity names none to compare with.
  for (const DeviceSpec& other : {DeviceSpec{.chip = "LS_10", .serial_prefix = "51"},
                                  DeviceSpec{.chip = "LS_10", .serial_prefix = "5000"}}) {
    EXPECT_EQ(read_fields(other, report, rows[4]), "read");
  }
}

// --- names of certificates

TEST(Names, OfALeaf_AreOneDevice) {
  const auto verdict = [](const std::string& names) {
    const auto chain =
        nv::verify_device_chain(make_device({.names = names}).pem, std::span(&device_root(), 1));
    return chain ? chain->chip + " " + chain->serial : code(chain.error());
  };
  const std::string type = "otherName:1.3.6.1.4.1.412.274.1;UTF8:";
  EXPECT_EQ(verdict(type + "NVIDIA:GH100:48B0"), "GH100 48B0");
  for (const std::string& names :
       {std::string("none"), std::string("DNS:example.com"), type + "NVIDIA:GH100",
        type + "NVIDIA:GH100:1," + type + "NVIDIA:GH100:2",
        std::string("otherName:1.3.6.1.4.1.412.274.2;UTF8:NVIDIA:GH100:1"),
        std::string("email:a")}) {
    EXPECT_EQ(verdict(names), "DEVICE_UNKNOWN") << names;
  }
}

TEST(Names, OfArchitectures_AreReadAsWritten) {
  for (const auto one :
       {nv::Architecture::kHopper, nv::Architecture::kBlackwell, nv::Architecture::kLs10}) {
    EXPECT_EQ(nv::architecture_from(lower_case(std::string(name(one)))), one);
  }
  EXPECT_EQ(nv::architecture_from("VOLTA"), std::nullopt);
}

TEST(Claims, AreOfAnyIssuer_AndNothingElse) {
  const Device device = make_device();
  const auto claimed = nv::claimed_device_chain(device.pem);
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->certificates, device.chain);
  EXPECT_EQ(nv::claimed_device_chain("no PEM").error().error, nv::NvidiaError::kDeviceChainFormat);
  EXPECT_EQ(nv::claimed_device_chain(pem_of({device.chain[0]})).error().error,
            nv::NvidiaError::kDeviceChainShape);
}

// --- extensions

std::string read_extension(const std::optional<Bytes>& composite,
                           const std::optional<Bytes>& tcb_info) {
  const auto read = nv::read_extensions({composite, tcb_info});
  return !read ? code(read.error()) : !read->fwid ? "none" : read->is_debuggable ? "debug" : "read";
}

Bytes joined(Bytes one, const Bytes& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

const Bytes kDigestBytes = Bytes(48, 0xf1);
Bytes fwid_of(const char* algorithm = "2.16.840.1.101.3.4.2.2",
              const Bytes& digest = kDigestBytes) {
  return der::sequence({der::oid(algorithm), der::octets(digest)});
}

TEST(Extensions, OfHopper_AreStrict) {
  const Bytes key = der::sequence({der::integer(2)});
  const auto composite = [](std::initializer_list<Bytes> parts) {
    return read_extension(der::sequence(parts), std::nullopt);
  };
  EXPECT_EQ(composite({der::integer(1), key, fwid_of()}), "read");
  EXPECT_EQ(composite({der::integer(1), key}), "FWID_FORMAT");
  EXPECT_EQ(composite({der::octets(key), key, fwid_of()}), "FWID_FORMAT");
  EXPECT_EQ(composite({der::value(0x82, Bytes{1}), key, fwid_of()}), "FWID_FORMAT");
  EXPECT_EQ(composite({der::integer(1), der::integer(1), fwid_of()}), "FWID_FORMAT");
  EXPECT_EQ(composite({der::integer(1), key, der::integer(1)}), "FWID_FORMAT");
  const std::vector<Bytes> digests = {
      fwid_of("2.16.840.1.101.3.4.2.1"),
      fwid_of("2.16.840.1.101.3.4.2.2", Bytes(47, 1)),
      der::sequence({der::oid("2.16.840.1.101.3.4.2.2")}),
      der::sequence({der::octets(Bytes(9, 1)), der::octets(kDigestBytes)}),
      der::sequence({der::oid("2.16.840.1.101.3.4.2.2"), der::utf8(std::string(48, 'a'))}),
      der::value(0x30, Bytes{0x06}),
  };
  for (const Bytes& digest : digests) {
    EXPECT_EQ(composite({der::integer(1), key, digest}), "FWID_FORMAT") << hex_encode(digest);
  }
  const Bytes good = der::sequence({der::integer(1), key, fwid_of()});
  EXPECT_EQ(read_extension(joined(good, Bytes{0x05, 0x00}), std::nullopt), "FWID_FORMAT");
  EXPECT_EQ(read_extension(Bytes(), std::nullopt), "FWID_FORMAT");
  EXPECT_EQ(read_extension(der::octets(good), std::nullopt), "FWID_FORMAT");
  EXPECT_EQ(read_extension(Bytes{0x30, 0x80, 0x00, 0x00}, std::nullopt), "FWID_FORMAT");
  EXPECT_EQ(read_extension(good, good), "FWID_FORMAT");
  EXPECT_EQ(read_extension(std::nullopt, std::nullopt), "none");
}

TEST(Extensions, OfBlackwell_AreStrict) {
  const auto tcb_info = [](std::initializer_list<Bytes> parts) {
    return read_extension(std::nullopt, der::sequence(parts));
  };
  const Bytes list = der::context(6, fwid_of());
  const auto flags = [](std::uint8_t first) { return der::value(0x87, Bytes{0, first}); };
  EXPECT_EQ(tcb_info({list}), "read");
  EXPECT_EQ(tcb_info({list, flags(0x80)}), "read");
  for (const std::uint8_t bad : Bytes{0x40, 0x20, 0x10}) {
    EXPECT_EQ(tcb_info({list, flags(bad)}), "debug") << int{bad};
  }
  EXPECT_EQ(tcb_info({der::context(6, joined(fwid_of(), fwid_of("2.16.840.1.101.3.4.2.1")))}),
            "read");
  EXPECT_EQ(tcb_info({list, der::value(0x87, Bytes{0})}), "FWID_FORMAT");
  EXPECT_EQ(tcb_info({}), "FWID_FORMAT");
  EXPECT_EQ(tcb_info({der::context(5, fwid_of())}), "FWID_FORMAT");
  EXPECT_EQ(tcb_info({der::value(0x66, fwid_of())}), "FWID_FORMAT");  // of another class
  EXPECT_EQ(tcb_info({der::context(6, Bytes())}), "FWID_FORMAT");
  EXPECT_EQ(tcb_info({der::context(6, Bytes{0x30})}), "FWID_FORMAT");
  EXPECT_EQ(tcb_info({der::context(6, der::integer(1))}), "FWID_FORMAT");
  EXPECT_EQ(read_extension(std::nullopt, Bytes{0x30, 0x01}), "FWID_FORMAT");
}

// --- devices that stand together

TEST(Together, DevicesAreDistinct_AndABoardIsWhole) {
  const auto device = [](int number, bool is_protected) {
    return nv::BoardDevice{sha256(as_bytes(std::to_string(number))),
                           nv::DeviceKind::kGpu,
                           is_protected,
                           std::nullopt,
                           {}};
  };
  const auto verdict = [](const std::vector<nv::BoardDevice>& devices) {
    const auto checked = nv::check_together(devices);
    return !checked ? code(checked.error()) : *checked ? "board" : "apart";
  };
  EXPECT_EQ(verdict({}), "apart");
  EXPECT_EQ(verdict({device(1, false), device(2, false)}), "apart");
  EXPECT_EQ(verdict({device(1, false), device(1, false)}), "TOPOLOGY_DOUBLED");
  EXPECT_EQ(verdict({device(1, true), device(2, true)}), "TOPOLOGY_COUNT");
  nv::BoardDevice lone_switch = device(3, true);
  lone_switch.kind = nv::DeviceKind::kSwitch;
  EXPECT_EQ(verdict({lone_switch}), "apart");
}

}  // namespace
}  // namespace assay::test::nvidia
