"""The wall in front of the engine: what may be asked on the SQL port.

`Guard.check` is pure. It reads the statement token by token and lets through one read-only statement whose
every call, table and setting is on a list; all else is refused with the rule and the remedy. `readonly=1`
in the engine is the second wall: alone it lets file(), INTO OUTFILE and two statements through (measured).
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise

from retrospan.ingest.answer.guard.allowlist import (
    BOUNDED_FUNCTIONS,
    DATABASE,
    ENDLESS_FUNCTIONS,
    LONGEST_PIECE,
    SHOWABLE,
    SYSTEM_TABLES,
    TABLE_FUNCTIONS,
    Allowlist,
)
from retrospan.ingest.answer.guard.clauses import split_tail
from retrospan.ingest.answer.guard.lexer import SYNTAX_ERROR, Token, tokens, where, written
from retrospan.ingest.warehouse.error_codes import ACCESS_DENIED
from retrospan.schemas.errors import SqlError

UNKNOWN_FUNCTION = 46
UNKNOWN_DATABASE = 81
SAMPLING_NOT_SUPPORTED = 141
READONLY = 164
UNKNOWN_PARAMETER = 456

HEADS = ("select", "with", "show", "describe", "desc", "explain", "exists")
_UNEXPLAINABLE = ("run_diff", "run_divergence")
_EXPLAINED = frozenset({"ast", "syntax", "query", "tree", "plan", "pipeline", "estimate"})
_REMEDY = "Data comes in over OTLP; commands that change the warehouse go to POST /admin/v1/<command>"


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """A statement that may be executed: without its FORMAT and SETTINGS clauses, which are apart."""

    sql: str
    output_format: str | None = None
    settings: Mapping[str, str | int] = field(default_factory=dict[str, str | int])


@dataclass(frozen=True, slots=True)
class Guard:
    """Checks statements against one allowlist."""

    allowlist: Allowlist

    def check(
        self, text: str, parameters: Mapping[str, str] | None = None, own: Container[str] = ()
    ) -> CheckedStatement:
        """Return the statement to execute. `own` are functions that it makes for itself, folded.

        Raises:
            SqlError: it is not one read-only statement over names that may be read; the message says which
                rule and what to do, `code` is ClickHouse's number for the like.
        """
        everything = tokens(text)
        _no_second_statement(everything, text)
        significant = [token for token in everything if token.kind != "blank" and not token.is_mark(";")]
        _head(significant)
        _sequences(significant)
        self._databases(significant, text)
        self._calls(significant, text, own)
        self._identifiers(significant, parameters or {})
        tail = split_tail(significant, text)
        kept = [token for token in everything if not token.is_mark(";") and token.position < tail.position]
        return CheckedStatement(written(kept).rstrip(), tail.output_format, tail.settings)

    def _calls(self, found: Sequence[Token], text: str, own: Container[str]) -> None:
        """Every `name(` is a known, harmless function, type, keyword, table function or installed view."""
        for index, (token, after) in enumerate(pairwise(found)):
            if not after.is_mark("("):
                continue
            if token.kind == "string":
                raise _refusal(f"{token.text}( is refused: a string is not a function", token, text)
            if token.kind not in ("word", "name", "number"):
                continue
            if _names_subquery(found, index):
                continue
            qualified = index > 0 and found[index - 1].is_mark(".")
            if token.value in self.allowlist.views:
                self._view_call(found, index, text)
            elif qualified or not (self.allowlist.callable(token.folded) or token.folded in own):
                raise self._unknown_call(token, text)
            elif token.folded == "merge":
                _merge_call(found, index, text)
            elif token.folded in BOUNDED_FUNCTIONS:
                _bounded_call(found, index, text)

    def _databases(self, found: Sequence[Token], text: str) -> None:
        """Refuse a qualified name that leads elsewhere than to our own database or to what clients need of `system`."""
        for index, token in enumerate(found[:-1]):
            if not found[index + 1].is_mark(".") or (index > 0 and found[index - 1].is_mark(".")):
                continue
            if token.folded and (token.folded == "default" or token.folded in self.allowlist.databases):
                rule = f"database {token.value[:60]} is not open: leave the name out or write {DATABASE}.…"
                if token.folded == "default":
                    rule = f"database default is empty: leave the name out or write {DATABASE}.…"
                raise _refusal(rule, token, text, UNKNOWN_DATABASE)
            if token.folded == "system":
                _system_table(found[index + 2] if index + 2 < len(found) else token, token, text)

    def _identifiers(self, found: Sequence[Token], parameters: Mapping[str, str]) -> None:
        """Check parameters of type Identifier: each is a name as if written out, so it must be a plain one."""
        closed = self.allowlist.databases | {"system", "default"}
        for index, token in enumerate(found[:-3]):
            if not (
                token.is_mark("{")
                and found[index + 2].is_mark(":")
                and found[index + 3].folded == "identifier"
            ):
                continue
            value = parameters.get(found[index + 1].value, "")
            if not re.fullmatch(r"[A-Za-z0-9_]+", value) or value.casefold() in closed:
                raise SqlError(
                    f"parameter {found[index + 1].text}: {value[:60]!r} is not a name that can be read.",
                    code=ACCESS_DENIED,
                )

    def _unknown_call(self, token: Token, text: str) -> SqlError:
        words = self.allowlist
        if token.folded in ENDLESS_FUNCTIONS:
            rule = f"{token.value}() is refused: its time grows with the product of its arguments, and no limit can stop it"
            return _refusal(rule, token, text, ACCESS_DENIED)
        if token.folded in words.functions | words.table_functions | TABLE_FUNCTIONS:
            rule = f"8123 only reads the warehouse: {token.value}() is refused; there is no access to files, networks or processes"
            return _refusal(rule, token, text, ACCESS_DENIED)
        offered = [name for name in words.functions | TABLE_FUNCTIONS if words.callable(name)]
        near = get_close_matches(token.value, [*words.views, *offered], 1, 0.8)
        hint = f". Maybe you meant {near[0]}" if near else ""
        return _refusal(
            f"no function or view {token.value}() may be called{hint}", token, text, UNKNOWN_FUNCTION
        )

    def _view_call(self, found: Sequence[Token], index: int, text: str) -> None:
        """Check that a view gets all of its parameters and no others: ClickHouse ignores unknown ones."""
        name = found[index].value
        known = self.allowlist.views[name]
        given: list[str] = []
        depth = 0
        for position in range(index + 1, len(found)):
            token = found[position]
            depth += token.is_mark("(") - token.is_mark(")")
            if depth == 0:
                break
            nested = position > index + 1 and found[position].is_mark("(")
            if nested and found[position - 1].value in self.allowlist.views:
                raise _refusal(
                    f"{name} takes values, and a view is not a value",
                    found[position - 1],
                    text,
                    UNKNOWN_PARAMETER,
                )
            opens = found[position - 1].is_mark("(") or found[position - 1].is_mark(",")
            named = token.kind in ("word", "name") and any(
                after.is_mark("=") for after in found[position + 1 : position + 2]
            )
            if depth == 1 and opens and named:
                given.append(token.value)
        signature = f"{name}({', '.join(f'{parameter}=…' for parameter in known)})"
        if unknown := [parameter for parameter in given if parameter not in known]:
            raise _refusal(
                f"{name} has no parameter {unknown[0]}. Write {signature}", found[index], text, 456
            )
        if missing := [parameter for parameter in known if parameter not in given]:
            raise _refusal(
                f"{name} needs the parameter {missing[0]}. Write {signature}",
                found[index],
                text,
                UNKNOWN_PARAMETER,
            )


def _names_subquery(found: Sequence[Token], index: int) -> bool:
    """Return whether this is `name(a, b) AS (…)` of a WITH: what a subquery and its columns are called, which is not a call."""
    if index == 0 or not (found[index - 1].is_word("with", "recursive") or found[index - 1].is_mark(",")):
        return False
    at = index + 2
    while at + 1 < len(found) and found[at].kind in ("word", "name") and found[at + 1].is_mark(","):
        at += 2
    follows = found[at : at + 4]
    return (
        len(follows) == 4
        and follows[0].kind in ("word", "name")
        and follows[1].is_mark(")")
        and follows[2].is_word("as")
        and follows[3].is_mark("(")
    )


def _refusal(rule: str, token: Token, text: str, code: int = ACCESS_DENIED) -> SqlError:
    return SqlError(f"{rule} ({where(text, token.position)}).", code=code)


def _no_second_statement(everything: Sequence[Token], text: str) -> None:
    ended: Token | None = None
    for token in everything:
        if token.is_mark(";"):
            ended = token
        elif ended is not None and token.kind != "blank":
            raise _refusal("one statement at a time: something follows the ';'", ended, text, SYNTAX_ERROR)


def _head(found: Sequence[Token]) -> None:
    rest = [token for token in found if not token.is_mark("(")]
    if not rest:
        raise SqlError("there is no statement. Write one, such as SELECT * FROM runs.", code=SYNTAX_ERROR)
    head = rest[0]
    if not head.is_word(*HEADS):
        near = get_close_matches(head.folded, HEADS, 1, 0.75)
        if head.kind == "word" and near:
            raise SqlError(
                f"{head.text} is not a statement. Maybe you meant {near[0].upper()}.", code=SYNTAX_ERROR
            )
        if head.is_word("from"):
            raise SqlError(
                "a statement that begins with FROM is not taken here. Begin it with SELECT: SELECT … FROM ….",
                code=SYNTAX_ERROR,
            )
        raise SqlError(f"8123 is read-only: {head.text.upper()[:40]} is refused. {_REMEDY}.", code=READONLY)
    if head.is_word("show") and not (len(rest) > 1 and rest[1].is_word(*SHOWABLE)):
        what = rest[1].text.upper() if len(rest) > 1 else "nothing"
        raise SqlError(
            f"SHOW {what} is refused. Known: SHOW TABLES, DATABASES, COLUMNS, CREATE, FUNCTIONS, SETTINGS.",
            code=ACCESS_DENIED,
        )
    if (
        head.is_word("show")
        and rest[1].is_word("create")
        and len(rest) > 2
        and rest[2].is_word(
            "user",
            "users",
            "role",
            "roles",
            "row",
            "quota",
            "quotas",
            "settings",
            "profile",
            "profiles",
            "policy",
        )
    ):
        raise SqlError(f"SHOW CREATE {rest[2].text.upper()} is refused.", code=ACCESS_DENIED)
    if head.is_word("explain"):
        _explained(rest[1:])


def _explained(rest: Sequence[Token]) -> None:
    """Between EXPLAIN and the SELECT stand only the kind and its `option = number` pairs."""
    for token in rest:
        if token.text.strip('`"').lower() in _UNEXPLAINABLE:
            # Their values are built of values; written out, the names in the plan take gigabytes that no limit counts.
            raise SqlError(
                f"EXPLAIN of {token.text} is refused: its plan cannot be printed.", code=ACCESS_DENIED
            )
    for token in rest:
        if token.is_word("select", "with"):
            return
        option = token.kind == "word" and re.fullmatch(r"[a-z_]+", token.text)
        if not (token.folded in _EXPLAINED or option or token.kind == "number" or token.text in ("=", ",")):
            break
        if token.is_word("insert", "create", "drop", "alter", "current", "table", "override", "system"):
            break
    raise SqlError("EXPLAIN is for SELECT only. Write EXPLAIN SELECT ….", code=READONLY)


def _sequences(found: Sequence[Token]) -> None:
    """Words that make a reading statement write, run something else, or claim what is not done."""
    depth, selected = 0, False
    for index, (first, second) in enumerate(pairwise(found)):
        depth += first.is_mark("(") - first.is_mark(")")
        selected = selected or (depth == 0 and first.is_word("select"))
        if first.is_word("insert") and depth == 0 and not selected and not _is_name(found, index):
            # WITH … INSERT … SELECT: the head alone does not tell.
            raise SqlError(f"8123 is read-only: INSERT is refused. {_REMEDY}.", code=READONLY)
        if first.is_word("into") and second.kind in ("word", "string", "name"):
            raise SqlError(
                f"8123 is read-only: INTO {second.text.upper()[:20]} is refused. "
                "The answer comes back to you: redirect it there.",
                code=READONLY,
            )
        if first.is_word("sample") and second.kind == "number" and second.text[0].isdigit():
            # Of a view the engine reads all rows all the same, and who multiplies what is counted is told too much.
            raise SqlError(
                "SAMPLE is refused: no view can be read in part. Write WHERE cityHash64(run_id) % 10 = 0 for a tenth "
                "of the runs.",
                code=SAMPLING_NOT_SUPPORTED,
            )
        if first.is_word("parallel") and second.is_word("with"):
            raise SqlError("one statement at a time: PARALLEL WITH is refused.", code=SYNTAX_ERROR)
        if first.kind == "string" and second.is_mark("."):
            raise SqlError(
                f"{first.text[:60]} is a string, not a name. Write names as they are or in `…`.", code=62
            )


def _is_name(found: Sequence[Token], index: int) -> bool:
    """Return whether a word in a WITH is what something is called there: `WITH 1 AS word`, `WITH word AS (…)`."""
    before = found[index - 1]
    begins = before.is_word("with", "recursive") or before.is_mark(",")
    follows = found[index + 1 : index + 3]
    return before.is_word("as") or (
        begins and len(follows) == 2 and follows[0].is_word("as") and follows[1].is_mark("(")
    )


def _system_table(table: Token, token: Token, text: str) -> None:
    if table.folded not in SYSTEM_TABLES:
        near = get_close_matches(table.folded, SYSTEM_TABLES, 1, 0.7)
        hint = f". Maybe you meant system.{near[0]}" if near else ""
        raise _refusal(f"system.{table.text} is not open to readers{hint}", token, text)


def _bounded_call(found: Sequence[Token], index: int, text: str) -> None:
    """Each argument is `substring(…, 1, N)` of a text, whatever that is, with an N of our own measure."""
    depth, begins, position = 0, index + 2, index + 1
    while position < len(found):
        token = found[position]
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0 or (depth == 1 and token.is_mark(",")):
            piece = found[begins:position]
            first, last = piece[:2], piece[-5:]
            cut = len(piece) > 6 and first[0].is_word("substring", "substringutf8") and first[1].is_mark("(")
            cut = cut and last[0].is_mark(",") and last[1].text == "1" and last[2].is_mark(",")
            cut = cut and last[3].text.isdecimal() and int(last[3].text) <= LONGEST_PIECE
            if not (cut and last[4].is_mark(")") and _closes(piece)):
                name = found[index].value
                rule = f"{name}() takes pieces of up to {LONGEST_PIECE}. Write {name}(substring(…, 1, 100), substring(…, 1, 100))"
                raise _refusal(rule, found[index], text)
            begins = position + 1
        if depth == 0:
            return
        position += 1


def _closes(piece: Sequence[Token]) -> bool:
    """Return whether the bracket that the second token opens is closed by the last one and no earlier."""
    depth = 0
    for token in piece[1:-1]:
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0:
            return False
    return True


def _merge_call(found: Sequence[Token], index: int, text: str) -> None:
    """`merge('pattern')` reads the own database; with a database it must be ours."""
    call = found[index + 2 : index + 6]
    own = len(call) > 1 and call[0].kind == "string" and call[1].is_mark(")")
    named = len(call) > 3 and call[0].value == DATABASE and call[1].is_mark(",")
    named = named and call[2].kind == "string" and call[3].is_mark(")")
    if not (own or named):
        raise _refusal(f"merge() reads {DATABASE} only. Write merge('pattern')", found[index], text)
