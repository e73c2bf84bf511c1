# SPDX-License-Identifier: Apache-2.0
"""Has Assay's node agent verify the weights of a PyTorch model where they lie in memory.

    import assay
    with assay.guard(model, artifact="assay-tree-v1-sha256:..."):
        serve(model)

See docs/python.md and docs/instances.md of Assay.
"""
from ._errors import (AgentTimeout, AssayError, Finding, FoldedParameters, HintsError, ModelError,
                      NonContiguous, NotRegistered, NotVerified, NoWorker, ProtocolError, Refused,
                      TorchMissing, UnknownTensor)
from ._hints import Hints
from ._loading import from_pretrained, load, registration
from ._registration import (SOCKET, Registration, guard, register, registrations, release, update,
                            verify_now, yield_slice)
from ._registration import propose_layout as layout
from ._shared import SharedTensors
from ._version import __version__

__all__ = [
    "AgentTimeout", "AssayError", "Finding", "FoldedParameters", "Hints", "HintsError", "ModelError",
    "NoWorker", "NonContiguous", "NotRegistered", "NotVerified", "ProtocolError", "Refused", "Registration",
    "SOCKET", "SharedTensors", "TorchMissing", "UnknownTensor", "__version__", "from_pretrained", "guard", "layout", "load",
    "register", "registration", "registrations", "release", "update", "verify_now", "yield_slice",
]
