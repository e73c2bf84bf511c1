// SPDX-License-Identifier: Apache-2.0
// The SGX extension of a PCK certificate, with one thing changed; and the reader below it.

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/simulate/der_writer.h"
#include "attestation/simulate/pki.h"
#include "attestation/tdx/der_reader.h"
#include "attestation/tdx/quote_platform.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

const std::string kArcText = "1.2.840.113741.1.13.1";

// Content of a member, by the last number of its OID.
struct SgxMember {
  std::string oid;
  Bytes value;
};
using SgxMembers = std::vector<SgxMember>;

SgxMembers valid_tcb() {
  SgxMembers members;
  for (int i = 1; i <= 16; ++i) {
    members.push_back({kArcText + ".2." + std::to_string(i), der::integer(3)});
  }
  members.push_back({kArcText + ".2.17", der::integer(11)});
  members.push_back({kArcText + ".2.18", der::octets(Bytes(16, 3))});
  return members;
}

Bytes sequence_of(const SgxMembers& members) {
  std::vector<Bytes> parts;
  for (const SgxMember& member : members) {
    parts.push_back(der::sequence({der::oid(member.oid), member.value}));
  }
  return der::sequence(parts);
}

struct SgxForm {
  SgxMembers members = {
      {kArcText + ".1", der::octets(Bytes(16, 1))}, {kArcText + ".2", {}},  // the TCB, below
      {kArcText + ".3", der::octets(Bytes(2, 1))},  {kArcText + ".4", der::octets(Bytes(6, 1))},
      {kArcText + ".5", der::enumerated(1)},        {kArcText + ".6", der::octets(Bytes(16, 1))}};
  SgxMembers tcb = valid_tcb();

  [[nodiscard]] Bytes written() const {
    SgxMembers all = members;
    if (all.size() > 1 && all[1].value.empty()) {
      all[1].value = sequence_of(tcb);
    }
    return sequence_of(all);
  }
};

// Two values where one must be.
Bytes doubled(Bytes value) {
  const Bytes again = value;
  value.insert(value.end(), again.begin(), again.end());
  return value;
}

TEST(TdxSgxForms, EachMember_MustBeWhatItIs) {
  ASSERT_TRUE(parse_pck_extension(SgxForm().written()));
  for (std::size_t i = 0; i < SgxForm().members.size(); ++i) {
    SgxForm form;
    if (form.members[i].value.empty()) {
      form.members[i].value = sequence_of(form.tcb);
    }
    const Bytes value = form.members[i].value;
    const auto parsed = [&](const Bytes& changed) {
      form.members[i].value = changed;
      return parse_pck_extension(form.written()).has_value();
    };
    EXPECT_TRUE(parsed(value)) << i;
    EXPECT_FALSE(parsed(der::boolean_true())) << "of another type " << i;
    EXPECT_FALSE(parsed(der::value(value.front(), {}))) << "empty " << i;
    EXPECT_FALSE(parsed(doubled(value))) << "followed by another value " << i;
    if (value.front() == 0x04) {
      EXPECT_FALSE(parsed(der::octets(Bytes(value.size() - 1, 1)))) << "longer " << i;
      EXPECT_FALSE(parsed(der::octets(Bytes(value.size() - 3, 1)))) << "shorter " << i;
    }
  }
}

TEST(TdxSgxForms, EachMemberOfTheTcb_MustBeWhatItIs) {
  for (std::size_t i = 0; i < valid_tcb().size(); ++i) {
    SgxForm form;
    const Bytes value = form.tcb[i].value;
    const auto parsed = [&](const Bytes& changed) {
      form.tcb[i].value = changed;
      return parse_pck_extension(form.written()).has_value();
    };
    EXPECT_TRUE(parsed(value)) << i;
    EXPECT_FALSE(parsed(der::boolean_true())) << "of another type " << i;
    EXPECT_FALSE(parsed(der::value(value.front(), {}))) << "empty " << i;
    EXPECT_FALSE(parsed(doubled(value))) << "followed by another value " << i;
    if (i < 17) {
      EXPECT_TRUE(parsed(der::integer(i < 16 ? 0xff : 0xffff))) << i;
      EXPECT_FALSE(parsed(der::integer(i < 16 ? 0x100 : 0x10000))) << "too large " << i;
      EXPECT_FALSE(parsed(der::value(0x02, Bytes{0xff}))) << "negative " << i;
    }
  }
}

struct SgxCase {
  const char* what;
  std::function<void(SgxForm&)> change;
  bool parses;
};

TEST(TdxSgxForms, MembersOfAnotherNumber_AreLeftOutOrRefused) {
  const auto add = [](const char* number, bool to_tcb) {
    return [=](SgxForm& f) {
      (to_tcb ? f.tcb : f.members).push_back({kArcText + number, der::integer(1)});
    };
  };
  const std::vector<SgxCase> cases = {
      {"configuration of the platform (.7)", add(".7", false), true},
      {"number 0", add(".0", false), true},
      {"a number of two octets", add(".200", false), true},
      {"another arc", [](SgxForm& f) { f.members.push_back({"1.3.14.3.2.26", Bytes{5, 0}}); },
       true},
      {"another arc of the same length",
       [](SgxForm& f) { f.members.push_back({"1.2.840.113741.1.13.2.4", Bytes{5, 0}}); }, true},
      {"number 19 in the TCB", add(".2.19", true), true},
      {"number 0 in the TCB", add(".2.0", true), true},
      {"a second PPID", [](SgxForm& f) { f.members.push_back(f.members.front()); }, false},
      {"a second component", [](SgxForm& f) { f.tcb.push_back(f.tcb.front()); }, false},
      {"a second member of no meaning",
       [&](SgxForm& f) {
         add(".7", false)(f);
         add(".7", false)(f);
       },
       false},
      {"no PPID", [](SgxForm& f) { f.members.front().oid = kArcText + ".9"; }, false},
      {"no component", [](SgxForm& f) { f.tcb.front().oid = kArcText + ".2.19"; }, false},
      {"no PCESVN", [](SgxForm& f) { f.tcb[16].oid = kArcText + ".2.19"; }, false},
      {"no instance", [](SgxForm& f) { f.members.pop_back(); }, true},
      {"another type of SGX", [](SgxForm& f) { f.members[4].value = der::enumerated(3); }, false},
  };
  for (const SgxCase& c : cases) {
    SgxForm form;
    c.change(form);
    EXPECT_EQ(parse_pck_extension(form.written()).has_value(), c.parses) << c.what;
  }
}

// The last octet of an OID goes on in the next one; here there is none.
TEST(TdxSgxForms, OidThatIsCut_IsLeftOut) {
  SgxForm form;
  form.members.push_back({kArcText + ".7", der::integer(1)});
  Bytes written = form.written();
  const Bytes seven = der::oid(kArcText + ".7");
  const auto found = std::ranges::search(written, seven);
  ASSERT_FALSE(found.empty());
  *std::prev(found.end()) = 0x87;
  EXPECT_TRUE(parse_pck_extension(written));
}

TEST(TdxSgxForms, WhatIsNoListOfPairs_IsRefused) {
  const Bytes number = der::integer(1);
  EXPECT_FALSE(parse_pck_extension({}));
  EXPECT_FALSE(parse_pck_extension(number));
  EXPECT_FALSE(parse_pck_extension(der::sequence({})));
  EXPECT_FALSE(parse_pck_extension(der::sequence({number})));
  EXPECT_FALSE(parse_pck_extension(der::sequence({der::sequence({})})));
  EXPECT_FALSE(parse_pck_extension(der::sequence({der::sequence({number, number})})));
  EXPECT_FALSE(parse_pck_extension(doubled(SgxForm().written())));
  for (const Bytes& tcb : {der::sequence({number}), der::sequence({der::sequence({number})})}) {
    SgxForm form;
    form.members[1].value = tcb;
    EXPECT_FALSE(parse_pck_extension(form.written()));
  }
}

// X.690 section 10.1: the shortest form of a length alone; this reader knows two bytes of it.
TEST(TdxDerReader, Lengths_HaveOneForm) {
  const auto size_of = [](std::initializer_list<std::uint8_t> head, std::size_t content) {
    Bytes value = head;
    value.resize(value.size() + content, 1);
    DerReader reader(value);
    const auto taken = reader.take(kDerOctetString);
    EXPECT_EQ(reader.done(), taken.has_value());  // else nothing is consumed
    return taken ? static_cast<int>(taken->size()) : -1;
  };
  EXPECT_EQ(size_of({0x04, 0x00}, 0), 0);
  EXPECT_EQ(size_of({0x04, 0x7f}, 0x7f), 0x7f);
  EXPECT_EQ(size_of({0x04, 0x81, 0x80}, 0x80), 0x80);
  EXPECT_EQ(size_of({0x04, 0x82, 0x01, 0x00}, 0x100), 0x100);
  EXPECT_EQ(size_of({0x04, 0x7f}, 0x7e), -1) << "cut";
  EXPECT_EQ(size_of({0x04, 0x81, 0x80}, 0x7f), -1) << "cut";
  EXPECT_EQ(size_of({0x04, 0x81, 0x7f}, 0x7f), -1) << "one byte does";
  EXPECT_EQ(size_of({0x04, 0x82, 0x00, 0xff}, 0xff), -1) << "one byte more than needed";
  EXPECT_EQ(size_of({0x04, 0x80}, 2), -1) << "no length";
  EXPECT_EQ(size_of({0x04, 0x83, 0x00, 0x00, 0x01}, 1), -1) << "more than two bytes";
  EXPECT_EQ(size_of({0x04, 0x81}, 0), -1) << "the length is cut";
  EXPECT_EQ(size_of({0x04, 0x82, 0x01}, 0), -1) << "the length is cut";
  EXPECT_EQ(size_of({0x04}, 0), -1);
  EXPECT_EQ(size_of({0x02, 0x01}, 1), -1) << "another tag";
}

TEST(TdxDerReader, Numbers_AreShortAndUnsigned) {
  const auto number = [](std::initializer_list<std::uint8_t> content) {
    const Bytes value = der::value(kDerInteger, Bytes(content));
    const auto taken = DerReader(value).take_unsigned(kDerInteger, 0xffff);
    return taken ? static_cast<int>(*taken) : -1;
  };
  EXPECT_EQ(number({0}), 0);
  EXPECT_EQ(number({0x7f}), 0x7f);
  EXPECT_EQ(number({0x00, 0x80}), 0x80);
  EXPECT_EQ(number({0x00, 0xff, 0xff}), 0xffff);
  EXPECT_EQ(number({0x01, 0x00, 0x00}), -1) << "above the limit";
  EXPECT_EQ(number({0x00, 0x00, 0x00, 0x00, 0x01}), -1) << "more than four digits";
  EXPECT_EQ(number({0x80}), -1) << "negative";
  EXPECT_EQ(number({0x00, 0x7f}), -1) << "not the shortest form";
  EXPECT_EQ(number({}), -1);
  EXPECT_FALSE(DerReader(Bytes{0x04, 0x01, 0x01}).take_unsigned(kDerInteger, 9));
}

// --- what a quote claims before it is verified

TEST(TdxClaimedPlatform, WithoutACertificate_IsNothing) {
  const SimulationSpec spec = testing::valid_v4();
  const auto claims = [&](const std::string& chain) {
    const Bytes quote = make_quote(spec.quote, spec.seed, chain);
    return (claimed_platform(quote) ? "platform " : "") +
           (claimed_family(quote) ? claimed_family(quote)->ca : "");
  };
  CertificateSpec leaf = spec.pck;
  leaf.sgx_extension = make_sgx_extension(spec.platform);
  CertificateSpec processor = spec.pck_ca;
  processor.subject = "Intel SGX PCK Processor CA";
  CertificateSpec other = spec.pck_ca;
  other.subject = "Intel SGX Other CA";
  const auto pem_of = [&](const CertificateSpec& certificate) {
    return to_pem(make_certificate(certificate, spec.seed));
  };
  EXPECT_EQ(claims(make_pck_chain(spec)), "platform platform");
  EXPECT_EQ(claims(pem_of(leaf) + pem_of(processor)), "platform processor");
  EXPECT_EQ(claims(pem_of(leaf) + pem_of(other)), "platform ");
  EXPECT_EQ(claims(pem_of(leaf)), "platform ");
  EXPECT_EQ(claims(pem_of(leaf) + to_pem(Bytes{0x30, 0x00})), "platform ");
  EXPECT_EQ(claims(pem_of(spec.pck_ca) + pem_of(spec.root)), "") << "no extension";
  EXPECT_EQ(claims(to_pem(Bytes{0x30, 0x00})), "");
  EXPECT_EQ(claims(""), "");
  EXPECT_EQ(claims("no PEM"), "");
  EXPECT_FALSE(claimed_platform(as_bytes("no quote")));
  EXPECT_FALSE(claimed_family(as_bytes("no quote")));
}

}  // namespace
}  // namespace assay::attestation::tdx
