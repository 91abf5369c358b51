{{/* Alive: the process that receives answers at all. Neither ClickHouse nor lag nor a full disk is healed by a restart,
     and what is asked on 8123 cannot get it killed. Expects a dict of root and port. */}}
{{- define "retrospan.probes" -}}
{{- $scheme := include "retrospan.scheme" .root | upper }}
startupProbe:
  httpGet: {path: /health/live, port: {{ .port }}, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 120
livenessProbe:
  httpGet: {path: /health/live, port: {{ .port }}, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /health/ready, port: {{ .port }}, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}
