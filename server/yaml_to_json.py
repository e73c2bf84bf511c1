# SPDX-License-Identifier: Apache-2.0
"""Writes a YAML document as JSON: yaml_to_json.py SOURCE FOLDER TARGET. Refuses a key that stands
twice. TARGET.d lists what was read.

A schema {x-document: NAME} in components becomes FOLDER/NAME.schema.json, so that what is told to
clients is what the service validates with. References between those files become references
between components: whatever one of them needs must be a component, too.
"""

import json
import os
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


def _moved(node, own, components):
    """The node with references that hold inside of the whole document."""
    if isinstance(node, list):
        return [_moved(item, own, components) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: _moved(value, own, components) for key, value in node.items()}
    reference = node.get("$ref")
    if isinstance(reference, str):
        file, _, pointer = reference.partition("#")
        name = file.removesuffix(".schema.json") if file else own
        out["$ref"] = f"#/components/schemas/{components[name]}{pointer}"
    return out


def _insert_documents(document, folder):
    schemas = document["components"]["schemas"]
    components = {schema["x-document"]: component for component, schema in schemas.items()
                  if "x-document" in schema}  # fmt: skip
    paths = {name: os.path.join(folder, f"{name}.schema.json") for name in components}
    for name, component in components.items():
        with open(paths[name], encoding="utf-8") as source:
            schema = json.load(source)
        for member in ("$schema", "$id"):
            schema.pop(member)
        schemas[component] = _moved(schema, name, components)
    return sorted(paths.values())


def main(source, folder, target):
    with open(source, encoding="utf-8") as stream:
        document = yaml.load(stream, Loader)
    read = _insert_documents(document, folder)
    with open(target + ".d", "w", encoding="utf-8") as stream:
        stream.write(f"{target}: {' '.join(read)}\n")
    with open(target, "w", encoding="utf-8") as stream:
        json.dump(document, stream, ensure_ascii=False, separators=(",", ":"))


main(*sys.argv[1:])
