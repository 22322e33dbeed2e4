{{/* Name of every object: that of the release, with driftway if it is not in it. */}}
{{- define "driftway.name" -}}
{{- if contains "driftway" .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-driftway" .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels by which pods are found; they never change during the life of a release. */}}
{{- define "driftway.selector" -}}
app.kubernetes.io/name: driftway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "driftway.labels" -}}
{{ include "driftway.selector" . }}
app.kubernetes.io/component: worker
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
{{- end -}}

{{- define "driftway.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
