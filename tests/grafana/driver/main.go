// The ClickHouse driver of Grafana's data source, asked as the data source asks it: over HTTP, Native format, with
// a time limit on every request. Reads questions as JSON from standard input and says for each what came back.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

type answer struct {
	Columns []string `json:"columns"`
	Types   []string `json:"types"`
	Rows    int      `json:"rows"`
	First   []string `json:"first"`
	Error   string   `json:"error,omitempty"`
}

func main() {
	var questions []string
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fail(err)
	}
	connection, err := clickhouse.Open(&clickhouse.Options{
		Addr:        []string{os.Args[1]},
		Protocol:    clickhouse.HTTP,
		Auth:        clickhouse.Auth{Database: "retrospan", Username: "grafana", Password: os.Getenv("RETROSPAN_TOKEN")},
		ClientInfo:  clickhouse.ClientInfo{Products: []struct{ Name, Version string }{{Name: "grafana", Version: "4.20.0"}}},
		Compression: &clickhouse.Compression{Method: clickhouse.CompressionGZIP},
		DialTimeout: 10 * time.Second,
		ReadTimeout: 60 * time.Second,
		Settings:    clickhouse.Settings{"max_execution_time": 60},
	})
	if err != nil {
		fail(err)
	}
	if err := connection.Ping(context.Background()); err != nil {
		fail(err)
	}
	answers := make([]answer, 0, len(questions))
	for _, question := range questions {
		answers = append(answers, ask(connection, question))
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}

func ask(connection driver.Conn, question string) (said answer) {
	rows, err := connection.Query(context.Background(), question)
	if err != nil {
		return answer{Error: err.Error()}
	}
	defer rows.Close()
	said.Columns = rows.Columns()
	for _, column := range rows.ColumnTypes() {
		said.Types = append(said.Types, column.DatabaseTypeName())
	}
	for rows.Next() {
		values := make([]any, 0, len(said.Columns))
		for _, column := range rows.ColumnTypes() {
			values = append(values, reflect.New(column.ScanType()).Interface())
		}
		if err := rows.Scan(values...); err != nil {
			return answer{Error: err.Error()}
		}
		if said.Rows == 0 {
			for _, value := range values {
				said.First = append(said.First, fmt.Sprint(reflect.ValueOf(value).Elem().Interface()))
			}
		}
		said.Rows++
	}
	if err := rows.Err(); err != nil {
		return answer{Error: err.Error()}
	}
	return said
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
