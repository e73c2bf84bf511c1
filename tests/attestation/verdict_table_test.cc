// SPDX-License-Identifier: Apache-2.0
// One table of verdicts over all vectors of evidence, tests/vectors/verdicts.md: what each must
// come to, and what it comes to. ASSAY_WRITE_VERDICTS=1 writes it. Vectors that are not everywhere
// (ASSAY_SHARED_VECTORS) keep their rows where they are not.
//
// A further kind of vector adds a function that returns its rows, and a line in sets().
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/simulate/faults.h"
#include "attestation/tdx/event_log.h"
#include "attestation/tdx/event_log_parse.h"
#include "attestation/tdx/quote_parse.h"
#include "attestation/tdx/quote_platform.h"
#include "attestation/tdx/tcb_evaluate.h"
#include "attestation/tdx/verify.h"
#include "tests/attestation/tdx/other_signature.h"
#include "tests/attestation/tdx/shared_vectors.h"
#include "tests/attestation/tdx/strict.h"
#include "tests/attestation/verdict_rows.h"

namespace assay::attestation {
namespace {

using tdx::testing::read_file;
using tdx::testing::read_json;
using tdx::testing::vectors_folder;

using Row = verdicts::VerdictRow;
using Rows = verdicts::VerdictRows;

std::filesystem::path own_folder() {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors";
}

// --- quotes

struct Quote {
  std::filesystem::path quote;
  std::filesystem::path collateral;
  std::string time;
  Json policy = Json::object();
  std::filesystem::path root{};  // empty: Intel's
  Json report_data{};
};

std::string verdict_of(const Quote& one) {
  const tdx::TrustAnchor anchor = one.root.empty()
                                      ? tdx::intel_root()
                                      : tdx::TrustAnchor::from_bytes(read_file(one.root)).value();
  auto expectation = tdx::ReportDataExpectation::not_requested();
  if (one.report_data.is_string()) {
    const Bytes bytes = hex_decode(one.report_data.get<std::string>()).value();
    tdx::ReportData value{};
    std::copy_n(bytes.begin(), std::min(bytes.size(), value.size()), value.begin());
    expectation = tdx::ReportDataExpectation::exactly(value);
  }
  const auto policy = tdx::parse_appraisal_policy(one.policy).value();
  return tdx::testing::verdict(
      tdx::verify(read_file(one.quote), tdx::parse_collateral(read_file(one.collateral)).value(),
                  std::span(&anchor, 1), {parse_rfc3339(one.time).value(), expectation, policy}));
}

// A quote of tests/vectors/tdx with its collateral, and what is changed about them.
struct RealQuote {
  const char* quote;
  const char* collateral;
  const char* time;
  const char* expected;
  const char* changed = "";
  void (*change)(Bytes&, tdx::Collateral&, tdx::AppraisalPolicy&) = nullptr;
};

tdx::Collateral own_collateral(const std::string& name) {
  return tdx::parse_collateral(read_file(own_folder() / "tdx" / (name + ".collateral.json")))
      .value();
}

Row row_of(const RealQuote& one) {
  Bytes quote = read_file(own_folder() / "tdx" / (std::string(one.quote) + ".quote"));
  tdx::Collateral collateral = own_collateral(one.collateral);
  tdx::AppraisalPolicy policy;
  if (one.change != nullptr) {
    one.change(quote, collateral, policy);
  }
  const tdx::TrustAnchor& anchor = tdx::intel_root();
  return {
      std::string(one.quote) + one.changed, one.expected,
      tdx::testing::verdict(tdx::verify(
          quote, collateral, std::span(&anchor, 1),
          {parse_rfc3339(one.time).value(), tdx::ReportDataExpectation::not_requested(), policy}))};
}

Rows real_quotes() {
  const std::vector<RealQuote> quotes = {
      {"v4-2023-07-debug", "2023-07", "2023-07-01T01:00:00Z", "TD_DEBUG_ENABLED"},
      {"v4-2025-06", "2025-06", "2025-06-25T00:00:00Z", "OK:UpToDate"},
      {"v4-2025-06-azure", "2025-06", "2025-06-25T00:00:00Z", "TD_SEPT_VE_DISABLE_NOT_SET"},
      {"v4-2025-06-azure", "2025-06", "2025-06-25T00:00:00Z", "TCB_STATUS_NOT_ACCEPTED:OutOfDate",
       ", SEPT_VE_DISABLE not asked for",
       [](Bytes&, tdx::Collateral&, tdx::AppraisalPolicy& policy) {
         policy.require_sept_ve_disable = false;
       }},
      {"v4-2025-07", "2025-07", "2025-07-01T00:00:00Z", "OK:UpToDate"},
      {"v4-2025-07", "2025-07", "2025-07-01T00:00:00Z", "OK:UpToDate",
       ", s of its signature as n - s",
       [](Bytes& quote, tdx::Collateral&, tdx::AppraisalPolicy&) {
         tdx::testing::negate_s(std::span<std::uint8_t, 64>(quote.data() + 636, 64));
       }},
      {"v4-2025-07", "2025-07", "2025-07-01T00:00:00Z", "TCB_INFO_CERT_EXPIRED",
       ", TCB info with the chain that ended in May 2025",
       [](Bytes&, tdx::Collateral& collateral, tdx::AppraisalPolicy&) {
         collateral.tcb_info_issuer_chain = own_collateral("2023-07").tcb_info_issuer_chain;
       }},
      {"v4-2025-07", "2025-09", "2025-09-15T00:00:00Z", "FMSPC_MISMATCH",
       ", collateral of another family"},
      {"v4-2025-07", "2025-09", "1970-01-01T00:00:00Z", "ROOT_CRL_NOT_YET_VALID",
       ", clock not set"},
      {"v5-2026-03", "2026-03", "2026-03-01T00:00:00Z", "OK:UpToDate"},
      {"v5-2026-03-low-tcb", "2026-03", "2026-03-01T00:00:00Z", "TCB_LEVEL_NOT_SUPPORTED"},
      {"v5-sandbox-root", "2026-03", "2026-03-01T00:00:00Z", "PCK_ROOT_UNTRUSTED"}};
  Rows rows;
  for (const RealQuote& one : quotes) {
    rows.push_back(row_of(one));
  }
  return rows;
}

// The levels alone: no CRL of that month is known.
Rows levels_without_crls() {
  const auto folder = own_folder() / "tdx";
  const Bytes bytes = read_file(folder / "v4-2025-11-old-platform.quote");
  const auto info =
      tdx::parse_tcb_info(read_json(folder / "2025-11.tcb-info.json").at("tcbInfo").dump()).value();
  const auto qe = tdx::parse_qe_identity(
                      read_json(folder / "2025-11.qe-identity.json").at("enclaveIdentity").dump())
                      .value();
  const auto quote = tdx::parse_quote(bytes).value();
  const auto tcb = tdx::evaluate_tcb(info, qe.levels, tdx::claimed_platform(bytes).value(), quote,
                                     *tdx::check_module(info, quote.report).value())
                       .value();
  return {{"v4-2025-11-old-platform", "OutOfDate: platform OutOfDate, module UpToDate, qe UpToDate",
           std::string(name(tcb.status)) + ": platform " + std::string(name(tcb.platform)) +
               ", module " + std::string(name(tcb.module.value())) + ", qe " +
               std::string(name(tcb.qe))}};
}

Rows simulated_faults() {
  const tdx::SimulationSpec sound = tdx::testing::valid_v4();
  const tdx::testing::Options options = tdx::testing::strict(sound);
  Rows rows;
  for (const tdx::Fault& fault : tdx::faults()) {
    rows.push_back({std::string(fault.name), std::string(fault.error),
                    tdx::testing::verdict(simulate(sound, fault), options)});
  }
  return rows;
}

Rows changed_quotes() {
  const auto folder = vectors_folder() / "mutations";
  const Json manifest = read_json(folder / "manifest.json");
  Rows rows;
  for (const Json& one : manifest.at("cases")) {
    const std::string root = one.at("root");
    rows.push_back(
        {one.at("id"), one.at("expected"),
         verdict_of({folder / one.at("quote").get<std::string>(),
                     folder / one.at("collateral").get<std::string>(), one.at("time"),
                     one.at("policy"), root == "intel" ? std::filesystem::path() : folder / root,
                     one.at("report_data")})});
  }
  return rows;
}

Rows quotes_of_a_test_pki() {
  const auto folder = vectors_folder() / "synthetic";
  const Json manifest = read_json(folder / "manifest.json");
  Rows rows;
  for (const Json& one : manifest.at("cases")) {
    const std::string id = one.at("id");
    rows.push_back(
        {id, one.at("expected"),
         verdict_of({folder / id / "quote.bin", folder / id / "collateral.json", one.at("time"),
                     one.at("policy"), folder / manifest.at("root").get<std::string>()})});
  }
  return rows;
}

// Real quotes, most of them under collateral of another time or platform than their own.
Rows quotes_of_others() {
  const auto folder = vectors_folder();
  const auto with = [&](const std::string& quote, const char* base, const char* time,
                        const char* expected) {
    return Row{quote, expected,
               verdict_of({folder / quote, folder / "mutations" / base / "collateral.json", time})};
  };
  constexpr const char* kBase2025 = "base_A_v4_tdx10_module1";
  constexpr const char* kIn2025 = "2025-07-01T00:00:00Z";
  constexpr const char* kBase2026 = "base_B_v5_tdx15";
  constexpr const char* kIn2026 = "2026-03-01T00:00:00Z";
  return {
      with("Phala-Network_dcap-qvl/tdx_quote", kBase2025, kIn2025, "OK:UpToDate"),
      with("Phala-Network_dcap-qvl/tdx_quote_outdated", kBase2026, kIn2026,
           "TCB_LEVEL_NOT_SUPPORTED"),
      with("Phala-Network_dcap-qvl/history/2024-09-02_ca114edb_tdx_quote", kBase2025, kIn2025,
           "TCB_LEVEL_NOT_SUPPORTED"),
      with("extracted/Phala-Network_dcap-qvl__tdx-quote.hex.bin", kBase2025, kIn2025,
           "TCB_LEVEL_NOT_SUPPORTED"),
      with("extracted/Phala-Network_dcap-qvl__quote-from-tappd.hex.bin", kBase2025, kIn2025,
           "TCB_LEVEL_NOT_SUPPORTED"),
      with("Phala-Network_dcap-qvl/sgx_quote", kBase2025, kIn2025, "TEE_TYPE_UNSUPPORTED"),
      with("google_go-tdx-guest/quote_v5_sample.dat", kBase2026, kIn2026, "OK:UpToDate"),
      with("google_go-tdx-guest/tdx_prod_quote_SPR_E4.dat", kBase2025, kIn2025,
           "TRAILING_DATA_NONZERO"),
      with("confidential-containers_trustee/tdx_quote_4.dat", kBase2025, kIn2025, "FMSPC_MISMATCH"),
      with("confidential-containers_trustee/tdx_quote_5.dat", kBase2026, kIn2026,
           "TCB_LEVEL_NOT_SUPPORTED"),
      with("confidential-containers_trustee/tdx_quote_6.dat", kBase2025, kIn2025, "FMSPC_MISMATCH"),
      with("confidential-containers_trustee/az-tdx-vtpm/td-quote.bin", "base_D_v4_gcp_cos113",
           "2025-06-25T00:00:00Z", "TD_SEPT_VE_DISABLE_NOT_SET"),
      with("confidential-containers_trustee/occlum_quote.dat", kBase2025, kIn2025,
           "TEE_TYPE_UNSUPPORTED"),
      with("intel_QVL/tdx/quote.dat", kBase2025, kIn2025, "PCK_CHAIN_FORMAT"),
      with("intel_QVL/sgx/quote.dat", kBase2025, kIn2025, "TEE_TYPE_UNSUPPORTED")};
}

// --- event logs

// Of a log whose replay has to give the registers of a quote.
std::string verdict_of_replay(const Bytes& log, const Bytes& quote) {
  const auto parsed = tdx::parse_quote(quote);
  const auto replayed = tdx::check_event_log(log, parsed.value().report, true);
  return replayed ? "OK:" + std::to_string(replayed->events) + " events replayed"
                  : tdx::code(replayed.error());
}

std::string counted(std::size_t number, const char* what) {
  return ", " + std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// The number of events, and of what the log says was started.
std::string verdict_of_log(const Bytes& log) {
  const auto view = tdx::parse_event_log(log);
  if (!view) {
    return tdx::code(view.error());
  }
  const tdx::BootFacts facts = tdx::boot_facts(view->events);
  const char* secure_boot = facts.secure_boot ? (*facts.secure_boot ? "on" : "off") : "not known";
  return "OK:" + std::to_string(view->events.size()) + " events, secure boot " + secure_boot +
         counted(facts.applications->size(), "image") + counted(facts.kernels->size(), "kernel") +
         counted(facts.command_lines->size() + facts.load_options->size(), "command line") +
         counted(facts.initrds->size(), "initrd");
}

Rows event_logs() {
  const Bytes log = read_file(own_folder() / "tdx/v4-2025-06.ccel");
  const auto with = [&log](const char* quote) {
    return verdict_of_replay(log, read_file(own_folder() / "tdx" / quote));
  };
  const auto own = [](const char* name, const char* expected) {
    return Row{name, expected, verdict_of_log(read_file(own_folder() / "tdx" / name))};
  };
  return {own("v4-2025-06.ccel",
              "OK:43 events, secure boot off, 2 images, 1 kernel, 1 command line, 0 initrds"),
          own("grub-redhat.ccel",
              "OK:87 events, secure boot off, 2 images, 1 kernel, 1 command line, 1 initrd"),
          own("systemd-stub.ccel",
              "OK:35 events, secure boot off, 2 images, 1 kernel, 1 command line, 1 initrd"),
          {"v4-2025-06.ccel, with its quote", "OK:43 events replayed", with("v4-2025-06.quote")},
          {"v4-2025-06.ccel, with a quote of another machine", "EVENTLOG_RTMR_MISMATCH:rtmr0",
           with("v4-2025-07.quote")}};
}

Rows event_logs_of_others() {
  const auto folder = vectors_folder() / "confidential-containers_trustee/eventlog";
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"CCEL_AAEL_alibabacloud",
       "OK:87 events, secure boot off, 2 images, 1 kernel, 1 command line, 1 initrd"},
      {"CCEL_data",
       "OK:5 events, secure boot not known, 0 images, 0 kernels, 0 command lines, 0 initrds"},
      {"CCEL_data_gcp",
       "OK:21 events, secure boot off, 2 images, 0 kernels, 0 command lines, 0 initrds"},
      {"CCEL_data_grub",
       "OK:37 events, secure boot on, 5 images, 0 kernels, 1 command line, 1 initrd"},
      {"CCEL_data_grub_gke",
       "OK:35 events, secure boot off, 2 images, 1 kernel, 1 command line, 1 initrd"},
      {"CCEL_data_ovmf",
       "OK:20 events, secure boot off, 1 image, 0 kernels, 1 command line, 1 initrd"}};
  Rows rows;
  for (const auto& [name, verdict] : expected) {
    rows.push_back({name, verdict, verdict_of_log(read_file(folder / name))});
  }
  return rows;
}

// --- the table

struct Set {
  const char* name;
  Rows (*rows)();
  bool everywhere;  // false: of the shared vectors
};
constexpr Set kSets[] = {
    {"tests/vectors/tdx", real_quotes, true},
    {"tests/vectors/tdx, TCB levels", levels_without_crls, true},
    {"tests/vectors/tdx, event logs", event_logs, true},
    {"simulator, one fault each", simulated_faults, true},
    {"tests/vectors/cose, messages of the COSE working group", verdicts::cose_messages, true},
    {"tests/vectors/corim", verdicts::foreign_reference_documents, true},
    {"own documents of reference values", verdicts::own_reference_documents, true},
    {"changed real quotes", changed_quotes, false},
    {"quotes of other projects", quotes_of_others, false},
    {"quotes of a test PKI", quotes_of_a_test_pki, false},
    {"event logs of other projects", event_logs_of_others, false},
};

std::string lines_of(const Set& set) {
  std::string text;
  for (const Row& row : set.rows()) {
    EXPECT_EQ(row.got, row.expected) << set.name << ": " << row.vector;
    text += "| " + row.vector + " | " + row.expected + " | " + row.got + " |\n";
  }
  return text;
}

std::string heading(const Set& set) { return std::string("\n## ") + set.name + "\n"; }

constexpr const char* kBegin =
    "# Verdicts\n\nWhat each vector of evidence must come to, and what it comes to. Written by "
    "`ASSAY_WRITE_VERDICTS=1 evidence_tests --gtest_filter='VerdictTable.*'`, and compared in "
    "every "
    "run.\n";
constexpr const char* kColumns = "\n| vector | expected | got |\n| --- | --- | --- |\n";

std::filesystem::path table_file() { return own_folder() / "verdicts.md"; }

// What the table says of a set.
std::string stored_lines(const std::string& table, const Set& set) {
  const std::string begin = heading(set) + kColumns;
  const std::size_t at = table.find(begin);
  if (at == std::string::npos) {
    return {};
  }
  const std::size_t first = at + begin.size();
  return table.substr(first, table.find("\n## ", first) - first);
}

TEST(VerdictTable, IsWhatVectorsComeTo) {
  const bool shared = std::filesystem::exists(vectors_folder());
  const std::string table = std::filesystem::exists(table_file())
                                ? std::string(as_text(read_file(table_file())))
                                : std::string();
  std::string made = kBegin;
  for (const Set& set : kSets) {
    made += heading(set) + kColumns;
    made += set.everywhere || shared ? lines_of(set) : stored_lines(table, set);
  }
  if (std::getenv("ASSAY_WRITE_VERDICTS") != nullptr) {
    std::ofstream(table_file()) << made;
    return;
  }
  EXPECT_EQ(made, table) << "write it anew with ASSAY_WRITE_VERDICTS=1";
}

}  // namespace
}  // namespace assay::attestation
