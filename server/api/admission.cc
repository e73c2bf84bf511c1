// SPDX-License-Identifier: Apache-2.0
// Kubernetes admission webhooks. A review with a uid is always answered with 200.

#include "server/service/kubernetes/admission.h"

#include <algorithm>
#include <charconv>

#include "server/api/handlers.h"

namespace assay::server {
namespace {

using std::chrono::milliseconds;

// What the API server waits when its configuration says nothing, and at most.
constexpr milliseconds kDefaultTimeout{10'000};
constexpr milliseconds kLongestTimeout{30'000};

// `?timeout=10s`, as Go writes durations; what is not whole seconds or milliseconds is taken for
// the default, since a review must have its answer.
milliseconds timeout_of(std::string_view text) {
  std::uint32_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, count);
  const std::string_view name(unit, static_cast<std::size_t>(end - unit));
  if (error != std::errc() || count == 0 || (name != "s" && name != "ms")) {
    return kDefaultTimeout;
  }
  return std::min(kLongestTimeout, milliseconds(std::uint64_t{count} * (name == "s" ? 1000 : 1)));
}

// Four fifths of the time that the API server waits are for the decision, the rest for its way.
Timestamp deadline_of(const Call& call) {
  const milliseconds timeout = timeout_of(call.parameter("timeout").value_or(std::string()));
  return std::min(call.request.deadline, call.request.received_at + timeout * 4 / 5);
}

Result<Response> answer(Api& api, const Call& call, AdmissionCall kind) {
  ASSAY_ASSIGN(ReviewAnswer answer, review(api.services, kind, call.request.body,
                                           call.principal.name, deadline_of(call)));
  if (answer.decided) {
    api.decided(*answer.decided);
  }
  Response response;
  response.body = std::move(answer.body);
  return response;
}

}  // namespace

Result<Response> admission_validate(Api& api, const Call& call) {
  return answer(api, call, AdmissionCall::kValidate);
}

Result<Response> admission_mutate(Api& api, const Call& call) {
  return answer(api, call, AdmissionCall::kMutate);
}

}  // namespace assay::server
