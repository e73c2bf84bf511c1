// SPDX-License-Identifier: Apache-2.0
// Outlines of models.

#include "server/api/handlers.h"
#include "server/service/documents/outlines.h"

namespace assay::server {

Result<Response> put_model_outline(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ArtifactId artifact, ArtifactId::parse(call.capture("artifact")));
  ASSAY_ASSIGN(const OutlineAccepted accepted,
               accept_outline(api.services, artifact, call.request.body, call.principal));
  return json_response(accepted.created ? 201 : 200, Json{{"artifact", artifact.text()},
                                                          {"document", accepted.document.text()},
                                                          {"span", accepted.span},
                                                          {"log", accepted.receipt}});
}

}  // namespace assay::server
