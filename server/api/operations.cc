// SPDX-License-Identifier: Apache-2.0
// What operators and tools ask: is it up, what does it measure, what does it serve.

#include "attestation/pkcs11/token_signer.h"
#include "embedded/openapi.h"
#include "server/api/handlers.h"

namespace assay::server {
namespace {

Response text(std::string body) {
  Response response;
  response.content_type = kText;
  response.body = std::move(body);
  return response;
}

}  // namespace

Result<Response> get_livez(Api& /*api*/, const Call& /*call*/) { return text("ok\n"); }

Result<Response> get_readyz(Api& api, const Call& /*call*/) {
  if (!api.services.store.healthy()) {
    return fail(ErrorCode::kUnavailable,
                "storage: the store cannot be read or written; the log of assayd says why");
  }
  ASSAY_TRY(require_time(api.services));
  const auto* const token =
      dynamic_cast<const attestation::pkcs11::TokenSigner*>(&api.services.service_signer);
  if (token != nullptr) {
    ASSAY_TRY(token->state());
  }
  return text("ok\n");
}

Result<Response> get_metrics(Api& api, const Call& /*call*/) {
  Response response = text(api.metrics());
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

Result<Response> get_version(Api& api, const Call& /*call*/) {
  return json_response(200, Json{{"version", api.version}, {"api", "v1"}});
}

Result<Response> get_openapi(Api& /*api*/, const Call& call) {
  Response response;
  response.body = std::string(embedded::kOpenapiJson);
  return with_etag(call, std::move(response), "public, max-age=300");
}

Result<Response> get_jwks(Api& api, const Call& call) {
  return with_etag(call, json_response(200, api.jwks), "public, max-age=300");
}

}  // namespace assay::server
