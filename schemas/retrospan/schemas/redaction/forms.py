"""Credentials that give themselves away by what stands before them: assignments, URLs, headers, command lines."""

from __future__ import annotations

import re
from base64 import b64decode

from retrospan.schemas.redaction.finding import expression, mixed

#: Between a name and its value; quotes may be escaped several times over.
_QUOTES = r"[\\\"']{0,6}"
_IS = rf"{_QUOTES}[ \t]{{0,20}}(?:=>|:=|[:=])[ \t]{{0,20}}{_QUOTES}"
_PLAIN = r"[^\s\"',;&\[\]{}()<>\\]"

ASSIGNED = (
    expression(
        "assignment",
        ("passw", "passphrase", "pwd", "secret", "api_key", "api-key", "apikey"),
        r"(?:password|passwd|passphrase|pwd|secret(?:_?access)?(?:_?key)?|api[_-]?key)"
        rf"{_QUOTES}[ \t]{{0,20}}(?:=>|:=|[:=])[ \t]{{0,20}}"
        rf"(?:\\{{0,3}}\"([^\"\\\r\n]{{6,}})|\\{{0,3}}'([^'\\\r\n]{{6,}})|{_QUOTES}({_PLAIN}{{6,}}))",
        flags=re.IGNORECASE,
    ),
    expression(
        "assignment",
        ("accountkey", "account_key", "accesskey", "access_key", "access-key", "private_key", "private-key",
         "signing_key", "encryption_key", "master_key", "accesssignature"),
        r"(?:account[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]key|(?:signing|encryption|master)_key|sharedaccesssignature)"
        rf"{_IS}({_PLAIN}{{12,}})",
        flags=re.IGNORECASE,
        holds=mixed,
    ),
    # A token by itself is also what models count: only what is long and made by chance.
    expression(
        "assignment",
        ("token=", "token:", "token =", "token :", 'token\\"', 'token"', "token'"),
        rf"(?:(?:access|auth)_token{_IS}({_PLAIN}{{6,}})|(?<![A-Za-z])token{_IS}([A-Za-z0-9+/=_.~:%-]{{15,}}))",
        flags=re.IGNORECASE,
        holds=lambda value: len(value) < 15 or mixed(value),
        loose=rb"token[\\\"']{0,16}[ \t]{0,20}(?:=>|:=|[:=])",
    ),
    # <add key="Password" value="…" />
    expression(
        "assignment",
        ("value=",),
        r"(?:password|passwd|secret|api_?key|token)\\{0,3}[\"'][ \t]{1,20}value=\\{0,3}[\"']([^\"'\\\r\n]{4,})",
        flags=re.IGNORECASE,
        loose=rb"(?:password|passwd|secret|api_?key|token)\\{0,8}[\"'][ \t]{1,20}value=",
    ),
    # As variables of the environment are named.
    expression(
        "assignment",
        ("_key=", "_key:", "_token=", "_token:", "_pass=", "_pass:", "_credentials="),
        rf"[A-Z0-9]_(?:KEY|TOKEN|PASS|CREDENTIALS)[=:][ \t]{{0,2}}{_QUOTES}({_PLAIN}{{8,}})",
        holds=lambda value: not value.startswith(("$", "/", ".")),
    ),
)  # fmt: skip

_PARAMETERS = (
    "token|access_token|refresh_token|id_token|auth_token|session_token|auth|api[_-]?key|sig|signature|password|passwd|pwd|"
    "pass|secret|client_secret|jwt|assertion|authorization|awsaccesskeyid|googleaccessid|sas|hmac|subscription-key|"
    "x-(?:amz|goog)-(?:signature|credential|security-token)"
)
IN_QUERY = (
    expression(
        "url-parameter",
        ("token=", "auth=", "key=", "sig=", "signature=", "password=", "passwd=", "pwd=", "pass=", "secret=", "jwt=",
         "assertion=", "authorization=", "keyid=", "accessid=", "sas=", "hmac=", "credential="),
        rf"[?&;#](?:{_PARAMETERS})=([^\s&;#\"'<>\\\[\]{{}}]{{3,}})",
        flags=re.IGNORECASE,
        loose=rb"(?:token|auth|key|sig|signature|passwd|password|pwd|pass|secret|jwt|assertion|authorization|keyid|accessid|sas|"
        rb"hmac|credential)=",
    ),
    # Names that say little: only what is long and made by chance.
    expression(
        "url-parameter",
        ("key=", "code=", "session=", "sid="),
        r"[?&;#](?:key|code|session|sessionid|sid)=([A-Za-z0-9%/+_.~=-]{20,})",
        flags=re.IGNORECASE,
        holds=mixed,
    ),
)  # fmt: skip

_HEADER = r"(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-goog-api-key|x-auth-token|x-access-token|x-amz-security-token|private-token"
_HEADER_HINTS = ("authorization", "cookie", "-key", "-token")


def _is_basic(text: str) -> bool:
    """Return whether it is `user:password` in base64."""
    try:
        plain = b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in plain and plain.isprintable()


def _is_value(text: str) -> bool:
    """Return whether it is a value: what stands behind the name of a header in a list may be the next name."""
    return re.fullmatch(r"[A-Za-z]+(?:-[A-Za-z]+)*", text) is None


HEADERS = (
    expression(
        "header",
        ("authorization",),
        rf"authorization{_IS}(?:(?:basic|digest|token|apikey|api-key|key|negotiate|ntlm|bot|splunk|aws4-hmac-sha256)"
        r"[ \t]{1,8}([^\r\n\"'\\]{4,})|([A-Za-z0-9._~+/=-]{16,}))",
        flags=re.IGNORECASE,
        holds=lambda value: any(character.isdigit() or character in "=+/" for character in value),
    ),
    expression("header", ("basic",), r"(?<![A-Za-z])basic[ \t]{1,8}([A-Za-z0-9+/]{6,}={0,2})", flags=re.IGNORECASE,
               holds=_is_basic, loose=rb"basic[ \t]{1,8}[A-Za-z0-9+/]{6}"),
    expression("header", ("cookie",), r"cookie[\\\"']{0,6}[ \t]{0,4}:[ \t]{0,4}[\\\"']{0,6}([A-Za-z0-9!#$%&*+.^_|~-]{1,80}=[^\r\n\"'\\]{1,})",
               flags=re.IGNORECASE, loose=rb"cookie[\\\"']{0,16}[ \t]{0,4}:"),
    expression(
        "header",
        ("x-auth-token", "x-access-token", "x-amz-security-token", "private-token", "x-vault-token", "subscription-key"),
        rf"(?:x-auth-token|x-access-token|x-amz-security-token|private-token|x-vault-token|subscription-key){_IS}"
        r"([^\s\"'\\,]{6,})",
        flags=re.IGNORECASE,
    ),
    # -H 'X-Token: x'
    expression(
        "header",
        ("--header", "curl"),
        r"(?<![A-Za-z0-9-])(?:-H|--header)[ \t=]{0,5}\\{0,3}[\"'][A-Za-z0-9-]{0,40}(?:key|token|secret|auth|authorization)[ \t]{0,4}:[ \t]{0,8}"
        r"([^\"'\\\r\n]{4,})",
        flags=re.IGNORECASE,
        loose=rb"-(?:h|-header)[ \t=]{0,6}\\{0,12}[\"']?[a-z0-9-]{0,40}(?:key|token|secret|auth)",
    ),
    # ["cookie", "a=b"], ('authorization', 'x'), (b'x-api-key', b'x')
    expression(
        "header",
        _HEADER_HINTS,
        rf"[\"'](?:{_HEADER})\\{{0,3}}[\"']\s{{0,20}},\s{{0,20}}b?"
        r"(?:\"([^\"\\]{3,}+(?:\\.[^\"\\]*+)*+)|'([^'\\]{3,}+(?:\\.[^'\\]*+)*+)|\\{1,3}[\"']([^\"'\\]{3,}))",
        flags=re.IGNORECASE | re.DOTALL,
        holds=_is_value,
        loose=rb"(?:authorization|cookie|-key|-token)\\{0,16}[\"']",
    ),
)  # fmt: skip

_SPEECH = frozenset(
    {
        "option",
        "options",
        "flag",
        "flags",
        "argument",
        "arguments",
        "parameter",
        "parameters",
        "value",
        "values",
        "and",
        "or",
        "the",
        "for",
        "from",
        "with",
        "was",
        "must",
        "should",
        "can",
        "will",
        "may",
        "not",
        "has",
        "been",
        "file",
        "stdin",
        "environment",
        "variable",
        "required",
        "optional",
        "string",
        "into",
        "instead",
        "when",
        "via",
    }
)


def _is_given(text: str) -> bool:
    """Return whether it is a value, and not the next word of a sentence, a variable's name, or a placeholder."""
    word = text.strip("\"'.,:;)")
    if word.lower() in _SPEECH or word.startswith(("$", "<", "[", "{", "%", "--")):
        return False
    return not (word.isupper() and re.search("TOKEN|PASSWORD|PASS|KEY|SECRET", word) and not mixed(word))


#: The value of a flag: in quotes, or one word.
_GIVEN = r"(?:\\{0,3}\"([^\"\\\r\n]{3,})|\\{0,3}'([^'\\\r\n]{3,})|([^\s\"'`;|&<>\\-][^\s\"'`\\;|&]{2,}))"
#: ["--password", "x"]: the arguments of a program as a list.
_NEXT = r"(?:[ \t]{1,8}|=|\\{0,3}[\"'][ \t\r\n]{0,8},[ \t\r\n]{0,8}(?=\\{0,3}[\"']))"
_SECRETS = r"(?:password|passwd|passphrase|pass|pwd|token|secret|api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key|credentials?)"
COMMANDS = (
    expression(
        "command-line",
        ("-pass", "_pass", "-pwd", "-token", "-secret", "-key", "api_key", "apikey", "-credential"),
        rf"(?<![A-Za-z0-9_-])--?(?:[a-z0-9]{{1,20}}[-_]){{0,3}}{_SECRETS}{_NEXT}{_GIVEN}",
        flags=re.IGNORECASE,
        holds=_is_given,
        loose=rb"--?(?:[a-z0-9]{1,20}[-_]){0,3}(?:pass|pwd|token|secret|api|access|private|credential)",
    ),
    expression(
        "command-line",
        ("mysql", "mariadb", "mycli"),
        r"(?:mysql|mariadb|mycli)[^\r\n|;]{0,200}?[ \t\"',]-p[\"']?([^\s\"'`=\\-][^\s\"'`\\]{2,})",
        holds=_is_given,
    ),
    expression(
        "command-line",
        ("sshpass", "redis-cli", "sqlcmd", "ldap", " login"),
        r"(?:sshpass[ \t]{1,4}-p|redis-cli[^\r\n|;]{0,200}?[ \t]-a|sqlcmd[^\r\n|;]{0,200}?[ \t]-P|ldap[a-z]{2,10}[^\r\n|;]{0,200}?[ \t]-w|"
        rf"(?:docker|podman|helm|az|oc)[ \t]{{1,4}}login[^\r\n|;]{{0,200}}?[ \t]-p)[ \t]{{0,4}}{_GIVEN}",
        holds=_is_given,
    ),
    expression(
        "command-line",
        ("curl", "wget"),
        r"(?:curl|wget)\b[^|;]{0,400}?[\s\"',](?:-u|-U|--user|--proxy-user)[ \t=\"',]{0,6}\\{0,3}[\"']?"
        r"[^\s:\"'@\\/]{0,80}:([^\s\"'\\]{2,})",
        holds=lambda value: not value.startswith(("$", "//")),
    ),
    expression("command-line", ("pass:",), r"-pass(?:in|out)?[ \t]{1,4}[\"']?pass:([^\s\"'\\]{3,})"),
)  # fmt: skip
