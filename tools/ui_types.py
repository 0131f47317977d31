"""Write `ui/src/api.ts`: the answers of the service as TypeScript types, from the OpenAPI document.

Run `python -m tools.ui_types` after a change of a shape; a test compares.
"""

from pathlib import Path
from typing import Any, Final

from fastapi.openapi.utils import get_openapi

from ledger.server import compat, native
from ledger.server.http.route_kinds import together

TYPES: Final = Path(__file__).parent.parent / "ui" / "src" / "api.ts"
_HEAD: Final = """\
// The answers of the service. Made by `python -m tools.ui_types` from its OpenAPI document; do not edit.

/** First and last of consecutive versions, in ascending order. */
export type Ranges = [number, number][];
"""
_PLAIN: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_RANGES: Final = "[number, number][]"


def main() -> None:
    """Write the file."""
    TYPES.write_text(types(), encoding="utf-8")


def types() -> str:
    """Return the types of every answer that a route documents, and of what these hold."""
    document = get_openapi(title="", version="", routes=together(compat.router, native.router).routes)
    schemas = document["components"]["schemas"]
    wanted = [name for route in document["paths"].values() for method in route.values() for name in _answers(method)]
    known: dict[str, str] = {}
    while wanted:
        name = wanted.pop()
        if name not in known:
            known[name] = _interface(name, schemas[name])
            wanted += _references(schemas[name])
    return _HEAD + "".join(f"\n{known[name]}" for name in sorted(known, key=_named))


def _answers(method: dict[str, Any]) -> list[str]:
    return [name for status, answer in method["responses"].items() if status < "300" for name in _references(answer)]


def _references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"].rpartition("/")[2]] if "$ref" in schema else []
        return own + [name for part in schema.values() for name in _references(part)]
    return [name for part in schema for name in _references(part)] if isinstance(schema, list) else []


def _interface(name: str, schema: dict[str, Any]) -> str:
    if "enum" in schema or "properties" not in schema:
        return f"export type {_named(name)} = {_type(schema)};\n"
    fields = "".join(f"  {field}: {_type(each)};\n" for field, each in schema["properties"].items())
    return f"export interface {_named(name)} {{\n{fields}}}\n"


def _named(name: str) -> str:
    return "".join(part.removesuffix("Shape") for part in name.rsplit("__", maxsplit=1)[-1].split("-"))


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _named(schema["$ref"].rpartition("/")[2])
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " | ".join("null" if value is None else f'"{value}"' for value in values)
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return " | ".join(dict.fromkeys(_type(part) for part in schema[choice]))
    match schema.get("type"):
        case "array":
            return _array(schema)
        case "object":
            values = schema.get("additionalProperties")
            return f"{{ [name: string]: {_type(values) if isinstance(values, dict) and values else 'unknown'} }}"
        case str(plain):
            return _PLAIN[plain]
        case _:
            return "unknown"


def _array(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(map(_type, schema['prefixItems']))}]"
    items = _type(schema.get("items", {}))
    whole = f"({items})[]" if "|" in items else f"{items}[]"
    return "Ranges" if whole == _RANGES else whole


if __name__ == "__main__":
    main()
