# SPDX-License-Identifier: Apache-2.0
"""Models that are registered as they are loaded."""
from __future__ import annotations

import weakref
from typing import Any, Callable

from ._errors import ModelError, NotRegistered
from ._registration import Registration, register

_OPTIONS = ("instance", "rank", "world", "socket", "period", "reconnect", "names", "hints", "layout", "files")
_of: "weakref.WeakKeyDictionary[Any, Registration]" = weakref.WeakKeyDictionary()


def load(loader: Callable[..., Any], *arguments: Any, artifact: str, **options: Any) -> Any:
    """Calls loader(*arguments, **options) and registers the model that it returns.

    Options of register() go there, all others to the loader. A loader that returns a tuple has the
    model first in it. registration(model) is the registration.
    """
    own = {name: options.pop(name) for name in _OPTIONS if name in options}
    result = loader(*arguments, **options)
    model = result[0] if isinstance(result, tuple) else result
    if model is None:
        raise ModelError("the loader returned no model")
    _of[model] = register(model, artifact=artifact, **own)
    return result


def from_pretrained(cls: Any, path: Any, *arguments: Any, artifact: str, **options: Any) -> Any:
    """cls.from_pretrained(path, ...), registered: for transformers and what loads as it does.

        model = assay.from_pretrained(AutoModelForCausalLM, "/models/m", artifact="assay-tree-v1-...")

    With layout="auto" the folder `path` has the files, unless files= says otherwise.
    """
    if options.get("layout") == "auto" and options.get("files") is None:
        options["files"] = path
    return load(cls.from_pretrained, path, *arguments, artifact=artifact, **options)


def registration(model: Any) -> Registration:
    """The registration of a model that load() or from_pretrained() returned."""
    found = _of.get(model)
    if found is None:
        raise NotRegistered("this model was not loaded by assay.load or assay.from_pretrained")
    return found
