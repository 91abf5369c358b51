"""Secrets that are none, one or more for each built-in rule. Put together here so that no scanner takes them for real."""

from __future__ import annotations

_BODY = "q7Zk2mP9xV4tB8nL1wR6yH3cF5dJ0gS7aU2eK9oI4bT8vX1zN6"
JWT = ".".join(
    ("eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P")
)
PRIVATE_KEY = (
    "-----BEGIN RSA PRIVATE "
    + "KEY-----\nMIIEowIBAAKCAQEAtest0secret1body\nZm9vYmFy\n-----END RSA PRIVATE KEY-----"
)

# Rule, the text, and what of it must be gone.
PLANTED: tuple[tuple[str, str, str], ...] = (
    *(
        ("api-key", f"{prefix}{_BODY[:length]}", f"{prefix}{_BODY[:length]}")
        for prefix, length in (
            ("sk-proj-", 40), ("sk-ant-api03-", 40), ("sk-or-v1-", 40), ("AI" + "za", 35), ("ya29.", 30),
            ("GOCSPX-", 28), ("gh" + "p_", 36), ("gh" + "s_", 36), ("github" + "_pat_", 30), ("glpat-", 20),
            ("xox" + "b-", 30), ("xapp-", 30), ("sk_" + "live_", 24), ("rk_" + "test_", 24), ("whsec_", 32),
            ("hf_", 34), ("gsk_", 48), ("xai-", 48), ("pplx-", 48), ("nvapi-", 48), ("r8_", 37), ("tvly-", 24),
            ("lsv2_pt_", 32), ("pcsk_", 40), ("npm_", 36), ("pypi-", 50), ("pk-lf-", 36),
        )
    ),
    ("api-key", "AK" + "IAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    ("api-key", "AS" + "IAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    ("api-key", "dop_v1_" + "0123456789abcdef" * 4, "0123456789abcdef"),
    ("api-key", "dapi" + "0123456789abcdef" * 2, "0123456789abcdef"),
    ("api-key", "SG." + _BODY[:22] + "." + _BODY[:43], _BODY[:43]),
    ("jwt", JWT, JWT),
    ("bearer", f"Bearer {_BODY[:30]}", _BODY[:30]),
    ("bearer", "authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
    ("private-key", PRIVATE_KEY, "MIIEowIBAAKCAQEAtest0secret1body"),
    ("url-password", "postgres://agent:p4ssw0rdXY@db.internal:5432/x", "p4ssw0rdXY"),
    ("assignment", "export DB_PASSWORD=hunter2correct", "hunter2correct"),
    ("assignment", "{'api_key': 'hunter2correct'}", "hunter2correct"),
    ("url-parameter", "https://api.example/x?access_token=hunter2correct&y=1", "hunter2correct"),
    ("header", "-H 'Authorization: Token hunter2correct'", "hunter2correct"),
    ("header", "Cookie: sid=hunter2correct; theme=dark", "hunter2correct"),
    ("url-parameter", "https://api.example/x?y=1&sig=hunter2correct%3D", "hunter2correct"),
    ("command-line", "tool --password hunter2correct", "hunter2correct"),
    ("command-line", "mysql -uroot -phunter2correct", "hunter2correct"),
    ("email", "jane.q-public+tag@mail.example.co.uk", "jane.q-public"),
    ("card", "4111 1111 1111 1111", "4111 1111"),
    ("card", "5500-0055-5555-5559", "5500-0055"),
    ("card", "378282246310005", "378282246310005"),
)  # fmt: skip

# Texts that look a little like the above and must stay.
HARMLESS = (
    "task-abcdefghijklmnopqrstuvwxyz0123",
    "gen_ai.usage.input_tokens",
    "the bearer authentication scheme",
    "1790000000000000000",
    "4111 1111 1111 1112",
    "0.4111111111111111",
    "https://example.org:8080/path?page=2",
    "user@localhost",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "password: see the vault",
    "eyJ is how many tokens begin",
    "AKIA",
    '{"type": "object", "properties": {"card": {"type": "string"}}}',
    '{"password": null, "secret": "", "token": true}',
)
