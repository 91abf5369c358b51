from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fix_cli import Ask, run_in_terminal
from heeding import heeding

from retrospan.ingest.cli.command_table import COMMANDS, module_of, parser_of
from retrospan.ingest.cli.main import main, top_help
from retrospan.ingest.cli.terminal.welcome import welcome

COMMAND = [sys.executable, "-m", "retrospan.ingest.cli.main"]
SOURCE = Path(__file__).resolve().parents[2] / "ingest/retrospan/ingest/cli"
# All that `--help` and the questions may load, beside what Python loads by itself. http.client brings email and ssl.
MAY_BE_LOADED = {
    "__future__", "argparse", "dataclasses", "datetime", "email", "errno", "gettext", "http", "inspect", "ipaddress",
    "json", "math", "quopri", "random", "retrospan", "select", "shutil", "socket", "ssl", "stringprep", "threading", "time", "typing", "unicodedata",
    "urllib",
}  # fmt: skip
QUESTIONS = (
    ["--help"],
    ["runs"],
    ["runs", "--json"],
    ["show", "last"],
    ["state", "last"],
    ["trace", "last"],
    ["diff", "7f3e", "b83f"],
    ["findings"],
    ["findings", "--by", "rule"],
    ["loops"],
    ["cost"],
    ["cost", "last"],
    ["entity", "record/C-1042"],
    ["sql", "SELECT 1"],
    ["doctor", "--run", "last"],
)


def loaded(words: list[str], url: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after the command."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from retrospan.ingest.cli.main import main\n"
        f"code = main({words!r})\n"
        "print('LOADED', code, *{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    environ = {**os.environ, "RETROSPAN_URL": url}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ
    )
    name, exit_code, *found = done.stdout.splitlines()[-1].split()
    assert (name, exit_code) == ("LOADED", "0")
    return {
        module for module in found if module in sys.stdlib_module_names and not module.startswith("_")
    } | {module for module in found if module not in sys.stdlib_module_names}


def needed_by(names: set[str]) -> set[str]:
    """What Python itself loads for those modules."""
    code = f"import sys; import {', '.join(sorted(names))}; import http.client, email.message, email.parser, urllib.parse\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )


@pytest.mark.long
def test_help_and_questions_load_only_what_is_listed(collector: str) -> None:
    listed = needed_by(MAY_BE_LOADED - {"retrospan"}) | MAY_BE_LOADED
    for words in QUESTIONS:
        assert loaded(words, collector) - listed == set(), words
    assert "http" not in loaded(["--help"], collector)
    assert not {"asyncio", "difflib", "logging", "subprocess", "tomllib"} & listed


def test_heavy_modules_are_imported_inside_functions_only() -> None:
    for file in sorted(SOURCE.glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                light = name.startswith(
                    (
                        "retrospan.ingest.cli.",
                        "retrospan.ingest.doctor.finding",  # standard library only, and nothing of ours
                        "retrospan.ingest.interpret.messages.messages",  # standard library only, like what it imports
                        "retrospan.queries.credentials",
                        "retrospan.schemas.errors",
                        "retrospan.schemas.references",
                    )
                )
                assert light or name.partition(".")[0] in sys.stdlib_module_names, (
                    f"{file.name} imports {name}"
                )


def test_alone_it_prints_help_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out == f"{top_help()}\n{welcome()}"
    for words in (["--help"], ["-h"], ["help"]):
        assert main(words) == 0
        captured = capsys.readouterr()
        assert captured.out == top_help() and captured.err == ""
    assert all(f"  {name} " in top_help() for name in COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("retrospan 0.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rums"], "there is no command 'rums'. Did you mean 'runs'?"),
        (["xyzzy"], "there is no command 'xyzzy'. Commands: serve, demo, runs"),
        (["--jsn"], "unknown flag '--jsn'. Flags follow the command"),
        (["--versoin"], "Did you mean '--version'?"),
        (["runs", "--jsno"], "unknown flag '--jsno'. Did you mean '--json'?"),
        (["runs", "--js"], "unknown flag '--js'. Did you mean '--json'?"),  # no abbreviations
        (["runs", "--url", "http://a"], "unknown flag '--url'. Set RETROSPAN_URL"),
        (["show", "last", "--server=a:1"], "unknown flag '--server'. Set RETROSPAN_URL"),
        (["serve", "--host", "a"], "unknown flag '--host'. Did you mean '--http'?"),
        (["runs", "4bf9"], "'4bf9' is one argument too many."),
        (["show"], "RUN[/N] is missing."),
        (["diff", "last"], "RUN_B is missing."),
        (["runs", "--outcome", "okay"], "Did you mean 'ok'?"),
        (["runs", "-n", "0"], "-n: '0' is not a whole number of 1 or more."),
        (["runs", "-n", "many"], "-n: 'many' is not a whole number"),
        (["state", "last", "--at", "noon"], "'noon' is not a time: use RFC 3339"),
        (["trace", "last", "--depth", "101"], "from 1 to 100"),
        (["sql", "SELECT 1", "--format", "jsn"], "Did you mean 'json'?"),
        (["runs", "--since"], "--since: expected one argument."),
        (["completion", "tcsh"], "is not one of bash, zsh, fish"),
    ],
)
def test_typing_errors_name_the_nearest_and_exit_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and said in captured.err
    assert captured.err.startswith("error: ") and "retrospan" in captured.err.splitlines()[-1]


def test_no_collector_names_address_and_origin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        monkeypatch.setenv("RETROSPAN_URL", f"http://127.0.0.1:{port}")
        assert main(["runs"]) == 2
    assert capsys.readouterr().err == (
        f"error: cannot reach the collector at http://127.0.0.1:{port} (connection refused; from RETROSPAN_URL).\n"
        "  Start one: retrospan serve\n"
    )
    monkeypatch.setenv("RETROSPAN_URL", "ftp://nowhere")
    assert main(["runs"]) == 2
    assert "'ftp://nowhere' (from RETROSPAN_URL) is not an address" in capsys.readouterr().err
    monkeypatch.setenv("RETROSPAN_URL", "http://[::1")
    assert main(["runs"]) == 2
    assert "'http://[::1' (from RETROSPAN_URL) is not an address" in capsys.readouterr().err
    monkeypatch.delenv("RETROSPAN_URL")
    assert main(["runs", "--sql"]) == 0


@pytest.mark.parametrize(
    "answer",
    [
        b"\x00\x00\x12\x04\x00junk",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html>\n</html",
        b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"a":1}\n2',
        b"",
    ],
)
def test_another_port_is_told_from_a_collector(
    answer: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)
                # Closing on unread bytes would reset the connection and take the answer with it.
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        monkeypatch.setenv("RETROSPAN_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert main(["runs"]) == 2
        thread.join()
    said = capsys.readouterr().err
    assert "from RETROSPAN_URL" in said
    assert ("is not a Retrospan SQL port" in said) if answer else ("without answering" in said)


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETROSPAN_URL", "ftp://nowhere")
    done = subprocess.run([*COMMAND, "runs", "--debug"], capture_output=True, text=True, check=False)
    assert "Traceback" in done.stderr and "ConfigError" in done.stderr
    quiet = subprocess.run([*COMMAND, "runs"], capture_output=True, text=True, check=False)
    assert "Traceback" not in quiet.stderr


def test_a_closed_pipe_is_quiet(collector: str) -> None:
    environ = {**os.environ, "RETROSPAN_URL": collector}
    many = "SELECT repeat('x', 1000) AS x FROM numbers(20000)"
    for words in (["sql", many, "--json"], ["sql", many, "--format", "csv"], ["sql", many]):
        with subprocess.Popen(
            [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(60) == 141


@pytest.mark.parametrize("streams", ["<&- >&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_lead_nowhere(collector: str, streams: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {streams}', "sh", *COMMAND, "loops", "--json"],
        env={**os.environ, "RETROSPAN_URL": collector},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "") and bool(done.stdout) == (streams == "2>&-")


def test_control_c_exits_130() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        environ = {**os.environ, "RETROSPAN_URL": f"http://127.0.0.1:{server.getsockname()[1]}"}
        command = heeding([*COMMAND, "runs"])
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=environ) as process:
            connection, _ = server.accept()  # it waits for an answer now
            with connection:
                assert connection.recv(10)
                process.send_signal(signal.SIGINT)
                assert process.wait(60) == 130
            assert process.stderr is not None and process.stderr.read() == b""


def test_every_example_of_a_help_text_parses() -> None:
    import shlex

    for name in COMMANDS:
        examples = [example for example in module_of(name).HELP.examples if example.startswith("retrospan ")]
        assert examples or name == "completion"
        for example in examples:
            words = shlex.split(example.partition(">")[0])
            assert words[1] == name
            assert parser_of(name).read(words[2:]).help is False


def test_help_of_a_command_fits_a_screen_and_ends_in_examples(ask: Ask) -> None:
    for name in COMMANDS:
        said = ask(name, "--help")
        assert said.code == 0 and said.err == ""
        assert len(said.lines) <= 40
        assert said.lines[0] == module_of(name).HELP.job
        assert f"usage: retrospan {name}" in said.out and "exit: " in said.out
    assert ask("help", "diff").out == ask("diff", "--help").out


@pytest.mark.parametrize("words", [words for words in QUESTIONS[1:] if words[0] != "sql"], ids=" ".join)
def test_examples_of_questions_answer_on_stored_runs(words: list[str], ask: Ask) -> None:
    assert ask(*words).code == 0


def test_completion_scripts_are_accepted_by_their_shell() -> None:
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run([*COMMAND, "completion", shell], capture_output=True, text=True, check=True)
        assert "runs" in done.stdout and "exit-code" in done.stdout
    bash = subprocess.run([*COMMAND, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    check = f'{bash}\nCOMP_WORDS=(retrospan ru); COMP_CWORD=1; _retrospan; echo "${{COMPREPLY[@]}}"'
    assert (
        subprocess.run(["bash", "-c", check], capture_output=True, text=True, check=True).stdout
        == "runs rules\n"
    )


def test_demo_and_serve_refuse_unknown_flags_before_loading_anything(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "--grcp", "x"]) == 2
    assert "Did you mean '--grpc'?" in capsys.readouterr().err
    assert main(["demo", "--srve"]) == 2
    assert "Did you mean '--serve'?" in capsys.readouterr().err


def test_json_goes_to_standard_output_while_hints_stay_visible(collector: str) -> None:
    environ = {**os.environ, "RETROSPAN_URL": collector}
    done = subprocess.run(
        [*COMMAND, "runs", "--json"], capture_output=True, text=True, env=environ, check=True
    )
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 8
    assert run_in_terminal(["show", "last"], collector).out.splitlines()[-1].count("retrospan") == 3
