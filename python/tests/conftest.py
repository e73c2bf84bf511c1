# SPDX-License-Identifier: Apache-2.0
"""What the tests share: a fake node agent, models, their manifests."""
import contextlib
import hashlib
import os
import threading

import pytest

import assay
from fake_agent import FakeAgent

try:
    import torch
except ImportError:
    torch = None

ARTIFACT = "assay-tree-v1-sha256:" + "5a" * 32
OTHER = "assay-tree-v1-sha256:" + "a5" * 32
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
DTYPES = {"torch.float32": "F32", "torch.bfloat16": "BF16", "torch.int64": "I64", "torch.uint8": "U8",
          "torch.float16": "F16"}


def entry(tensor):
    """What a manifest says of a tensor: from its values, not from where it lies."""
    data = tensor.detach().cpu().contiguous().clone()
    raw = data.reshape(-1).view(torch.uint8).numpy().tobytes() if data.numel() else b""
    return DTYPES[str(data.dtype)], tuple(data.shape), hashlib.sha256(raw).hexdigest()


def manifest_of(tensors):
    return {name: entry(tensor) for name, tensor in dict(tensors).items()}


def net():
    """A model with what models have: several layers, a persistent and another buffer, an odd size."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(33, 65)
            self.norm = torch.nn.BatchNorm1d(65)
            self.last = torch.nn.Linear(65, 7, bias=False).to(torch.bfloat16)
            self.register_buffer("cache", torch.zeros(100), persistent=False)

        def forward(self, x):
            return self.last(self.norm(self.first(x)).to(torch.bfloat16))
    torch.manual_seed(7)
    return Net().eval()


@pytest.fixture
def agent(tmp_path):
    before = descriptors()
    agent = FakeAgent(tmp_path / "register.sock")
    yield agent
    for registration in assay.registrations():
        registration.close()
    agent.close()
    assert not agent.errors, agent.errors
    assert not agent.strange, agent.strange
    assert not [thread for thread in threading.enumerate() if thread.name == "assay-registration"]
    assert not descriptors() - before


def descriptors():
    """Sockets and pipes of this process. Memory files live as long as tensors."""
    links = set()
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the folder itself
            links.add((fd, os.readlink(f"/proc/self/fd/{fd}")))
    return {(fd, path) for fd, path in links if path.startswith(("socket:", "pipe:"))}


@pytest.fixture
def model(agent):
    if torch is None:
        pytest.skip("PyTorch is not installed")
    model = net()
    agent.manifest = manifest_of(model.state_dict())
    return model
