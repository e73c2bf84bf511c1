# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas are draft-07 and use nothing newer.

The validator of the service (schemas/json_schema.h) refuses a keyword that it does not know, and other
readers of the schemas silently ignore what is newer than draft-07. All of them ignore the neighbours of
a $ref.
"""

import json

import jsonschema

import sources
from sources import Finding

DRAFT = "http://json-schema.org/draft-07/schema#"
FOLDER = "schemas/json/"

_PLAIN = {
    "$schema", "$id", "$ref", "$comment", "title", "description", "default", "examples", "readOnly",
    "writeOnly", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
    "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxProperties",
    "minProperties", "required", "enum", "const", "type", "format", "contentEncoding",
    "contentMediaType",
}
_SCHEMA = {"additionalItems", "additionalProperties", "contains", "else", "if", "not",
           "propertyNames", "then"}
_SCHEMA_LIST = {"allOf", "anyOf", "oneOf"}
_SCHEMA_MAP = {"definitions", "patternProperties", "properties"}
_BESIDE_REF = {"$ref", "$comment", "title", "description"}


def _refuse_duplicates(pairs):
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"duplicate member {name!r}")
    return dict(pairs)


def _walk(schema, where):
    """(where, message) of each thing that draft-07 does not know, or ignores."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield where, "a schema is an object or a boolean"
        return
    if "$ref" in schema and set(schema) - _BESIDE_REF:
        yield where, "members beside $ref are ignored: " + ", ".join(sorted(set(schema) - _BESIDE_REF))
    for key, value in schema.items():
        place = f"{where}/{key}"
        if key in _SCHEMA:
            yield from _walk(value, place)
        elif key in _SCHEMA_LIST:
            for index, item in enumerate(value):
                yield from _walk(item, f"{place}/{index}")
        elif key in _SCHEMA_MAP:
            for name, item in value.items():
                yield from _walk(item, f"{place}/{name}")
        elif key == "items":
            for index, item in enumerate(value if isinstance(value, list) else [value]):
                yield from _walk(item, f"{place}/{index}")
        elif key == "dependencies":
            for name, item in value.items():
                if not isinstance(item, list):
                    yield from _walk(item, f"{place}/{name}")
        elif key not in _PLAIN:
            yield place, f"{key} is no keyword of draft-07"


def check_text(path, text):
    try:
        schema = json.loads(text, object_pairs_hook=_refuse_duplicates)
    except ValueError as error:
        return [Finding(path, 1, f"not JSON: {error}")]
    if not isinstance(schema, dict) or schema.get("$schema") != DRAFT:
        return [Finding(path, 1, f'"$schema" must be "{DRAFT}"')]
    try:
        jsonschema.Draft7Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        place = "/".join(str(part) for part in error.absolute_path)
        return [Finding(path, 1, f"#/{place}: {error.message}")]
    return [Finding(path, 1, f"{where}: {message}") for where, message in _walk(schema, "#")]


def check(root):
    findings = []
    for path in sources.list_files(root):
        if path.startswith(FOLDER) and path.endswith(".json"):
            if path.endswith(".schema.json"):
                findings += check_text(path, sources.read(root / path) or "")
            else:
                findings.append(Finding(path, 1, "schemas are named <document>.schema.json"))
    return findings


if __name__ == "__main__":
    sources.main(check)
