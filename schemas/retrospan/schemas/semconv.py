"""Names of OpenTelemetry's conventions and of its forerunners that interpretation reads: each lives here once.

A constant for a GenAI name is called what follows `gen_ai.` in it; other constants are called after the whole name.
Names of one vendor that only one module reads stay in that module. A test checks these against the registry that
OpenTelemetry publishes.
"""

from __future__ import annotations

# GenAI: the operation, and who carries it out

OPERATION_NAME = "gen_ai.operation.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_ID = "gen_ai.agent.id"
AGENT_VERSION = "gen_ai.agent.version"
WORKFLOW_NAME = "gen_ai.workflow.name"
CONVERSATION_ID = "gen_ai.conversation.id"
CONVERSATION_COMPACTED = "gen_ai.conversation.compacted"

# GenAI: a model call

PROVIDER_NAME = "gen_ai.provider.name"
SYSTEM = "gen_ai.system"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
OPENAI_API_TYPE = "openai.api.type"
RESPONSE_ID = "gen_ai.response.id"
RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
PROMPT = "gen_ai.prompt"
COMPLETION = "gen_ai.completion"
USAGE_INPUT_TOKENS = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
USAGE_PROMPT_TOKENS = "gen_ai.usage.prompt_tokens"
USAGE_COMPLETION_TOKENS = "gen_ai.usage.completion_tokens"
USAGE_CACHE_READ_INPUT_TOKENS = "gen_ai.usage.cache_read.input_tokens"
USAGE_CACHE_WRITE_INPUT_TOKENS = "gen_ai.usage.cache_write.input_tokens"
USAGE_CACHE_CREATION_INPUT_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
USAGE_REASONING_OUTPUT_TOKENS = "gen_ai.usage.reasoning.output_tokens"
USAGE_TEXT_INPUT_TOKENS = "gen_ai.usage.text.input_tokens"
USAGE_IMAGE_INPUT_TOKENS = "gen_ai.usage.image.input_tokens"
USAGE_AUDIO_INPUT_TOKENS = "gen_ai.usage.audio.input_tokens"
USAGE_TEXT_CACHE_READ_INPUT_TOKENS = "gen_ai.usage.text.cache_read.input_tokens"
USAGE_IMAGE_CACHE_READ_INPUT_TOKENS = "gen_ai.usage.image.cache_read.input_tokens"
USAGE_AUDIO_CACHE_READ_INPUT_TOKENS = "gen_ai.usage.audio.cache_read.input_tokens"
USAGE_TEXT_OUTPUT_TOKENS = "gen_ai.usage.text.output_tokens"
USAGE_IMAGE_OUTPUT_TOKENS = "gen_ai.usage.image.output_tokens"
USAGE_AUDIO_OUTPUT_TOKENS = "gen_ai.usage.audio.output_tokens"
RESPONSE_TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
PROMPT_NAME = "gen_ai.prompt.name"
PROMPT_VERSION = "gen_ai.prompt.version"

# GenAI: tools, retrievals, memory

TOOL_NAME = "gen_ai.tool.name"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT = "gen_ai.tool.call.result"
DATA_SOURCE_ID = "gen_ai.data_source.id"
RETRIEVAL_QUERY_TEXT = "gen_ai.retrieval.query.text"
RETRIEVAL_DOCUMENTS = "gen_ai.retrieval.documents"
MEMORY_STORE_ID = "gen_ai.memory.store.id"
MEMORY_RECORD_ID = "gen_ai.memory.record.id"
MEMORY_RECORDS = "gen_ai.memory.records"
MEMORY_QUERY_TEXT = "gen_ai.memory.query.text"

# GenAI: an evaluation

EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE_VALUE = "gen_ai.evaluation.score.value"
EVALUATION_SCORE_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"

# GenAI: events

TOOL_MESSAGE = "gen_ai.tool.message"
CHOICE = "gen_ai.choice"

# MCP

MCP_METHOD_NAME = "mcp.method.name"

# OpenTelemetry: failures, sessions, events, resources

ERROR_TYPE = "error.type"
HTTP_RESPONSE_STATUS_CODE = "http.response.status_code"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
EXCEPTION_STACKTRACE = "exception.stacktrace"
SESSION_ID = "session.id"
USER_ID = "user.id"
ENDUSER_ID = "enduser.id"
EVENT_NAME = "event.name"
URL_PATH = "url.path"
HTTP_ROUTE = "http.route"
PROCESS_PID = "process.pid"
SERVICE_NAME = "service.name"
SERVICE_NAMESPACE = "service.namespace"
SERVICE_INSTANCE_ID = "service.instance.id"
SERVICE_VERSION = "service.version"
DEPLOYMENT_ENVIRONMENT = "deployment.environment"
DEPLOYMENT_ENVIRONMENT_NAME = "deployment.environment.name"
HOST_ID = "host.id"
HOST_NAME = "host.name"
K8S_NODE_NAME = "k8s.node.name"
K8S_POD_UID = "k8s.pod.uid"
K8S_POD_NAME = "k8s.pod.name"
CONTAINER_ID = "container.id"

# OpenInference

OPENINFERENCE_SPAN_KIND = "openinference.span.kind"
INPUT_VALUE = "input.value"
OUTPUT_VALUE = "output.value"
LLM_MODEL_NAME = "llm.model_name"
LLM_TOKEN_COUNT_PROMPT = "llm.token_count.prompt"
LLM_TOKEN_COUNT_COMPLETION = "llm.token_count.completion"

# OpenLLMetry, MLflow

TRACELOOP_SPAN_KIND = "traceloop.span.kind"
TRACELOOP_ENTITY_INPUT = "traceloop.entity.input"
TRACELOOP_ENTITY_OUTPUT = "traceloop.entity.output"
MLFLOW_SPAN_INPUTS = "mlflow.spanInputs"
MLFLOW_SPAN_OUTPUTS = "mlflow.spanOutputs"
