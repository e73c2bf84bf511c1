// SPDX-License-Identifier: Apache-2.0
// How report data are made of a challenge, for those who only have the digests of its other parts.
#pragma once

#include <array>
#include <string_view>

#include "schemas/core/digest.h"
#include "schemas/evidence.h"

namespace assay {

// The domains of report data that contain a challenge: of enrolments and of reports.
inline constexpr std::array<std::string_view, 2> kChallengeDomains = {"assay/enrol/v1",
                                                                      "assay/report/v1"};

// What report data that answer a challenge are made of, besides their domain.
struct ReportDataParts {
  Nonce nonce;
  Digest key;    // SHA-256 of the worker's SubjectPublicKeyInfo
  Digest third;  // the SHA-256 that schemas/evidence.h names last
};
[[nodiscard]] ReportDataParts enrolment_parts(const Nonce& nonce, ByteView spki,
                                              const EnrolmentRequest& request);
[[nodiscard]] ReportDataParts report_parts(const Nonce& nonce, ByteView spki,
                                           ByteView report_payload);

// Returns SHA-512(domain || 0x00 || nonce || key || third).
[[nodiscard]] ReportDataBytes report_data_of(std::string_view domain, const ReportDataParts& parts);

}  // namespace assay
