# SPDX-License-Identifier: Apache-2.0
"""Writes a YAML document as JSON: yaml_to_json.py SOURCE TARGET. Refuses a key that stands twice."""

import json
import sys

import yaml


class Loader(yaml.SafeLoader):
    pass


def _mapping(loader, node):
    pairs = loader.construct_pairs(node, deep=True)
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise yaml.YAMLError(f"{node.start_mark}: {name!r} stands twice")
    return dict(pairs)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)

with open(sys.argv[1], encoding="utf-8") as source:
    document = yaml.load(source, Loader)
with open(sys.argv[2], "w", encoding="utf-8") as target:
    json.dump(document, target, ensure_ascii=False, separators=(",", ":"))
