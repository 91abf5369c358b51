"""JSON texts of the spans of a run: one that comes again, on the same span or on the next, is not parsed again."""

from __future__ import annotations

from collections import OrderedDict

from retrospan.ingest.json_text import read_json, read_value

#: Texts kept: those of a few spans. Of a run whose prompts grow all of them would be too much.
KEPT = 64
_UNREAD = object()
#: How a list or an object begins that was written as JSON and then, as a text, once more.
_QUOTED = ('"{', '"[')


class JsonTexts:
    """Reads values as `read_value` does. Equal texts are one value for as long as they are kept: nobody may change it."""

    def __init__(self) -> None:
        self._read: OrderedDict[str, object] = OrderedDict()

    def value(self, sent: object) -> object:
        """Return the list or object that text holds, else the value as it is."""
        if not isinstance(sent, str) or (sent[:1] not in ("{", "[") and sent[:2] not in _QUOTED):
            return sent
        value = self._read.get(sent, _UNREAD)
        if value is not _UNREAD:
            self._read.move_to_end(sent)
            return value
        value = self._read[sent] = read_value(sent if sent[0] != '"' else _opened(sent))
        if len(self._read) > KEPT:
            self._read.popitem(last=False)
        return value


def _opened(text: str) -> str:
    """Return the JSON that stands in the quotes of JSON; a text that is anything else as it is."""
    inner = read_json(text)
    return inner if isinstance(inner, str) and not isinstance(read_value(inner), str) else text
