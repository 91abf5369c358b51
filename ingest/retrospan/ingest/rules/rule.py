"""One mutation rule, and what it makes of a tool call. Pure: the same call gives the same statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from retrospan.ingest.json_text import Unreadable, read_json, read_value
from retrospan.ingest.rules.paths import MISSING, Path

#: Elements of one call that a rule with `each` goes through; the rest is a problem.
MOST_ELEMENTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A tool call as rules see it: `status` is ok, error, incomplete, not_executed or unknown."""

    tool: str
    agent: str | None
    service: str | None
    status: str
    arguments: object
    result: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """That a field of an entity had a value, as the call began (`held`) or once it had ended. None clears the field."""

    rule: str
    entity_type: str
    entity_id: str
    field: str
    value: object
    held: bool
    element: int  # place in the list that the rule goes through, else 0
    confidence: float | None
    priority: int

    @property
    def source(self) -> str:
        """Who says so, as observations name their source."""
        return f"rule:{self.rule}" + (":before" if self.held else "")


@dataclass(frozen=True, slots=True)
class Missed:
    """What a rule looked for in a call that it fits, and did not find."""

    rule: str
    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which calls it fits, and where in them an entity, its fields and their values lie.

    Values lie in one of three forms: `field` is where the one field's name lies and `after` where its value does;
    without `field`, `after` leads to an object of fields (of which `fields` names the ones that count), or is given for
    each field by name. `before` has the same form. `clear` names fields that the call empties.
    """

    name: str
    tools: tuple[str, ...]
    agents: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    when: tuple[tuple[Path, object], ...] = ()
    each: Path | None = None
    entity: str
    id: Path
    field: Path | None = None
    fields: tuple[str, ...] = ()
    after: Path | tuple[tuple[str, Path], ...] | None = None
    before: Path | tuple[tuple[str, Path], ...] | None = None
    clear: tuple[str, ...] = ()
    confidence: float | None = None
    priority: int = 0

    def fits(self, call: Called) -> bool:
        """Tell whether the call succeeded and is one that the rule is about."""
        if call.status != "ok" or not _matches(call.tool, self.tools):
            return False
        if self.agents and not _matches(call.agent or "", self.agents):
            return False
        if self.services and not _matches(call.service or "", self.services):
            return False
        roots = _roots(call)
        return all(_equal(path.follow(roots), wanted) for path, wanted in self.when)

    def read(self, call: Called) -> Iterator[Statement | Missed]:
        """Yield what the call says by this rule; nothing when it does not fit."""
        if not self.fits(call):
            return
        roots = _roots(call)
        if self.each is None:
            yield from self._entity(roots, 0)
            return
        elements = read_value(self.each.follow(roots))
        if not isinstance(elements, list):
            yield Missed(self.name, "each", f"{self.each.text} does not lead to a list")
            return
        for place, element in enumerate(elements[:MOST_ELEMENTS]):
            yield from self._entity({**roots, "each": element}, place)
        if len(elements) > MOST_ELEMENTS:
            yield Missed(
                self.name, "each", f"only the first {MOST_ELEMENTS:,} of {len(elements):,} elements are read"
            )

    def _entity(self, roots: Mapping[str, object], element: int) -> Iterator[Statement | Missed]:
        entity_id = _name_of(self.id.follow(roots))
        if entity_id is None:
            yield Missed(self.name, "id", f"{self.id.text} does not lead to a text or whole number")
            return
        held = self._values(self.before, roots) if self.before is not None else {}
        became = self._values(self.after, roots) if self.after is not None else {}
        for key, values in (("before", held), ("after", became)):
            if isinstance(values, Missed):
                if key == "after" or values.key == "field":
                    yield values
                continue
            for field, value in values.items():
                yield self._statement(entity_id, field, value, element, held=key == "before")
        for field in self.clear:
            yield self._statement(entity_id, field, None, element, held=False)

    def _statement(self, entity_id: str, field: str, value: object, element: int, *, held: bool) -> Statement:
        return Statement(
            rule=self.name,
            entity_type=self.entity,
            entity_id=entity_id,
            field=field,
            value=value,
            held=held,
            element=element,
            confidence=self.confidence,
            priority=self.priority,
        )

    def _values(
        self, where: Path | tuple[tuple[str, Path], ...] | None, roots: Mapping[str, object]
    ) -> dict[str, object] | Missed:
        """Return field → value, or what was not found. Of fields by name those that the call leaves out are left out."""
        if isinstance(where, tuple):
            found = {name: path.follow(roots) for name, path in where}
            found = {name: value for name, value in found.items() if value is not MISSING}
            return found or Missed(self.name, "after", "none of the fields is in the call")
        assert where is not None
        value = where.follow(roots)
        if self.field is not None:
            name = _name_of(self.field.follow(roots))
            if name is None:
                return Missed(
                    self.name, "field", f"{self.field.text} does not lead to a text or whole number"
                )
            return {name: value} if value is not MISSING else Missed(self.name, "after", _nothing(where))
        value = read_value(value)
        if not isinstance(value, dict):
            return Missed(self.name, "after", f"{where.text} does not lead to an object of fields")
        return {name: inner for name, inner in value.items() if not self.fields or name in self.fields}


def _nothing(path: Path) -> str:
    return f"{path.text} does not lead to anything"


def _matches(text: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def _roots(call: Called) -> dict[str, object]:
    return {"arguments": call.arguments, "result": call.result}


def _name_of(value: object) -> str | None:
    """Return a text, or a whole number as text: what can name a thing."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def _equal(value: object, wanted: object) -> bool:
    """Compare as JSON does: true is not 1."""
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def result_of(text: str | None) -> object:
    """Return a result from its stored text: JSON where it is JSON, so that a rule sees the same everywhere."""
    if text is None:
        return MISSING
    read = read_json(text)
    return text if isinstance(read, Unreadable) else read
