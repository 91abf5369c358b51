"""The questions whose price is measured at every size, and what each may take.

A question is one text with `{names}` of facts, which are drawn anew for every repetition so that no cache answers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.processes import Served
from bench.scale_base import COMMON_WORD, CUSTOMERS, RARE_WORD

_DASHBOARDS = Path(__file__).resolve().parents[1] / "helm" / "retrospan" / "dashboards"
_ONE, _ATTRIBUTE, _LIST, _PROVENANCE, _DRIFT = 60.0, 100.0, 300.0, 200.0, 500.0
_PERIOD = timedelta(days=40)


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `mark` is what it may take at a million spans, in milliseconds of processor time; 0 for none.

    `flat` is what must not grow with the warehouse.
    """

    name: str
    sql: str
    mark: float = 0.0
    flat: bool = False


def _of_one(name: str, sql: str, mark: float = _ONE) -> Question:
    return Question(name, sql, mark, flat=True)


_DRIFT_OF = (
    "SELECT metric, drifted, value FROM drift(baseline_from = '{ten_days_ago}', baseline_to = '{three_days_ago}', "
    "baseline_version = '', candidate_from = '{three_days_ago}', candidate_to = '{now}', candidate_version = '', "
    "agent = '{agent}')"
)
_CIRCUMSTANCES_OF = _DRIFT_OF.replace(
    "metric, drifted, value FROM drift(", "part, value, changed FROM circumstances("
)
_RUN_OF_LIST = "run_id, agent_name, outcome, started_at, duration_ms, steps, tool_calls, errors, input_tokens, output_tokens"
_SPANS = (
    Question(
        "spans: one attribute, unique",
        "SELECT trace_id, span_id, name FROM spans WHERE attributes['app.request.id'] = '{request}'",
        _ATTRIBUTE,
    ),
    Question(
        "spans: one attribute, one customer",
        "SELECT count(), uniqExact(trace_id) FROM spans WHERE attributes['customer.id'] = '{customer}'",
        _ATTRIBUTE,
    ),
    Question(
        "spans: one attribute, nowhere",
        "SELECT count() FROM spans WHERE attributes['customer.id'] = 'nobody-{number}'",
        _ATTRIBUTE,
    ),
    Question(
        "spans: one attribute, a third of all",
        "SELECT count() FROM spans WHERE attributes['app.plan'] = '{plan}'",
    ),
    Question(
        "spans: newest 20",
        "SELECT trace_id, span_id, name, started_at FROM spans ORDER BY started_at DESC LIMIT 20",
        _LIST,
    ),
    Question("spans: newest 20, whole rows", "SELECT * FROM spans ORDER BY started_at DESC LIMIT 20", _LIST),
    Question(
        "spans: by name, last day",
        "SELECT count() FROM spans WHERE name = '{name}' AND started_at > '{one_day_ago}'",
        _LIST,
    ),
    Question(
        "spans: by dialect, last day",
        "SELECT dialect, count() FROM spans WHERE ingested_at > '{one_day_ago}' GROUP BY dialect",
        _LIST,
    ),
    Question(
        "spans: by service, last hour",
        "SELECT count() FROM spans WHERE service_name = '{service}' AND started_at > '{one_hour_ago}'",
        _LIST,
    ),
    Question("spans: by span id", "SELECT trace_id, run_id FROM spans WHERE span_id = '{span}'", _LIST),
    Question("spans: counted", "SELECT count() FROM spans"),
    Question(
        "spans: by name, all", "SELECT name, count() FROM spans GROUP BY name ORDER BY count() DESC LIMIT 20"
    ),
    Question(
        "spans: text in attributes", "SELECT count() FROM spans WHERE toString(attributes) LIKE '%{request}%'"
    ),
    Question("spans: everything, 10 rows", "SELECT * FROM spans LIMIT 10"),
    _of_one("spans: of one trace", "SELECT span_id, name, duration_ms FROM spans WHERE trace_id = '{trace}'"),
    _of_one("spans: of one run", "SELECT span_id, name, duration_ms FROM spans WHERE run_id = '{run}'"),
    _of_one("spans: of one run, whole", "SELECT * FROM spans WHERE run_id = '{run}'"),
)
_RUN = (
    _of_one("run: its row", "SELECT * FROM runs WHERE run_id = '{run}'"),
    _of_one(
        "run: timeline",
        "SELECT step, step_kind, name, started_at, duration_ms, status FROM steps WHERE run_id = '{run}' ORDER BY step",
    ),
    _of_one(
        "run: steps with states",
        "SELECT step, state_before, state_after FROM steps WHERE run_id = '{run}' ORDER BY step",
    ),
    _of_one("run: model calls, whole", "SELECT * FROM model_calls WHERE run_id = '{run}' ORDER BY ordinal"),
    _of_one("run: tool calls, whole", "SELECT * FROM tool_calls WHERE run_id = '{run}' ORDER BY ordinal"),
    _of_one(
        "run: messages of a call",
        "SELECT position, role, content FROM messages WHERE run_id = '{run}' AND model_call = 2",
    ),
    _of_one("run: state at step 5", "SELECT key, value FROM run_state(run_id = '{run}', step = 5)"),
    _of_one("run: failures", "SELECT * FROM failures WHERE run_id = '{run}'"),
    _of_one("run: context use", "SELECT * FROM context_use WHERE run_id = '{run}'"),
    _of_one("run: missing layers", "SELECT * FROM missing_layers WHERE run_id = '{run}'"),
    _of_one("run: loops", "SELECT * FROM loops WHERE run_id = '{run}'"),
    _of_one(
        "run: provenance, depth 20",
        "SELECT depth, subject, object FROM provenance(ref = 'run:{run}', depth = 20, direction = 'up')",
        _PROVENANCE,
    ),
    _of_one("run: diff", "SELECT * FROM run_diff(a = '{run}', b = '{run2}')"),
    _of_one("run: divergence", "SELECT * FROM run_divergence(a = '{run}', b = '{run2}')"),
)
_THINGS = (
    _of_one(
        "entity: timeline of an order",
        "SELECT field, old_value, new_value, at FROM entity_timeline WHERE entity_type = 'order' AND entity_id = '{order}'",
    ),
    Question(
        "entity: timeline of a customer",
        "SELECT field, old_value, new_value, at FROM entity_timeline WHERE entity_type = 'customer' AND entity_id = '{customer}'",
        _ONE,
    ),
    _of_one(
        "entity: state of an order",
        "SELECT field, value FROM entity_state(entity_type = 'order', entity_id = '{order}', at = '', known_at = '')",
    ),
    _of_one(
        "entity: overwrites of an order",
        "SELECT * FROM overwrites WHERE entity_type = 'order' AND entity_id = '{order}'",
    ),
    _of_one(
        "entity: stale reads of an order",
        "SELECT * FROM stale_reads WHERE entity_type = 'order' AND entity_id = '{order}'",
    ),
)
_LISTS = (
    Question("runs: newest 50", f"SELECT {_RUN_OF_LIST} FROM runs ORDER BY started_at DESC LIMIT 50", _LIST),
    Question(
        "runs: by agent and day",
        "SELECT agent_name, toDate(started_at), count() FROM runs GROUP BY 1, 2",
        _LIST,
    ),
    Question(
        "runs: of a conversation", "SELECT run_id FROM runs WHERE conversation_id = '{conversation}'", _ONE
    ),
    Question(
        "runs: by prefix", "SELECT run_id FROM runs WHERE startsWith(run_id, '{prefix}') LIMIT 12", _ONE
    ),
    Question(
        "runs: last",
        "SELECT run_id FROM canon_runs FINAL WHERE NOT deleted ORDER BY arrived_at DESC LIMIT 1",
        _LIST,
    ),
    Question(
        "loops: newest 50",
        "SELECT run_id, tool_name, repeats FROM loops ORDER BY started_at DESC LIMIT 50",
        _LIST,
    ),
    Question(
        "failures: newest 50", "SELECT run_id, error_type, at FROM failures ORDER BY at DESC LIMIT 50", _LIST
    ),
    Question(
        "models: tokens by model and day",
        "SELECT response_model, toDate(started_at), sum(input_tokens), sum(output_tokens) FROM model_calls GROUP BY 1, 2",
        _LIST,
    ),
    Question(
        "tools: calls by tool and status",
        "SELECT tool_name, status, count() FROM tool_calls GROUP BY 1, 2",
        _LIST,
    ),
    Question(
        "messages: a rare text",
        "SELECT run_id, model_call FROM messages WHERE content LIKE '%{order}%' LIMIT 20",
        _ATTRIBUTE,
    ),
    Question(
        "messages: a text in few runs",
        f"SELECT count(DISTINCT run_id) FROM messages WHERE content LIKE '%{RARE_WORD}%'",
        _ATTRIBUTE,
    ),
    Question(
        "messages: a text in many runs",
        f"SELECT count(DISTINCT run_id) FROM messages WHERE content LIKE '%{COMMON_WORD}%'",
    ),
    Question(
        "messages: a text nowhere",
        "SELECT count() FROM messages WHERE content LIKE '%no such words {number}%'",
        _ATTRIBUTE,
    ),
    Question(
        "texts: a rare text",
        "SELECT run_id, kind, step FROM texts WHERE text ILIKE '%{order}%' ORDER BY at DESC LIMIT 20",
        _ATTRIBUTE,
    ),
    Question(
        "texts: a phrase nowhere",
        "SELECT run_id, kind, step FROM texts WHERE text ILIKE '%no such words {number}%' ORDER BY at DESC LIMIT 20",
        _ATTRIBUTE,
    ),
    Question(
        "tools: a text in results",
        "SELECT run_id, tool_name FROM tool_calls WHERE result LIKE '%no such words {number}%' LIMIT 20",
        _LIST,
    ),
    Question(
        "findings: of the last day",
        "SELECT run_id, rule, severity, explanation FROM findings "
        "WHERE at >= (SELECT max(started_at) FROM canon_runs) - INTERVAL 1 DAY ORDER BY at DESC LIMIT 50",
        _DRIFT,
    ),
    Question(
        "findings: by rule", "SELECT rule, count(), uniqExact(run_id) FROM findings GROUP BY rule", _DRIFT
    ),
    Question("drift: 3 days against before", _DRIFT_OF.replace("{agent}", ""), _DRIFT),
    Question("drift: the same of one agent", _DRIFT_OF, _DRIFT),
    Question("circumstances: the same sides of one agent", _CIRCUMSTANCES_OF, _DRIFT),
    Question(
        "problems: counted", "SELECT reason, count() FROM interpretation_problems GROUP BY reason", _LIST
    ),
    Question("the price of asking: SELECT 1", "SELECT 1"),
)


def panels() -> list[Question]:
    """Every panel of the dashboards that ship, for a month."""
    found = []
    for name in ("ingest", "runs", "drift"):
        dashboard = json.loads((_DASHBOARDS / f"{name}.json").read_text(encoding="utf-8"))
        for panel in dashboard["panels"]:
            for target in panel.get("targets", ()):
                title = f"dashboard {name}: {panel['title'].partition('?')[0]}"
                mark = _DRIFT if "drift(" in target["rawSql"] else _LIST
                found.append(Question(title, _expanded(target["rawSql"]), mark))
    return found


def _expanded(sql: str) -> str:
    """What Grafana sends, every variable at All."""
    for text, put in (
        ("$__timeFilter_ms(", "@filter("),
        ("$__timeInterval(", "@interval("),
    ):
        sql = sql.replace(text, put)
    while "$__conditionalAll(" in sql:
        before, _, rest = sql.partition("$__conditionalAll(")
        depth, end = 1, 0
        while depth:
            depth += {"(": 1, ")": -1}.get(rest[end], 0)
            end += 1
        sql = f"{before}1=1{rest[end:]}"
    for opening, form in (
        ("@filter(", "{0} >= '{{thirty_days_ago}}' AND {0} <= '{{now}}'"),
        ("@interval(", "toStartOfInterval(toDateTime({0}), INTERVAL 3600 second)"),
    ):
        while opening in sql:
            before, _, rest = sql.partition(opening)
            column, _, rest = rest.partition(")")
            sql = before + form.format(column) + rest
    for text, put in (
        ("${baseline_from:singlequote}", "'{thirty_days_ago}'"),
        ("${__from:date:iso}", "{three_days_ago}"),
        ("${__to:date:iso}", "{now}"),
    ):
        sql = sql.replace(text, put)
    while "${" in sql:
        before, _, rest = sql.partition("${")
        sql = f"{before}''{rest.partition('}')[2]}"
    return sql


QUESTIONS: tuple[Question, ...] = (*_SPANS, *_RUN, *_THINGS, *_LISTS, *panels())


class Facts:
    """Draws what questions are about from what is in the warehouse, the same for the same seed."""

    def __init__(self, served: Served) -> None:
        rows = served.rows(
            "SELECT run_id, agent_name, conversation_id FROM runs WHERE model_calls > 2 ORDER BY cityHash64(run_id) LIMIT 500"
        )
        self._runs = [(str(run), str(agent), str(conversation)) for run, agent, conversation in rows]
        traces = ", ".join(f"'{run}'" for run, *_ in self._runs)
        rows = served.rows(
            f"SELECT trace_id, span_id, name, attributes['app.request.id'] FROM spans WHERE trace_id IN ({traces}) "
            "AND attributes['app.request.id'] != '' ORDER BY cityHash64(span_id) LIMIT 2000"
        )
        self._spans = [(str(span), str(name), str(request)) for _, span, name, request in rows]
        rows = served.rows(
            "SELECT DISTINCT entity_id FROM observations WHERE entity_type = 'order' ORDER BY cityHash64(entity_id) LIMIT 500"
        )
        self._orders = [str(order) for (order,) in rows]
        self._now = datetime.now(UTC)
        self._dice = random.Random(16)

    def draw(self) -> Mapping[str, str]:
        """Return a value for every name."""
        run, agent, conversation = self._dice.choice(self._runs)
        span, name, request = self._dice.choice(self._spans)
        number = self._dice.randrange(10**9)
        # Another moment each time: the engine remembers conditions that it saw before.
        now = self._now - timedelta(microseconds=number)
        ago = {
            "one_hour_ago": timedelta(hours=1),
            "one_day_ago": timedelta(days=1),
            "three_days_ago": timedelta(days=3),
            "ten_days_ago": timedelta(days=10),
            "thirty_days_ago": _PERIOD,
        }
        return {
            "run": run,
            "run2": self._dice.choice(self._runs)[0],
            "trace": run,
            "prefix": run[:9],
            "agent": agent,
            "conversation": conversation,
            "span": span,
            "name": name,
            "request": request,
            "order": self._dice.choice(self._orders),
            "customer": f"customer-{self._dice.randrange(CUSTOMERS):04d}",
            "plan": self._dice.choice(("free", "team", "enterprise")),
            "service": self._dice.choice(("shop", "desk", "billing", "research")),
            "number": str(number),
            "now": _text(now),
            **{name: _text(now - far) for name, far in ago.items()},
        }


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")


def filled(question: Question, facts: Mapping[str, str]) -> str:
    """Return the statement with the facts in it."""
    sql = question.sql
    for name, value in facts.items():
        sql = sql.replace("{" + name + "}", value)
    return sql
