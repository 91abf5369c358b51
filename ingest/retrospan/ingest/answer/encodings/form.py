"""A request as a form (`multipart/form-data`): the statement and its parameters as fields, as several clients send them."""

from __future__ import annotations

from python_multipart.exceptions import FormParserError, MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from retrospan.schemas.errors import SqlError

BAD_ARGUMENTS = 36
CANNOT_PARSE_INPUT = 27
NOT_IMPLEMENTED = 48
#: More fields than a statement has parameters.
_MOST_FIELDS = 1000


class _Fields:
    """Collects the fields of a form as they are parsed."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []
        self.has_ended = False
        self._name, self._value = "", bytearray()
        self._header, self._text = b"", b""

    def part_begin(self) -> None:
        self._name, self._value = "", bytearray()
        if len(self.found) == _MOST_FIELDS:
            raise SqlError(f"a form may have at most {_MOST_FIELDS} fields.", code=BAD_ARGUMENTS)

    def header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._text += data[start:end]

    def header_end(self) -> None:
        if self._header.strip().lower() == b"content-disposition":
            _, about = parse_options_header(self._text)
            if b"filename" in about:
                raise SqlError(
                    "a form with a file is refused: external tables cannot be read here. Send values as parameters.",
                    code=NOT_IMPLEMENTED,
                )
            self._name = about.get(b"name", b"").decode(errors="surrogateescape")
        self._header = self._text = b""

    def part_data(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def part_end(self) -> None:
        try:
            self.found.append((self._name, self._value.decode()))
        except UnicodeDecodeError as error:
            raise SqlError(f"the field {self._name[:60]!r} is not UTF-8.", code=CANNOT_PARSE_INPUT) from error

    def end(self) -> None:
        self.has_ended = True


def is_form(content_type: str) -> bool:
    """Tell whether a Content-Type names a form."""
    return content_type.partition(";")[0].strip().lower() == "multipart/form-data"


def read_form(body: bytes, content_type: str) -> list[tuple[str, str]]:
    """Return the fields of a form, in order.

    Raises:
        SqlError: it is not a form, its last boundary is missing, or it has a file.
    """
    boundary = parse_options_header(content_type)[1].get(b"boundary")
    if not boundary:
        raise SqlError("the form's Content-Type names no boundary.", code=CANNOT_PARSE_INPUT)
    fields = _Fields()
    try:
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": fields.part_begin,
                "on_header_field": fields.header_field,
                "on_header_value": fields.header_value,
                "on_header_end": fields.header_end,
                "on_part_data": fields.part_data,
                "on_part_end": fields.part_end,
                "on_end": fields.end,
            },
        )
        parser.write(body)
        parser.finalize()
    except (FormParserError, MultipartParseError) as cause:
        raise SqlError(f"the form cannot be read: {cause}.", code=CANNOT_PARSE_INPUT) from cause
    if not fields.has_ended:
        raise SqlError("the form ends before its last boundary.", code=CANNOT_PARSE_INPUT)
    return fields.found
