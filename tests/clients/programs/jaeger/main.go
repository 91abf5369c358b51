// What Jaeger's own definitions read of Jaeger's query API: a line for each check, its name and what came, divided by a
// tab. The messages of api_v3 are compiled from Jaeger's definitions and read strictly: an unknown member is an error.
// Traces are read by the Collector's OTLP, as Jaeger writes them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	_ "github.com/google/gnostic/openapiv3"
	"github.com/jaegertracing/jaeger-idl/model/v1"
	"go.opentelemetry.io/collector/pdata/ptrace"
	_ "go.opentelemetry.io/proto/otlp/trace/v1"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

const api = "jaeger.api_v3."

// definitions finds Jaeger's own files in a folder, and those that they import in what is linked here.
type definitions struct{ folder string }

func (d definitions) FindFileByPath(path string) (protocompile.SearchResult, error) {
	if file, err := os.Open(filepath.Join(d.folder, path)); err == nil {
		return protocompile.SearchResult{Source: file}, nil
	}
	linked, err := protoregistry.GlobalFiles.FindFileByPath(strings.TrimPrefix(path, "gnostic/"))
	if err != nil {
		return protocompile.SearchResult{}, err
	}
	found := protodesc.ToFileDescriptorProto(linked)
	found.Name = &path
	return protocompile.SearchResult{Proto: found}, nil
}

func compiled(folder string) (map[string]protoreflect.MessageDescriptor, error) {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(definitions{folder})}
	files, err := compiler.Compile(context.Background(), "api_v3/query_service.proto", "api_v3/capabilities.proto")
	if err != nil {
		return nil, err
	}
	found := map[string]protoreflect.MessageDescriptor{}
	for _, file := range files {
		for i := range file.Messages().Len() {
			message := file.Messages().Get(i)
			found[string(message.FullName())] = message
		}
	}
	return found, nil
}

var messages map[string]protoreflect.MessageDescriptor

func get(path string, words ...string) (int, []byte, error) {
	values := url.Values{}
	for i := 0; i < len(words); i += 2 {
		values.Add(words[i], words[i+1])
	}
	reply, err := http.Get("http://" + os.Args[1] + path + "?" + values.Encode())
	if err != nil {
		return 0, nil, err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	return reply.StatusCode, body, err
}

// read asks for a page and reads it as a message of api_v3.
func read(name string, path string, words ...string) (protoreflect.Message, error) {
	_, body, err := get(path, words...)
	if err != nil {
		return nil, err
	}
	kind, ok := messages[api+name]
	if !ok {
		return nil, errors.New("there is no " + name)
	}
	message := dynamicpb.NewMessage(kind)
	return message, protojson.Unmarshal(body, message)
}

func list(message protoreflect.Message, name string) protoreflect.List {
	return message.Get(message.Descriptor().Fields().ByName(protoreflect.Name(name))).List()
}

func field(message protoreflect.Message, name string) protoreflect.Value {
	return message.Get(message.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

// traces reads the envelope, and OTLP's JSON in it.
func traces(path string, words ...string) (ptrace.Traces, error) {
	_, body, err := get(path, words...)
	if err != nil {
		return ptrace.Traces{}, err
	}
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(body, &envelope); err != nil {
		return ptrace.Traces{}, err
	}
	if len(envelope) != 1 {
		return ptrace.Traces{}, fmt.Errorf("more than a result: %.300s", body)
	}
	return (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(envelope["result"])
}

func check(name string, asked func() (any, error)) {
	got, err := asked()
	if err != nil {
		got = fmt.Sprintf("FAILED: %q", err.Error())
	}
	fmt.Printf("%s\t%v\n", name, got)
}

func main() {
	place, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// Where `go list` said that the module of Jaeger's definitions is.
	module, err := os.ReadFile(filepath.Join(filepath.Dir(place), "module.txt"))
	if err != nil {
		panic(err)
	}
	messages, err = compiled(filepath.Join(strings.TrimSpace(string(module)), "proto"))
	if err != nil {
		panic(err)
	}
	always := []string{"query.start_time_min", "2000-01-01T00:00:00Z", "query.start_time_max", "2200-01-01T00:00:00Z"}
	var services []string
	check("services", func() (any, error) {
		answer, err := read("GetServicesResponse", "/api/v3/services")
		if err != nil {
			return nil, err
		}
		found := list(answer, "services")
		for i := range found.Len() {
			services = append(services, found.Get(i).String())
		}
		return len(services) > 0 && slices.IsSorted(services), nil
	})
	check("operations", func() (any, error) {
		count := 0
		for _, service := range services {
			answer, err := read("GetOperationsResponse", "/api/v3/operations", "service", service)
			if err != nil {
				return nil, err
			}
			count += list(answer, "operations").Len()
		}
		return count >= len(services), nil
	})
	ids := map[string]int64{}
	check("trace-summaries", func() (any, error) {
		answer, err := read("FindTraceSummariesResponse", "/api/v3/trace-summaries",
			append(always, "query.search_depth", "1500")...)
		if err != nil {
			return nil, err
		}
		found := list(answer, "summaries")
		spans := int64(0)
		for i := range found.Len() {
			one := found.Get(i).Message()
			ids[field(one, "trace_id").String()] = field(one, "span_count").Int()
			spans += field(one, "span_count").Int()
		}
		return spans, nil
	})
	check("traces by their ids", func() (any, error) {
		for id, spans := range ids {
			found, err := traces("/api/v3/traces/" + id)
			if err != nil {
				return nil, err
			}
			if int64(found.SpanCount()) != spans {
				return nil, fmt.Errorf("%s has %d spans, and %d were told", id, found.SpanCount(), spans)
			}
			if of := found.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID().String(); of != id {
				return nil, fmt.Errorf("%s came for %s", of, id)
			}
		}
		return len(ids) > 0, nil
	})
	check("traces that are found", func() (any, error) {
		found, err := traces("/api/v3/traces", append(always, "query.search_depth", "1500")...)
		if err != nil {
			return nil, err
		}
		return found.SpanCount(), nil
	})
	check("dependencies", func() (any, error) {
		answer, err := read("DependenciesResponse", "/api/v3/dependencies",
			"start_time", "2000-01-01T00:00:00Z", "end_time", "2200-01-01T00:00:00Z")
		if err != nil {
			return nil, err
		}
		return list(answer, "dependencies").Len() >= 0, nil
	})
	check("capabilities", func() (any, error) {
		answer, err := read("GetCapabilitiesResponse", "/api/v3/capabilities")
		if err != nil {
			return nil, err
		}
		return field(field(answer, "search").Message(), "without_service_name").Bool(), nil
	})
	check("an error", func() (any, error) {
		answer, err := read("GRPCGatewayError", "/api/v3/traces/not-an-id")
		if err != nil {
			return nil, err
		}
		return field(field(answer, "error").Message(), "httpCode").Int(), nil
	})
	check("ids of the older API", func() (any, error) {
		for id := range ids {
			if _, err := model.TraceIDFromString(id); err != nil {
				return nil, err
			}
		}
		_, body, err := get("/api/traces", "service", services[0], "limit", "1500")
		if err != nil {
			return nil, err
		}
		var answer struct {
			Data []struct {
				TraceID string
				Spans   []struct {
					TraceID, SpanID string
				}
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return nil, err
		}
		for _, one := range answer.Data {
			for _, span := range one.Spans {
				if _, err := model.SpanIDFromString(span.SpanID); err != nil || span.TraceID != one.TraceID {
					return nil, fmt.Errorf("%s of %s: %w", span.SpanID, one.TraceID, err)
				}
			}
		}
		return len(answer.Data) > 0, nil
	})
}
