{{- define "retrospan.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
Short enough for the pod's ordinal, the claim's name and the suffixes of Jobs. The name of a Service begins with a letter
and has no dot; that of a release may.
*/}}
{{- define "retrospan.fullname" -}}
{{- $full := .Values.fullnameOverride }}
{{- if not $full }}
{{- $name := include "retrospan.name" . }}
{{- $full = ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- end }}
{{- $full = $full | replace "." "-" }}
{{- if regexMatch "^[0-9]" $full }}
{{- $full = printf "r%s" $full }}
{{- end }}
{{- $full | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* What never changes from release to release: selectors are made of it. */}}
{{- define "retrospan.selectors" -}}
app.kubernetes.io/name: {{ include "retrospan.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "retrospan.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "retrospan.selectors" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "retrospan.image" -}}
{{- printf "%s:%s" .Values.image.repository (default (printf "%s-%s" .Chart.AppVersion .Values.mode) .Values.image.tag) }}
{{- end }}

{{- define "retrospan.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "retrospan.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "retrospan.tokensSecret" -}}
{{- default (printf "%s-tokens" (include "retrospan.fullname" .)) .Values.tokens.existingSecret }}
{{- end }}

{{- define "retrospan.scheme" -}}
{{- if .Values.tls.existingSecret }}https{{ else }}http{{ end }}
{{- end }}

{{/* One value as TOML writes it. Helm hands numbers over as floats. */}}
{{- define "retrospan.tomlValue" -}}
{{- if kindIs "string" . }}{{ . | toJson }}
{{- else if kindIs "float64" . }}{{ if eq . (floor .) }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end }}
{{- else }}{{ . }}
{{- end }}
{{- end }}

{{/* A tree of settings, two levels deep, as TOML: first what has no section. */}}
{{- define "retrospan.toml" -}}
{{- range $key := keys . | sortAlpha }}
{{- $value := index $ $key }}
{{- if not (kindIs "map" $value) }}
{{ $key }} = {{ include "retrospan.tomlValue" $value }}
{{- end }}
{{- end }}
{{- range $key := keys . | sortAlpha }}
{{- $value := index $ $key }}
{{- if kindIs "map" $value }}

[{{ $key }}]
{{- range $name := keys $value | sortAlpha }}
{{ $name }} = {{ include "retrospan.tomlValue" (index $value $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Mebibytes in a quantity such as 20Gi. */}}
{{- define "retrospan.mebibytes" -}}
{{- $number := regexFind "^[0-9]+(\\.[0-9]+)?" . | float64 }}
{{- $unit := regexFind "[A-Za-z]+$" . }}
{{- $factors := dict "Mi" 1.0 "Gi" 1024.0 "Ti" 1048576.0 "M" 0.953674 "G" 953.674316 "T" 953674.316406 }}
{{- printf "%.0f" (mulf $number (index $factors $unit)) }}
{{- end }}

{{/* Mebibytes in a quantity of memory, rounded down: it may be a number of bytes. */}}
{{- define "retrospan.memoryMebibytes" -}}
{{- $text := ternary (printf "%.0f" (float64 .)) (toString .) (or (kindIs "float64" .) (kindIs "int64" .) (kindIs "int" .)) }}
{{- $unit := regexFind "[A-Za-z]+$" $text }}
{{- $factors := dict "" 1.0 "k" 1000.0 "Ki" 1024.0 "M" 1000000.0 "Mi" 1048576.0 "G" 1000000000.0 "Gi" 1073741824.0 }}
{{- if hasKey $factors $unit }}
{{- divf (mulf (regexFind "^[0-9.]+" $text | float64) (index $factors $unit)) 1048576.0 | floor | int }}
{{- else }}
{{- /* Of a greater unit, or of m and e, which nobody means for memory: the collector looks itself. */}}
{{- 1048576 }}
{{- end }}
{{- end }}

{{- define "retrospan.listen" -}}
{{- if contains ":" .Values.listen }}[{{ .Values.listen }}]{{ else }}{{ .Values.listen }}{{ end }}
{{- end }}

{{/* The settings that every process of the release has: a dict as YAML. */}}
{{- define "retrospan.settings" -}}
sql: {{ printf "%s:8123" (include "retrospan.listen" .) | quote }}
{{- if .Values.jaeger.enabled }}
jaeger: {{ printf "%s:16686" (include "retrospan.listen" .) | quote }}
{{- end }}
tokens: /etc/retrospan/tokens/tokens.toml
{{- if .Values.tls.existingSecret }}
tls:
  certificate: /etc/retrospan/tls/tls.crt
  key: /etc/retrospan/tls/tls.key
{{- end }}
{{- if eq .Values.mode "server" }}
{{- with .Values.warehouse }}
warehouse: {{ printf "clickhouse%s://%s:%v" (ternary "s" "" .secure) .host (default (ternary 8443 8123 .secure) (int .port)) | quote }}
server:
  user: {{ .user | quote }}
  {{- if .cluster }}
  cluster: {{ .cluster | quote }}
  {{- end }}
  {{- if .caSecret }}
  ca: /etc/retrospan/warehouse/{{ .caKey }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "retrospan.podSecurity" -}}
runAsNonRoot: true
{{- with int .Values.user }}
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
{{- end }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "retrospan.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* What a process of the collector or the interpreter is told by variables. */}}
{{- define "retrospan.env" -}}
{{- if and (eq .Values.mode "server") .Values.warehouse.existingSecret }}
- name: RETROSPAN_SERVER_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ .Values.warehouse.existingSecret | quote }}, key: {{ .Values.warehouse.passwordKey | quote }}}}
{{- end }}
- {name: HOME, value: /tmp}
{{- end }}

{{- define "retrospan.mounts" -}}
- {name: config, mountPath: /etc/retrospan/config, readOnly: true}
- {name: tokens, mountPath: /etc/retrospan/tokens, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .Values.tls.existingSecret }}
- {name: tls, mountPath: /etc/retrospan/tls, readOnly: true}
{{- end }}
{{- if .Values.warehouse.caSecret }}
- {name: warehouse, mountPath: /etc/retrospan/warehouse, readOnly: true}
{{- end }}
{{- if .Values.files.content }}
- {name: files, mountPath: /etc/retrospan/files, readOnly: true}
{{- end }}
{{- if .Values.files.existingSecret }}
- {name: secrets, mountPath: /etc/retrospan/secrets, readOnly: true}
{{- end }}
{{- end }}

{{- define "retrospan.volumes" -}}
- name: config
  configMap: {name: {{ include "retrospan.fullname" . | quote }}}
- name: tokens
  secret:
    secretName: {{ include "retrospan.tokensSecret" . | quote }}
    defaultMode: 0440
    items: [{key: tokens.toml, path: tokens.toml}]
- name: tmp
  emptyDir: {}
{{- if .Values.tls.existingSecret }}
- name: tls
  secret: {secretName: {{ .Values.tls.existingSecret | quote }}, defaultMode: 0440}
{{- end }}
{{- if .Values.warehouse.caSecret }}
- name: warehouse
  secret: {secretName: {{ .Values.warehouse.caSecret | quote }}, defaultMode: 0440}
{{- end }}
{{- if .Values.files.content }}
- name: files
  configMap: {name: {{ include "retrospan.fullname" . }}-files}
{{- end }}
{{- with .Values.files.existingSecret }}
- name: secrets
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* How a pod that only asks reaches the collector; expects a dict of root, host and the token's key. */}}
{{- define "retrospan.clientEnv" -}}
- {name: RETROSPAN_URL, value: "{{ include "retrospan.scheme" .root }}://{{ .host }}:8123"}
- name: RETROSPAN_TOKEN
  valueFrom: {secretKeyRef: {name: {{ include "retrospan.tokensSecret" .root | quote }}, key: {{ .key }}}}
{{- if .root.Values.tls.existingSecret }}
- {name: RETROSPAN_CA, value: /etc/retrospan/tls/ca.crt}
{{- end }}
- {name: HOME, value: /tmp}
{{- end }}

{{- define "retrospan.clientMounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .Values.tls.existingSecret }}
- {name: tls, mountPath: /etc/retrospan/tls, readOnly: true}
{{- end }}
{{- end }}

{{- define "retrospan.clientVolumes" -}}
- name: tmp
  emptyDir: {}
{{- if .Values.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ .Values.tls.existingSecret | quote }}
    defaultMode: 0440
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- end }}
