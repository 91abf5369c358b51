// What clickhouse-go reads over HTTP: a line for each check, its name and what came, divided by a tab.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

func check(name string, asked func() (any, error)) {
	got, err := asked()
	if err != nil {
		got = fmt.Sprintf("FAILED: %q", err.Error())
	}
	fmt.Printf("%s\t%v\n", name, got)
}

func code(err error) (any, error) {
	var told *clickhouse.Exception
	if errors.As(err, &told) {
		return fmt.Sprintf("%d %s", told.Code, told.CodeName), nil
	}
	return nil, fmt.Errorf("not an exception: %w", err)
}

func checks(how string, method clickhouse.CompressionMethod) {
	options := &clickhouse.Options{
		Addr:        []string{os.Args[1]},
		Protocol:    clickhouse.HTTP,
		Auth:        clickhouse.Auth{Database: "retrospan", Username: "default"},
		Compression: &clickhouse.Compression{Method: method},
	}
	db := clickhouse.OpenDB(options)
	defer db.Close()
	drained := func(query string) (int, error) {
		rows, err := db.Query(query)
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		count := 0
		for rows.Next() {
			count++
		}
		return count, rows.Err()
	}
	check(how+": ping", func() (any, error) { return "", db.Ping() })
	check(how+": rows of a view", func() (any, error) { return drained("SELECT * FROM runs") })
	check(how+": all spans", func() (any, error) { return drained("SELECT * FROM spans") })
	check(how+": 300,000 rows", func() (any, error) {
		return drained("SELECT number, toString(number) FROM numbers(300000)")
	})
	check(how+": types", func() (any, error) {
		var at time.Time
		var named map[string]string
		var list []uint32
		var none *string
		err := db.QueryRow("SELECT toDateTime64('2026-01-02 03:04:05.000000006', 9, 'UTC'), "+
			"CAST(map('a', 'b') AS Map(String, String)), [1, 2]::Array(UInt32), CAST(NULL AS Nullable(String))").
			Scan(&at, &named, &list, &none)
		return fmt.Sprint(at.UTC(), named, list, none), err
	})
	check(how+": bound values", func() (any, error) {
		var text string
		var number int64
		err := db.QueryRow("SELECT ? AS text, toInt64(?) AS number", "it's \\", 7).Scan(&text, &number)
		return text + fmt.Sprint(number), err
	})
	check(how+": WithParameters", func() (any, error) {
		var text string
		given := clickhouse.WithParameters(clickhouse.Parameters{"text": "it's"})
		err := db.QueryRowContext(clickhouse.Context(context.Background(), given), "SELECT {text:String}").Scan(&text)
		return text, err
	})
	check(how+": an error", func() (any, error) {
		_, err := drained("SELECT nope")
		return code(err)
	})
	check(how+": an error in the middle", func() (any, error) {
		_, err := drained("SELECT number, throwIf(number = 3000000) FROM numbers(4000000)")
		return code(err)
	})
	check(how+": a cancelled context", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		var count uint64
		err := db.QueryRowContext(ctx, "SELECT count() FROM numbers(1000000000000)").Scan(&count)
		return err != nil && time.Since(began) < 5*time.Second, nil
	})
	check(how+": its own interface", func() (any, error) {
		connection, err := clickhouse.Open(options)
		if err != nil {
			return nil, err
		}
		defer connection.Close()
		var runs []struct {
			RunID string `ch:"run_id"`
		}
		err = connection.Select(context.Background(), &runs, "SELECT run_id FROM runs")
		return len(runs), err
	})
}

func main() {
	checks("lz4", clickhouse.CompressionLZ4)
	checks("zstd", clickhouse.CompressionZSTD)
	checks("gzip", clickhouse.CompressionGZIP)
	checks("plain", clickhouse.CompressionNone)
}
