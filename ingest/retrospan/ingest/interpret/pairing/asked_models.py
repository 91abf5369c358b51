"""The model that was asked for, where the span of a call does not say it: by evidence of other spans of the run."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.messages.message import is_blank
from retrospan.ingest.interpret.messages.provider_payloads import parse_request
from retrospan.ingest.interpret.normalize.model_names import VERSION, is_version
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.name_words import MODELS
from retrospan.ingest.interpret.tree.tree import Nearest, Tree

#: What may be around a request, and is no other one.
_STEPS = ("step", "other", "agent", "workflow")


def complete_asked(tree: Tree, requests: Sequence[NormalizedSpan]) -> None:
    """Name the models that were asked for, in place.

    The span around several requests tells of one of them; another that the same version answered asked for the same name.
    A version that no span calls the model asked for is the one that answered, if the same agent asks for it by its name
    elsewhere; so is one that is called so, where its span says the name as well and nothing of an answer. One that is
    called both was not asked for either, where the agent around has the two names the wrong way round: none answers by
    a name less exact than the one it was asked for by. A provider before the name is for a gateway, where the model of
    that name answered.
    """
    around: Nearest | None = None
    agents: Nearest | None = None
    naming: Nearest | None = None
    names = {(span.agent_name, span.sent.scope, span.request_model) for span in requests}
    unanswered: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    for span in requests:
        if span.request_model is None:
            around = tree.nearest(_is_request) if around is None else around
            outer = around.get(span)
            if outer is not None:
                span.request_model = _asked_around(span, outer)
            else:
                span.request_model = _passed_on(span, tree.parent(span))
            if span.request_model is None and span.response_model is None:
                naming = tree.nearest(_names_model) if naming is None else naming
                step = naming.get(span)
                span.request_model = step.fields.unlabelled_model if step is not None else None
                if outer is not None and span.request_model is None and not span.output:
                    unanswered.append((span, outer))
            continue
        version = VERSION.search(span.request_model)
        if version is None or span.response_model not in (None, span.request_model):
            continue
        name = span.request_model[: version.start()]
        is_labelled = span.fields.text(*span.names.request_models) is not None
        if is_labelled and span.response_model is not None:
            agents = tree.nearest(_is_agent) if agents is None else agents
            agent = agents.get(span)
            if (
                agent is not None
                and (agent.request_model, agent.response_model) == (span.request_model, name)
                and agent.sent.scope == span.sent.scope
            ):
                span.request_model = name
            continue
        if (span.agent_name, span.sent.scope, name) not in names:
            continue
        if span.response_model is not None:
            span.request_model = name
        elif name in span.fields.said(MODELS):
            # The client goes on under the name that answered; what it was set up with stands beside it.
            span.request_model, span.response_model = name, span.request_model
    if unanswered and around is not None:
        _name_unanswered(unanswered, requests, around)
    _remove_gateways(requests)


def _is_agent(span: NormalizedSpan) -> bool:
    return span.operation == "agent"


def _asked_around(span: NormalizedSpan, outer: NormalizedSpan) -> str | None:
    """Return the model that the span around a call asked for, if a version of it answered both, or answered the call, and
    the span around tells no answer of its own: neither another version nor the id of one, or an id beside an empty answer
    or a failure, which is its program's."""
    answered = span.response_model
    if answered is None:
        return None
    if outer.response_model == answered:
        return outer.request_model
    is_empty = bool(outer.output or outer.failed) and all(map(is_blank, outer.output))
    is_of_all = (outer.response_id is None or is_empty) and outer.response_model in (
        None,
        outer.request_model,
    )
    return outer.request_model if is_of_all and _is_called(answered, outer.request_model or "") else None


def _name_unanswered(
    unanswered: Sequence[tuple[NormalizedSpan, NormalizedSpan]],
    requests: Sequence[NormalizedSpan],
    around: Nearest,
) -> None:
    """Name what a request asked for that was not answered, in place: all others in the same span asked for what that names."""
    for span, outer in unanswered:
        others = {each.request_model for each in requests if around.get(each) is outer and each is not span}
        if others == {outer.request_model}:
            span.request_model = outer.request_model


def _passed_on(span: NormalizedSpan, around: NormalizedSpan | None) -> str | None:
    """Return the model in the request that the step around was given, if it is the one that answered."""
    if around is None or span.response_model is None or around.operation not in ("step", "other"):
        return None
    model = parse_request(around.fields.request or around.framework_input).model
    return model if model and _is_called(span.response_model, model.rpartition("/")[2]) else None


def _is_called(model: str | None, name: str) -> bool:
    return model == name or is_version(model, name)


def _remove_gateways(requests: Sequence[NormalizedSpan]) -> None:
    answered: dict[str, set[str]] = {}
    for span in requests:
        if span.request_model and span.request_model.count("/") == 1 and span.response_model:
            answered.setdefault(span.request_model, set()).add(span.response_model)
    plain = {
        asked: name
        for asked, models in answered.items()
        if all(_is_called(model, name := asked.partition("/")[2]) for model in models)
    }
    for span in requests:
        span.request_model = plain.get(span.request_model or "", span.request_model)


def _names_model(span: NormalizedSpan) -> bool:
    """Tell whether a step says which model it works with."""
    return span.operation in _STEPS and span.fields.has_words("model") and bool(span.fields.unlabelled_model)


def _is_request(span: NormalizedSpan) -> bool:
    return span.operation == "inference"
