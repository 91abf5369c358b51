"""What SQLAlchemy reflects and reads, with the dialect of clickhouse-connect: that is what Superset uses."""

import sys

import sqlalchemy
from told import check

engine = sqlalchemy.create_engine(f"clickhousedb://default:@{sys.argv[1]}/retrospan")
found = sqlalchemy.MetaData()
check("reflect(views=True): views", lambda: found.reflect(engine, views=True) or len(found.tables))
check("reflect(views=True): columns", lambda: sum(len(table.columns) for table in found.tables.values()))
check("reflect(views=True): comments", lambda: found.tables["runs"].c.run_id.comment)


def selected(statement: sqlalchemy.Select) -> list:
    with engine.connect() as connection:
        return connection.execute(statement).fetchall()


runs = found.tables["runs"]
check("a select", lambda: len(selected(sqlalchemy.select(runs.c.run_id))))
check(
    "a condition with a value",
    lambda: len(selected(sqlalchemy.select(runs.c.run_id).where(runs.c.run_id != "it's"))),
)
check(
    "a group",
    lambda: sum(
        row[1]
        for row in selected(
            sqlalchemy.select(runs.c.outcome, sqlalchemy.func.count()).group_by(runs.c.outcome)
        )
    ),
)
