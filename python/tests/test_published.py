# SPDX-License-Identifier: Apache-2.0
"""Registrations that name a published layout, without PyTorch."""
import pytest

import assay
from conftest import ARTIFACT, OTHER

PUBLISHED = f"published:{OTHER}"


def shared():
    return assay.SharedTensors({"w": ("U8", [4], b"abcd")})


def test_registration_names_the_published_layout(agent):
    with assay.register(shared(), artifact=ARTIFACT, socket=agent.path, layout=PUBLISHED) as registration:
        frame = agent.of("register")[0]
        assert frame["published"] == OTHER and "layout" not in frame
        registration.update(ARTIFACT)
        assert "published" not in agent.of("register")[1]
        with pytest.raises(ValueError, match="published:"):
            registration.update(ARTIFACT, layout="published:sha256:aa")


@pytest.mark.parametrize("layout", ["published:", f"published:{OTHER}0", OTHER, "exact"])
def test_names_of_no_published_layout_are_refused(agent, layout):
    with pytest.raises(ValueError, match="published:"):
        assay.register(shared(), artifact=ARTIFACT, socket=agent.path, layout=layout)
