"""The JSON Schema of scenario files, with the keys of everything that is installed: editors check and complete with it.

It knows keys, types and names. What depends on other keys (whether a fault suits a system, whether a disk is recorded)
is checked by `chaoskit run --dry-run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from chaoskit.base import plugins
from chaoskit.contract import installed
from chaoskit.scenario.expected import MEASURES, Expected
from chaoskit.scenario.model import OF_KINDS_TOO, ClusterSpec, FaultSpec, KindChoice, Scenario, WorkloadSpec

DRAFT = "http://json-schema.org/draft-07/schema#"
"""What editors' YAML servers understand."""


class _Written(GenerateJsonSchema):
    """Describes what one writes: no defaults, which are validated values, and nothing of what only code checks."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        return {}

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def function_before_schema(self, schema: Any) -> JsonSchemaValue:
        written = schema.get("json_schema_input_schema")
        inner: Any = schema["schema"]
        if written is None and inner["type"] not in ("model", "model-fields"):
            return {}
        return self.generate_inner(written or inner)


class _Definitions(dict[str, Any]):
    """The definitions that parts of the schema refer to; those of several plug-ins may have one name."""

    def keys_of(self, model: type[BaseModel], owner: str) -> dict[str, Any]:
        """Return the properties of a model; its definitions are kept as those of `owner`."""
        schema = TypeAdapter(model).json_schema(
            ref_template=f"#/definitions/{owner}.{{model}}", schema_generator=_Written
        )
        for name, definition in schema.pop("$defs", {}).items():
            self[f"{owner}.{name}"] = _plain(definition)
        properties: dict[str, Any] = _plain(schema.get("properties", {}))
        return properties


def scenario_schema() -> dict[str, Any]:
    """Return the schema of scenario files, with variants or without."""
    definitions = _Definitions()
    top = definitions.keys_of(Scenario, "scenario")
    systems = {name: definitions.keys_of(installed.system(name, "").options, name) for name in plugins.names("cluster")}
    workloads = {
        name: definitions.keys_of(installed.workload(name, "").options, name) for name in plugins.names("workload")
    }
    number = TypeAdapter(Expected).json_schema(schema_generator=_Written)
    top |= {
        "cluster": _of_kinds("system", definitions.keys_of(ClusterSpec, "cluster"), systems),
        "workload": _of_kinds("kind", definitions.keys_of(WorkloadSpec, "workload"), workloads),
        "faults": {"type": "array", "items": _fault(definitions)},
        "expect": {
            "type": "object",
            "properties": dict.fromkeys((*installed.anomalies(), *MEASURES), number),
            "additionalProperties": False,
        },
    }
    variant = {"type": "object", "properties": top, "additionalProperties": False}
    variants = {"type": "object", "additionalProperties": {"$ref": "#/definitions/variant"}, "minProperties": 1}
    references = {name: {"$ref": f"#/definitions/variant/properties/{name}"} for name in top}
    return {
        "$schema": DRAFT,
        "title": "A scenario of chaoskit",
        "type": "object",
        "properties": {**references, "variants": variants},
        "additionalProperties": False,
        "definitions": {**definitions, "variant": variant},
    }


def _fault(definitions: _Definitions) -> dict[str, Any]:
    kinds = {name: definitions.keys_of(installed.nemesis(name).parameters, name) for name in plugins.names("nemesis")}
    chosen = {key: value for key, value in definitions.keys_of(KindChoice, "choice").items() if key != "kind"}
    common = definitions.keys_of(FaultSpec, "fault")
    for own in kinds.values():
        own |= {key: {"anyOf": [common[key], own[key]]} if key in own else common[key] for key in OF_KINDS_TOO}
    fault = _of_kinds("inject", {**common, **{key: {} for key in OF_KINDS_TOO}}, kinds)
    name = {"enum": sorted(kinds)}
    mapping = {
        "type": "object",
        "properties": {kind: {"type": "object", "properties": {**chosen, **own}} for kind, own in kinds.items()},
        "additionalProperties": False,
    }
    several = {"type": "array", "minItems": 1, "items": {"anyOf": [name, mapping]}}
    fault["required"] = ["inject"]
    fault["properties"]["inject"] = {"anyOf": [name, mapping, several]}
    return fault


def _of_kinds(key: str, common: Mapping[str, Any], kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schema of something of which there are kinds, each with keys of its own."""
    conditions = [
        {
            "if": {"properties": {key: {"const": name}}, "required": [key]},
            "then": {
                "properties": dict(own),
                "propertyNames": {"enum": [*common, *(k for k in own if k not in common)]},
            },
        }
        for name, own in kinds.items()
    ]
    return {"type": "object", "properties": {**common, key: {"enum": sorted(kinds)}}, "allOf": conditions}


def _plain(schema: Any) -> Any:
    """Return a schema without titles, which repeat the names of keys, and without the docstrings of models."""
    if isinstance(schema, dict):
        words = {"title", "description"}
        return {key: _plain(value) for key, value in schema.items() if not (key in words and isinstance(value, str))}
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema
