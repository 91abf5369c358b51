module retrospan.example/grafana-driver

go 1.25
