import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** What the JDBC driver reads with its default URL: a line for each check, its name and what came, divided by a tab. */
public class Reads {
    private static Connection connection;
    private static DatabaseMetaData about;

    private static void check(String name, Callable<Object> asked) {
        String got;
        try {
            got = String.valueOf(asked.call());
        } catch (Throwable error) {
            got = "FAILED: " + error;
        }
        System.out.println(name + "\t" + got.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t"));
    }

    private static int count(ResultSet rows) throws SQLException {
        int count = 0;
        while (rows.next()) count++;
        rows.close();
        return count;
    }

    private static ResultSet ask(String sql) throws SQLException {
        return connection.createStatement().executeQuery(sql);
    }

    private static ResultSet first(String sql) throws SQLException {
        ResultSet rows = ask(sql);
        rows.next();
        return rows;
    }

    private static String code(Callable<Object> asked) throws Exception {
        try {
            asked.call();
            return "no error";
        } catch (SQLException error) {
            return String.valueOf(error.getErrorCode());
        }
    }

    private static List<String> names(ResultSet rows, String column) throws SQLException {
        List<String> names = new ArrayList<>();
        while (rows.next()) names.add(rows.getString(column));
        return names;
    }

    public static void main(String[] args) throws Exception {
        connection = DriverManager.getConnection("jdbc:clickhouse://" + args[0] + "/retrospan", "default", "");
        about = connection.getMetaData();
        reads();
        types();
        prepared();
        metadata();
        errors();
        ends();
        connection.close();
    }

    private static void reads() {
        check("reads: a number", () -> first("SELECT 1 AS x").getInt("x"));
        check("reads: 300,000 rows", () -> {
            ResultSet rows = ask("SELECT number, toString(number) AS text FROM numbers(300000)");
            int right = 0;
            while (rows.next()) if (rows.getString(2).equals(String.valueOf(rows.getLong(1)))) right++;
            return right;
        });
        check("reads: every view that takes no parameters", () -> {
            int read = 0;
            for (String view : names(about.getTables(null, "retrospan", "%", null), "TABLE_NAME")) {
                try {
                    count(ask("SELECT * FROM " + view + " LIMIT 100"));
                    read++;
                } catch (SQLException error) {
                    if (error.getErrorCode() != 456) throw error;
                }
            }
            return read;
        });
        check("reads: the runs", () -> count(ask("SELECT * FROM runs")));
        check("reads: the spans", () -> count(ask("SELECT * FROM spans")));
        check("reads: setMaxRows", () -> {
            Statement statement = connection.createStatement();
            statement.setMaxRows(10);
            return count(statement.executeQuery("SELECT number FROM numbers(100)"));
        });
        check("reads: setFetchSize", () -> {
            Statement statement = connection.createStatement();
            statement.setFetchSize(7);
            return count(statement.executeQuery("SELECT number FROM numbers(100)"));
        });
        check("reads: the columns of an answer", () -> {
            ResultSetMetaData columns = ask("SELECT run_id, steps, started_at FROM runs LIMIT 1").getMetaData();
            return columns.getColumnName(1) + " " + columns.getColumnTypeName(1) + " " + columns.getColumnCount();
        });
    }

    private static void types() {
        check("types: the largest UInt64", () -> first("SELECT toUInt64(18446744073709551615)").getObject(1));
        check("types: Decimal", () -> first("SELECT toDecimal64('1.25', 4)").getBigDecimal(1).stripTrailingZeros());
        check("types: Nullable", () -> {
            ResultSet row = first("SELECT CAST(NULL AS Nullable(Int32))");
            return row.getInt(1) + " " + row.wasNull();
        });
        check("types: DateTime64(9)", () ->
            first("SELECT toDateTime64('2026-01-02 03:04:05.000000006', 9, 'UTC')").getObject(1, java.time.ZonedDateTime.class)
                .toInstant());
        check("types: Array", () -> {
            Array array = first("SELECT [1, 2]::Array(UInt8)").getArray(1);
            Object[] values = (Object[]) array.getArray();
            return Arrays.toString(values);
        });
        check("types: Map", () -> ((Map<?, ?>) first("SELECT map('a', 'b')").getObject(1)).get("a"));
        check("types: LowCardinality, Enum, UUID, Bool", () -> {
            ResultSet row = first("SELECT toLowCardinality('x'), CAST('on' AS Enum8('on' = 1)), "
                + "toUUID('00000000-0000-0000-0000-000000000001'), true");
            return row.getString(1) + " " + row.getString(2) + " " + row.getString(3) + " " + row.getBoolean(4);
        });
    }

    private static String echoed(String text) throws SQLException {
        PreparedStatement statement = connection.prepareStatement("SELECT ? AS text");
        statement.setString(1, text);
        ResultSet row = statement.executeQuery();
        row.next();
        return row.getString(1);
    }

    private static void prepared() {
        check("prepared: a quote", () -> echoed("it's"));
        check("prepared: a backslash, a line, a letter", () -> echoed("a\\b\nc ✓").equals("a\\b\nc ✓"));
        check("prepared: what looks like SQL", () -> echoed("'; DROP TABLE runs -- ?"));
        check("prepared: a number and NULL", () -> {
            PreparedStatement statement = connection.prepareStatement("SELECT ? + 1, ? IS NULL");
            statement.setInt(1, 7);
            statement.setNull(2, Types.VARCHAR);
            ResultSet row = statement.executeQuery();
            row.next();
            return row.getInt(1) + " " + row.getBoolean(2);
        });
        check("prepared: a time", () -> {
            PreparedStatement statement = connection.prepareStatement("SELECT count() FROM runs WHERE started_at > ?");
            statement.setTimestamp(1, new Timestamp(0));
            ResultSet row = statement.executeQuery();
            row.next();
            return row.getInt(1);
        });
        check("prepared: asked again with another value", () -> {
            PreparedStatement statement = connection.prepareStatement("SELECT sum(number) FROM numbers(?)");
            String sums = "";
            for (int upTo : new int[] {3, 5}) {
                statement.setInt(1, upTo);
                ResultSet row = statement.executeQuery();
                row.next();
                sums += row.getInt(1) + " ";
            }
            return sums.trim();
        });
    }

    private static void metadata() {
        check("metadata: the product", () -> about.getDatabaseProductName());
        check("metadata: getSchemas", () -> names(about.getSchemas(), "TABLE_SCHEM").contains("retrospan"));
        check("metadata: getSchema and setSchema", () -> {
            connection.setSchema("retrospan");
            return connection.getSchema();
        });
        check("metadata: getCatalogs", () -> count(about.getCatalogs()));
        check("metadata: getTables", () -> count(about.getTables(null, "retrospan", "%", null)));
        check("metadata: getTables of a kind", () ->
            count(about.getTables(null, "retrospan", "%", new String[] {"VIEW"})));
        check("metadata: getTables by a pattern", () -> names(about.getTables(null, "retrospan", "run\\_d%", null), "TABLE_NAME"));
        check("metadata: getColumns(%)", () -> count(about.getColumns(null, "retrospan", "%", "%")));
        check("metadata: getColumns with their comments", () -> {
            ResultSet columns = about.getColumns(null, "retrospan", "runs", "run\\_id");
            columns.next();
            return columns.getString("REMARKS");
        });
        check("metadata: getColumns of a view with parameters", () ->
            count(about.getColumns(null, "retrospan", "drift", "%")));
        check("metadata: getTableTypes", () -> names(about.getTableTypes(), "TABLE_TYPE").contains("VIEW"));
        check("metadata: getTypeInfo", () -> names(about.getTypeInfo(), "TYPE_NAME").contains("String"));
        check("metadata: getFunctions", () -> count(about.getFunctions(null, null, "%")) > 1000);
        check("metadata: keys and indexes", () ->
            count(about.getPrimaryKeys(null, "retrospan", "runs"))
                + count(about.getImportedKeys(null, "retrospan", "runs"))
                + count(about.getIndexInfo(null, "retrospan", "runs", false, true)));
    }

    private static void errors() {
        check("errors: an unknown name", () -> code(() -> ask("SELECT nope")));
        check("errors: no SQL", () -> code(() -> ask("SELECT FROM WHERE")));
        check("errors: writing", () -> code(() ->
            connection.createStatement().executeUpdate("INSERT INTO runs (run_id) VALUES ('x')")));
        check("errors: a view without its parameters", () -> code(() -> ask("SELECT * FROM drift d")));
        check("errors: in the middle of an answer", () -> {
            ResultSet rows = ask("SELECT number, throwIf(number = 3000000) FROM numbers(4000000)");
            try {
                return count(rows) + " rows and no error";
            } catch (SQLException error) {
                return "an error";
            }
        });
    }

    private static void ends() {
        check("ends: cancel", () -> {
            Statement statement = connection.createStatement();
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(500);
                    statement.cancel();
                } catch (Exception error) {
                    System.out.println("cancel\tFAILED: " + error);
                }
            });
            canceller.start();
            long began = System.nanoTime();
            String code = code(() -> statement.executeQuery("SELECT count() FROM numbers(1000000000000)"));
            canceller.join();
            return code + " " + (System.nanoTime() - began < 10_000_000_000L);
        });
        check("ends: setQueryTimeout", () -> {
            Statement statement = connection.createStatement();
            statement.setQueryTimeout(1);
            long began = System.nanoTime();
            boolean failed = !code(() -> statement.executeQuery("SELECT count() FROM numbers(1000000000000)"))
                .equals("no error");
            return failed && System.nanoTime() - began < 20_000_000_000L;
        });
        check("ends: an answer that is not read to its end", () -> {
            ask("SELECT number FROM numbers(100000000)").close();
            return first("SELECT 7").getInt(1);
        });
        check("ends: two answers at once", () -> {
            ResultSet one = ask("SELECT number FROM numbers(100000)");
            ResultSet other = ask("SELECT number FROM numbers(100000)");
            int read = 0;
            while (one.next() && other.next()) read++;
            return read;
        });
        check("ends: isValid", () -> connection.isValid(5));
    }
}
