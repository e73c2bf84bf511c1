// SPDX-License-Identifier: Apache-2.0
// The last value of each key of an appraisal policy that counts, and the first that does not; and
// each fault and status of the simulator.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "attestation/simulate/faults.h"
#include "attestation/simulate/simulator.h"
#include "tests/attestation/tdx/strict.h"
#include "tests/support/manual_clock.h"

namespace assay::attestation::tdx {
namespace {

using testing::Options;
using testing::valid_v4;
using testing::valid_v5;
using testing::verdict;

std::string under(const SimulationSpec& spec, const std::string& policy,
                  bool with_event_log = false) {
  Options options;
  options.policy = parse_appraisal_policy(parse_json(policy).value()).value();
  options.with_event_log = with_event_log;
  return verdict(spec, options);
}

std::string at_least(const SimulationSpec& spec, int number) {
  return under(spec, R"({"min_tcb_evaluation_data_number":)" + std::to_string(number) + "}");
}

TEST(TdxEdges, EvaluationNumber_CountsFromItsMinimum) {
  SimulationSpec spec = valid_v4();
  EXPECT_EQ(at_least(spec, 18), "OK:UpToDate");
  EXPECT_EQ(at_least(spec, 19), "TCB_INFO_EVAL_NUMBER_TOO_LOW");
  spec.qe_identity["tcbEvaluationDataNumber"] = 17;
  EXPECT_EQ(at_least(spec, 17), "OK:UpToDate");
  EXPECT_EQ(at_least(spec, 18), "QE_IDENTITY_EVAL_NUMBER_TOO_LOW");
  EXPECT_EQ(under(spec, R"({"allow_evaluation_number_mismatch":false})"), "EVAL_NUMBER_MISMATCH");
  EXPECT_EQ(under(valid_v4(), R"({"allow_evaluation_number_mismatch":false})"), "OK:UpToDate");
}

// The grace period is for what became old, not for a TD that was not started again.
TEST(TdxEdges, Grace_DoesNotForgiveARelaunchThatIsAdvised) {
  SimulationSpec spec = valid_v5();
  spec.quote.report.tee_tcb_svn[0] -= 1;
  const std::string grace = R"("tcb_grace_seconds":2147483647)";
  EXPECT_EQ(under(spec, "{" + grace + "}"), "TCB_STATUS_NOT_ACCEPTED:TDRelaunchAdvised");
  EXPECT_EQ(under(spec, "{" + grace + R"(,"accept_tcb_status":["OutOfDate"]})"),
            "TCB_STATUS_NOT_ACCEPTED:TDRelaunchAdvised");
  EXPECT_EQ(under(spec, R"({"accept_tcb_status":["TDRelaunchAdvised"]})"), "OK:TDRelaunchAdvised");
}

TEST(TdxEdges, OnlyListedStatuses_AreAccepted) {
  EXPECT_EQ(under(valid_v4(), R"({"accept_tcb_status":["SWHardeningNeeded"]})"),
            "TCB_STATUS_NOT_ACCEPTED:UpToDate");
  SimulationSpec spec = valid_v4();
  spec.tcb_info["tcbLevels"][0]["tcbStatus"] = "SWHardeningNeeded";
  EXPECT_EQ(under(spec, R"({"accept_tcb_status":["UpToDate","SWHardeningNeeded"]})"),
            "OK:SWHardeningNeeded");
}

TEST(TdxEdges, Advisory_IsRejectedInAnyStatus) {
  SimulationSpec spec = valid_v4();
  spec.tcb_info["tcbLevels"][0]["advisoryIDs"] = {"INTEL-SA-00002", "INTEL-DOC-10000"};
  EXPECT_EQ(under(spec, R"({"rejected_advisories":["INTEL-SA-0000"]})"), "OK:UpToDate");
  EXPECT_EQ(under(spec, R"({"rejected_advisories":["INTEL-DOC-10000"]})"),
            "TCB_ADVISORY_REJECTED:INTEL-DOC-10000");
}

TEST(TdxEdges, EventLog_IsNeededWhereAskedFor) {
  for (const char* policy :
       {R"({"require_event_log":true})", R"({"require_event_log_rtmr3":true})"}) {
    EXPECT_EQ(under(valid_v4(), policy), "EVENTLOG_MISSING");
    EXPECT_EQ(under(valid_v4(), policy, true), "OK:UpToDate");
  }
  SimulationSpec spec = valid_v4();
  spec.quote.report.rtmr[3].fill(7);
  EXPECT_EQ(under(spec, R"({"require_event_log":true})", true), "OK:UpToDate");
  EXPECT_EQ(under(spec, R"({"require_event_log_rtmr3":true})", true),
            "EVENTLOG_RTMR_MISMATCH:rtmr3");
}

// --- the simulator

// Every fault is refused by whoever asks for everything. Whoever asks for nothing accepts those
// that say what must be asked for, and no others.
TEST(TdxFaults, Each_HasItsError) {
  const SimulationSpec sound = valid_v4();
  const Options strict = testing::strict(sound);
  Options lenient;
  lenient.with_event_log = true;
  ASSERT_EQ(verdict(sound, strict), "OK:UpToDate");
  for (const Fault& fault : faults()) {
    const Simulation simulation = simulate(sound, fault);
    EXPECT_EQ(verdict(simulation, strict), fault.error) << fault.name;
    EXPECT_EQ(verdict(simulation, lenient), fault.needs.empty() ? fault.error : "OK:UpToDate")
        << fault.name;
  }
}

TEST(TdxFaults, Version5_HasTheSame) {
  const SimulationSpec sound = valid_v5();
  const Options strict = testing::strict(sound);
  ASSERT_EQ(verdict(sound, strict), "OK:UpToDate");
  for (const Fault& fault : faults()) {
    EXPECT_EQ(verdict(simulate(sound, fault), strict), fault.error) << fault.name;
  }
}

TEST(TdxFaults, Each_HasItsName) {
  std::set<std::string_view> names;
  for (const Fault& fault : faults()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_EQ(find_fault(fault.name), &fault);
  }
  EXPECT_EQ(find_fault("none"), nullptr);
}

// Every error that a verdict can name has a fault, or a reason why there is none.
TEST(TdxFaults, EveryError_HasOne) {
  std::set<std::string_view> with;
  for (const Fault& fault : faults()) {
    with.insert(fault.error.substr(0, fault.error.find(':')));
  }
  std::set<std::string_view> without;
  for (const ErrorWithoutFault& error : errors_without_fault()) {
    EXPECT_FALSE(error.reason.empty());
    without.insert(name(error.error));
  }
  for (std::size_t i = 0; i < tdx_error_count(); ++i) {
    const std::string_view error = name(static_cast<TdxError>(i));
    EXPECT_NE(with.erase(error), without.erase(error)) << error;
  }
  EXPECT_TRUE(with.empty()) << *with.begin();
  EXPECT_TRUE(without.empty()) << *without.begin();
}

// Statuses of the parts: the collateral knows three of module and quoting enclave.
TEST(TdxFaults, EveryStatusOfModuleAndEnclave_HasOne) {
  const auto statuses_of = [](const std::string& part) {
    std::set<std::string> statuses;
    for (const char* const how : {"", "-outdated", "-revoked"}) {
      const Fault* const fault = find_fault(part + how);
      const AppraisalResult result =
          testing::run(fault == nullptr ? simulate(valid_v4()) : simulate(valid_v4(), *fault));
      const TcbEvaluation& tcb = result.tcb.value();
      statuses.emplace(name(part == "qe" ? tcb.qe : tcb.module.value()));
    }
    return statuses;
  };
  std::set<std::string> all;
  for (const std::string& status : simulated_statuses()) {
    if (is_component_status(tcb_status_from(status).value())) {
      all.insert(status);
    }
  }
  EXPECT_EQ(statuses_of("module"), all);
  EXPECT_EQ(statuses_of("qe"), all);
}

std::string simulated(const std::string& status, std::uint64_t version,
                      const std::string& fault = {}) {
  SimulatorOptions options;
  options.seed = testing::seed();
  options.tcb_status = status;
  options.quote_version = version;
  options.fault = fault;
  const ManualClock clock(testing::now());
  const auto simulator = make_simulator(std::move(options), clock);
  if (!simulator) {
    return std::string(info(simulator.error().code).code);
  }
  const Bytes quote = (*simulator)->quote({}).value();
  const auto collateral = collateral_from_json((*simulator)->collateral().value()).value();
  const TrustAnchor anchor = TrustAnchor::from_der((*simulator)->root()).value();
  const Bytes log = (*simulator)->event_log().value();
  const AppraisalPolicy policy;
  return verdict(verify(quote, collateral, std::span(&anchor, 1),
                        {testing::now(), ReportDataExpectation::not_requested(), policy, log}));
}

TEST(TdxSimulator, HasEveryStatus) {
  ASSERT_EQ(simulated_statuses().size(), 9U);
  for (const std::string& status : simulated_statuses()) {
    EXPECT_EQ(simulated(status, 5), status == "UpToDate"  ? "OK:UpToDate"
                                    : status == "Revoked" ? "TCB_REVOKED"
                                                          : "TCB_STATUS_NOT_ACCEPTED:" + status);
  }
  EXPECT_EQ(simulated("TDRelaunchAdvised", 4), "invalid-parameter");
  EXPECT_EQ(simulated("Fine", 5), "invalid-parameter");
}

TEST(TdxSimulator, HasFaults) {
  EXPECT_EQ(simulated("UpToDate", 4, "pck-revoked"), "PCK_CERT_REVOKED");
  EXPECT_EQ(simulated("UpToDate", 4, "event-log-changed"), "EVENTLOG_RTMR_MISMATCH:rtmr2");
  EXPECT_EQ(simulated("UpToDate", 4, "none"), "invalid-parameter");
}

}  // namespace
}  // namespace assay::attestation::tdx
