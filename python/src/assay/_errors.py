# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, one class for each thing that a caller may want to tell apart."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence


@dataclass(frozen=True)
class Finding:
    """One thing that the node agent found: kind `missing`, `extra`, `mismatch`, `changed`, `error`."""

    kind: str
    tensor: str  # name; empty when no single tensor is meant
    detail: str  # for people


class AssayError(Exception):
    """Base of all errors of this package."""


class TorchMissing(AssayError, ImportError):
    """PyTorch is not installed; only registering a model of PyTorch needs it."""


class NoWorker(AssayError, ConnectionError):
    """No node agent answers at the socket, or it ended the connection."""


class AgentTimeout(AssayError, TimeoutError):
    """The node agent did not answer in time."""


class ProtocolError(AssayError):
    """The other end of the socket does not speak the protocol of docs/instances.md."""


class Refused(AssayError):
    """The node agent refused the registration."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"the node agent refused the registration: {code}: {detail}")
        self.code = code
        self.detail = detail


class NotRegistered(AssayError):
    """There is no registration that the call could be about."""


class ModelError(AssayError, ValueError):
    """The model cannot be registered as it is; the message names the tensor."""


class HintsError(AssayError, ValueError):
    """A hint that means nothing, or a slice that is offered within a step."""


class FoldedParameters(ModelError):
    """The model has been frozen: its weights are constants of a graph and no longer parameters."""


class NonContiguous(ModelError):
    """A tensor's bytes lie in too many pieces to be named one by one."""


_MEANING = {
    "missing": "is in the manifest and was not registered",
    "extra": "is not in the manifest of the artifact",
    "mismatch": "has other bytes, dtype or shape than the manifest says",
    "changed": "was replaced or written after it was registered",
    "error": "could not be checked",
}


class NotVerified(AssayError):
    """The weights in memory are not known to be those of the artifact."""

    def __init__(self, state: str, findings: Sequence[Finding]) -> None:
        lines = [f"the model in memory is {state}, not verified"]
        for finding in findings:
            subject = f"tensor {finding.tensor!r}" if finding.tensor else "the registration"
            lines.append(f"{subject} {_MEANING.get(finding.kind, finding.kind)}: {finding.detail}")
        super().__init__("\n  ".join(lines))
        self.state = state
        self.findings = list(findings)


class UnknownTensor(NotVerified):
    """A registered tensor is not in the manifest. `names=` of register() says other names."""


def not_verified(state: str, findings: Sequence[Finding]) -> NotVerified:
    """The most telling error for these findings."""
    unknown = any(finding.kind == "extra" for finding in findings)
    return (UnknownTensor if unknown else NotVerified)(state, findings)
