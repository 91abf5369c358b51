"""The edges of a run beyond its calls: outputs named by spans, links to other runs, repeated content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retrospan.ingest.interpret.lineage.provenance import Edge, read_edges
from retrospan.ingest.interpret.lineage.value_lineage import borrowed_edges
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.key import text_of_attribute, whole_number
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.steps.values import Values
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas.attributes import FORK_STEP, LINK_TYPE, OUTPUT_ID, RUN_ID
from retrospan.schemas.references import output_ref, run_ref, span_ref, step_ref

#: What a type of span link says in the words of PROV.
_LINKS = {
    "resumes": "wasInformedBy",
    "forks": "wasDerivedFrom",
    "replays": "wasDerivedFrom",
    "retries": "wasInformedBy",
    "derived_from": "wasDerivedFrom",
}


def read_lineage(
    run_id: str, tree: Tree, steps: list[RunStep], values: Values, stated: Iterable[Edge]
) -> list[Edge]:
    """Return all edges of a run, those that its agents stated among them, with acts named by their steps."""
    edges = [*read_edges(run_id, steps, values), *stated]
    edges += linked_edges(run_id, tree, steps)
    edges += borrowed_edges(run_id, steps, values, edges)
    edges += _outputs(tree, steps)
    if not _acts(edges):
        return list(dict.fromkeys(edges))
    as_steps = {
        span_ref(step.span.sent.trace_id, step.span.sent.span_id): step_ref(run_id, step.number)
        for step in steps
        if not step.span.is_told
    }
    named = [
        edge
        if edge.subject not in as_steps and edge.object not in as_steps
        else edge._replace(
            subject=as_steps.get(edge.subject, edge.subject),
            object=as_steps.get(edge.object, edge.object),
        )
        for edge in edges
    ]
    named += _inside(run_id, tree, steps, named)
    named += _foreseen(run_id, tree, steps, named)
    return list(dict.fromkeys(named))


def linked_edges(run_id: str, tree: Tree, steps: list[RunStep]) -> Iterator[Edge]:
    """Yield the edges to other runs from a run's span links: a fork of a step comes from that step."""
    for span in tree.spans:
        if span.is_told:
            continue
        for link in span.sent.links:
            kind = text_of_attribute(link.attributes.get(LINK_TYPE)) or ""
            relation = _LINKS.get(kind)
            other = text_of_attribute(link.attributes.get(RUN_ID)) or link.trace_id
            if relation is None or other == run_id:
                continue
            forked = whole_number(span.sent.attributes.get(FORK_STEP)) if kind == "forks" else None
            source = step_ref(other, forked) if forked else run_ref(other)
            at = span.sent.started_at
            yield Edge(run_ref(run_id), relation, source, kind, "stated", None, at)
            if steps:
                # What the run goes on with: so that a walk from anything in it leads there as well.
                yield Edge(step_ref(run_id, 1), "wasInformedBy", source, kind, "stated", 1, at)


def _outputs(tree: Tree, steps: list[RunStep]) -> Iterator[Edge]:
    """Yield which span generated an output that it names and that is not a step's."""
    of_steps: set[NormalizedSpan] | None = None
    for span in tree.spans:
        named = span.sent.attributes.get(OUTPUT_ID)
        if not isinstance(named, str) or not named or span.is_told:
            continue
        of_steps = {step.span for step in steps} if of_steps is None else of_steps
        if span not in of_steps:
            sent = span.sent
            act = span_ref(sent.trace_id, sent.span_id)
            at = sent.done_at
            yield Edge(output_ref(named), "wasGeneratedBy", act, None, "stated", None, at)


def _inside(run_id: str, tree: Tree, steps: list[RunStep], edges: list[Edge]) -> list[Edge]:
    """Return that a span which made something wasInformedBy the steps inside it.

    Of spans within one another the steps belong to the innermost that made or used something, and it to the outer one.
    """
    acts = _acts(edges)
    if not acts:
        return []
    marked = {
        span: reference
        for span in tree.spans
        if not span.is_told and (reference := span_ref(span.sent.trace_id, span.sent.span_id)) in acts
    }
    if not marked:
        return []
    found: list[Edge] = []
    inner: list[tuple[NormalizedSpan, str, int | None]]
    inner = [(step.span, step_ref(run_id, step.number), step.number) for step in steps]
    inner += [(span, reference, None) for span, reference in marked.items()]
    nearest = tree.nearest(lambda span: span in marked)
    for span, reference, number in inner:
        around = nearest.get(span)
        if around is not None:
            at = span.sent.done_at
            found.append(Edge(marked[around], "wasInformedBy", reference, "inside", "matched", number, at))
    return found


def _foreseen(run_id: str, tree: Tree, steps: list[RunStep], edges: list[Edge]) -> list[Edge]:
    """Return that what a span used before any step inside it had begun, the first of these steps used as well."""
    first: dict[str, RunStep] = {}
    users = {edge.subject for edge in edges if edge.relation == "used" and edge.subject.startswith("span:")}
    if not users:
        return []
    seen: set[NormalizedSpan] = set()
    for step in steps:
        for above in tree.ancestors(step.span):
            if above in seen:
                break  # an earlier step lies in it, and in all above
            seen.add(above)
            reference = span_ref(above.sent.trace_id, above.sent.span_id)
            if reference in users:
                first.setdefault(reference, step)
    return [
        edge._replace(
            subject=step_ref(run_id, first[edge.subject].number),
            evidence="inferred",
            step=first[edge.subject].number,
        )
        for edge in edges
        if edge.relation == "used" and edge.subject in first
    ]


def _acts(edges: Iterable[Edge]) -> set[str]:
    """Return the spans that edges name as acts."""
    acts = {edge.subject for edge in edges if edge.subject.startswith("span:")}
    acts.update(edge.object for edge in edges if edge.object.startswith("span:"))
    return acts
