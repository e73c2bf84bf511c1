# SPDX-License-Identifier: Apache-2.0
"""Compares answers with the document that the service gives at /openapi.json, as
tests/server/api/documented.h does inside of C++."""
import json
import re

import jsonschema

_FORMATS = jsonschema.FormatChecker()


class Document:
    def __init__(self, document):
        self._document = document
        self._resolver = jsonschema.RefResolver.from_schema(document)
        self._operations = []
        for path, methods in document["paths"].items():
            # The index of a tile has several segments.
            pattern = re.sub(r"\\\{(\w+)\\\}", lambda m: ".+" if m[1] == "index" else "[^/]+",
                             re.escape(path))
            self._operations.append((path.count("{"), re.compile(pattern), methods))
        self._operations.sort(key=lambda one: one[0])

    def problem(self, method, target, status, media_type, body):
        """What the document does not say of the answer; None when it says all."""
        path = target.partition("?")[0]
        for _, pattern, methods in self._operations:
            if pattern.fullmatch(path):
                operation = methods.get(method.lower())
                return operation and self._problem(operation, status, media_type, body)
        return None

    def _problem(self, operation, status, media_type, body):
        answer = operation["responses"].get(str(status))
        if answer is None:
            return f"status {status}"
        if "$ref" in answer:
            answer = self._resolver.resolve(answer["$ref"])[1]
        content = answer.get("content", {})
        if not content or not body:
            return f"a body, or none: {body[:200]}" if bool(content) != bool(body) else None
        media_type = media_type.partition(";")[0]
        if media_type not in content:
            return None if "*/*" in content else f"the media type {media_type}"
        if not media_type.endswith("json") or "schema" not in content[media_type]:
            return None
        validator = jsonschema.Draft202012Validator(
            content[media_type]["schema"], resolver=self._resolver, format_checker=_FORMATS)
        error = jsonschema.exceptions.best_match(validator.iter_errors(json.loads(body)))
        return error and f"{error.json_path}: {error.message}"
