package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// The four tools with their log of the truth: the same as shop.py.

type search struct {
	Query string `json:"query"`
	TopK  int    `json:"top_k"`
}

type doc struct {
	DocID string  `json:"doc_id"`
	Title string  `json:"title"`
	Score float64 `json:"score"`
	Text  string  `json:"text"`
}

type place struct {
	City string `json:"city"`
}

type weather struct {
	City      string `json:"city"`
	TempC     int    `json:"temp_c"`
	Condition string `json:"condition"`
}

type change struct {
	RecordID string `json:"record_id"`
	Field    string `json:"field"`
	Value    string `json:"value"`
}

type changed struct {
	RecordID string `json:"record_id"`
	Field    string `json:"field"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Version  int    `json:"version"`
}

type email struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

type sent struct {
	MessageID string `json:"message_id"`
	To        string `json:"to"`
	Status    string `json:"status"`
}

var docs = map[string][]doc{
	"refund policy": {
		{"kb-17", "Refunds", 0.91, "Goods may be returned within 30 days for a full refund.\n" +
			"Opened \"hygiene\" items are excluded; shipping (79 kr) isn't refunded. " +
			"Ærlig talt: keep the receipt."},
		{"kb-18", "Refund timing", 0.77, "Refunds reach the card in 5–7 working days."},
	},
	"shipping rules": {{"kb-30", "Shipping", 0.7, "Parcels are held in snow."}},
}

var weathers = map[string]weather{"Oslo": {"Oslo", -3, "snow"}, "Bergen": {"Bergen", 6, "rain"}}
var before = map[string]string{"status": "open", "shipping_city": "Oslo"}

var lock sync.Mutex
var count int

func log(tool string, args, result any, failure string) error {
	lock.Lock()
	defer lock.Unlock()
	count++
	line := map[string]any{"kind": "tool", "t": float64(time.Now().UnixMilli()) / 1000, "n": count,
		"tool": tool, "args": args, "result": result, "error": nil}
	if failure != "" {
		line["result"], line["error"] = nil, failure
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(os.Getenv("KIT_TRUTH"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintf(file, "%s\n", text)
	return err
}

func searchDocs(given search) ([]doc, error) {
	found := docs[given.Query]
	if len(found) > given.TopK {
		found = found[:given.TopK]
	}
	if found == nil {
		found = []doc{}
	}
	return found, log("search_docs", given, found, "")
}

func getWeather(given place) (weather, error) {
	result := weathers[given.City]
	return result, log("get_weather", given, result, "")
}

// What is locked is told to the model: an error of a tool ends the whole generation.
func updateRecord(given change) (any, error) {
	if os.Getenv("KIT_SCENARIO") == "tool_error" && count == 0 {
		failure := fmt.Sprintf("record %s is locked by another writer", given.RecordID)
		return map[string]string{"error": failure}, log("update_record", given, nil, failure)
	}
	result := changed{given.RecordID, given.Field, before[given.Field], given.Value, 2}
	return result, log("update_record", given, result, "")
}

func sendEmail(given email) (sent, error) {
	result := sent{"m-501", given.To, "queued"}
	return result, log("send_email", given, result, "")
}
