// Genkit's model and tools in a flow, with its own spans, exported to where the environment says.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/googlegenai"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

const instructions = "You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. " +
	"Answer in one or two sentences."

func main() {
	if err := answer(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func answer(ctx context.Context) error {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(resource.Environment()))
	defer func() { _ = provider.Shutdown(ctx) }()
	otel.SetTracerProvider(provider)

	os.Setenv("GOOGLE_GEMINI_BASE_URL", os.Getenv("KIT_MODEL_URL"))
	g := genkit.Init(ctx,
		genkit.WithPlugins(&googlegenai.GoogleAI{APIKey: "none"}),
		genkit.WithDefaultModel("googleai/"+os.Getenv("KIT_MODEL")))
	tools := []ai.ToolRef{
		genkit.DefineTool(g, "search_docs", "Search the knowledge base.",
			func(_ *ai.ToolContext, given search) ([]doc, error) { return searchDocs(given) }),
		genkit.DefineTool(g, "get_weather", "Return the weather of a city.",
			func(_ *ai.ToolContext, given place) (weather, error) { return getWeather(given) }),
		genkit.DefineTool(g, "update_record", "Change one field of a customer's record.",
			func(_ *ai.ToolContext, given change) (any, error) { return updateRecord(given) }),
		genkit.DefineTool(g, "send_email", "Send an e-mail.",
			func(_ *ai.ToolContext, given email) (sent, error) { return sendEmail(given) }),
	}
	var history []*ai.Message
	orla := genkit.DefineFlow(g, "orla", func(ctx context.Context, turn string) (string, error) {
		asked := append(history, ai.NewUserTextMessage(turn))
		done, err := genkit.Generate(ctx, g,
			ai.WithSystem(instructions), ai.WithMessages(asked...), ai.WithTools(tools...), ai.WithMaxTurns(10))
		if err != nil {
			return "", err
		}
		history = nil
		for _, message := range done.History() {
			if message.Role != ai.RoleSystem {
				history = append(history, message)
			}
		}
		return done.Text(), nil
	})
	var turns []string
	if err := json.Unmarshal([]byte(os.Getenv("KIT_TURNS")), &turns); err != nil {
		return err
	}
	for _, turn := range turns {
		said, err := orla.Run(ctx, turn)
		if err != nil {
			return err
		}
		fmt.Println(said)
	}
	return nil
}
