"""What `helm test` runs: sends one span over OTLP/HTTP, and asks over SQL until it is there. Exits 1 when it is not."""

import json
import os
import secrets
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

TRACE, SPAN = secrets.token_hex(16), secrets.token_hex(8)
TRUST = ssl.create_default_context(cafile=os.environ.get("RETROSPAN_CA"))


def ask(url, token, body, kind):
    """Return what the collector answers."""
    headers = {"Authorization": "Bearer " + token, "Content-Type": kind}
    request = urllib.request.Request(url, body.encode(), headers)
    with urllib.request.urlopen(request, timeout=10, context=TRUST) as reply:
        return reply.read().decode()


def send():
    """Send the span; it belongs to no agent and makes no run."""
    now = time.time_ns()
    span = {"traceId": TRACE, "spanId": SPAN, "name": "helm test", "kind": 1}
    span["startTimeUnixNano"], span["endTimeUnixNano"] = str(now - 1000000), str(now)
    service = [{"key": "service.name", "value": {"stringValue": "retrospan-helm-test"}}]
    scope = {"scope": {"name": "helm"}, "spans": [span]}
    sent = {"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [scope]}]}
    url = os.environ["SENDER_URL"] + "/v1/traces"
    ask(url, os.environ["SENDER_TOKEN"], json.dumps(sent), "application/json")


def found():
    """Whether the span can be read."""
    query = "SELECT count() FROM spans WHERE trace_id = {trace:String} AND span_id = {span:String}"
    words = urllib.parse.urlencode({"param_trace": TRACE, "param_span": SPAN})
    url = os.environ["RETROSPAN_URL"] + "/?" + words
    return ask(url, os.environ["RETROSPAN_TOKEN"], query, "text/plain").strip() == "1"


def main():
    """Try until the time is over: a collector that has just started may not answer yet."""
    deadline = time.monotonic() + float(os.environ["WAIT_SECONDS"])
    wanted, reason = "send the span", "no time"
    while time.monotonic() < deadline:
        try:
            if wanted == "send the span":
                send()
                wanted = "read the span"
            if found():
                print("the span of trace " + TRACE + " was sent, kept, and read")
                return 0
            reason = "it is not there"
        except urllib.error.HTTPError as error:
            reason = str(error.code) + " " + error.read().decode(errors="replace")[:500]
        except OSError as error:
            reason = str(error)
        time.sleep(1)
    print("could not " + wanted + ": " + reason, file=sys.stderr)
    return 1


sys.exit(main())
