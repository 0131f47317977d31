"""The arguments of a route's function, by the declarations that FastAPI has read, prepared once for all requests.

FastAPI itself examines the declarations again for every request, which takes longer than an append.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, Final, Self, TypeAlias, cast

from fastapi._compat import ModelField, field_annotation_is_sequence, get_missing_field_error
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.responses import Response

#: The value of a body that was not sent; null is a value.
NOT_SENT: Final = object()

_Sources: TypeAlias = tuple[Mapping[str, str], QueryParams, Headers]
_PLACES: Final = ("path", "query", "header")


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter, found in one of the sources of a request; *several* if it may come more than once."""

    source: int
    alias: str
    several: bool
    field: ModelField

    def value(self, sources: _Sources) -> object:
        source = sources[self.source]
        if self.several and isinstance(source, QueryParams | Headers):
            return source.getlist(self.alias) or NOT_SENT
        return source.get(self.alias, NOT_SENT)


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
            place = (_PLACES[parameter.source], parameter.alias)
            values[parameter.field.name] = _checked(parameter.field, parameter.value(sources), place, faults)
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

    async def call(self, request: Request, response: Response | None, body: object) -> object:
        """Call the dependencies, then the function; return its result.

        *response* is for functions that set headers or a status; *body* is the JSON value, or `NOT_SENT`.

        Raises:
            RequestValidationError: parameters or the body are not valid; the function was not called.
        """
        sources = (request.path_params, request.query_params, request.headers)
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
    parameters = tuple(
        _Parameter(
            source,
            field.validation_alias or field.alias,
            field_annotation_is_sequence(field.field_info.annotation),
            field,
        )
        for source, fields in enumerate(declared)
        for field in fields
    )
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
