# SPDX-License-Identifier: Apache-2.0
"""Models that are registered as they are loaded."""
import pytest

import assay
from conftest import ARTIFACT, manifest_of, needs_torch, net

pytestmark = needs_torch


class AutoModel:
    """Loads as transformers does."""

    @classmethod
    def from_pretrained(cls, path, *arguments, **options):
        model = net()
        model.loaded = path, arguments, options
        return (model, {"missing_keys": []}) if options.get("output_loading_info") else model


def test_from_pretrained(agent):
    agent.manifest = manifest_of(net().state_dict())
    model = assay.from_pretrained(AutoModel, "/models/m", artifact=ARTIFACT, socket=agent.path, instance="x",
                                  device_map="cpu")
    assert model.loaded == ("/models/m", (), {"device_map": "cpu"})
    assert assay.registration(model).instance == "x"
    assert assay.verify_now() == "verified"


def test_loaders_that_return_more(agent):
    model, info = assay.from_pretrained(AutoModel, "m", artifact=ARTIFACT, socket=agent.path,
                                        output_loading_info=True)
    assert info == {"missing_keys": []} and assay.registration(model) is assay.registrations()[0]


def test_any_loader(agent):
    model = assay.load(net, artifact=ARTIFACT, socket=agent.path)
    assert assay.registration(model).artifact == ARTIFACT
    with pytest.raises(assay.ModelError):
        assay.load(lambda: None, artifact=ARTIFACT, socket=agent.path)
    with pytest.raises(assay.NotRegistered):
        assay.registration(net())
