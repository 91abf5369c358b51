"""Credentials that their own form gives away: most by what they begin with."""

from __future__ import annotations

import re

from retrospan.schemas.redaction.finding import RUN, START, Finder, expression

_RULE = "api-key"
_BASE64URL = "A-Za-z0-9_-"
_BASE64 = "A-Za-z0-9+/=_-"
_HEX = "a-fA-F0-9"
_DOTTED = "A-Za-z0-9_=.-"


def _key(prefix: str, allowed: str = "A-Za-z0-9", least: int = 20, *, word: bool = False) -> Finder:
    """`word`: the prefix may also be the end of ordinary words."""
    tail = f"{re.escape(prefix)}[{allowed}]{{{least},}}"
    start = START if word else ""
    # JSON may write a slash with a backslash.
    loose = b"" if "/" in allowed else tail.encode()
    return expression(
        _RULE, (prefix.lower(),), start + tail, loose=loose, run="/" not in allowed and least >= RUN
    )


def _form(hints: tuple[str, ...], pattern: str, loose: bytes = b"", *, run: bool = False) -> Finder:
    return expression(_RULE, hints, pattern, loose=loose or pattern.replace(START, "").encode(), run=run)


def _is_random(key: str) -> bool:
    """`desk-`, `task-` and their like end as a key begins; what follows them are words or a number in hex."""
    tail = key[3:]
    known = tail.startswith(("proj-", "ant-", "or-v1-", "svcacct-", "admin-", "lf-", "None-"))
    run = re.match(r"[A-Za-z0-9]*", tail)
    kinds = (str.islower, str.isupper, str.isdigit)
    return known or (run is not None and len(run[0]) >= 20 and all(any(map(kind, run[0])) for kind in kinds))


_MODELS = (
    # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse; behind a capital or a digit no word goes on like this.
    _form(("sk-",), r"(?:(?<![a-z])|(?<=\\[abfnrtv]))sk-[A-Za-z0-9_-]{20,}", rb"sk-[A-Za-z0-9_-]{20}", run=True),
    expression(_RULE, ("sk-",), r"(?<=[a-z])sk-[A-Za-z0-9_-]{20,}", holds=_is_random, loose=rb"sk-[A-Za-z0-9_-]{20}", run=True),
    _key("csk-", least=40),
    _key("pk-lf-", _BASE64URL),
    _key("hf_", least=30),
    _key("api_org_", least=30),
    _key("gsk_", least=40),
    _key("xai-", least=40),
    _key("pplx-", least=40),
    _key("nvapi-", _BASE64URL, 40),
    _key("r8_", least=30),
    _key("tvly-", _BASE64URL),
    _key("lsv2_", "A-Za-z0-9_", 30),
    _key("pcsk_", "A-Za-z0-9_", 30),
    _key("jina_", _BASE64URL, 40),
    _key("e2b_", "a-f0-9", 30, word=True),
    _key("fw_", least=22, word=True),
    _key("apify_api_"),
    _key("ABSK", _BASE64, 100, word=True),
    _key("bedrock-api-key-", _BASE64, 20),
)  # fmt: skip

_CLOUDS = (
    *(_key(prefix, "A-Z0-9", 16) for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
    _key("A3T", "A-Z0-9", 17, word=True),
    _key("AIza", _BASE64URL, 35),
    _key("ya29.", _BASE64URL),
    _key("GOCSPX-", _BASE64URL),
    _key("LTAI", least=20, word=True),
    _key("AQVN", _BASE64URL, 35, word=True),
    _key("4b1d", least=38, word=True),
    *(_key(f"do{kind}_v1_", "a-f0-9", 40) for kind in "por"),
    _key("dapi", "a-f0-9", 32),
    _key("v1.0-", "a-f0-9-", 60, word=True),
    _key("HRKU-", _BASE64URL, 30),
    _key("fo1_", _BASE64URL, 40, word=True),
    *(_key(prefix, _BASE64, 60, word=True) for prefix in ("fm1a_", "fm1r_", "fm2_")),
    _key("tk-us-", _BASE64URL, 40, word=True),
    _key("tskey-", _BASE64URL),
    _key("sbp_", "a-f0-9", 40, word=True),
    _key("nfp_", least=36, word=True),
    _form(("q~",), r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}", rb"[0-9]Q~[A-Za-z0-9_~.-]{31}"),
    _form((".atlasv1.",), r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    _form(("hvs.", "hvb."), START + r"hv[sb]\.[A-Za-z0-9_-]{24,}", run=True),
    _key("pul-", "a-f0-9", 40, word=True),
    *(_key(f"pscale_{kind}_", _DOTTED, 30) for kind in ("tkn", "oauth", "pw")),
    _key("dt0c01.", "A-Za-z0-9.", 60),
    _key("sha256~", _BASE64URL, 43, word=True),
)  # fmt: skip

_CODE = (
    *(_key(f"gh{kind}_", least=36) for kind in "pousr"),
    _key("github_pat_", "A-Za-z0-9_", 22),
    *(_key(f"gl{kind}-", _DOTTED) for kind in (
        "pat", "cbt", "dt", "ffct", "ft", "imt", "agent", "oas", "ptt", "rt", "soat")),
    _key("GR1348941", _BASE64URL),
    _key("_gitlab_session=", least=32),
    _key("npm_", least=36),
    _key("pypi-", _BASE64URL, 50),
    _key("rubygems_", "a-f0-9", 48),
    _key("CLOJARS_", least=60),
    _key("clojars_", least=60),
    _key("AKCp", least=60, word=True),
    _key("cmVmd", least=59, word=True),
    _key("dckr_pat_", _BASE64URL),
    _key("dp.pt.", least=40),
    _key("dp.st.", _DOTTED, 40),
    _key("lin_api_", least=40),
    _key("ntn_", least=40, word=True),
    _key("PMAK-", "a-fA-F0-9-", 50),
    _key("pnu_", least=36, word=True),
    _key("rdme_", "a-z0-9", 70),
    _key("sntryu_", "a-f0-9", 60),
    _key("sntrys_", _BASE64, 60),
    _key("sgp_", "A-Za-z0-9_", 40, word=True),
    *(_key(f"NR{kind}-", "A-Za-z0-9-", 19) for kind in ("AK", "II", "JS")),
    _key("ATATT3", _BASE64, 60),
    _key("figd_", _BASE64URL, 30),
    _key("ico-", least=32, word=True),
    _key("API-", "A-Z0-9", 26, word=True),
    _key("tfp_", _DOTTED, 50, word=True),
    _key("dnkey-", _DOTTED, 60),
    _key("HCP.", _BASE64URL, 60, word=True),
    _form(("pat",), START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{60,}", run=True),
    _form(("pat.", "sat."), START + r"[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20,}", run=True),
    _form((".acc_", ".acc-"), START + r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-]"
          r"[A-Za-z0-9.+/_=-]{40,}", rb"\.acc[_-][A-Za-z0-9.+/_=-]{40}"),
)  # fmt: skip

_SERVICES = (
    *(_key(f"xox{kind}-", "A-Za-z0-9-", 8) for kind in "abeoprs"),
    _key("xapp-", "A-Za-z0-9-", 14),
    _form(("|", "%"), r"(?<![0-9A-Za-z.])[0-9]{15,16}[|%][A-Za-z0-9_-]{27,}", rb"[0-9]{15}[|%][A-Za-z0-9_-]{27}", run=True),
    *(_key(f"{kind}_{mode}_", least=10) for kind in ("sk", "rk") for mode in ("live", "test", "prod")),
    _key("whsec_", "A-Za-z0-9+=", 24),
    _form(("sg.",), START + r"SG\.[A-Za-z0-9_=.-]{33,}", run=True),
    _key("A3-", "A-Z0-9-", 30, word=True),
    _key("ops_eyJ", _BASE64, 100),
    _key("p8e-", least=32, word=True),
    _key("AGE-SECRET-KEY-1", "A-Z0-9", 50),
    *(_key(f"duffel_{mode}_", _DOTTED, 40) for mode in ("test", "live")),
    *(_key(f"EZ{kind}K", least=54, word=True) for kind in "AT"),
    *(_key(f"EAA{kind}", least=90, word=True) for kind in "MC"),
    _key("EAAA", _BASE64URL, 22, word=True),
    *(_key(f"sq0{kind}-", _BASE64URL) for kind in ("atp", "csp")),
    *(_key(f"FLW{kind}-", "A-Za-z0-9-", 12) for kind in ("SECK_TEST", "PUBK_TEST", "SECK")),
    _key("fio-u-", _DOTTED, 60),
    _key("eyJrIjoi", least=60, word=True),
    _key("ZXlK", least=40, word=True),
    _key("glc_", _BASE64, 32, word=True),
    _key("glsa_", "A-Za-z0-9_", 40),
    *(_key(f"s-s4t2{kind}-", "a-fA-F0-9", 60) for kind in ("ud", "af")),
    *(_key(f"sm_{kind}at_", least=16, word=True) for kind in "aps"),
    *(_key(f"shippo_{mode}_", _HEX, 40) for mode in ("live", "test")),
    *(_key(f"shp{kind}_", _HEX, 32) for kind in ("at", "ca", "pa", "ss")),
    _key("xkeysib-", "A-Za-z0-9-", 60),
    _key("SK", _HEX, 32, word=True),
    _form(("_mmk",), START + r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", rb"_mmk"),
    _form((":aa",), r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    _form(("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{30,})",
          rb"hooks\.slack\.com"),
    _form(("webhook.office.com",), r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{30,})", rb"webhook\.office\.com"),
    _form(("/webhooks/", "webhooks"), r"discord(?:app)?\.com/api/webhooks/([0-9]{10,25}/[A-Za-z0-9_-]{30,})",
          rb"discord(?:app)?\.com"),
)  # fmt: skip

API_KEYS: tuple[Finder, ...] = _MODELS + _CLOUDS + _CODE + _SERVICES
