// SPDX-License-Identifier: Apache-2.0
// NVIDIA's roots, as its attestation SDK has them.
#include <cstdlib>

#include "attestation/nvidia/device_chain.h"

namespace assay::attestation::nvidia {
namespace {

// "NVIDIA Device Identity CA", from 2021-11-05 on; SHA-256
// 102bf659d5419614c9d8e6aecebc80454eb26b1df6a769ac720b9a690b167b48
constexpr std::string_view kDeviceRoot =
    "MIICCzCCAZCgAwIBAgIQLTZwscoQBBHB/sDoKgZbVDAKBggqhkjOPQQDAzA1MSIwIAYDVQQDDBlOVklESUEgRGV2"
    "aWNlIElkZW50aXR5IENBMQ8wDQYDVQQKDAZOVklESUEwIBcNMjExMTA1MDAwMDAwWhgPOTk5OTEyMzEyMzU5NTla"
    "MDUxIjAgBgNVBAMMGU5WSURJQSBEZXZpY2UgSWRlbnRpdHkgQ0ExDzANBgNVBAoMBk5WSURJQTB2MBAGByqGSM49"
    "AgEGBSuBBAAiA2IABA5MFKM7+KViZljbQSlgfky/RRnEQScW9NDZF8SXgAW96r6u/Ve8ZggtcYpPi2BS4VFu6KfE"
    "IrhN6FcHG7WP05W+oM+hxj7nyA1r1jkB2Ry70YfThX3Ba1zOryOP+MJ9vaNjMGEwDwYDVR0TAQH/BAUwAwEB/zAO"
    "BgNVHQ8BAf8EBAMCAQYwHQYDVR0OBBYEFFeF/4PyY8xlfWi3Olv0jUrL+0lfMB8GA1UdIwQYMBaAFFeF/4PyY8xl"
    "fWi3Olv0jUrL+0lfMAoGCCqGSM49BAMDA2kAMGYCMQCPeFM3TASsKQVaT+8S0sO9u97PVGCpE9d/I42IT7k3UUOL"
    "SR/qvJynVOD1vQKVXf0CMQC+EY55WYoDBvs2wPAH1Gw4LbcwUN8QCff8bFmV4ZxjCRr4WXTLFHBKjbfneGSBWwA=";

// "NVIDIA CoRIM signing Root CA", 2023-03-16 to 2053-03-08; SHA-256
// 12977b5115acb0381179279fffeb5a8c4d264971ebb32298023a465fa41df5d1
constexpr std::string_view kRimRoot =
    "MIICKTCCAbCgAwIBAgIQRdrjoA5QN73fh1N17LXicDAKBggqhkjOPQQDAzBFMQswCQYDVQQGEwJVUzEPMA0GA1UE"
    "CgwGTlZJRElBMSUwIwYDVQQDDBxOVklESUEgQ29SSU0gc2lnbmluZyBSb290IENBMCAXDTIzMDMxNjE1MzczNFoY"
    "DzIwNTMwMzA4MTUzNzM0WjBFMQswCQYDVQQGEwJVUzEPMA0GA1UECgwGTlZJRElBMSUwIwYDVQQDDBxOVklESUEg"
    "Q29SSU0gc2lnbmluZyBSb290IENBMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEuECyi9vNM+Iw2lfUzyBldHAwaC1H"
    "F7TCgp12QcEyUTm3Tagxwr48d55+K2VIlWYIDk7NlAIQdcV/Ff7euGLI+Qauj93HsSI4WX298PpW54RTgz9tC+Q6"
    "84caR/BXWEeZo2MwYTAdBgNVHQ4EFgQUpaXrOPK4ZDAk08DBskn594zeZjAwHwYDVR0jBBgwFoAUpaXrOPK4ZDAk"
    "08DBskn594zeZjAwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAQYwCgYIKoZIzj0EAwMDZwAwZAIwHGDy"
    "scDP6ihHqRvZlI3eqZ4YkvjE1duaN84tAHRVgxVMvNrp5Tnom3idHYGW/dskAjATvjIx6VzHm/4e2GiZAyZEIUBD"
    "OKPzp5ei/A0iUZpdvngenDwV8Qa/wGdiTmJ7Bp4=";

x509::Certificate built_in(std::string_view base64) {
  const auto der = base64_decode(base64);
  auto certificate = x509::Certificate::from_der(der ? *der : Bytes());
  if (!certificate) {
    std::abort();  // a constant that a test parses
  }
  return *std::move(certificate);
}

}  // namespace

const x509::Certificate& device_root() {
  static const x509::Certificate root = built_in(kDeviceRoot);
  return root;
}

const x509::Certificate& rim_root() {
  static const x509::Certificate root = built_in(kRimRoot);
  return root;
}

}  // namespace assay::attestation::nvidia
