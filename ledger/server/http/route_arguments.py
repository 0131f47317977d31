"""The arguments of a route's function, by the declarations that FastAPI has read, prepared once for all requests.

FastAPI itself examines the declarations again for every request, which takes longer than an append.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, Final, Self, TypeAlias, cast
from urllib.parse import parse_qsl

from fastapi._compat import ModelField, field_annotation_is_sequence, get_missing_field_error
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

#: The value of a body that was not sent; null is a value.
NOT_SENT: Final = object()

#: The query parameters of a request, in order.
QueryPairs: TypeAlias = Sequence[tuple[str, str]]

_Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
_Sources: TypeAlias = tuple[Mapping[str, str], QueryPairs, _Headers]
_PLACES: Final = ("path", "query", "header")
_UNCHANGEABLE: Final = (str, int, float, type(None))


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter, found in one of the sources of a request; *several* if it may come more than once.

    *absent* is its value if it was not sent; `NOT_SENT` if it is required, or its default must be made each time.
    """

    source: int
    alias: str
    header: bytes
    several: bool
    field: ModelField
    absent: object

    @classmethod
    def of(cls, source: int, field: ModelField) -> Self:
        """Return the parameter that *field* declares."""
        alias, info = field.validation_alias or field.alias, field.field_info
        constant = not info.is_required() and info.default_factory is None and isinstance(info.default, _UNCHANGEABLE)
        return cls(
            source,
            alias,
            alias.lower().encode("latin-1"),
            field_annotation_is_sequence(info.annotation),
            field,
            info.default if constant else NOT_SENT,
        )

    def value(self, sources: _Sources) -> object:
        """Return what was sent; of several query parameters the last, and of several headers the first."""
        path, query, headers = sources
        if self.source == 0:
            return path.get(self.alias, NOT_SENT)
        if self.source == 1:
            found = [value for name, value in query if name == self.alias]
        else:
            found = [value.decode("latin-1") for name, value in headers if name == self.header]
        if not found:
            return NOT_SENT
        return found if self.several else found[-1 if self.source == 1 else 0]


@dataclass(frozen=True, slots=True)
class _PreparedCall:
    """A call of a dependency or, the last one, of the route's function; *given* are results of earlier calls."""

    function: Callable[..., Awaitable[object]]
    parameters: tuple[_Parameter, ...]
    body: ModelField | None
    given: tuple[tuple[str, int], ...]
    needed: frozenset[int]
    request: str | None
    response: str | None

    def arguments(
        self, sources: _Sources, body: object, results: Mapping[int, object], faults: list[Any]
    ) -> dict[str, Any]:
        """Return the arguments except the request and the response; add to *faults* what is not valid."""
        values = {name: results.get(number) for name, number in self.given}
        for parameter in self.parameters:
            value = parameter.value(sources)
            if value is NOT_SENT and parameter.absent is not NOT_SENT:
                values[parameter.field.name] = parameter.absent
                continue
            place = (_PLACES[parameter.source], parameter.alias)
            values[parameter.field.name] = _checked(parameter.field, value, place, faults)
        if self.body is not None:
            values[self.body.name] = _checked(self.body, body, ("body",), faults)
        return values


@dataclass(frozen=True, slots=True)
class Arguments:
    """The calls that a request to one route needs, each once, in order; and the query parameters that they take."""

    calls: tuple[_PreparedCall, ...]
    query: Mapping[str, bool]
    """The names of the query parameters, and whether each may come more than once."""

    @classmethod
    def of(cls, route: APIRoute) -> Self:
        """Return the calls of *route*.

        Raises:
            TypeError: it has a declaration that no route of this service has, such as a form, or a file.
        """
        calls: list[_PreparedCall] = []
        _add_calls(route.dependant, calls, {})
        if route._embed_body_fields:  # noqa: SLF001 - FastAPI has no public name for it
            raise TypeError(f"{route.path}: a route takes one body")
        query = {
            parameter.alias: parameter.several
            for call in calls
            for parameter in call.parameters
            if _PLACES[parameter.source] == "query"
        }
        return cls(tuple(calls), query)

    async def call(self, request: Request, query: QueryPairs, response: Response | None, body: object) -> object:
        """Call the dependencies, then the function; return its result.

        *query* is that of *request*; *response* is for functions that set headers or a status; *body* is the JSON
        value, or `NOT_SENT`.

        Raises:
            RequestValidationError: parameters or the body are not valid; the function was not called.
        """
        sources = (request.scope["path_params"], query, request.scope["headers"])
        results: dict[int, object] = {}
        faults: list[Any] = []
        last = len(self.calls) - 1
        for number, call in enumerate(self.calls):
            before = len(faults)
            values = call.arguments(sources, body, results, faults)
            if faults and (len(faults) > before or number == last or not call.needed.issubset(results)):
                continue  # the further calls may refuse the request for a more important reason
            if call.request is not None:
                values[call.request] = request
            if call.response is not None:
                values[call.response] = response
            results[number] = await call.function(**values)
        if faults:
            raise RequestValidationError(faults)
        return results[last]


def query_of(request: Request) -> QueryPairs:
    """Return the query parameters of *request*."""
    sent: bytes = request.scope["query_string"]
    if not sent:
        return ()
    text = sent.decode("latin-1")
    if "%" in text or "+" in text:
        return parse_qsl(text, keep_blank_values=True)
    parts = [part.partition("=") for part in text.split("&") if part]
    return [(name, value) for name, _, value in parts]


def _add_calls(dependant: Dependant, calls: list[_PreparedCall], numbers: dict[object, int]) -> int:
    """Add the calls that *dependant* needs, then its own; return its number."""
    given, needed = [], set()
    for dependency in dependant.dependencies:
        number = numbers.get(dependency.call)
        if number is None:
            number = _add_calls(dependency, calls, numbers)
        needed.add(number)
        if dependency.name is not None:
            given.append((dependency.name, number))
    calls.append(_own_call(dependant, tuple(given), frozenset(needed)))
    numbers[dependant.call] = len(calls) - 1
    return len(calls) - 1


def _own_call(dependant: Dependant, given: tuple[tuple[str, int], ...], needed: frozenset[int]) -> _PreparedCall:
    function = dependant.call
    if (
        dependant.cookie_params
        or dependant.http_connection_param_name
        or dependant.websocket_param_name
        or dependant.background_tasks_param_name
        or dependant.security_scopes_param_name
        or not (iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__))
    ):
        raise TypeError(f"{function}: a function of a route is async, and takes only path, query, headers and a body")
    declared = (dependant.path_params, dependant.query_params, dependant.header_params)
    parameters = tuple(_Parameter.of(source, field) for source, fields in enumerate(declared) for field in fields)
    return _PreparedCall(
        function=cast(Callable[..., Awaitable[object]], function),
        parameters=parameters,
        body=dependant.body_params[0] if dependant.body_params else None,
        given=given,
        needed=needed,
        request=dependant.request_param_name,
        response=dependant.response_param_name,
    )


def _checked(field: ModelField, value: object, place: tuple[str, ...], faults: list[Any]) -> object:
    if value is NOT_SENT:
        if not field.field_info.is_required():
            return field.get_default()
        faults.append(get_missing_field_error(place))
        return None
    checked, wrong = field.validate(value, loc=place)
    faults += wrong
    return checked
