# SPDX-License-Identifier: Apache-2.0
"""SharedTensors: weights of a program that has no PyTorch."""
import gc
import hashlib
import weakref

import pytest

import assay
from conftest import ARTIFACT

TENSORS = {"embed": ("F32", (3, 5), bytes(range(60))), "empty": ("U8", (0,), b""),
           "out": ("U8", (7,), b"weights")}


def manifest(agent):
    agent.manifest = {name: (dtype, tuple(shape), hashlib.sha256(content).hexdigest())
                      for name, (dtype, shape, content) in TENSORS.items()}


@pytest.fixture
def shared(agent):
    manifest(agent)
    return assay.SharedTensors(TENSORS)


def test_a_changed_byte_is_found(shared, agent):
    assert list(shared) == list(TENSORS) and len(shared) == 3
    assert bytes(shared["out"]) == b"weights"
    with assay.register(shared, artifact=ARTIFACT, socket=agent.path) as registration:
        assert registration.verify_now() == "verified"
        (piece,) = agent.of("register")[0]["pieces"]
        assert piece["kind"] == "host"
        shared["out"][6] ^= 1
        assert registration.verify_now() == "violated"
        assert [finding.tensor for finding in registration.findings] == ["out"]
        registration.release()
        shared["out"][6] ^= 1
        registration.update(ARTIFACT)
        assert registration.verify_now() == "verified"


def test_the_registration_keeps_the_memory(agent):
    manifest(agent)
    shared = assay.SharedTensors(TENSORS)
    memory = weakref.ref(shared.mapping)
    with assay.register(shared, artifact=ARTIFACT, socket=agent.path) as registration:
        del shared
        gc.collect()
        assert memory() is not None
        assert registration.verify_now() == "verified"
        registration.release()
        gc.collect()
        assert memory() is not None  # it is registered again by update()
    del registration
    gc.collect()
    assert memory() is None


def test_what_is_refused(agent):
    for tensors in ({}, {"": ("U8", (1,), b"a")}, {"a" * 513: ("U8", (1,), b"a")}):
        with pytest.raises(assay.ModelError):
            assay.SharedTensors(tensors)
    with pytest.raises(assay.ModelError, match="names="):
        assay.register(assay.SharedTensors(TENSORS), artifact=ARTIFACT, socket=agent.path,
                       names={"out": "lm_head"})
