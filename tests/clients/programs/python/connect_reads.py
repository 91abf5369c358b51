"""What clickhouse-connect reads."""

import asyncio
import sys

import clickhouse_connect
from clickhouse_connect.driver.exceptions import DatabaseError
from told import check, expect_error

host, _, port = sys.argv[1].rpartition(":")
client = clickhouse_connect.get_client(host=host, port=int(port), database="retrospan")


def rows_streamed():
    with client.query_rows_stream("SELECT number FROM numbers(300000)") as rows:
        for _ in rows:
            yield 1


check("rows of a view", lambda: len(client.query("SELECT run_id FROM runs").result_rows))
check("300,000 rows as a stream", lambda: sum(rows_streamed()))
check(
    "parameters",
    lambda: client.query("SELECT {text:String}", {"text": "it's \\ \n ✓"}).first_row == ("it's \\ \n ✓",),
)
check(
    "a long parameter",
    lambda: client.query("SELECT length({text:String})", {"text": "x" * 200_000}).first_row[0],
)
check("Arrow", lambda: client.query_arrow("SELECT run_id FROM runs").num_rows)
check("pandas", lambda: client.query_df("SELECT run_id, steps FROM runs").shape[0])
check("a setting", lambda: client.query("SELECT 1", settings={"max_execution_time": 5}).first_row[0])
check("an error", lambda: expect_error(DatabaseError, "Code: 47", lambda: client.query("SELECT nope")))
check("writing", lambda: expect_error(DatabaseError, "Code: 164", lambda: client.command("DROP TABLE runs")))


async def asked_at_once() -> list[int]:
    asking = await clickhouse_connect.get_async_client(
        host=host, port=int(port), settings={"join_use_nulls": 1}
    )
    asked = [asking.query("SELECT {n:UInt32}", parameters={"n": n}) for n in range(4)]
    answers = await asyncio.gather(*asked)
    await asking.close()
    return [answer.result_rows[0][0] for answer in answers]


check("the asynchronous client", lambda: asyncio.run(asked_at_once()))
